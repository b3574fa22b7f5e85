/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of events: one request, then all that is held, and what comes if that is asked for. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "session/status.h"
#include "sinks/sinks.h"
#include "udpa/service/events/v1/events.pb-c.h"
#include "wire/entry.h"

#define REQUEST_MAX 4096 /* bytes */

enum { /* field numbers of FollowResponse */
    N_LOST = 1,
    EVENT = 2,
};

typedef struct follow_session {
    udpai_session session; /* first */
    const udpai_topics *sinks;
    udpai_event_kind kind;
    udpai_topic *topic; /* NULL: nothing was asked yet */
    udpai_topic_follower follower;
    udpai_node_info *peer; /* NULL: it has sent none */
    bool is_admitted;      /* whoever has begun it knows that it may */
    bool goes_on;
    udpa_bytes *parts[2]; /* of what is being written; NULL: none */
} follow_session;

static follow_session *
self_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, follow_session, session);
}

/* ---- the request ---- */

static udpa_err
fail_without_topic(const follow_session *self, udpai_str word, udpa_error **ret_error)
{
    udpai_strbuf words = {0};
    for (size_t i = 0; i < UDPAI_EVENT_SINKS; i++)
        if (self->sinks->topics[i])
            udpai_strbuf_printf(&words, "%s%s", words.len ? ", " : "",
                                udpai_event_facts_of((udpai_event_kind)i)->word);
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                              "there is no sink of kind '%.*s' here: the section 'sinks' of this "
                              "node's configuration has %s",
                              UDPAI_SHOWN(word), words.len ? words.data : "none");
    udpai_strbuf_done(&words);
    return err;
}

/* The status of nodes is for peers that may see that. */
static udpa_err
admit(follow_session *self, udpa_error **ret_error)
{
    const udpai_event_facts *facts = udpai_event_facts_of(self->kind);
    char room[UDPAI_TOPIC_NAME_ROOM];
    if (self->is_admitted)
        return UDPA_OK;
    const udpai_asked_for asked = {udpai_str_from(facts->type_url),
                                   udpai_topic_name(self->sinks->node_id, self->kind, room), false};
    return udpai_session_check_subscription(&self->session, self->peer, &asked, ret_error);
}

static udpa_err
note_peer(follow_session *self, const char *node_id, udpa_error **ret_error)
{
    const udpai_node_parts parts = {.id = udpai_str_from(node_id)};
    if (parts.id.len > UDPAI_AUTHORITY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "node_id is longer than %d bytes",
                          UDPAI_AUTHORITY_MAX);
    return parts.id.len ? udpai_node_info_new(&self->peer, &parts) : UDPA_OK;
}

/* What it cannot go on with is not heeded: it begins with the oldest event. */
static void
go_on_after(follow_session *self, udpai_str version)
{
    udpai_event_place place;
    if (udpai_event_version_read(version, &place) &&
        place.begun_us == udpai_topic_begun_us(self->topic))
        udpai_topic_skip(self->topic, &self->follower, place.sequence);
}

static udpa_err
begin(follow_session *self,
      const Udpa__Service__Events__V1__FollowRequest *request,
      udpa_error **ret_error)
{
    udpai_str word = udpai_str_from(request->kind);
    if (!udpai_event_kind_find(word, &self->kind) ||
        !udpai_hub_topic(self->session.hub, self->kind))
        return fail_without_topic(self, word, ret_error);
    self->goes_on = request->follow;
    udpa_err err = note_peer(self, request->node_id, ret_error);
    if (err == UDPA_OK)
        err = admit(self, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_topic *topic = udpai_hub_topic(self->session.hub, self->kind);
    err = udpai_topic_follow(topic, &self->follower);
    if (err != UDPA_OK)
        return udpai_fail(ret_error, err, "%d clients follow '%s' already",
                          UDPAI_TOPIC_FOLLOWERS_MAX, udpai_event_facts_of(self->kind)->word);
    self->topic = topic;
    go_on_after(self, udpai_str_from(request->after));
    udpai_session_ready(&self->session);
    return UDPA_OK;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    follow_session *self = self_of(session);
    if (self->topic)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "Follow has one request");
    if (message.len > REQUEST_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a FollowRequest has %d bytes at most",
                          REQUEST_MAX);
    udpa_err err = udpai_scan(&udpa__service__events__v1__follow_request__descriptor, message, NULL,
                              ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_decoder *decoder = udpai_hub_decoder(session->hub);
    udpai_arena_reset(&decoder->arena);
    Udpa__Service__Events__V1__FollowRequest *request =
        udpa__service__events__v1__follow_request__unpack(&decoder->arena.allocator, message.len,
                                                          (const uint8_t *)message.data);
    err = request ? begin(self, request, ret_error) : UDPA_ERR_NOMEM;
    return udpai_fail_code(ret_error, err);
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return self_of(session)->topic
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL, "Follow needs a FollowRequest");
}

/* ---- events ---- */

/* All but the bytes of the message, which follow. */
static void
put_event(udpai_proto_writer *writer, const follow_session *self, const udpai_event *event)
{
    char room[UDPAI_EVENT_VERSION_ROOM];
    const udpai_event_source *source = event->source;
    const udpai_event_place place = {udpai_topic_begun_us(self->topic), event->sequence};
    udpai_proto_put_varint(writer, 1, event->sequence);
    udpai_timestamp_put(writer, 2, event->time_us);
    udpai_proto_put_bytes_opt(writer, 3, source->node_id);
    udpai_proto_put_bytes_opt(writer, 4, source->identity);
    udpai_proto_put_bytes_opt(writer, 5, source->name);
    udpai_proto_put_bytes(writer, 6, udpai_str_from(udpai_event_facts_of(self->kind)->type_url));
    udpai_proto_put_bytes(writer, 8, udpai_event_version(place, room));
    udpai_proto_put_head(writer, 7, udpa_bytes_size(event->message));
}

static void
put_response(udpai_proto_writer *writer,
             const follow_session *self,
             const udpai_event *event,
             uint64_t n_lost)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_varint_opt(writer, N_LOST, n_lost);
    put_event(&size, self, event);
    udpai_proto_put_head(writer, EVENT, size.size + udpa_bytes_size(event->message));
    put_event(writer, self, event);
}

static udpa_err
compose(follow_session *self, const udpai_event *event, uint64_t n_lost)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_response(&writer, self, event, n_lost);
    self->parts[0] = udpai_bytes_make(writer.size, &room);
    if (!self->parts[0])
        return UDPA_ERR_NOMEM;
    writer = (udpai_proto_writer){room, 0};
    put_response(&writer, self, event, n_lost);
    self->parts[1] = udpa_bytes_ref(event->message);
    return UDPA_OK;
}

static void
drop_parts(follow_session *self)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(self->parts); i++)
        self->parts[i] = udpa_bytes_unref(self->parts[i]);
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    follow_session *self = self_of(session);
    uint64_t n_lost;
    drop_parts(self);
    if (!self->topic)
        return UDPA_OK;
    const udpai_event *event = udpai_topic_next(self->topic, &self->follower, &n_lost);
    if (!event) {
        if (!self->goes_on && udpai_topic_is_current(self->topic))
            udpai_session_finish(session, NULL);
        return UDPA_OK;
    }
    udpa_err err = compose(self, event, n_lost);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    out->parts = self->parts;
    out->n_parts = UDPAI_ARRAY_LEN(self->parts);
    *ret_any = true;
    return UDPA_OK;
}

static void
on_wake(udpai_topic_follower *follower)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(follower, follow_session, follower)->session);
}

/* ---- life ---- */

static void
order(udpai_session *session, udpai_order *order)
{
    follow_session *self = self_of(session);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_ACL || !self->topic)
        return;
    udpa_err err = admit(self, &error);
    if (err != UDPA_OK)
        udpai_session_finish(session,
                             error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const follow_session *self = what;
    udpai_status_put_session(writer, &self->session, self->peer, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const follow_session, session));
}

static void
free_session(udpai_session *session)
{
    follow_session *self = self_of(session);
    if (self->topic)
        udpai_topic_unfollow(self->topic, &self->follower);
    drop_parts(self);
    udpai_node_info_unref(self->peer);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "events",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = free_session,
};

static udpa_err
new_session(udpai_session **ret_session,
            udpai_hub *hub,
            const udpai_stream_info *info,
            bool is_admitted)
{
    follow_session *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->sinks = info->context;
    self->is_admitted = is_admitted;
    self->follower.wake = on_wake;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK)
        udpai_free(self);
    else
        *ret_session = &self->session;
    return err;
}

udpa_err
udpai_events_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    return new_session(ret_session, hub, info, false);
}

udpa_err
udpai_events_admitted_session_new(udpai_session **ret_session,
                                  udpai_hub *hub,
                                  const udpai_stream_info *info)
{
    return new_session(ret_session, hub, info, true);
}
