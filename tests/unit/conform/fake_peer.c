/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_peer.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"

static void *
open_call(void *of, const char *path)
{
    fake_peer *self = of;
    assert_true(self->n_calls < FAKE_CALLS);
    fake_call *call = &self->calls[self->n_calls++];
    call->peer = self;
    snprintf(call->path, sizeof(call->path), "%s", path);
    return call;
}

static void
send_message(void *of, udpai_str message)
{
    fake_call *call = of;
    uint8_t *room;
    assert_true(call->n_waiting < FAKE_MESSAGES);
    udpa_bytes *copy = udpai_bytes_make(message.len, &room);
    if (message.len)
        memcpy(room, message.data, message.len);
    call->said[call->n_waiting++] = copy;
    if (call->peer->serve)
        call->peer->serve(call->peer, call, udpai_bytes_view(copy));
}

static void
end_call(void *of)
{
    ((fake_call *)of)->is_ended = true;
}

static udpai_received
receive(void *of, uint64_t timeout_ms, udpai_str *ret_message)
{
    fake_call *call = of;
    if (call->at < call->n_queued) {
        *ret_message = udpai_bytes_view(call->queued[call->at++]);
        return UDPAI_RECEIVED_MESSAGE;
    }
    if (call->is_over)
        return UDPAI_RECEIVED_END;
    call->peer->now_ms += timeout_ms;
    return UDPAI_RECEIVED_NOTHING;
}

static udpai_call_status
status(const void *of)
{
    return (udpai_call_status){((const fake_call *)of)->status, UDPAI_STR("said the fake")};
}

static void
close_call(void *of)
{
    ((fake_call *)of)->is_closed = true;
}

static uint64_t
now_ms(void *of)
{
    return ((fake_peer *)of)->now_ms;
}

static udpai_change_result
apply(void *of, const udpai_edit *changes, size_t n, udpai_strbuf *why)
{
    fake_peer *self = of;
    for (size_t i = 0; i < n; i++)
        udpai_strbuf_printf(&self->changes, "%s%s/%s", changes[i].is_removal ? " -" : " +",
                            udpai_kind_word(changes[i].kind), changes[i].name);
    udpai_strbuf_putc(&self->changes, ';');
    if (self->result != UDPAI_CHANGE_MADE)
        udpai_strbuf_puts(why, "the fake does not want to");
    return self->result;
}

void
fake_peer_init(fake_peer *self)
{
    *self = (fake_peer){0};
    self->peer =
        (udpai_peer){open_call, send_message, end_call, receive, status, close_call, now_ms, self};
    self->changer = (udpai_changer){apply, UDPAI_CAN_ATOMIC, self};
}

void
fake_peer_done(fake_peer *self)
{
    for (size_t i = 0; i < self->n_calls; i++) {
        for (size_t j = 0; j < self->calls[i].n_queued; j++)
            udpa_bytes_unref(self->calls[i].queued[j]);
        for (size_t j = 0; j < self->calls[i].n_waiting; j++)
            udpa_bytes_unref(self->calls[i].said[j]);
    }
    udpai_strbuf_done(&self->changes);
}

/* ---- answers ---- */

typedef struct answer {
    bool is_delta;
    udpai_kind kind;
    const char *nonce, *resources, *removed;
} answer;

/* The next of words that are separated by spaces. */
static bool
take_word(const char **rest, char *word, size_t size)
{
    *rest += strspn(*rest, " ");
    size_t len = strcspn(*rest, " ");
    assert_true(len < size);
    snprintf(word, size, "%.*s", (int)len, *rest);
    *rest += len;
    return len > 0;
}

static size_t
any_size(udpai_kind kind, udpai_str payload)
{
    return udpai_proto_bytes_size(1, udpai_kind_url(kind).len) +
           udpai_proto_bytes_size(2, payload.len);
}

static void
put_any(udpai_proto_writer *writer, uint32_t number, udpai_kind kind, udpai_str payload)
{
    udpai_proto_put_head(writer, number, any_size(kind, payload));
    udpai_proto_put_bytes(writer, 1, udpai_kind_url(kind));
    udpai_proto_put_bytes(writer, 2, payload);
}

static void
put_resource(udpai_proto_writer *writer, const answer *of, char *word)
{
    char *equals = strchr(word, '=');
    udpai_kind said = *word == '!' ? UDPAI_LISTENER : of->kind;
    word += *word == '!';
    unsigned variant = equals ? (unsigned)strtoul(equals + 1, NULL, 10) : 0;
    if (equals)
        *equals = 0;
    udpa_bytes *payload = udpai_kind_payload(of->kind, word, variant);
    udpai_str view = udpai_bytes_view(payload);
    if (of->is_delta) {
        size_t any = any_size(said, view);
        udpai_proto_put_head(writer, 2,
                             udpai_proto_bytes_size(1, 1) + udpai_proto_bytes_size(2, any) +
                                 udpai_proto_bytes_size(3, strlen(word)));
        udpai_proto_put_bytes(writer, 1, UDPAI_STR("v"));
        put_any(writer, 2, said, view);
        udpai_proto_put_bytes(writer, 3, udpai_str_from(word));
    } else {
        put_any(writer, 2, said, view);
    }
    udpa_bytes_unref(payload);
}

static void
put_answer(udpai_proto_writer *writer, const answer *of)
{
    enum {
        VERSION = 1,
        SOTW_TYPE = 4,
        NONCE = 5,
        DELTA_TYPE = 4,
        REMOVED = 6
    };

    char word[64];
    const char *rest = of->resources;
    udpai_proto_put_bytes(writer, VERSION, UDPAI_STR("1"));
    while (take_word(&rest, word, sizeof(word)))
        put_resource(writer, of, word);
    udpai_proto_put_bytes(writer, of->is_delta ? DELTA_TYPE : SOTW_TYPE, udpai_kind_url(of->kind));
    udpai_proto_put_bytes(writer, NONCE, udpai_str_from(of->nonce));
    for (rest = of->removed; take_word(&rest, word, sizeof(word));)
        udpai_proto_put_bytes(writer, REMOVED, udpai_str_from(word));
}

void
fake_answer(fake_call *call,
            bool is_delta,
            udpai_kind kind,
            const char *nonce,
            const char *resources,
            const char *removed)
{
    const answer of = {is_delta, kind, nonce, resources, removed};
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_answer(&writer, &of);
    assert_true(call->n_queued < FAKE_MESSAGES);
    call->queued[call->n_queued] = udpai_bytes_make(writer.size, &room);
    writer = (udpai_proto_writer){room, 0};
    put_answer(&writer, &of);
    call->n_queued++;
}

void
fake_end(fake_call *call, int number)
{
    call->is_over = true;
    call->status = number;
}
