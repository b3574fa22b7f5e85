/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a publisher: what we asked it for, what it publishes, and what we publish unasked. */
#include "session/udpa_internal.h"

#include "base/alloc.h"
#include "model/name.h"

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(item);
}

static udpai_asked *
find_asked(const udpai_udpa *udpa, udpai_str type_url)
{
    return udpai_map_get(&udpa->asked, type_url);
}

static void
free_names(udpai_asked_names *asked)
{
    for (size_t i = 0; i < asked->prefixes.n; i++)
        udpa_bytes_unref(asked->prefixes.items[i]);
    udpai_vector_done(&asked->prefixes);
    size_t at = 0;
    udpa_bytes *name;
    while ((name = udpai_map_next(&asked->names, &at)))
        udpa_bytes_unref(name);
    udpai_map_done(&asked->names);
}

static void
free_asked(udpai_asked *asked)
{
    free_names(&asked->now);
    free_names(&asked->ended);
    free_names(&asked->ended_before);
    udpa_bytes_unref(asked->type);
    udpai_free(asked);
}

static udpai_asked *
get_asked(udpai_udpa *udpa, udpai_str type_url)
{
    udpai_asked *asked = find_asked(udpa, type_url);
    if (asked)
        return asked;
    asked = udpai_alloc(sizeof(*asked));
    if (!asked)
        return NULL;
    udpai_map_init(&asked->now.names, name_key);
    udpai_map_init(&asked->ended.names, name_key);
    udpai_map_init(&asked->ended_before.names, name_key);
    if (udpa_bytes_new(&asked->type, type_url.data, type_url.len) == UDPA_OK &&
        udpai_map_add(&udpa->asked, asked))
        return asked;
    free_asked(asked);
    return NULL;
}

void
udpai_udpa_free_asked(udpai_udpa *udpa)
{
    size_t at = 0;
    udpai_asked *asked;
    while ((asked = udpai_map_next(&udpa->asked, &at)))
        free_asked(asked);
    udpai_map_done(&udpa->asked);
}

static bool
has_prefix(const udpai_asked_names *asked, udpai_str prefix)
{
    for (size_t i = 0; i < asked->prefixes.n; i++)
        if (udpai_str_eq(udpai_bytes_view(asked->prefixes.items[i]), prefix))
            return true;
    return false;
}

/* Takes a reference. */
static udpa_err
add_prefix(udpai_asked_names *asked, udpa_bytes *prefix)
{
    if (has_prefix(asked, udpai_bytes_view(prefix)))
        return UDPA_OK;
    if (!udpai_vector_push(&asked->prefixes, prefix))
        return UDPA_ERR_NOMEM;
    udpa_bytes_ref(prefix);
    return UDPA_OK;
}

/* The same. */
static udpa_err
add_name(udpai_asked_names *asked, udpa_bytes *name)
{
    if (udpai_map_get(&asked->names, udpai_bytes_view(name)))
        return UDPA_OK;
    if (!udpai_map_add(&asked->names, name))
        return UDPA_ERR_NOMEM;
    udpa_bytes_ref(name);
    return UDPA_OK;
}

static udpa_err
note(udpai_asked *asked, udpai_str text, bool is_prefix)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *copy = NULL;
    udpa_err err = udpa_bytes_new(&copy, text.data, text.len);
    if (err != UDPA_OK)
        return err;
    return is_prefix ? add_prefix(&asked->now, copy) : add_name(&asked->now, copy);
}

void
udpai_udpa_ask(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    udpai_asked *asked = get_asked(udpa, message->type_url);
    udpa_err err = asked ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++) {
        bool is_prefix = udpai_name_is_wildcard(message->names[i]);
        err = note(asked, is_prefix ? message->name_space : message->names[i], is_prefix);
    }
    (void)udpai_udpa_send(udpa, err == UDPA_OK ? udpai_subscribe_compose(message) : NULL);
}

/* The oldest are forgotten when there are too many. */
static udpai_asked_names *
ended_with_room(udpai_asked *asked)
{
    if (asked->ended.prefixes.n + asked->ended.names.n >= UDPAI_ASKED_ENDED_MAX) {
        free_names(&asked->ended_before);
        asked->ended_before = asked->ended;
        asked->ended = (udpai_asked_names){0};
        udpai_map_init(&asked->ended.names, name_key);
    }
    return &asked->ended;
}

/* Without memory what is on its way is refused: that is safe. */
static void
end_prefixes(udpai_asked *asked, udpai_str prefix)
{
    for (size_t i = asked->now.prefixes.n; i-- > 0;) {
        udpa_bytes *ended = asked->now.prefixes.items[i];
        if (prefix.len && !udpai_str_eq(udpai_bytes_view(ended), prefix))
            continue;
        (void)add_prefix(ended_with_room(asked), ended);
        udpai_vector_remove_unordered(&asked->now.prefixes, i);
        udpa_bytes_unref(ended);
    }
}

static void
end_name(udpai_asked *asked, udpai_str name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *ended = udpai_map_remove(&asked->now.names, name);
    if (ended)
        (void)add_name(ended_with_room(asked), ended);
}

/* To a peer that knows the public protocol alone the end of one wildcard is the end of all: the
 * name space is a field of ours, and one that reads it all the same must not take it otherwise. */
void
udpai_udpa_unask(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    udpai_asked *asked = find_asked(udpa, message->type_url);
    udpai_subscription_message copy = *message;
    if (!udpa->is_extended)
        copy.name_space = (udpai_str){"", 0};
    for (size_t i = 0; asked && i < copy.n_names; i++) {
        if (udpai_name_is_wildcard(copy.names[i]))
            end_prefixes(asked, copy.name_space);
        else
            end_name(asked, copy.names[i]);
    }
    (void)udpai_udpa_send(udpa, udpai_unsubscribe_compose(&copy));
}

/* ---- what the peer publishes ---- */

/* An answer to an alias comes under the resource's own name. */
static bool
has_alias(const udpai_asked_names *asked, const udpa_resource *resource)
{
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias = udpai_resource_alias(resource, i);
        if (udpai_map_get(&asked->names, alias))
            return true;
        if (!udpai_alias_is_pattern(alias))
            continue;
        size_t at = 0;
        const udpa_bytes *name;
        while ((name = udpai_map_next(&asked->names, &at)))
            if (udpai_alias_matches(alias, udpai_bytes_view(name)))
                return true;
    }
    return false;
}

/* A refresh has no aliases: of what was asked for by one it has the name alone. */
static bool
may_renew_alias(const udpai_asked_names *asked, const udpai_publication_entry *entry)
{
    return entry->is_refresh && asked->names.n > 0;
}

static bool
covers(const udpai_asked_names *asked, const udpai_publication_entry *entry)
{
    udpai_str name = udpai_resource_name(entry->resource);
    for (size_t i = 0; i < asked->prefixes.n; i++)
        if (udpai_prefix_covers(udpai_bytes_view(asked->prefixes.items[i]), name))
            return true;
    return udpai_map_get(&asked->names, name) || has_alias(asked, entry->resource) ||
           may_renew_alias(asked, entry);
}

/* Of a source we take what we asked for, nothing else. A refresh without a type has nothing that
 * was not sent before. */
static void
refuse_unasked(udpai_udpa *udpa, udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_publication_entry *entry = &publication->entries.items[i];
        udpai_str type_url = udpai_resource_type_url(entry->resource);
        if (type_url.len == 0)
            type_url = publication->type_url;
        if (entry->error || (entry->is_refresh && type_url.len == 0))
            continue;
        const udpai_asked *asked = find_asked(udpa, type_url);
        if (asked && covers(&asked->now, entry))
            continue;
        if (asked && (covers(&asked->ended, entry) || covers(&asked->ended_before, entry))) {
            entry->is_ignored = true;
            continue;
        }
        udpai_publication_refuse(
            &entry->error,
            udpa_error_new(UDPA_ERR_DENIED, NULL, "not subscribed: '%s' of type '%.*s'",
                           udpa_resource_name(entry->resource), (int)type_url.len, type_url.data));
    }
}

udpa_err
udpai_udpa_on_publication(udpai_udpa *udpa, udpai_publication *publication)
{
    size_t n = publication->entries.n, size = publication->size_bytes;
    if (udpa->is_source)
        refuse_unasked(udpa, publication);
    /* Anybody else could have each of its changes traced, or stop others from being so. */
    if (!udpai_identity_is_proven(udpa->session.info.identity))
        publication->trace = (udpai_trace){0};
    udpa_err err = udpai_session_report_publication(&udpa->session, publication);
    if (err != UDPA_OK)
        return err;
    udpa->n_received += n;
    udpa->n_pending++;
    udpa->pending_bytes += size;
    udpai_udpa_pace(udpa);
    return UDPA_OK;
}

/* UDPA_OK: there is none. */
static udpa_err
first_error(const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (publication->entries.items[i].error)
            return udpa_error_code(publication->entries.items[i].error);
    for (size_t i = 0; i < publication->removals.n; i++)
        if (publication->removals.items[i].error)
            return udpa_error_code(publication->removals.items[i].error);
    return UDPA_OK;
}

void
udpai_udpa_publication_done(udpai_udpa *udpa, udpai_publication *publication)
{
    udpa->n_pending--;
    udpa->pending_bytes -= publication->size_bytes;
    size_t texts_max =
        udpai_udpa_is_unread(udpa) ? UDPAI_LATE_RECEIPT_TEXTS_MAX : UDPAI_RECEIPT_TEXTS_MAX;
    if (publication->receipt_required) {
        udpai_meter_add(udpai_meters_get(udpai_hub_meters(udpa->session.hub), UDPAI_METRIC_RECEIPTS,
                                         udpai_metric_code(first_error(publication))),
                        1);
        (void)udpai_udpa_answer(udpa, udpai_receipt_compose(publication, texts_max));
    }
    udpai_udpa_pace(udpa);
}

/* ---- what we publish unasked ---- */

static udpa_bytes *
compose_publication(udpai_udpa *udpa, const udpai_publication *publication)
{
    UDPAI_VECTOR(udpai_publish_item) items = {0};
    UDPAI_VECTOR(udpai_str) removed = {0};
    UDPAI_VECTOR(udpa_resource *) stated = {0};
    udpa_bytes *message = NULL;
    if (udpai_vector_reserve(&items, publication->entries.n) &&
        udpai_vector_reserve(&removed, publication->removals.n) &&
        udpai_vector_reserve(&stated, publication->removals.n)) {
        for (size_t i = 0; i < publication->entries.n; i++) {
            const udpai_publication_entry *entry = &publication->entries.items[i];
            items.items[items.n++] = (udpai_publish_item){
                entry->resource,
                {.refresh = entry->is_refresh,
                 .extended = udpa->is_extended,
                 .ttl_ms = udpa_resource_ttl_ms(entry->resource)},
            };
        }
        for (size_t i = 0; i < publication->removals.n; i++) {
            removed.items[removed.n++] = publication->removals.items[i].name;
            stated.items[stated.n++] = publication->removals.items[i].statement;
        }
        const udpai_publish_plan plan = {
            .items = items.items,
            .n_items = items.n,
            .removed = removed.items,
            .n_removed = removed.n,
            .removals = udpa->is_extended ? stated.items : NULL,
            .receipt_required = publication->receipt_required,
            .is_trial = publication->is_trial,
            .type_url = udpa->is_extended ? publication->type_url : (udpai_str){0},
        };
        message = udpai_publish_compose_whole(&plan, ++udpa->last_nonce);
    }
    udpai_vector_done(&items);
    udpai_vector_done(&removed);
    udpai_vector_done(&stated);
    return message;
}

/* Another peer would ignore it, and send no receipt. */
static bool
can_try(const udpai_udpa *udpa)
{
    return udpa->is_extended && udpai_node_info_has_feature(udpa->peer, UDPAI_FEATURE_TRIAL);
}

static udpa_err
refuse_trial(udpai_udpa *udpa, udpai_order *order)
{
    udpai_report *report = udpai_report_new(UDPAI_REPORT_RECEIPT);
    if (!report) {
        udpai_session_finish(&udpa->session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
        return UDPA_ERR_NOMEM;
    }
    report->session = udpa->session.id;
    report->ticket = order->ticket;
    report->publication = UDPAI_TAKE(order->publication);
    udpai_publication_refuse_all(
        report->publication, UDPA_ERR_UNIMPLEMENTED,
        "the node does not know how to try a publication: it is older, or none of udpa");
    udpai_hub_report(udpa->session.hub, report);
    return UDPA_OK;
}

udpa_err
udpai_udpa_publish(udpai_udpa *udpa, udpai_order *order)
{
    if (order->publication->is_trial && !can_try(udpa))
        return refuse_trial(udpa, order);
    udpa_bytes *message = compose_publication(udpa, order->publication);
    udpa_err err = udpai_udpa_send_publication(udpa, message, udpa->last_nonce);
    if (err != UDPA_OK || !order->publication->receipt_required)
        return err;
    udpai_in_flight *flight = udpai_alloc_in(udpai_hub_memory(udpa->session.hub), sizeof(*flight));
    if (!flight) {
        udpai_session_finish(&udpa->session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
        return UDPA_ERR_NOMEM;
    }
    flight->nonce = udpa->last_nonce;
    flight->publication = UDPAI_TAKE(order->publication);
    flight->ticket = order->ticket;
    udpai_list_init(&flight->node);
    udpai_list_append(&udpa->in_flight, &flight->node);
    udpa->n_in_flight++;
    return UDPA_OK;
}

static udpai_in_flight *
find_published(udpai_udpa *udpa, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (node, &udpa->in_flight) {
        udpai_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_in_flight, node);
        if (flight->publication && flight->ticket == ticket)
            return flight;
    }
    return NULL;
}

static void
drop_unwritten(udpai_udpa *udpa, uint64_t nonce)
{
    UDPAI_LIST_FOREACH_SAFE (node, &udpa->controls) {
        udpai_control *control = UDPAI_LIST_ENTRY(node, udpai_control, node);
        if (control->nonce != nonce)
            continue;
        udpai_list_remove(&control->node);
        udpa->n_controls--;
        udpa_bytes_unref(udpai_udpa_control_take(udpa, control));
    }
}

/* A peer that sends no receipts, or does not even read, must not make us keep what nobody waits for
 * any more. */
void
udpai_udpa_forget(udpai_udpa *udpa, uint64_t ticket)
{
    udpai_in_flight *flight = find_published(udpa, ticket);
    if (!flight)
        return; /* the receipt was faster */
    udpai_report *report = udpai_report_new(UDPAI_REPORT_RECEIPT);
    if (!report) { /* then the end of the session must report it */
        udpai_session_finish(&udpa->session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
        return;
    }
    report->session = udpa->session.id;
    report->ticket = ticket;
    udpai_hub_report(udpa->session.hub, report);
    drop_unwritten(udpa, flight->nonce);
    udpai_in_flight_free(udpa, flight);
}
