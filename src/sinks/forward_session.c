/* SPDX-License-Identifier: Apache-2.0 */
/* A stream to the receiver, of one client. The first message begins with its identifier, as it has
 * sent it; then there is a message for each that has come. What the receiver sends is not looked
 * at. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "session/status.h"
#include "sinks/forward_internal.h"

typedef struct forward_session {
    udpai_session session; /* first */
    udpai_lane *lane;      /* NULL: its end was requested */
    bool has_begun;
    udpai_event *writing; /* NULL: none */
    udpa_bytes *parts[2]; /* the same */
} forward_session;

static forward_session *
self_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, forward_session, session);
}

/* ---- messages ---- */

/* Of a client with an identifier that was too large to be kept. */
static void
put_short_identifier(udpai_proto_writer *writer, udpai_event_kind kind, const udpai_lane *lane)
{
    const udpai_event_source *source = lane->source;
    uint32_t name_field = udpai_event_facts_of(kind)->name_field;
    udpai_proto_put_head(writer, UDPAI_EVENT_IDENTIFIER_NODE,
                         source->node_id.len ? udpai_proto_bytes_size(1, source->node_id.len) : 0);
    udpai_proto_put_bytes_opt(writer, 1, source->node_id);
    if (name_field)
        udpai_proto_put_bytes_opt(writer, name_field, source->name);
}

static void
put_identifier(udpai_proto_writer *writer, const void *what)
{
    const udpai_lane *lane = what;
    udpai_event_kind kind = udpai_topic_kind(lane->owner->topic);
    if (lane->source->identifier) {
        udpai_proto_put_bytes(writer, UDPAI_EVENT_IDENTIFIER,
                              udpai_bytes_view(lane->source->identifier));
        return;
    }
    udpai_proto_writer size = {0};
    put_short_identifier(&size, kind, lane);
    udpai_proto_put_head(writer, UDPAI_EVENT_IDENTIFIER, size.size);
    put_short_identifier(writer, kind, lane);
}

static void
drop_parts(forward_session *self)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(self->parts); i++)
        self->parts[i] = udpa_bytes_unref(self->parts[i]);
    self->writing = udpai_event_unref(self->writing);
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    forward_session *self = self_of(session);
    (void)ret_error;
    drop_parts(self);
    self->writing = self->lane ? udpai_lane_next(self->lane) : NULL;
    if (!self->writing)
        return UDPA_OK;
    if (!self->has_begun &&
        !(self->parts[out->n_parts++] = udpai_proto_encode(put_identifier, self->lane)))
        return UDPA_ERR_NOMEM;
    self->has_begun = true;
    self->parts[out->n_parts++] = udpa_bytes_ref(self->writing->message);
    out->parts = self->parts;
    *ret_any = true;
    return UDPA_OK;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    (void)session, (void)message, (void)ret_error;
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *given)
{
    (void)session, (void)given; /* no rule is about what this node itself streams */
}

/* ---- coming and going ---- */

void
udpai_forward_session_leave(udpai_session *session)
{
    self_of(session)->lane = NULL;
    udpai_session_finish(session, NULL);
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    udpai_status_put_session(writer, what, NULL, 0);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put, session);
}

static void
free_session(udpai_session *session)
{
    forward_session *self = self_of(session);
    if (self->lane && self->writing && session->is_writing)
        udpai_lane_missed(self->lane);
    if (self->lane)
        udpai_lane_closed(self->lane, session->why, !session->is_finishing);
    drop_parts(self);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "forward",
    .receive = receive,
    .next = next,
    .order = order,
    .describe = describe,
    .free = free_session,
};

udpa_err
udpai_forward_session_new(udpai_session **ret_session,
                          udpai_hub *hub,
                          const udpai_stream_info *info)
{
    forward_session *self = udpai_alloc(sizeof(*self));
    udpa_err err = self ? udpai_session_init(&self->session, hub, &ops, info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    *ret_session = &self->session;
    self->lane = udpai_lane_opened(info->context, info->link, &self->session);
    if (self->lane)
        udpai_session_ready(&self->session);
    else
        udpai_session_finish(&self->session, NULL);
    return UDPA_OK;
}
