/* SPDX-License-Identifier: Apache-2.0 */
#include "session/client_state.h"

#define LOOK_EVERY_US 1000000

void
udpai_client_state_of(const udpai_session *session,
                      const udpai_resource_ack *ack,
                      udpai_client_state *ret_state)
{
    const udpai_renderer *renderer = udpai_subscription_subscriber(ack->subscription)->renderer;
    *ret_state = (udpai_client_state){0};
    session->ops->ack_status(session, ack, &ret_state->status);
    if (ack->resource)
        ret_state->version = renderer->version(renderer, ack->resource, ret_state->room);
}

/* ---- what is rejected now ---- */

typedef struct search {
    udpai_client_rejected *found;
    unsigned n_looks;
} search;

static bool
is_found(const udpai_client_rejected *found, udpai_str name, uint64_t seq)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->items[i].seq == seq && udpai_str_eq(found->items[i].name, name))
            return true;
    return false;
}

static bool
is_rejected(udpai_acknowledgement_state state)
{
    return state == UDPAI_ACKNOWLEDGEMENT_REFUSED || state == UDPAI_ACKNOWLEDGEMENT_DOUBTFUL;
}

/* False: it is full. */
static bool
add(udpai_client_rejected *found, const udpai_taken *taken)
{
    if (found->n == UDPAI_REFUSED_KEPT)
        return false;
    const udpai_resource_ack *ack = &taken->ack;
    const udpai_session *session = udpai_subscription_subscriber(ack->subscription)->userdata;
    udpai_str name = ack->resource ? udpai_resource_name(ack->resource) : taken->name;
    udpai_client_state *state = &found->rooms[found->n];
    udpai_client_state_of(session, ack, state);
    if (!is_rejected(state->status.state) || is_found(found, name, ack->seq))
        return true;
    found->items[found->n++] = (udpai_refused){
        .error = (udpa_error *)(uintptr_t)state->status.error,
        .name = name,
        .version = state->version,
        .good = state->status.good,
        .seq = ack->seq,
        .at_us = state->status.since_us,
        .is_certain = state->status.state == UDPAI_ACKNOWLEDGEMENT_REFUSED,
    };
    return found->n < UDPAI_REFUSED_KEPT;
}

static bool
on_taken(void *userdata, const udpai_taken *taken)
{
    search *self = userdata;
    return add(self->found, taken) && ++self->n_looks < UDPAI_CLIENT_STATE_LOOKS_MAX;
}

/* Those that are asked for by their own names, or by a wildcard, are found at once. Where the first
 * of the others lies, of those that an alias or a locator leads to; UINT64_MAX: there are none. */
static uint64_t
find_noted(udpai_subscription *subscription,
           const udpai_refusals *refusals,
           udpai_client_rejected *found)
{
    uint64_t low = UINT64_MAX;
    for (size_t i = 0; i < refusals->last.n; i++) {
        const udpai_refused *noted = refusals->last.items[i];
        udpai_taken taken;
        if (udpai_subscription_find_taken(subscription, noted->name, &taken))
            (void)add(found, &taken);
        else if (noted->seq && noted->seq < low)
            low = noted->seq;
    }
    return low;
}

void
udpai_client_state_rejected(udpai_subscription *subscription,
                            const udpai_refusals *refusals,
                            udpai_client_rejected *ret_rejected)
{
    const udpai_session *session = udpai_subscription_subscriber(subscription)->userdata;
    search self = {.found = ret_rejected};
    ret_rejected->n = 0;
    if (!refusals || !session->ops->ack_status)
        return;
    uint64_t low = find_noted(subscription, refusals, ret_rejected);
    if (refusals->others.error && refusals->others.low < low)
        low = refusals->others.low;
    if (low == UINT64_MAX && !refusals->removals.error)
        return;
    udpai_taken_place place = {.seq = low == UINT64_MAX || low == 0 ? low : low - 1};
    (void)udpai_subscription_visit_taken(subscription, &place, on_taken, &self);
}

/* ---- what is not any more ---- */

typedef struct settling {
    unsigned n_looks;
    bool is_open; /* something is not acknowledged, or there is too much to look at */
} settling;

static bool
on_settling(void *userdata, const udpai_taken *taken)
{
    settling *self = userdata;
    const udpai_resource_ack *ack = &taken->ack;
    const udpai_session *session = udpai_subscription_subscriber(ack->subscription)->userdata;
    udpai_client_state state;
    udpai_client_state_of(session, ack, &state);
    bool is_good = ack->resource ? state.status.state == UDPAI_ACKNOWLEDGEMENT_GIVEN ||
                                       state.status.state == UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN
                                 : !is_rejected(state.status.state);
    self->is_open = !is_good || ++self->n_looks == UDPAI_CLIENT_STATE_LOOKS_MAX;
    return !self->is_open;
}

static uint64_t
first_refused(const udpai_refusals *refusals)
{
    uint64_t low = refusals->others.error ? refusals->others.low : UINT64_MAX;
    for (size_t i = 0; i < refusals->last.n; i++)
        if (refusals->last.items[i]->seq < low)
            low = refusals->last.items[i]->seq;
    return low;
}

void
udpai_client_state_settle(udpai_subscription *subscription,
                          udpai_refusals *refusals,
                          int64_t now_us)
{
    settling self = {0};
    if (!udpai_refusals_any(refusals) || now_us - refusals->looked_us < LOOK_EVERY_US)
        return;
    refusals->looked_us = now_us;
    uint64_t low = first_refused(refusals);
    udpai_taken_place place = {.seq = low ? low - 1 : 0};
    (void)udpai_subscription_visit_taken(subscription, &place, on_settling, &self);
    if (!self.is_open)
        udpai_refusals_forget_range(refusals, 0, UINT64_MAX);
}
