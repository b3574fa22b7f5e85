/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that reject an answer. By REST they do not report that: they ask again, with the version
 * that they had before. Answered at once, an Envoy with a short refresh_delay would be sent what it
 * does not like a hundred times a second. So a client that has taken an answer, and asks for just
 * the same again with a version that is not the answer's, is held once as if it had it. Should it
 * have lost it, it has it behind that hold. */
#include "base/bytes.h"
#include "base/proto.h"
#include "model/digest.h"
#include "transport/http/http_internal.h"

#define RESPONSE_VERSION 1 /* its number, in every response */

static udpai_http_answered *
find(udpai_http *http, udpai_content_hash question)
{
    for (size_t i = 0; i < UDPAI_HTTP_ANSWERED; i++) {
        udpai_http_answered *answered = &http->answered[i];
        if (answered->question.high == question.high && answered->question.low == question.low &&
            answered->version_len)
            return answered;
    }
    return NULL;
}

/* The request with another version behind its own, which counts. */
static udpa_bytes *
with_version(udpai_str message, uint32_t number, udpai_str version)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    udpai_proto_put_bytes(&writer, number, version);
    udpa_bytes *bytes = udpai_bytes_make(message.len + writer.size, &room);
    if (!bytes)
        return NULL;
    memcpy(room, message.data, message.len);
    writer = (udpai_proto_writer){.at = room + message.len};
    udpai_proto_put_bytes(&writer, number, version);
    return bytes;
}

void
udpai_http_question_note(udpai_http_exchange *exchange, udpa_bytes **message)
{
    udpai_str view = udpai_bytes_view(*message);
    const udpai_visitor *visitor = &exchange->guest->visitor;
    udpai_str peer = udpai_peer_counts_as(visitor->identity, udpai_bytes_view(visitor->address));
    uint32_t number = exchange->route->version_field;
    if (udpai_proto_last_bytes(view, number).len == 0)
        return; /* a client that sends no version may have none to send */
    exchange->is_question = true;
    exchange->question = udpai_content_hash_of(peer, view);
    exchange->question.low ^= (uintptr_t)exchange->route;
    udpai_http_answered *answered = find(exchange->http, exchange->question);
    if (!answered)
        return;
    udpa_bytes *changed =
        with_version(view, number, (udpai_str){answered->version, answered->version_len});
    answered->version_len = 0;
    if (!changed)
        return;
    exchange->is_question = false; /* once is enough */
    udpa_bytes_unref(*message);
    *message = changed;
}

void
udpai_http_question_answer(udpai_http_exchange *exchange, const udpai_bridged_stream *bridged)
{
    udpai_str version =
        udpai_proto_last_bytes(udpai_bytes_view(bridged->parts.items[0]), RESPONSE_VERSION);
    if (version.len == 0 || version.len > sizeof(exchange->version))
        exchange->is_question = false;
    if (!exchange->is_question)
        return;
    memcpy(exchange->version, version.data, version.len);
    exchange->version_len = version.len;
}

void
udpai_http_question_taken(udpai_http_exchange *exchange)
{
    udpai_http *http = exchange->http;
    if (!exchange->is_question || exchange->version_len == 0)
        return;
    udpai_http_answered *answered = &http->answered[http->next_answered++ % UDPAI_HTTP_ANSWERED];
    answered->question = exchange->question;
    memcpy(answered->version, exchange->version, exchange->version_len);
    answered->version_len = exchange->version_len;
}
