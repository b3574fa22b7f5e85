/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of events. The first message has the sender, which counts for all of them; nothing is
 * answered but the end. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "session/status.h"
#include "sinks/forward.h"
#include "sinks/message.h"
#include "sinks/sinks.h"

typedef struct sink_session {
    udpai_session session; /* first */
    udpai_topic *topic;
    udpai_topic_stream stream;
    udpai_node_info *peer;
    udpai_event_source *source; /* NULL: nothing has come yet */
    uint64_t n_received;
    bool has_ended, is_answered;
} sink_session;

static sink_session *
self_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, sink_session, session);
}

static const udpai_event_facts *
facts_of(const sink_session *self)
{
    return udpai_event_facts_of(udpai_topic_kind(self->topic));
}

/* ---- the sender ---- */

static udpa_err
admit(sink_session *self, udpa_error **ret_error)
{
    const udpai_event_facts *facts = facts_of(self);
    return udpai_session_check_sending(&self->session, self->peer, udpai_str_from(facts->type_url),
                                       udpai_str_from(facts->word), ret_error);
}

/* NULL: what comes is not forwarded. */
static udpai_forward *
forward_of(const sink_session *self)
{
    const udpai_topics *topics = udpai_hub_settings(self->session.hub)->topics;
    return topics ? topics->forwards[udpai_topic_kind(self->topic)] : NULL;
}

static udpa_err
keep_identifier(sink_session *self, udpai_str whole)
{
    if (!forward_of(self) || whole.len > UDPAI_FORWARD_IDENTIFIER_MAX)
        return UDPA_OK;
    return udpa_bytes_new(&self->source->identifier, whole.data, whole.len);
}

static udpa_err
meet(sink_session *self, const udpai_event_identifier *identifier, udpa_error **ret_error)
{
    if (!identifier->is_there)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the first message of a stream must have an identifier, with the node "
                          "that sends it");
    udpai_decoder *decoder = udpai_hub_decoder(self->session.hub);
    udpai_arena_reset(&decoder->arena);
    udpa_err err = udpai_node_info_decode(decoder, identifier->node, &self->peer, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str id = udpai_node_info_parts(self->peer)->id;
    if (id.len > UDPAI_AUTHORITY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the id of the Node is longer than %d bytes",
                          UDPAI_AUTHORITY_MAX);
    err = admit(self, ret_error);
    if (err != UDPA_OK)
        return err;
    self->source = udpai_event_source_new(id, udpai_identity_name(self->session.info.identity),
                                          identifier->name);
    return self->source ? keep_identifier(self, identifier->whole) : UDPA_ERR_NOMEM;
}

/* ---- what is sent ---- */

static udpa_err
take(sink_session *self, udpai_str message, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_event_message_copy(message);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    if (udpa_bytes_size(bytes) == 0)
        return UDPA_OK; /* it has the sender, and nothing else */
    udpa_err err = udpai_topic_add(self->topic, &self->stream, self->source, bytes,
                                   udpai_hub_wall_us(self->session.hub));
    if (err == UDPA_ERR_LIMIT)
        return udpai_fail(ret_error, err,
                          "a message of %zu bytes is larger than all that this node keeps of '%s'",
                          udpa_bytes_size(bytes), facts_of(self)->word);
    self->n_received += err == UDPA_OK;
    return err;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    sink_session *self = self_of(session);
    udpai_event_identifier identifier;
    udpa_err err =
        udpai_event_message_read(udpai_topic_kind(self->topic), message, &identifier, ret_error);
    if (err == UDPA_OK && !self->source)
        err = meet(self, &identifier, ret_error);
    if (err == UDPA_OK)
        err = take(self, message, ret_error);
    if (err != UDPA_OK)
        udpai_topic_refused(self->topic);
    return udpai_fail_code(ret_error, err);
}

/* ---- the end ---- */

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    (void)ret_error;
    self_of(session)->has_ended = true;
    udpai_session_ready(session);
    return UDPA_OK;
}

/* One response, without anything in it, when the client has sent that this was all. */
static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    sink_session *self = self_of(session);
    (void)out;
    (void)ret_error;
    if (self->has_ended && self->is_answered)
        udpai_session_finish(session, NULL);
    *ret_any = self->has_ended && !self->is_answered;
    self->is_answered |= self->has_ended;
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *order)
{
    sink_session *self = self_of(session);
    udpa_error *error = NULL;
    if (order->kind != UDPAI_ORDER_ACL || !self->source)
        return;
    udpa_err err = admit(self, &error);
    if (err != UDPA_OK)
        udpai_session_finish(session,
                             error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const sink_session *self = what;
    udpai_status_put_session(writer, &self->session, self->peer, self->n_received);
}

static udpa_bytes *
describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const sink_session, session));
}

static void
free_session(udpai_session *session)
{
    sink_session *self = self_of(session);
    udpai_topic_leave(self->topic, &self->stream);
    udpai_event_source_unref(self->source);
    udpai_node_info_unref(self->peer);
    udpai_free(self);
}

/* ---- beginning ---- */

#define OPS(word)                                                                                  \
    {                                                                                              \
        .name = (word), .receive = receive, .next = next, .ended = ended, .order = order,          \
        .describe = describe, .free = free_session                                                 \
    }

static const udpai_session_ops all_ops[UDPAI_EVENT_SINKS] = {
    [UDPAI_EVENT_ACCESS_LOG] = OPS("access-log"), [UDPAI_EVENT_METRICS] = OPS("metrics"),
    [UDPAI_EVENT_TRACE] = OPS("trace"),           [UDPAI_EVENT_TAP] = OPS("tap"),
    [UDPAI_EVENT_REPORT] = OPS("event"),
};

static void
on_pause(udpai_topic_stream *stream, bool pause)
{
    udpai_session_pause(&UDPAI_CONTAINER_OF(stream, sink_session, stream)->session, pause);
}

udpa_err
udpai_sink_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    sink_session *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->topic = info->context;
    self->stream.pause = on_pause;
    udpai_str address = info->address ? udpai_bytes_view(info->address) : (udpai_str){0};
    udpa_err err =
        udpai_session_init(&self->session, hub, &all_ops[udpai_topic_kind(self->topic)], info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    *ret_session = &self->session;
    if (forward_of(self) && !udpai_hub_settings(hub)->is_worker)
        udpai_forward_begin(forward_of(self), hub);
    err = udpai_topic_join(self->topic, udpai_hub_wheel(hub),
                           udpai_peer_counts_as(info->identity, address), &self->stream);
    if (err != UDPA_OK)
        udpai_session_finish(&self->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}
