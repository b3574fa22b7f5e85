/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/set_question.h"

#include "federation/reporting.h"
#include "model/name.h"
#include "session/acknowledgement.h"
#include "session/worker_pool_answers.h"

#define BODY_MAX ((size_t)256 * 1024)

static const udpai_str prefix = {UDPAI_ACKNOWLEDGEMENT_PREFIX,
                                 sizeof(UDPAI_ACKNOWLEDGEMENT_PREFIX) - 1};
static const udpai_str alone = {UDPAI_ACKNOWLEDGEMENT_PREFIX UDPAI_ACKNOWLEDGEMENT_ALONE,
                                sizeof(UDPAI_ACKNOWLEDGEMENT_PREFIX UDPAI_ACKNOWLEDGEMENT_ALONE) -
                                    1};

static uint64_t
now_ms(udpa_endpoint *endpoint)
{
    return udpai_endpoint_wheel(endpoint)->now_ms;
}

/* ---- names ---- */

bool
udpai_set_question_is_for_all(udpai_str name)
{
    return udpai_str_starts(name, prefix) && !udpai_str_starts(name, alone);
}

/* With the mark behind the prefix; empty: it would be too long. */
static udpai_str
name_for_one(udpai_str name, char room[UDPA_NAME_MAX])
{
    size_t n_behind = name.len - prefix.len;
    if (alone.len + n_behind > UDPA_NAME_MAX)
        return (udpai_str){0};
    memcpy(room, alone.data, alone.len);
    memcpy(room + alone.len, name.data + prefix.len, n_behind);
    return (udpai_str){room, alone.len + n_behind};
}

bool
udpai_set_question_name_of(const udpa_resource *answer, char *room, udpai_str *ret_name)
{
    udpai_str name = udpai_resource_name(answer);
    if (!udpai_str_eq(udpai_resource_type_url(answer), UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE)) ||
        !udpai_str_starts(name, alone) || name.len > UDPA_NAME_MAX)
        return false;
    memcpy(room, prefix.data, prefix.len);
    memcpy(room + prefix.len, name.data + alone.len, name.len - alone.len);
    *ret_name = (udpai_str){room, prefix.len + name.len - alone.len};
    return true;
}

/* ---- asking ---- */

static udpai_set_answer *
find(const udpai_set_question *self, uint64_t session)
{
    for (size_t i = 0; i < self->answers.n; i++)
        if (self->answers.items[i].session == session)
            return &self->answers.items[i];
    return NULL;
}

/* Without memory it is not asked, and missing. */
static void
order(udpa_endpoint *endpoint, udpai_order_kind kind, uint64_t session, udpai_str name)
{
    char room[UDPA_NAME_MAX];
    udpai_str for_one = name_for_one(name, room);
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE), .names = &for_one, .n_names = 1};
    udpai_order *order = for_one.len ? udpai_order_new(kind) : NULL;
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return;
    }
    order->session = session;
    udpai_endpoint_order(endpoint, order);
}

bool
udpai_set_question_is_of_set(udpa_endpoint *endpoint, uint64_t session)
{
    size_t at = 0;
    udpai_str id;
    uint64_t one;
    while (udpai_node_next_replica(udpai_endpoint_node(endpoint), &at, &id, &one))
        if (one == session)
            return true;
    return false;
}

static void
forget_lost(udpai_set_question *self, udpa_endpoint *endpoint)
{
    size_t n = 0;
    for (size_t i = 0; i < self->answers.n; i++) {
        const udpai_set_answer one = self->answers.items[i];
        if (udpai_set_question_is_of_set(endpoint, one.session))
            self->answers.items[n++] = one;
        else
            udpa_bytes_unref(one.body);
    }
    self->answers.n = n;
}

void
udpai_set_question_ask(udpai_set_question *self, udpa_endpoint *endpoint, udpai_str name)
{
    size_t at = 0;
    udpai_str id;
    uint64_t session;
    if (!udpai_set_question_is_for_all(name))
        return;
    if (!self->since_ms)
        self->since_ms = now_ms(endpoint) ? now_ms(endpoint) : 1;
    forget_lost(self, endpoint);
    while (udpai_node_next_replica(udpai_endpoint_node(endpoint), &at, &id, &session)) {
        const udpai_set_answer fresh = {.session = session};
        if (session && !find(self, session) && udpai_vector_push(&self->answers, fresh))
            order(endpoint, UDPAI_ORDER_SUBSCRIBE, session, name);
    }
}

void
udpai_set_question_end(udpai_set_question *self, udpa_endpoint *endpoint, udpai_str name)
{
    for (size_t i = 0; i < self->answers.n; i++) {
        if (udpai_set_question_is_of_set(endpoint, self->answers.items[i].session))
            order(endpoint, UDPAI_ORDER_UNSUBSCRIBE, self->answers.items[i].session, name);
        udpa_bytes_unref(self->answers.items[i].body);
    }
    udpai_vector_done(&self->answers);
}

/* ---- answers ---- */

/* Without memory, or of one that is too large, it has none. */
void
udpai_set_question_take(udpai_set_question *self, uint64_t session, udpai_str body)
{
    udpai_set_answer *answer = find(self, session);
    udpa_bytes *copy = NULL;
    if (!answer)
        return;
    udpa_bytes_unref(answer->body);
    answer->body = NULL;
    if (body.len <= BODY_MAX && udpa_bytes_new(&copy, body.data, body.len) == UDPA_OK)
        answer->body = copy;
}

/* Takes the first one. */
static udpa_bytes *
join(udpa_bytes *all, udpa_bytes *more)
{
    udpa_bytes *joined = udpai_acknowledgement_join(all, more);
    udpa_bytes_unref(all);
    return joined;
}

/* What the replica adds, a reference. *ret_is_awaited: it may still answer. */
static udpa_bytes *
part_of(const udpai_set_answer *answer, udpa_bytes *own, udpai_str id, bool *ret_is_awaited)
{
    if (answer && answer->body && udpai_acknowledgements_agree(own, answer->body))
        return udpa_bytes_ref(answer->body);
    *ret_is_awaited = answer && !answer->body;
    return udpai_acknowledgement_missing(id, !answer        ? "it is not connected to this replica"
                                             : answer->body ? "it has another version so far"
                                                            : "it does not answer");
}

udpa_bytes *
udpai_set_question_join(const udpai_set_question *self, udpa_endpoint *endpoint, udpa_bytes *own)
{
    udpa_bytes *all = udpa_bytes_ref(own);
    size_t at = 0;
    udpai_str id;
    uint64_t session;
    bool is_patient = now_ms(endpoint) < self->since_ms + UDPAI_SET_PATIENCE_MS;
    while (all && self->since_ms &&
           udpai_node_next_replica(udpai_endpoint_node(endpoint), &at, &id, &session)) {
        bool is_awaited = false;
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *part = part_of(session ? find(self, session) : NULL, own, id, &is_awaited);
        if (is_awaited && is_patient)
            all = udpa_bytes_unref(all);
        else
            all = join(all, part);
    }
    return all;
}
