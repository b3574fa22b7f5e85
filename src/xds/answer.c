/* SPDX-License-Identifier: Apache-2.0 */
/* What became of what was sent. Each response has a nonce, each request may answer one: by
 * error_detail alone it is a refusal. An answer is counted and reported, and changes nothing of
 * what is sent: what was refused goes out again when it has changed, not before. */
#include "base/alloc.h"
#include "session/client_log.h"
#include "session/client_state.h"
#include "wire/compose.h"
#include "xds/xds_internal.h"

static void
free_flight(udpai_xds_type *type, udpai_xds_in_flight *flight)
{
    udpai_list_remove(&flight->node);
    udpai_owed_end(&flight->owed);
    type->n_in_flight--;
    udpai_listing_unref(flight->listing);
    udpai_vector_done(&flight->again);
    udpai_free_in(type->memory, flight, sizeof(*flight));
}

static udpai_xds_in_flight *
oldest_flight(udpai_xds_type *type)
{
    return UDPAI_LIST_ENTRY(type->in_flight.next, udpai_xds_in_flight, node);
}

void
udpai_xds_type_free(udpai_xds_type *type)
{
    if (!type)
        return;
    while (!udpai_list_empty(&type->in_flight))
        free_flight(type, oldest_flight(type));
    udpai_xds_unnameable_done(type);
    udpai_xds_unbar_all(type);
    udpai_refusals_done(&type->refusals);
    udpai_xds_requested_name_done(type);
    udpa_error_unref(type->last_error);
    udpa_error_unref(type->held);
    udpai_free_in(type->memory, type, sizeof(*type));
}

/* ---- sent ---- */

static void
count_sent(udpai_xds_type *type, const udpai_subscription *subscription, const udpai_body *body)
{
    type->is_answered |= udpai_subscription_label(subscription).len == 0;
    udpai_meter_add(type->traffic->deliveries, 1);
    udpai_meter_add(type->traffic->bytes, body->size_bytes);
    type->n_resources += body->resources.n - body->n_hidden;
    type->n_removals += body->removed.n;
    type->n_hidden = body->n_hidden;
    if (body->version.len != sizeof(type->version_sent))
        return;
    memcpy(type->version_sent, body->version.data, body->version.len);
    type->has_sent = true;
}

static void
lose_flight(udpai_xds_type *type, const udpai_xds_in_flight *flight)
{
    bool is_first = type->lost.nonce == 0;
    if (is_first || flight->seq_low < type->lost_low)
        type->lost_low = flight->seq_low;
    if (is_first || flight->seq_high > type->lost_high)
        type->lost_high = flight->seq_high;
    if (is_first || flight->place.removals < type->lost_removals)
        type->lost_removals = flight->place.removals;
    type->lost_head = flight->head;
    udpai_lost_add(&type->lost, flight->nonce, flight->place, flight->sent_us);
}

/* What had been refused and is in it again. What there is no memory to note stays refused. */
static void
note_again(udpai_xds_in_flight *flight, const udpai_refusals *refusals, const udpai_body *body)
{
    for (size_t i = 0; udpai_refusals_any(refusals) && i < body->seqs.n; i++)
        if (udpai_refusals_has(refusals, body->seqs.items[i]))
            (void)udpai_vector_push(&flight->again, body->seqs.items[i]);
}

static void
fill_flight(udpai_xds_in_flight *flight, const udpai_refusals *refusals, udpai_body *body)
{
    flight->n_resources = body->resources.n - body->n_hidden;
    flight->has_version = body->version.len == sizeof(flight->version);
    if (flight->has_version)
        memcpy(flight->version, body->version.data, body->version.len);
    if (body->resources.n <= UDPAI_REFUSED_KEPT)
        flight->listing = udpai_body_list(body);
    if (!flight->listing)
        note_again(flight, refusals, body);
}

void
udpai_xds_note_sent(udpai_xds *xds, const udpai_xds_next_response *response)
{
    udpai_xds_type *type = udpai_xds_type_of(response->subscription);
    const udpai_body *body = response->body;
    const udpai_xds_in_flight noted = {
        .subscription = response->subscription,
        .nonce = xds->last_nonce,
        .place = response->place,
        .head = response->head,
        .sent_us = udpai_hub_wall_us(xds->session.hub),
        .seq_low = body->seq_low,
        .seq_high = body->seq_high,
        .is_state = response->kind == UDPAI_DELIVERY_STATE,
    };
    count_sent(type, response->subscription, body);
    udpai_xds_in_flight *flight = udpai_alloc_in(type->memory, sizeof(*flight));
    if (!flight) { /* its answer will not be recognised */
        lose_flight(type, &noted);
        return;
    }
    *flight = noted;
    fill_flight(flight, &type->refusals, response->body);
    udpai_list_init(&flight->node);
    udpai_list_append(&type->in_flight, &flight->node);
    udpai_owed_begin(&flight->owed, &xds->session);
    if (++type->n_in_flight > UDPAI_XDS_IN_FLIGHT_MAX) {
        lose_flight(type, oldest_flight(type));
        free_flight(type, oldest_flight(type));
    }
}

/* ---- answered ---- */

static udpai_xds_in_flight *
find_flight(udpai_xds_type *type, uint64_t nonce)
{
    UDPAI_LIST_FOREACH (node, &type->in_flight) {
        udpai_xds_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_xds_in_flight, node);
        if (flight->nonce == nonce)
            return flight;
    }
    return NULL;
}

/* What was refused before may have been sent again in it. A state speaks of all there was. */
static void
forget_refusals(udpai_xds_type *type, const udpai_xds_in_flight *flight)
{
    const udpai_listing *listing = flight->listing;
    for (size_t i = 0; listing && i < listing->n; i++)
        udpai_refusals_accept(&type->refusals, listing->resources[i].name,
                              listing->resources[i].seq);
    for (size_t i = 0; i < flight->again.n; i++)
        udpai_refusals_forget(&type->refusals, flight->again.items[i]);
    if (!flight->is_state)
        return;
    type->accepted_seq = flight->head;
    udpai_refusals_forget_range(&type->refusals, 0, flight->head);
}

static void
note_acknowledged(udpai_xds_type *type, const udpai_xds_in_flight *flight, int64_t now_us)
{
    type->n_acknowledged += flight->n_resources;
    type->acknowledged_us = now_us;
    forget_refusals(type, flight);
    if (!flight->has_version)
        return;
    memcpy(type->version_acknowledged, flight->version, sizeof(flight->version));
    type->has_acknowledged = true;
}

/* What came in a part was called as the client spells it. */
static bool
is_named(const udpai_xds *xds, const udpai_xds_in_flight *flight, udpai_str text, size_t index)
{
    udpai_str full_name = flight->listing->resources[index].asked_name, spelled;
    char room[UDPAI_XDS_NAME_OF_CLIENT_MAX];
    return udpai_refusal_names(text, full_name) ||
           (flight->subscription && udpai_subscription_label(flight->subscription).len &&
            udpai_xds_name_of_client(xds->audience, flight->subscription, NULL, full_name, room,
                                     &spelled) &&
            udpai_refusal_spells(text, spelled));
}

/* The client reports of the whole response what is wrong; most name in their text the resource. */
static void
note_each(const udpai_xds *xds,
          udpai_xds_type *type,
          const udpai_xds_in_flight *flight,
          udpa_error *error)
{
    const udpai_listing *listing = flight->listing;
    udpai_str text = error ? udpai_str_from(udpa_error_message(error)) : UDPAI_STR("");
    size_t n_named = 0;
    for (size_t i = 0; i < listing->n; i++)
        n_named += is_named(xds, flight, text, i);
    for (size_t i = 0; i < listing->n; i++) {
        udpai_had room;
        udpai_refused refused = {
            .error = error,
            .name = listing->resources[i].name,
            .version = listing->resources[i].version,
            .seq = listing->resources[i].seq,
            .at_us = type->refused_us,
            .is_certain = n_named == 0 || is_named(xds, flight, text, i),
        };
        if (flight->subscription)
            udpai_refusals_find_good(&type->refusals, flight->subscription, flight->place, &refused,
                                     &room);
        udpai_refusals_add(&type->refusals, &refused);
    }
}

/* With few resources in the response, they are logged with the reason; with many, the reason and
 * where they lie must do. */
static void
note_contents(const udpai_xds *xds,
              udpai_xds_type *type,
              const udpai_xds_in_flight *flight,
              udpa_error *error)
{
    udpai_refused_range all = {flight->seq_low, flight->seq_high, error, type->refused_us};
    udpai_refused_range removals = {flight->place.removals, flight->head, error, type->refused_us};
    if (flight->listing)
        note_each(xds, type, flight, error);
    else if (all.high && error)
        udpai_refused_range_add(&type->refusals.others, &all);
    if (removals.low != UINT64_MAX && error)
        udpai_refused_range_add(&type->refusals.removals, &removals);
}

/* NULL without memory. */
static udpa_error *
error_of(const udpai_xds_request *request)
{
    udpa_err code = udpa_err_from_grpc(request->error_code);
    return udpa_error_new(code == UDPA_OK ? UDPA_ERR_UNKNOWN : code, NULL, "%.*s",
                          (int)udpai_min_size(request->error_text.len, 4096),
                          request->error_text.data);
}

/* What the client names; or all that it was sent, if it names nothing. */
static void
find_rejected(const udpai_xds *xds, const udpai_xds_in_flight *flight, udpai_client_nack *nack)
{
    udpai_str text = nack->why ? udpai_str_from(udpa_error_message(nack->why)) : UDPAI_STR("");
    const udpai_listing *listing = flight->listing;
    size_t n_named = 0, first = 0;
    for (size_t i = 0; i < listing->n; i++)
        if (is_named(xds, flight, text, i) && n_named++ == 0)
            first = i;
    if (listing->n == 0)
        return;
    nack->name = listing->resources[first].name;
    nack->version = listing->resources[first].version;
    nack->n_more = (n_named ? n_named : listing->n) - 1;
}

/* @p flight NULL: the response is not noted any more. */
static void
log_nack(udpai_xds *xds,
         const udpai_xds_in_flight *flight,
         const udpai_xds_request *request,
         const udpa_error *error)
{
    udpai_client_nack nack = {.type_url = request->type_url, .why = error};
    (void)udpai_nonce_parse(request->nonce, &nack.nonce);
    if (flight && flight->has_version)
        nack.version = (udpai_str){flight->version, sizeof(flight->version)};
    if (flight)
        nack.n_more = flight->n_resources;
    if (flight && flight->listing)
        find_rejected(xds, flight, &nack);
    udpai_client_log_nack(&xds->session, xds->peer, &nack);
}

/* Of a response that is not noted any more: it is something of what these brought. */
static void
note_lost_refused(udpai_xds *xds, udpai_xds_type *type, const udpai_xds_request *request)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = error_of(request);
    const udpai_refused_range all = {type->lost_low, type->lost_high, error, type->refused_us};
    const udpai_refused_range removals = {type->lost_removals, type->lost_head, error,
                                          type->refused_us};
    if (error && all.high)
        udpai_refused_range_add(&type->refusals.others, &all);
    if (error && removals.low != UINT64_MAX)
        udpai_refused_range_add(&type->refusals.removals, &removals);
    log_nack(xds, NULL, request, error);
}

static void
note_refused(udpai_xds *xds,
             udpai_xds_type *type,
             const udpai_xds_in_flight *flight,
             const udpai_xds_request *request)
{
    udpa_error *error = error_of(request);
    type->n_refused += flight->n_resources;
    log_nack(xds, flight, request, error);
    note_contents(xds, type, flight, error);
    udpa_error_unref(type->last_error);
    type->last_error = error;
}

/* Clients answer in order: of what is older than an answer no answer will come, and a rejection
 * would have been sent. */
static void
drop_older(udpai_xds_type *type, const udpai_xds_in_flight *flight)
{
    while (oldest_flight(type) != flight)
        free_flight(type, oldest_flight(type));
}

void
udpai_xds_note_answer(udpai_xds *xds, udpai_xds_type *type, const udpai_xds_request *request)
{
    uint64_t nonce;
    if (!udpai_nonce_parse(request->nonce, &nonce)) /* none of ours */
        return;
    udpai_xds_siblings_answered(xds, type, nonce);
    udpai_xds_in_flight *flight = find_flight(type, nonce);
    int64_t now_us = udpai_hub_wall_us(xds->session.hub);
    if (!flight) {
        bool may_be_lost = nonce && nonce <= type->lost.nonce;
        if (may_be_lost && request->is_refusal) {
            udpai_meter_add(type->traffic->nacks, 1);
            type->refused_us = now_us;
            note_lost_refused(xds, type, request);
        }
        return;
    }
    drop_older(type, flight);
    udpai_lost_answered(&type->lost, nonce);
    if (request->is_refusal) {
        type->refused_us = now_us;
        udpai_meter_add(type->traffic->nacks, 1);
        note_refused(xds, type, flight, request);
    } else {
        note_acknowledged(type, flight, now_us);
        udpai_meter_add(type->traffic->acks, 1);
    }
    free_flight(type, flight);
    if (!request->is_refusal && !type->named && type->globs.n == 0) /* parts share the refusals */
        udpai_client_state_settle(udpai_subscriber_find(&xds->subscriber, request->type_url),
                                  &type->refusals, now_us);
}
