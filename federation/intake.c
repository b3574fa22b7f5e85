/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in what peers publish, message by message. */
#include "federation/absence.h"
#include "federation/access.h"
#include "federation/events.h"
#include "federation/fault.h"
#include "federation/outlived.h"
#include "federation/publishers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "federation/provider.h"
#include "federation/traces.h"

/* ---- finding entries ---- */

static int
compare_entries(const void *a, const void *b, void *publication)
{
    const udpai_publication *owner = publication;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const udpa_resource *x = owner->entries.items[i].resource,
                        *y = owner->entries.items[k].resource;
    int order = udpai_str_cmp(udpai_resource_name(x), udpai_resource_name(y));
    if (order == 0)
        order = udpai_str_cmp(udpai_resource_type_url(x), udpai_resource_type_url(y));
    return order ? order : (i > k) - (i < k);
}

static bool
index_entries(udpai_entry_index *index, udpai_publication *publication)
{
    index->publication = publication;
    index->n = publication->entries.n;
    index->order = udpai_alloc_array(index->n, sizeof(*index->order));
    for (size_t i = 0; index->order && i < index->n; i++)
        index->order[i] = (uint32_t)i;
    if (index->order && index->n > 1)
        qsort_r(index->order, index->n, sizeof(*index->order), compare_entries, publication);
    return index->order != NULL;
}

static const udpai_publication_entry *
indexed(const udpai_entry_index *index, size_t at)
{
    return &index->publication->entries.items[index->order[at]];
}

bool
udpai_intake_has_entry(const udpai_intake *intake, udpai_str type_url, udpai_str name)
{
    const udpai_entry_index *index = &intake->index;
    size_t low = 0, high = index->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const udpa_resource *at = indexed(index, middle)->resource;
        int order = udpai_str_cmp(udpai_resource_name(at), name);
        if (order == 0)
            order = udpai_str_cmp(udpai_resource_type_url(at), type_url);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* ---- the whole message ---- */

/* The first of two equal entries applies. */
static void
refuse_repeated(const udpai_entry_index *index, udpai_publication *publication)
{
    for (size_t at = 1; at < index->n; at++) {
        const udpa_resource *before = indexed(index, at - 1)->resource;
        udpai_publication_entry *entry = &publication->entries.items[index->order[at]];
        if (udpai_str_eq(udpai_resource_name(before), udpai_resource_name(entry->resource)) &&
            udpai_str_eq(udpai_resource_type_url(before), udpai_resource_type_url(entry->resource)))
            udpai_publication_refuse(
                &entry->error, udpa_error_new(UDPA_ERR_EXISTS, NULL,
                                              "'%s' occurs twice in this message: the first one "
                                              "applies",
                                              udpa_resource_name(entry->resource)));
    }
}

/* A server of xDS sends no name. */
static udpai_str
name_of(const udpai_peer *peer)
{
    udpai_str name = udpai_peer_name(peer);
    return name.len == 0 && peer->source ? udpai_source_name(peer->source) : name;
}

/* Of one type there are mostly many, one behind the other. */
typedef struct update_count {
    udpai_meters *meters;
    udpai_str type_url;
    udpai_meter *accepted; /* of this type; NULL: of none yet */
} update_count;

static void
count_update(update_count *count, udpai_str type_url, const udpa_error *error)
{
    if (error) {
        udpai_str code = udpai_metric_code(udpa_error_code(error));
        udpai_meter_add(udpai_meters_get(count->meters, UDPAI_METRIC_UPDATES_REJECTED, code), 1);
        return;
    }
    if (!count->accepted || !udpai_str_eq(type_url, count->type_url))
        count->accepted = udpai_meters_get(count->meters, UDPAI_METRIC_UPDATES_ACCEPTED, type_url);
    count->type_url = type_url;
    udpai_meter_add(count->accepted, 1);
}

static void
count_updates(const udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    update_count count = {.meters = intake->receiver->context->meters};
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        if (entry->error || (!entry->is_refresh && !entry->is_ignored))
            count_update(&count, udpai_resource_type_url(entry->resource), entry->error);
    }
    for (size_t i = 0; i < publication->removals.n; i++)
        count_update(&count, publication->type_url, publication->removals.items[i].error);
}

static void
note_limit(const udpai_intake *intake, const udpa_error *error, const udpa_resource *resource)
{
    udpai_str name = name_of(intake->peer);
    if (udpa_error_code(error) == UDPA_ERR_LIMIT)
        udpai_context_note(intake->receiver->context, UDPAI_NOTE_LIMIT_REACHED, UDPA_LOG_WARNING,
                           UDPAI_ABOUT(UDPAI_PEER_FIELDS(intake->peer),
                                       {UDPAI_LOG_TYPE, intake->publication->type_url},
                                       {UDPAI_LOG_NAME, udpai_resource_name(resource)},
                                       {UDPAI_LOG_CODE, udpai_log_code(error)}),
                           "rejected from %.*s: %s", UDPAI_SHOWN(name), udpa_error_message(error));
}

static void
log_refused(udpai_intake *intake)
{
    udpai_receiver *receiver = intake->receiver;
    unsigned n_suppressed;
    for (size_t i = 0; i < intake->publication->entries.n; i++) {
        udpa_error *error = intake->publication->entries.items[i].error;
        if (error && udpai_intake_is_from_source(intake))
            udpai_fault_of_resource(intake->peer->source, error,
                                    intake->publication->entries.items[i].resource);
        if (error)
            note_limit(intake, error, intake->publication->entries.items[i].resource);
        if (!error || !udpai_log_allow(&receiver->context->refused_log,
                                       udpai_context_now(receiver->context), &n_suppressed))
            continue;
        udpai_str name = name_of(intake->peer);
        udpai_log_about(
            UDPA_LOG_WARNING, "federation",
            UDPAI_ABOUT(UDPAI_PEER_FIELDS(intake->peer),
                        {UDPAI_LOG_TYPE, intake->publication->type_url},
                        {UDPAI_LOG_NAME,
                         udpai_resource_name(intake->publication->entries.items[i].resource)},
                        {UDPAI_LOG_VERSION,
                         udpai_resource_version(intake->publication->entries.items[i].resource)},
                        {UDPAI_LOG_CODE, udpai_log_code(error)}),
            "rejected from %.*s: %s (%u more not shown)", (int)name.len, name.data,
            udpa_error_message(error), n_suppressed);
    }
}

/* What was amiss with resources that are removed, or not there in a state that names all. */
static void
end_faults(const udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    udpai_source *source = intake->peer->source;
    if (publication->state_of_the_world)
        udpai_fault_of_resources_over(source, publication->type_url, (udpai_str){0});
    for (size_t i = 0; i < publication->removals.n; i++)
        if (!publication->removals.items[i].error)
            udpai_fault_of_resources_over(source, publication->type_url,
                                          publication->removals.items[i].name);
}

/* What was refused is not sent again on this stream, though it is not the sender's fault. */
static void
note_lost(const udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_error *error = publication->entries.items[i].error;
        if (error && udpa_error_code(error) == UDPA_ERR_NOMEM)
            udpai_source_lost_update(intake->peer->source);
    }
}

static void
take_entry(udpai_intake *intake, udpai_publication_entry *entry)
{
    if (entry->error || entry->is_ignored)
        return;
    if (udpai_resource_is_event(entry->resource)) {
        udpai_events_take(intake, entry);
        return;
    }
    bool of_source = udpai_intake_is_from_source(intake);
    if (!entry->is_refresh && of_source)
        udpai_source_has_sent(intake->peer->source, entry->resource);
    if (!entry->is_refresh && of_source && udpai_resource_do_not_cache(entry->resource))
        udpai_source_sent_uncached(intake->peer->source, entry->resource);
    if (entry->is_refresh)
        udpai_intake_refresh(intake, entry);
    else
        udpai_intake_payload(intake, entry);
    if (of_source && !entry->error) {
        udpai_absence_over(intake->peer->source, entry->resource);
        udpai_fault_of_resources_over(intake->peer->source,
                                      udpai_resource_type_url(entry->resource),
                                      udpai_resource_name(entry->resource));
    }
}

/* What a peer publishes unasked is its own as long as it has the same name and id, whatever the
 * stream. So of one node each replica has its own. */
udpai_origin *
udpai_intake_origin(udpai_receiver *receiver, udpai_peer *peer)
{
    if (udpai_peer_source(peer))
        return udpai_source_origin(peer->source);
    if (peer->origin)
        return peer->origin;
    peer->origin =
        udpai_publisher_origin(receiver->context, udpai_identity_name(peer->identity), peer->id);
    if (peer->origin) {
        udpai_origin_ref(peer->origin);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *instance = NULL;
        udpai_str which = peer->info ? udpai_node_info_instance(peer->info) : peer->id;
        udpai_origin_set_durable(peer->origin, receiver->context->is_durable);
        udpai_access_know(receiver->access, peer->origin, peer->identity);
        if (peer->is_node && udpa_bytes_new(&instance, which.data, which.len) == UDPA_OK)
            udpai_origin_set_node(receiver->context->store, peer->origin, instance);
    }
    return peer->origin;
}

/* What is to be sent, logged and counted. */
static void
finish(udpai_intake *intake)
{
    udpai_receiver *receiver = intake->receiver;
    udpai_source *source = intake->peer->source;
    udpai_intake_ask_unmatched(intake);
    udpai_outlived_send(intake);
    if (udpai_providers_named_are_waiting(receiver->providers))
        udpai_context_touch(receiver->context);
    if (udpai_intake_is_from_source(intake))
        note_lost(intake);
    if (udpai_intake_is_from_source(intake))
        udpai_source_received(source, intake->publication);
    if (source)
        udpai_source_count(source, intake->publication);
    count_updates(intake);
    log_refused(intake);
}

void
udpai_intake_take(udpai_receiver *receiver,
                  udpai_peer *peer,
                  udpai_publication *publication,
                  udpai_staging *staging)
{
    if (peer->is_replaced) { /* its contributions come on its other stream */
        udpai_publication_refuse_all(publication, UDPA_ERR_ABORTED,
                                     "the peer has begun another stream");
        return;
    }
    udpai_intake intake = {
        .receiver = receiver,
        .peer = peer,
        .origin = udpai_intake_origin(receiver, peer),
        .publication = publication,
        .staging = staging,
    };
    if (!intake.origin || !index_entries(&intake.index, publication)) {
        udpai_publication_refuse_all(publication, UDPA_ERR_NOMEM, "out of memory");
        if (udpai_intake_is_from_source(&intake))
            udpai_source_lost_update(peer->source);
        return;
    }
    refuse_repeated(&intake.index, publication);
    if (!publication->is_trial)
        udpai_traces_begin(receiver->traces, &publication->trace, udpai_peer_name(peer));
    if (udpai_intake_is_from_source(&intake) && udpai_origin_has_absent(intake.origin))
        udpai_source_touch(peer->source); /* what is held may end */
    udpai_intake_removals(&intake);
    if (publication->state_of_the_world)
        udpai_intake_state(&intake);
    if (udpai_intake_is_from_source(&intake))
        end_faults(&intake);
    for (size_t i = 0; i < publication->entries.n; i++)
        take_entry(&intake, &publication->entries.items[i]);
    if (!publication->is_trial) {
        udpai_traces_end(receiver->traces);
        finish(&intake);
    }
    udpai_publication_free(intake.outlived);
    udpai_free(intake.index.order);
}
