/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session that reports: it sends its Node, and then at every interval what the server
 * asks for. */
#include "base/alloc.h"
#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "model/name.h"
#include "wire/message.h"
#include "xds/lrs.h"
#include "xds/lrs_upstream_internal.h"

/* A server that changes its mind more often is read late. */
#define REST_MS 500
#define NANOS_PER_S 1000000000

enum { /* field number of LoadStatsRequest */
    NODE = 1,
};

typedef Envoy__Service__LoadStats__V3__LoadStatsResponse response_message;

/* ---- a server, across streams ---- */

udpa_err
udpai_lrs_upstream_new(udpai_lrs_upstream **ret_upstream, const udpai_lrs_upstream_options *options)
{
    size_t size = options->source.len + options->name_space.len + options->node.len;
    udpai_lrs_upstream *upstream = udpai_alloc(sizeof(*upstream) + size);
    if (!upstream)
        return UDPA_ERR_NOMEM;
    char *at = upstream->texts;
    upstream->options.source = udpai_str_put(&at, options->source);
    upstream->options.name_space = udpai_str_put(&at, options->name_space);
    upstream->options.node = udpai_str_put(&at, options->node);
    udpai_map_init(&upstream->accounts, udpai_lrs_account_key);
    *ret_upstream = upstream;
    return UDPA_OK;
}

void
udpai_lrs_upstream_drop(void *upstream)
{
    if (upstream)
        udpai_lrs_accounts_free(upstream);
    udpai_free(upstream);
}

/* ---- what is refused ---- */

void
udpai_lrs_upstream_note_refused(udpai_lrs_upstream_session *self,
                                udpai_str what,
                                const udpa_error *why)
{
    self->n_refused++;
    self->refused_us = udpai_hub_wall_us(self->session.hub);
    udpa_error_unref(self->last_error);
    self->last_error =
        udpa_error_new(why ? udpa_error_code(why) : UDPA_ERR_INVAL, NULL, "cluster '%.*s': %s",
                       UDPAI_SHOWN(what), why ? udpa_error_message(why) : "cannot be reported");
}

/* ---- what the server asks for ---- */

/* What is no length of time counts as not set. */
static uint64_t
read_interval(const Google__Protobuf__Duration *interval)
{
    if (!interval || interval->seconds < 0 || interval->nanos < 0 ||
        interval->nanos >= NANOS_PER_S || (interval->seconds == 0 && interval->nanos == 0))
        return UDPAI_LRS_INTERVAL_MS;
    if ((uint64_t)interval->seconds >= UDPAI_LRS_INTERVAL_MAX_MS / 1000)
        return UDPAI_LRS_INTERVAL_MAX_MS;
    uint64_t ms = (uint64_t)interval->seconds * 1000 + (uint64_t)interval->nanos / 1000000;
    return ms < UDPAI_LRS_UPSTREAM_INTERVAL_MIN_MS ? UDPAI_LRS_UPSTREAM_INTERVAL_MIN_MS : ms;
}

/* All of them have room in @p names; returns how many. */
static size_t
list_prefixes(const udpai_lrs_upstream *upstream, udpai_str names[UDPAI_LRS_UPSTREAM_NAMES_MAX])
{
    size_t n = 0, at = 0;
    const udpai_lrs_account *account;
    if (upstream->subscribes_all || upstream->n_named > UDPAI_LRS_UPSTREAM_NAMES_MAX) {
        names[0] = upstream->options.name_space;
        return 1;
    }
    while ((account = udpai_map_next(&upstream->accounts, &at)))
        if (account->is_named)
            names[n++] = udpai_bytes_view(account->cluster);
    return n;
}

static udpa_err
report_demand(udpai_lrs_upstream_session *self)
{
    udpai_str names[UDPAI_LRS_UPSTREAM_NAMES_MAX];
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD),
        .names = names,
        .n_names = list_prefixes(self->upstream, names),
    };
    UDPA_AUTO(udpai_report_free)
    udpai_report *report = udpai_session_report_new(&self->session, UDPAI_REPORT_DEMAND);
    if (report)
        report->subscription = udpai_subscription_message_copy(&message);
    if (!report || !report->subscription)
        return UDPA_ERR_NOMEM;
    udpai_hub_report(self->session.hub, UDPAI_TAKE(report));
    return UDPA_OK;
}

static bool
has_subscription(const udpai_lrs_upstream *upstream)
{
    return upstream->subscribes_all || upstream->n_named;
}

static void
set_interval(udpai_lrs_upstream_session *self, uint64_t interval_ms)
{
    bool is_same = self->interval_ms == interval_ms;
    self->interval_ms = interval_ms;
    if (!has_subscription(self->upstream))
        udpai_timer_cancel(&self->interval);
    else if (!is_same || !udpai_timer_is_set(&self->interval))
        udpai_timer_set(udpai_hub_wheel(self->session.hub), &self->interval,
                        udpai_lrs_upstream_now(self) + interval_ms);
}

static udpa_err
take_response(udpai_lrs_upstream_session *self, const response_message *response)
{
    bool has_changed = false;
    udpa_err err = udpai_lrs_accounts_select(self, response->clusters, response->n_clusters,
                                             response->send_all_clusters, &has_changed);
    if (err == UDPA_OK && (has_changed || !self->is_asked))
        err = report_demand(self);
    self->is_asked = true;
    self->per_endpoint = response->report_endpoint_granularity;
    set_interval(self, read_interval(response->load_reporting_interval));
    return err;
}

static udpa_err
unpack(udpai_arena *arena,
       udpai_str bytes,
       const response_message **ret_response,
       udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type =
        &envoy__service__load_stats__v3__load_stats_response__descriptor;
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(arena);
    *ret_response = (const response_message *)protobuf_c_message_unpack(
        type, &arena->allocator, bytes.len, (const uint8_t *)bytes.data);
    if (*ret_response)
        return UDPA_OK;
    if (arena->failed)
        return UDPA_ERR_NOMEM;
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED, /* protobuf-c is stricter with tags */
                      "a malformed LoadStatsResponse: it cannot be unpacked");
}

static void
on_rest_end(udpai_timer *timer)
{
    udpai_session_pause(&UDPAI_CONTAINER_OF(timer, udpai_lrs_upstream_session, rest)->session,
                        false);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_lrs_upstream_session *self = udpai_lrs_upstream_of(session);
    const response_message *response = NULL;
    udpai_arena *arena = &udpai_hub_decoder(session->hub)->arena;
    udpa_err err = unpack(arena, message, &response, ret_error);
    if (err == UDPA_OK)
        err = take_response(self, response);
    udpai_arena_reset(arena);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_session_pause(session, true);
    udpai_timer_set(udpai_hub_wheel(session->hub), &self->rest,
                    udpai_lrs_upstream_now(self) + REST_MS);
    return UDPA_OK;
}

/* ---- what it is sent ---- */

static void
on_interval(udpai_timer *timer)
{
    udpai_lrs_upstream_session *self =
        UDPAI_CONTAINER_OF(timer, udpai_lrs_upstream_session, interval);
    udpai_timer_set(udpai_hub_wheel(self->session.hub), timer,
                    udpai_lrs_upstream_now(self) + self->interval_ms);
    udpai_lrs_upstream_begin_report(self);
    udpai_session_ready(&self->session);
}

/* The Node of this node. NULL without memory. */
static udpa_bytes *
introduce(const udpai_lrs_upstream *upstream)
{
    udpai_proto_writer writer = {0};
    udpai_proto_put_bytes(&writer, NODE, upstream->options.node);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){room, 0};
        udpai_proto_put_bytes(&writer, NODE, upstream->options.node);
    }
    return bytes;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_lrs_upstream_session *self = udpai_lrs_upstream_of(session);
    udpa_err err = UDPA_OK;
    self->writing = udpa_bytes_unref(self->writing);
    if (!self->is_introduced) {
        self->writing = introduce(self->upstream);
        err = self->writing ? UDPA_OK : UDPA_ERR_NOMEM;
        self->is_introduced = true;
    } else if (self->is_due) {
        err = udpai_lrs_upstream_next_piece(self, &self->writing);
    }
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    if (!self->writing)
        return UDPA_OK;
    out->parts = &self->writing;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}

static void
take_entry(udpai_lrs_upstream_session *self, udpa_resource *resource)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_lrs_account_take(self, resource, &error) != UDPA_OK)
        udpai_lrs_upstream_note_refused(self, udpai_resource_name(resource), error);
}

static void
order(udpai_session *session, udpai_order *given)
{
    udpai_lrs_upstream_session *self = udpai_lrs_upstream_of(session);
    const udpai_publication *publication = given->publication;
    if (given->kind != UDPAI_ORDER_PUBLISH || !publication)
        return;
    for (size_t i = 0; i < publication->removals.n; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_str name = publication->removals.items[i].name;
        if (udpai_lrs_account_end(self, name, &error) != UDPA_OK)
            udpai_lrs_upstream_note_refused(self, name, error);
    }
    for (size_t i = 0; i < publication->entries.n; i++)
        take_entry(self, publication->entries.items[i].resource);
}

/* ---- coming and going ---- */

static void
free_session(udpai_session *session)
{
    udpai_lrs_upstream_session *self = udpai_lrs_upstream_of(session);
    udpai_session_report_closed(session, self->closed);
    udpai_timer_cancel(&self->interval);
    udpai_timer_cancel(&self->rest);
    udpa_bytes_unref(self->writing);
    udpa_error_unref(self->last_error);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "lrs-upstream",
    .receive = receive,
    .next = next,
    .order = order,
    .describe = udpai_lrs_upstream_describe,
    .free = free_session,
};

udpa_err
udpai_lrs_upstream_session_new(udpai_session **ret_session,
                               udpai_hub *hub,
                               const udpai_stream_info *info)
{
    udpai_lrs_upstream_session *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->closed = udpai_report_new(UDPAI_REPORT_CLOSED);
    udpa_err err =
        self->closed ? udpai_session_init(&self->session, hub, &ops, info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_report_free(self->closed);
        udpai_free(self);
        return err;
    }
    self->upstream = info->context;
    udpai_timer_init(&self->interval, on_interval);
    udpai_timer_init(&self->rest, on_rest_end);
    *ret_session = &self->session;
    err = udpai_session_report_opened(&self->session);
    if (err == UDPA_OK)
        udpai_session_ready(&self->session);
    else
        udpai_session_finish(&self->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}
