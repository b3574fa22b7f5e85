/* SPDX-License-Identifier: Apache-2.0 */
/* What the node reports of itself, as resources of udpa.status.v1 in the namespace udpa.node.
 *
 * Describing every session costs something, so it is done only while such a type has a
 * subscriber: at once, then ten times a second, or less often where there are many sessions. Before
 * the first description nothing is reported as missing, so that each subscriber gets all of it. */
#include "endpoint/status.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "endpoint/host.h"
#include "endpoint/spread.h"
#include "endpoint/stream_counts.h"
#include "federation/problems.h"
#include "loop/clock.h"
#include "session/status.h"
#include "wire/entry.h"

#define TYPE_PREFIX "type.googleapis.com/udpa.status.v1."
#define INTERVAL_MIN_MS 100  /* a millisecond for each session, from … */
#define INTERVAL_MAX_MS 1000 /* … to */

static const char *const types[] = {UDPAI_TYPE_NODE_STATUS, UDPAI_TYPE_SOURCE_STATUS,
                                    UDPAI_TYPE_SESSION_STATUS, UDPAI_TYPE_REPLICA_STATUS};

enum {
    NODE,
    SOURCE,
    SESSION,
    REPLICA
};

typedef UDPAI_VECTOR(udpa_bytes *) text_list;

typedef struct udpai_own_status {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_timer timer;
    size_t n_interested;
    udpa_bytes *node_id;
    udpa_bytes *version, *name_space;
    int64_t started_us;
    size_t n_sessions;
    text_list problems, among_nodes;
    udpa_bytes *(*describe_more)(const void *userdata); /* NULL: there is nothing to add */
    const void *describe_userdata;
    /* What may change while the status is written is looked at once: its size depends on it. */
    udpai_stream_counts counts;
    udpa_bytes *more; /* NULL: nothing */
} udpai_own_status;

typedef UDPAI_VECTOR(udpa_resource *) resource_list;

/* ---- resources ---- */

static void
free_list(resource_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        udpa_resource_unref(list->items[i]);
    udpai_vector_done(list);
}

udpa_resource *
udpai_own_resource(const char *type_url, udpai_str name, udpa_bytes *body)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(udpai_str_from(type_url), udpai_bytes_view(body));
    const udpai_resource_parts parts = {.name = name, .any = any};
    udpa_resource *resource = NULL;
    if (!any || udpai_resource_parts_check(&parts, NULL) != UDPA_OK ||
        udpai_resource_make(&resource, &parts) != UDPA_OK)
        return NULL;
    return resource;
}

/* Names it udpa.node/<node id>/<kind>[/<which>]. Without memory it is left out until the next time.
 */
static void
add(const udpai_own_status *status,
    resource_list *list,
    int type,
    udpai_str which,
    udpa_bytes *body)
{
    static const char *const kinds[] = {"node", "source", "session", "replica"};
    udpai_strbuf name = {0};
    udpai_strbuf_puts(&name, UDPAI_NODE_NAMESPACE "/");
    udpai_strbuf_str(&name, udpai_bytes_view(status->node_id));
    udpai_strbuf_printf(&name, "/%s%s", kinds[type], which.len ? "/" : "");
    udpai_strbuf_str(&name, which);
    udpa_resource *resource = body && !udpai_strbuf_failed(&name)
                                  ? udpai_own_resource(types[type], udpai_strbuf_view(&name), body)
                                  : NULL;
    if (resource && !udpai_vector_push(list, resource))
        udpa_resource_unref(resource);
    udpai_strbuf_done(&name);
}

static void
set(udpai_own_status *status, int type, resource_list *list)
{
    if (udpai_node_set_own(udpai_endpoint_node(status->endpoint), udpai_str_from(types[type]),
                           list->items, list->n) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status", "the status of this node is not complete: %s",
                  udpa_err_text(UDPA_ERR_NOMEM));
    free_list(list);
}

/* ---- sessions ---- */

static udpai_str
session_id(const udpa_bytes *status)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && field.type == UDPAI_WIRE_BYTES)
            return field.bytes;
    return UDPAI_STR("");
}

static void
set_sessions(udpai_own_status *status, const udpai_report *report)
{
    resource_list list = {0};
    for (size_t i = 0; i < report->statuses.n; i++)
        add(status, &list, SESSION, session_id(report->statuses.items[i]),
            report->statuses.items[i]);
    status->n_sessions = report->statuses.n;
    set(status, SESSION, &list);
}

/* ---- sources ---- */

struct sources {
    const udpai_own_status *status;
    resource_list list;
};

static void
add_source(void *userdata, udpai_str name, udpa_bytes *body)
{
    struct sources *sources = userdata;
    add(sources->status, &sources->list, SOURCE, name, body);
}

static void
set_sources(udpai_own_status *status)
{
    struct sources sources = {status, {0}};
    if (udpai_node_visit_sources(udpai_endpoint_node(status->endpoint), add_source, &sources) !=
        UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status", "some sources are left out of the status: %s",
                  udpa_err_text(UDPA_ERR_NOMEM));
    set(status, SOURCE, &sources.list);
}

/* ---- replicas ---- */

static void
put_hold(udpai_proto_writer *writer, const udpai_hold *hold)
{
    const udpai_hold_difference *difference = &hold->difference;
    udpai_proto_put_varint_opt(writer, 1, hold->is_listed);
    udpai_proto_put_varint_opt(writer, 2, difference->n_missing);
    udpai_proto_put_varint_opt(writer, 3, difference->n_older);
    udpai_proto_put_varint_opt(writer, 4, difference->n_newer);
    udpai_proto_put_varint_opt(writer, 5, difference->n_other);
    udpai_proto_put_varint_opt(writer, 6, difference->n_returned);
    for (size_t i = 0; i < hold->n_names; i++)
        udpai_proto_put_bytes(writer, 7, udpai_bytes_view(hold->names[i]));
    if (hold->next)
        udpai_proto_put_bytes(writer, 8, udpai_bytes_view(hold->next));
    udpai_proto_put_varint_opt(writer, 9, difference->n_locked);
}

static void
put_own_state(udpai_proto_writer *writer, const udpai_replica_status *status)
{
    udpai_proto_put_varint_opt(writer, 7, true);
    udpai_proto_put_varint_opt(writer, 8, (uint64_t)status->state + 1);
    if (status->since_us)
        udpai_timestamp_put(writer, 9, status->since_us);
    const udpa_error *why = status->why ? status->why : status->locked;
    if (why)
        udpai_proto_put_bytes(writer, 10, udpai_str_from(udpa_error_message(why)));
    udpai_proto_put_varint_opt(writer, 11, status->n_hidden);
    udpai_proto_put_varint_opt(writer, 12, status->n_overdue);
    udpai_proto_put_varint_opt(writer, 20, (uint64_t)status->revision);
    if (!status->hold)
        return;
    udpai_proto_writer size = {0};
    put_hold(&size, status->hold);
    udpai_proto_put_head(writer, 21, size.size);
    put_hold(writer, status->hold);
}

/* With spaces between them. */
static void
put_words(udpai_proto_writer *writer, uint32_t number, const udpa_bytes *words)
{
    udpai_str rest = words ? udpai_bytes_view(words) : (udpai_str){0}, word;
    while (rest.len) {
        if (!udpai_str_cut(&rest, ' ', &word)) {
            word = rest;
            rest.len = 0;
        }
        if (word.len)
            udpai_proto_put_bytes(writer, number, word);
    }
}

static void
put_files(udpai_proto_writer *writer, uint32_t number, const udpa_bytes *files)
{
    udpai_str rest = files ? udpai_bytes_view(files) : (udpai_str){0}, line, digest;
    while (udpai_str_cut(&rest, '\n', &line)) {
        udpai_proto_writer size = {0};
        if (!udpai_str_cut(&line, ' ', &digest))
            continue;
        udpai_proto_put_bytes(&size, 1, line);
        udpai_proto_put_bytes(&size, 2, digest);
        udpai_proto_put_head(writer, number, size.size);
        udpai_proto_put_bytes(writer, 1, line);
        udpai_proto_put_bytes(writer, 2, digest);
    }
}

struct replica {
    const udpai_replica_status *status;
    const udpai_replica_member *member; /* NULL: this one has no place in etcd */
    int64_t revision;                   /* of that one */
    uint64_t n_own, share;              /* streams */
};

static void
put_replica(udpai_proto_writer *writer, const void *what)
{
    const struct replica *replica = what;
    const udpai_replica_member *member = replica->member;
    if (member) {
        udpai_proto_put_bytes(writer, 1, udpai_bytes_view(member->id));
        udpai_proto_put_varint_opt(writer, 2, member->place);
        udpai_proto_put_bytes(writer, 3, udpai_bytes_view(member->version));
        udpai_proto_put_bytes(writer, 4, udpai_bytes_view(member->address));
        udpai_proto_put_bytes(writer, 5, udpai_bytes_view(member->config));
        udpai_proto_put_varint_opt(writer, 6, (uint64_t)member->revision);
    } else {
        udpai_proto_put_varint_opt(writer, 6, (uint64_t)replica->revision);
    }
    bool is_own = !member || member->is_own;
    if (is_own)
        put_own_state(writer, replica->status);
    udpai_proto_put_varint_opt(writer, 13,
                               member && member == udpai_replica_status_first(replica->status));
    udpai_proto_put_varint_opt(writer, 14, is_own ? replica->n_own : member->n_streams);
    udpai_proto_put_varint_opt(writer, 15, replica->share);
    put_words(writer, 16, member ? member->keys : NULL);
    put_words(writer, 17, member ? member->missing : NULL);
    put_files(writer, 18, member ? member->files : NULL);
    if (is_own)
        udpai_proto_put_varint_opt(writer, 19, replica->status->n_files_waiting);
}

static void
set_replicas(udpai_own_status *status)
{
    resource_list list = {0};
    const udpai_replica_status *replicas =
        udpai_node_replica_status(udpai_endpoint_node(status->endpoint));
    bool has_own = !replicas;
    udpai_service *spread = udpai_endpoint_service(status->endpoint, UDPAI_PLACE_SPREAD);
    uint64_t n_own = udpai_spread_service_count(spread);
    const udpai_spread_facts facts = udpai_spread_service_facts(spread);
    for (size_t i = 0; replicas && i < replicas->n_members; i++) {
        const struct replica one = {replicas, &replicas->members[i], 0, n_own, facts.share};
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_proto_encode(put_replica, &one);
        add(status, &list, REPLICA, udpai_bytes_view(one.member->id), body);
        has_own |= one.member->is_own;
    }
    if (!has_own) {
        udpai_node *node = udpai_endpoint_node(status->endpoint);
        const struct replica own = {replicas, NULL, udpai_node_position(node).revision, n_own,
                                    facts.share};
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_proto_encode(put_replica, &own);
        add(status, &list, REPLICA, UDPAI_STR("this"), body);
    }
    set(status, REPLICA, &list);
}

/* ---- the node ---- */

struct type_of_node {
    udpai_proto_writer *writer;
    const udpai_settled_facts *facts;
};

static void
put_unsettled(udpai_proto_writer *writer, const udpai_settled_facts *facts, udpai_str type_url)
{
    for (size_t i = 0; facts && i < facts->n_missing; i++) {
        const udpai_unsettled *missing = &facts->missing[i];
        bool is_of_type = missing->type_url.len == 0 || udpai_str_eq(missing->type_url, type_url);
        if (is_of_type && !missing->by_name && udpai_settled_is_waited_for(facts, missing))
            udpai_proto_put_bytes(writer, 3, missing->source);
    }
}

static void
put_type_fields(udpai_proto_writer *writer,
                const udpai_settled_facts *facts,
                udpai_str type_url,
                size_t n_effective)
{
    udpai_proto_put_bytes(writer, 1, type_url);
    udpai_proto_put_varint_opt(writer, 2, n_effective);
    put_unsettled(writer, facts, type_url);
}

static bool
put_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    struct type_of_node *type = userdata;
    if (udpai_str_starts(type_url, UDPAI_STR(TYPE_PREFIX)))
        return true; /* a status does not describe itself: it would change each time it is made */
    udpai_proto_writer size = {0};
    put_type_fields(&size, type->facts, type_url, n_effective);
    udpai_proto_put_head(type->writer, 4, size.size);
    put_type_fields(type->writer, type->facts, type_url, n_effective);
    return true;
}

struct search {
    udpai_str type_url;
    bool is_found;
};

static bool
search_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    struct search *search = userdata;
    (void)n_effective;
    search->is_found = udpai_str_eq(type_url, search->type_url);
    return !search->is_found;
}

/* Was it put because the store has it, or a source before this one waits for it? */
static bool
is_put(const udpai_store *store, const udpai_settled_facts *facts, size_t index)
{
    struct search search = {facts->missing[index].type_url, false};
    for (size_t i = 0; i < index; i++)
        if (udpai_settled_is_waited_for(facts, &facts->missing[i]) &&
            udpai_str_eq(facts->missing[i].type_url, search.type_url))
            return true;
    udpai_store_visit_types(store, search_type, &search);
    return search.is_found;
}

/* The types that there is nothing of, and something may come. */
static void
put_awaited_types(struct type_of_node *type, const udpai_store *store)
{
    for (size_t i = 0; type->facts && i < type->facts->n_missing; i++)
        if (udpai_settled_is_waited_for(type->facts, &type->facts->missing[i]) &&
            !is_put(store, type->facts, i))
            put_type(type, type->facts->missing[i].type_url, 0);
}

static void
put_counter(udpai_proto_writer *writer, const char *name, uint64_t value)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(&size, 1, udpai_str_from(name));
    udpai_proto_put_varint(&size, 2, value);
    udpai_proto_put_head(writer, 6, size.size);
    udpai_proto_put_bytes(writer, 1, udpai_str_from(name));
    udpai_proto_put_varint(writer, 2, value);
}

static void
put_node(udpai_proto_writer *writer, const void *what)
{
    const udpai_own_status *status = what;
    udpai_node *node = udpai_endpoint_node(status->endpoint);
    const udpai_settled *settled = udpai_node_settled(node);
    udpai_proto_put_bytes(writer, 1, udpai_bytes_view(status->node_id));
    udpai_proto_put_bytes(writer, 2, udpai_bytes_view(status->version));
    udpai_timestamp_put(writer, 3, status->started_us);
    struct type_of_node type = {writer, settled ? udpai_settled_facts_of(settled) : NULL};
    udpai_store_visit_types(udpai_node_store(node), put_type, &type);
    put_awaited_types(&type, udpai_node_store(node));
    udpai_proto_put_varint_opt(writer, 5, status->n_sessions);
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        put_counter(writer, udpai_stream_counter_name(i), status->counts.n[i]);
    put_counter(writer, "loops", udpai_node_n_loops(node));
    put_counter(writer, "publications_denied", udpai_node_n_denied(node));
    put_counter(writer, "signatures_refused", udpai_node_n_bad_signatures(node));
    put_counter(writer, "signatures_made", udpai_node_n_signed(node));
    for (size_t i = 0; i < status->problems.n; i++)
        udpai_proto_put_bytes(writer, 7, udpai_bytes_view(status->problems.items[i]));
    for (size_t i = 0; i < status->among_nodes.n; i++)
        udpai_proto_put_bytes(writer, 7, udpai_bytes_view(status->among_nodes.items[i]));
    udpai_proto_put_bytes_opt(writer, 9, udpai_bytes_view(status->name_space));
    if (status->more)
        udpai_proto_put_raw(writer, udpai_bytes_view(status->more));
}

static void
forget_texts(text_list *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        udpa_bytes_unref(texts->items[i]);
    udpai_vector_done(texts);
}

/* Without memory some are left out. */
static void
note_problem(void *userdata, const char *text)
{
    udpa_bytes *noted = NULL;
    if (udpa_bytes_new(&noted, text, strlen(text)) == UDPA_OK &&
        !udpai_vector_push((text_list *)userdata, noted))
        udpa_bytes_unref(noted);
}

static void
set_node(udpai_own_status *status)
{
    resource_list list = {0};
    udpai_node_visit_problems(udpai_endpoint_node(status->endpoint), note_problem,
                              &status->among_nodes);
    status->counts = udpai_endpoint_stream_counts(status->endpoint);
    if (status->describe_more)
        status->more = status->describe_more(status->describe_userdata);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_proto_encode(put_node, status);
    status->more = udpa_bytes_unref(status->more);
    forget_texts(&status->among_nodes);
    add(status, &list, NODE, UDPAI_STR(""), body);
    set(status, NODE, &list);
}

/* ---- when ---- */

static void
expect(udpai_own_status *status, bool expected)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (udpai_node_expect_own(udpai_endpoint_node(status->endpoint), udpai_str_from(types[i]),
                                  expected) != UDPA_OK)
            udpai_log(UDPA_LOG_WARNING, "status", "%s", udpa_err_text(UDPA_ERR_NOMEM));
}

static void
ask(udpai_own_status *status)
{
    udpai_wheel *wheel = udpai_endpoint_wheel(status->endpoint);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_STATUS);
    if (order)
        udpai_endpoint_order(status->endpoint, order);
    uint64_t interval_ms = udpai_min_size(status->n_sessions, INTERVAL_MAX_MS);
    if (interval_ms < INTERVAL_MIN_MS)
        interval_ms = INTERVAL_MIN_MS;
    udpai_timer_set(wheel, &status->timer, wheel->now_ms + interval_ms);
}

static void
on_timer(udpai_timer *timer)
{
    ask(UDPAI_CONTAINER_OF(timer, udpai_own_status, timer));
}

static void
forget(udpai_own_status *status)
{
    udpai_timer_cancel(&status->timer);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        set(status, (int)i, &(resource_list){0});
    expect(status, true);
}

static void
take_interest(udpai_own_status *status, bool subscribed)
{
    if (subscribed && status->n_interested++ == 0)
        ask(status);
    else if (!subscribed && --status->n_interested == 0)
        forget(status);
}

static void
take_descriptions(udpai_own_status *status, const udpai_report *report)
{
    if (!status->n_interested)
        return; /* the client has left meanwhile */
    set_sessions(status, report);
    set_sources(status);
    set_replicas(status);
    set_node(status);
    expect(status, false);
}

static bool
is_own(udpai_str type_url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (udpai_str_eq(type_url, udpai_str_from(types[i])))
            return true;
    return false;
}

static udpai_own_status *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_own_status, service);
}

/* Has it a subscriber, has a description come? */
static bool
on_report(udpai_service *service, udpai_report *report)
{
    udpai_own_status *status = of(service);
    if (report->kind == UDPAI_REPORT_STATUS)
        take_descriptions(status, report);
    else if (report->kind == UDPAI_REPORT_INTEREST && is_own(report->subscription->type_url))
        take_interest(status, report->subscribed);
    return false; /* the node subscribes, too */
}

/* ---- problems ---- */

void
udpai_endpoint_set_problems(udpa_endpoint *endpoint, const char *const *texts, size_t n)
{
    udpai_service *service = udpai_endpoint_service(endpoint, UDPAI_PLACE_STATUS);
    if (!service)
        return;
    udpai_own_status *status = of(service);
    forget_texts(&status->problems);
    for (size_t i = 0; i < n; i++)
        note_problem(&status->problems, texts[i]);
}

/* ---- coming and going ---- */

static void
free_status(udpai_service *service)
{
    udpai_own_status *status = of(service);
    udpai_timer_cancel(&status->timer);
    forget_texts(&status->problems);
    udpa_bytes_unref(status->node_id);
    udpa_bytes_unref(status->version);
    udpa_bytes_unref(status->name_space);
    udpai_free(status);
}

udpa_err
udpai_own_status_new(udpai_service **ret_status,
                     udpa_endpoint *endpoint,
                     const udpai_endpoint_settings *settings)
{
    static const udpai_service_ops ops = {.on_report = on_report, .free = free_status};
    udpai_own_status *status = udpai_alloc(sizeof(*status));
    if (!status)
        return UDPA_ERR_NOMEM;
    udpai_str id = settings->node.id, version = udpai_str_from(settings->version);
    udpai_str name_space = udpai_str_from(settings->name_space ? settings->name_space : "");
    status->service.ops = &ops;
    status->endpoint = endpoint;
    status->started_us = udpai_wall_us();
    status->describe_more = settings->describe_more;
    status->describe_userdata = settings->describe_userdata;
    udpai_timer_init(&status->timer, on_timer);
    udpa_err err = udpa_bytes_new(&status->node_id, id.data, id.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&status->version, version.data, version.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&status->name_space, name_space.data, name_space.len);
    if (err != UDPA_OK) {
        free_status(&status->service);
        return err;
    }
    expect(status, true);
    *ret_status = &status->service;
    return UDPA_OK;
}
