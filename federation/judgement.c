/* SPDX-License-Identifier: Apache-2.0 */
/* A publication between being applied and being answered: it waits for subscribers in the process,
 * who may refuse, and for the durable engine, so that what is receipted is safe.
 *
 * Each is answered, with a receipt or without: the session has room for so many that are not. The
 * answer comes with the publication, for it needs memory. */
#include "federation/judgement.h"

#include "base/alloc.h"
#include "federation/epoch.h"
#include "federation/node_internal.h"

static void
on_deadline(udpai_timer *timer)
{
    udpai_judgement *judgement = UDPAI_CONTAINER_OF(timer, udpai_judgement, deadline);
    for (size_t i = 0; i < judgement->publication->entries.n; i++)
        udpai_publication_refuse(
            &judgement->publication->entries.items[i].error,
            udpa_error_new(UDPA_ERR_DEADLINE, NULL, "no answer from the application in time"));
    judgement->n_deferred = 0;
    udpai_judgement_check(judgement);
}

/* Both are consumed. */
static void
give(udpai_node *node, udpai_order *answer, udpai_publication *publication)
{
    answer->publication = publication;
    udpai_context_order(&node->context, answer);
}

udpai_judgement *
udpai_judgement_new(udpai_node *node, udpai_report *report)
{
    udpai_order *answer = UDPAI_TAKE(report->answer);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_judgement *judgement = udpai_alloc(sizeof(*judgement));
    answer->session = report->session;
    if (!judgement) {
        udpai_publication_refuse_all(publication, UDPA_ERR_NOMEM, "out of memory");
        give(node, answer, publication);
        return NULL;
    }
    judgement->owner = node;
    judgement->answer = answer;
    judgement->publication = publication;
    udpai_timer_init(&judgement->deadline, on_deadline);
    udpai_list_init(&judgement->node);
    udpai_list_append(&node->untold, &judgement->node);
    return judgement;
}

void
udpai_judgement_free(udpai_judgement *judgement)
{
    udpai_local_updates_forget(judgement->owner, judgement);
    udpai_list_remove(&judgement->node);
    udpai_timer_cancel(&judgement->deadline);
    udpai_publication_free(judgement->publication);
    udpai_order_free(judgement->answer);
    udpai_free(judgement);
}

/* Answers it if nothing is waited for any more. */
void
udpai_judgement_check(udpai_judgement *judgement)
{
    if (!judgement->is_told || judgement->n_deferred || judgement->ticket)
        return;
    give(judgement->owner, UDPAI_TAKE(judgement->answer), UDPAI_TAKE(judgement->publication));
    udpai_judgement_free(judgement);
}

/* ---- all of a node ---- */

static void
refuse_unsafe(udpai_judgement *judgement)
{
    judgement->publication->receipt_required = true;
    udpai_publication_refuse_all(judgement->publication, UDPA_ERR_UNAVAILABLE,
                                 "this is in force, but could not be kept: publish it again");
}

/* Those that are not handed over yet stand behind all others. */
void
udpai_judgements_commit(udpai_node *node, uint64_t ticket, udpa_err result)
{
    for (udpai_list *at = node->untold.prev; at != &node->untold; at = at->prev) {
        udpai_judgement *judgement = UDPAI_LIST_ENTRY(at, udpai_judgement, node);
        if (judgement->is_committed)
            return;
        judgement->is_committed = true;
        judgement->ticket = ticket;
        if (result != UDPA_OK)
            refuse_unsafe(judgement);
    }
}

void
udpai_judgements_told(udpai_node *node)
{
    udpai_list told, *at;
    udpai_list_init(&told);
    udpai_list_splice(&told, &node->untold);
    while ((at = udpai_list_pop(&told))) {
        udpai_judgement *judgement = UDPAI_LIST_ENTRY(at, udpai_judgement, node);
        judgement->is_told = true;
        udpai_list_append(judgement->ticket ? &node->unsafe : &node->unanswered, at);
        udpai_judgement_check(judgement);
    }
}

static void
end_ticket(udpai_judgement *judgement, udpa_err result)
{
    judgement->ticket = 0;
    if (result != UDPA_OK)
        refuse_unsafe(judgement);
}

/* Tickets rise: those of the told stand in order, and of the others there are few. */
void
udpai_node_committed(udpai_node *node, uint64_t ticket, udpa_err result)
{
    udpai_epoch_committed(node, ticket, result);
    UDPAI_LIST_FOREACH (at, &node->untold) {
        udpai_judgement *judgement = UDPAI_LIST_ENTRY(at, udpai_judgement, node);
        if (judgement->ticket && judgement->ticket <= ticket)
            end_ticket(judgement, result);
    }
    while (!udpai_list_empty(&node->unsafe)) {
        udpai_judgement *judgement = UDPAI_LIST_ENTRY(node->unsafe.next, udpai_judgement, node);
        if (judgement->ticket > ticket)
            return;
        end_ticket(judgement, result);
        udpai_list_remove(&judgement->node);
        udpai_list_append(&node->unanswered, &judgement->node);
        udpai_judgement_check(judgement);
    }
}
