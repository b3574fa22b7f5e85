/* SPDX-License-Identifier: Apache-2.0 */
/* What became of what was sent. Each response has a nonce, each request may answer one: by
 * error_detail alone it is a refusal. An answer is counted and shown, and changes nothing of what
 * is sent: what was refused goes out again when it has changed, not before. */
#include "base/alloc.h"
#include "wire/compose.h"
#include "xds/xds_internal.h"

static void
free_flight(udpai_xds_type *type, udpai_xds_in_flight *flight)
{
    udpai_list_remove(&flight->node);
    type->n_in_flight--;
    udpai_listing_unref(flight->listing);
    udpai_free(flight);
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
    for (size_t i = 0; i < type->unnameable.n; i++)
        udpa_bytes_unref(type->unnameable.items[i]);
    udpai_vector_done(&type->unnameable);
    udpai_refused_done(&type->refused);
    udpa_error_unref(type->last_error);
    udpai_free(type);
}

/* ---- sent ---- */

void
udpai_xds_note_sent(udpai_subscription *subscription, uint64_t nonce, udpai_body *body)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    type->is_answered = true;
    type->n_resources += body->resources.n - body->n_hidden;
    type->n_removals += body->removed.n;
    type->n_hidden = body->n_hidden;
    if (body->version.len == sizeof(type->version_sent)) {
        memcpy(type->version_sent, body->version.data, body->version.len);
        type->has_sent = true;
    }
    /* Without memory its answer will not be recognised. */
    udpai_xds_in_flight *flight = udpai_alloc(sizeof(*flight));
    if (!flight)
        return;
    flight->nonce = nonce;
    flight->n_resources = body->resources.n - body->n_hidden;
    flight->has_version = body->version.len == sizeof(flight->version);
    if (flight->has_version)
        memcpy(flight->version, body->version.data, body->version.len);
    if (body->resources.n <= UDPAI_REFUSED_KEPT)
        flight->listing = udpai_body_list(body);
    udpai_list_init(&flight->node);
    udpai_list_append(&type->in_flight, &flight->node);
    if (++type->n_in_flight > UDPAI_XDS_IN_FLIGHT_MAX)
        free_flight(type, oldest_flight(type));
}

/* ---- answered ---- */

/* Clients answer in order: of what is older than an answer, no answer will come. NULL: the nonce is
 * none of ours, or stale. */
static udpai_xds_in_flight *
find_flight(udpai_xds_type *type, uint64_t nonce)
{
    udpai_xds_in_flight *found = NULL;
    UDPAI_LIST_FOREACH (node, &type->in_flight) {
        udpai_xds_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_xds_in_flight, node);
        if (flight->nonce == nonce)
            found = flight;
    }
    while (found && oldest_flight(type) != found)
        free_flight(type, oldest_flight(type));
    return found;
}

static void
note_acknowledged(udpai_xds_type *type, const udpai_xds_in_flight *flight)
{
    type->n_acknowledged += flight->n_resources;
    if (!flight->has_version)
        return;
    memcpy(type->version_acknowledged, flight->version, sizeof(flight->version));
    type->has_acknowledged = true;
}

/* The client says of the whole response what is wrong. With few resources in it, they are shown
 * beside the reason; with many, the reason must do. */
static void
note_refused(udpai_xds_type *type,
             const udpai_xds_in_flight *flight,
             const udpai_xds_request *request)
{
    const udpai_listing *listing = flight->listing;
    udpa_err code = udpa_err_from_grpc(request->error_code);
    udpa_error *error = udpa_error_new(code == UDPA_OK ? UDPA_ERR_UNKNOWN : code, NULL, "%.*s",
                                       (int)udpai_min_size(request->error_text.len, 4096),
                                       request->error_text.data);
    type->n_refused += flight->n_resources;
    for (size_t i = 0; listing && i < listing->n; i++)
        udpai_refused_add(&type->refused, listing->resources[i].name, listing->resources[i].version,
                          error);
    udpa_error_unref(type->last_error);
    type->last_error = error;
}

void
udpai_xds_note_answer(udpai_xds_type *type, const udpai_xds_request *request)
{
    uint64_t nonce;
    if (!udpai_nonce_parse(request->nonce, &nonce))
        return;
    udpai_xds_in_flight *flight = find_flight(type, nonce);
    if (!flight)
        return;
    if (request->is_refusal)
        note_refused(type, flight, request);
    else
        note_acknowledged(type, flight);
    free_flight(type, flight);
}
