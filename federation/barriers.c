/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/barriers.h"

#include "base/alloc.h"

typedef struct waiting {
    udpai_list node;
    uint64_t session, ticket; /* of the stream side */
    uint64_t number;          /* the barrier's */
} waiting;

struct udpai_barriers {
    udpai_context *context;
    udpai_list waiting; /* by their numbers */
    uint64_t last, passed;
};

udpai_barriers *
udpai_barriers_new(udpai_context *context)
{
    udpai_barriers *barriers = udpai_alloc(sizeof(*barriers));
    if (!barriers)
        return NULL;
    barriers->context = context;
    udpai_list_init(&barriers->waiting);
    return barriers;
}

void
udpai_barriers_free(udpai_barriers *barriers)
{
    udpai_list *at;
    if (!barriers)
        return;
    while ((at = udpai_list_pop(&barriers->waiting)))
        udpai_free(UDPAI_LIST_ENTRY(at, waiting, node));
    udpai_free(barriers);
}

void
udpai_barriers_ask(udpai_barriers *barriers, const udpai_report *report)
{
    const udpai_node_env *env = &barriers->context->env;
    waiting *one = udpai_alloc(sizeof(*one));
    if (!one)
        return;
    one->session = report->session;
    one->ticket = report->ticket;
    one->number = ++barriers->last;
    udpai_list_append(&barriers->waiting, &one->node);
    if (env->barrier)
        env->barrier(env->userdata, one->number);
    else
        barriers->passed = one->number;
}

void
udpai_barriers_passed(udpai_barriers *barriers, uint64_t ticket)
{
    if (barriers->passed < ticket)
        barriers->passed = ticket;
}

void
udpai_barriers_release(udpai_barriers *barriers)
{
    while (!udpai_list_empty(&barriers->waiting)) {
        waiting *one = UDPAI_LIST_ENTRY(barriers->waiting.next, waiting, node);
        udpai_order *order =
            one->number <= barriers->passed ? udpai_order_new(UDPAI_ORDER_BARRIER) : NULL;
        if (!order)
            return;
        order->session = one->session;
        order->ticket = one->ticket;
        udpai_context_order(barriers->context, order);
        udpai_list_remove(&one->node);
        udpai_free(one);
    }
}
