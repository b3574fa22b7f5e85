/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/client_registry.h"

#include "base/alloc.h"
#include "base/map.h"
#include "session/status.h"
#include "wire/entry.h"
#include "xds/csds_internal.h"

/* The walk has a part of the time that answers have, and pauses, for it is in no hurry. */
#define WALKS 4
#define PAUSE_MS 2
#define RETRY_MS 1000 /* after lack of memory */

enum { /* field numbers of ClientStatus */
    NODE_ID = 1,
    NUMBER = 2,
    CLIENT_ID = 3,
    PROTOCOL = 4,
    ADDRESS = 5,
    IDENTITY = 6,
    SINCE = 7,
    CONFIG = 8,
    N_RESOURCES = 9,
    N_SYNCED = 10,
    N_ERRORS = 11,
    N_LEFT_OUT = 12,
    EPOCH = 13,
};

/* A client that was reported. */
typedef struct known {
    uint64_t number; /* of its first session */
    uint64_t digest;
    uint64_t pass; /* in which it was there last */
} known;

typedef struct registry {
    udpai_hub *hub;
    uint64_t ticket; /* 0: nothing subscribes to it */
    udpai_timer timer;
    udpai_csds_request request; /* about everybody */
    udpai_csds_consumer consumer;
    udpai_csds_walk walk;
    bool is_walking, was_whole; /* was_whole: all was reported once */
    uint64_t pass, began_ms;
    udpai_map clients;    /* known, by number */
    uint64_t number;      /* of the client that is looked at, */
    udpai_strbuf head;    /* and fields of what is reported of it */
    udpai_report *report; /* of the slice; NULL: nothing is to be reported yet */
} registry;

static udpai_str
known_key(const void *item)
{
    const known *client = item;
    return (udpai_str){(const char *)&client->number, sizeof(client->number)};
}

static known *
find(const registry *self, uint64_t number)
{
    return udpai_map_get(&self->clients, (udpai_str){(const char *)&number, sizeof(number)});
}

/* ---- what is reported ---- */

static bool
add_status(registry *self, udpa_bytes *status)
{
    if (!self->report)
        self->report = udpai_report_new(UDPAI_REPORT_CENSUS);
    if (status && self->report && udpai_vector_push(&self->report->statuses, status))
        return true;
    udpa_bytes_unref(status);
    return false;
}

/* Also, once, that this is all. */
static void
send(registry *self, bool is_whole)
{
    bool is_first = is_whole && !self->was_whole;
    if (!self->report && is_first)
        self->report = udpai_report_new(UDPAI_REPORT_CENSUS);
    udpai_report *report = UDPAI_TAKE(self->report);
    if (!report)
        return; /* nothing to report, or no memory: then it is whole the next time */
    self->was_whole |= is_first;
    report->ticket = self->ticket;
    report->session = udpai_hub_settings(self->hub)->first_session;
    report->subscribed = is_first;
    udpai_hub_report(self->hub, report);
}

static void
put_left(udpai_proto_writer *writer, const void *what)
{
    udpai_proto_put_varint(writer, NUMBER, ((const known *)what)->number);
}

/* Clients that were not seen in this pass. Without memory to report that they go with the next one.
 */
static void
report_left(registry *self)
{
    UDPAI_VECTOR(known *) left = {0};
    size_t at = 0;
    known *client;
    while ((client = udpai_map_next(&self->clients, &at)))
        if (client->pass != self->pass && !udpai_vector_push(&left, client))
            break;
    for (size_t i = 0; i < left.n; i++) {
        if (!add_status(self, udpai_proto_encode(put_left, left.items[i])))
            continue;
        udpai_map_remove(&self->clients, known_key(left.items[i]));
        udpai_free(left.items[i]);
    }
    udpai_vector_done(&left);
}

/* ---- one client ---- */

struct whole {
    const registry *self;
    udpai_str config;
    const udpai_csds_count *count;
};

static void
put_head(udpai_proto_writer *writer, const void *what)
{
    const udpai_session *session = what;
    const udpai_node_info *peer = session->ops->peer(session);
    const udpai_stream_info *info = &session->info;
    udpai_proto_put_bytes_opt(writer, NODE_ID,
                              udpai_node_info_reporter(udpai_hub_settings(session->hub)->info));
    udpai_proto_put_varint(writer, NUMBER, session->id);
    if (peer)
        udpai_proto_put_bytes_opt(writer, CLIENT_ID, udpai_node_info_parts(peer)->id);
    udpai_proto_put_bytes_opt(writer, PROTOCOL, udpai_str_from(session->ops->name));
    if (info->address)
        udpai_proto_put_bytes_opt(writer, ADDRESS, udpai_bytes_view(info->address));
    udpai_proto_put_bytes_opt(writer, IDENTITY, udpai_identity_name(info->identity));
    udpai_timestamp_put(writer, SINCE, session->since_us);
}

static void
put_whole(udpai_proto_writer *writer, const void *what)
{
    const struct whole *whole = what;
    const udpai_csds_count *count = whole->count;
    uint64_t n = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(count->of); i++)
        n += count->of[i];
    udpai_proto_put_raw(writer, udpai_strbuf_view(&whole->self->head));
    udpai_proto_put_bytes(writer, CONFIG, whole->config);
    udpai_proto_put_varint_opt(writer, N_RESOURCES, n);
    udpai_proto_put_varint_opt(writer, N_SYNCED, count->of[UDPAI_CSDS_SYNCED]);
    udpai_proto_put_varint_opt(writer, N_ERRORS, count->of[UDPAI_CSDS_ERROR]);
    udpai_proto_put_varint_opt(writer, N_LEFT_OUT, count->n_left_out);
    udpai_proto_put_varint(writer, EPOCH, whole->self->ticket);
}

static void
on_begin(void *userdata, const udpai_session *session)
{
    registry *self = userdata;
    udpai_proto_writer size = {0};
    self->number = session->id;
    self->head.len = 0;
    put_head(&size, session);
    udpai_proto_writer writer = {udpai_strbuf_extend(&self->head, size.size), 0};
    if (writer.at)
        put_head(&writer, session);
}

static known *
get(registry *self, bool *ret_new)
{
    known *client = find(self, self->number);
    *ret_new = !client;
    if (client)
        return client;
    client = udpai_alloc(sizeof(*client));
    if (!client)
        return NULL;
    client->number = self->number;
    if (udpai_map_add(&self->clients, client))
        return client;
    udpai_free(client);
    return NULL;
}

static bool
on_end(void *userdata, udpai_str config, const udpai_csds_count *count)
{
    registry *self = userdata;
    const struct whole whole = {self, config, count};
    bool is_new;
    if (udpai_strbuf_failed(&self->head)) {
        udpai_strbuf_done(&self->head);
        return false;
    }
    known *client = get(self, &is_new);
    if (!client)
        return false;
    client->pass = self->pass;
    if (!is_new && client->digest == count->digest)
        return true;
    if (add_status(self, udpai_proto_encode(put_whole, &whole))) {
        client->digest = count->digest;
        return true;
    }
    client->digest = ~count->digest;
    return false;
}

/* ---- all of them, again and again ---- */

static void
wake_in(registry *self, uint64_t ms)
{
    udpai_wheel *wheel = udpai_hub_wheel(self->hub);
    udpai_timer_set(wheel, &self->timer, wheel->now_ms + ms);
}

static void
end_walk(registry *self)
{
    udpai_csds_walk_done(&self->walk);
    self->is_walking = false;
}

/* A client that could not be reported is known by another digest than its own, and is reported the
 * next time. */
static void
try_again(registry *self)
{
    end_walk(self);
    send(self, false);
    wake_in(self, RETRY_MS);
}

static udpa_err
begin_walk(registry *self)
{
    if (self->is_walking)
        return UDPA_OK;
    self->walk.hub = self->hub;
    self->walk.request = &self->request;
    self->walk.viewer.excludes_contents = true;
    self->walk.consumer = &self->consumer;
    self->pass++;
    self->began_ms = udpai_hub_wheel(self->hub)->now_ms;
    self->is_walking = true;
    return udpai_csds_walk_begin(&self->walk);
}

static void
end_pass(registry *self)
{
    uint64_t now_ms = udpai_hub_wheel(self->hub)->now_ms, took_ms = now_ms - self->began_ms;
    end_walk(self);
    report_left(self);
    send(self, true);
    wake_in(self, took_ms * 5 < UDPAI_CENSUS_INTERVAL_MS ? UDPAI_CENSUS_INTERVAL_MS - took_ms
                                                         : took_ms * 4);
}

static void
on_timer(udpai_timer *timer)
{
    registry *self = UDPAI_CONTAINER_OF(timer, registry, timer);
    udpai_csds_progress progress;
    udpa_err err = begin_walk(self);
    if (err == UDPA_OK)
        err = udpai_csds_walk_on(&self->walk, WALKS, &progress);
    if (err != UDPA_OK) {
        try_again(self);
    } else if (progress == UDPAI_CSDS_OVER) {
        end_pass(self);
    } else {
        send(self, false);
        wake_in(self, PAUSE_MS);
    }
}

/* ---- coming and going ---- */

static void
forget(registry *self)
{
    size_t at = 0;
    known *client;
    udpai_timer_cancel(&self->timer);
    end_walk(self);
    self->report = udpai_report_free(self->report);
    while ((client = udpai_map_next(&self->clients, &at)))
        udpai_free(client);
    udpai_map_done(&self->clients);
    self->was_whole = false;
}

static void
order(void *watcher, const udpai_order *order)
{
    registry *self = watcher;
    forget(self);
    self->ticket = order->ticket;
    if (self->ticket)
        wake_in(self, 0);
}

static udpa_err
begin(void **ret_watcher, udpai_hub *hub)
{
    registry *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->hub = hub;
    self->consumer = (udpai_csds_consumer){
        .begin = on_begin,
        .end = on_end,
        .userdata = self,
        .node_bytes = UDPAI_CENSUS_NODE_BYTES,
        .synced_bytes = UDPAI_CENSUS_SYNCED_BYTES,
        .max_bytes = UDPAI_CENSUS_MAX_BYTES,
    };
    udpai_map_init(&self->clients, known_key);
    udpai_timer_init(&self->timer, on_timer);
    *ret_watcher = self;
    return UDPA_OK;
}

static void
end(void *watcher)
{
    registry *self = watcher;
    forget(self);
    udpai_strbuf_done(&self->head);
    udpai_free(self);
}

const udpai_watcher_ops udpai_client_registry_ops = {begin, order, end};
