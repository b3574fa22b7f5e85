/* SPDX-License-Identifier: Apache-2.0 */
/* Responses: decoded, noted, answered. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "tools/conform/talk_internal.h"
#include "xds/peek.h"

#define SHOWN_NAMES 8
#define UNIMPLEMENTED 12
#define INVALID_ARGUMENT 3

/* ---- noting ---- */

static char *
copy(udpai_script *script, udpai_str text)
{
    char *copied = udpai_strndup(text.data ? text.data : "", text.len);
    if (!copied)
        udpai_fail_script(script, "out of memory");
    return copied;
}

static void
replace(char **kept, char *text)
{
    udpai_free(*kept);
    *kept = text;
}

static udpai_str
value_of_any(udpai_str any)
{
    return udpai_proto_last_bytes(any, 2);
}

static void
note(udpai_talk *talk, const udpai_news *news)
{
    if (udpai_vector_push(&talk->news, *news))
        return;
    udpai_free(news->name);
    udpai_free(news->version);
    udpai_free(news->endpoints);
    udpai_free(news->aliases);
    udpai_fail_script(talk->script, "out of memory");
}

static udpai_str
received_name(udpai_kind kind, const udpai_xds_received *received)
{
    if (received->name.len || kind == UDPAI_KINDS)
        return received->name;
    return udpai_kind_name(kind, value_of_any(received->any));
}

/* Each with a line of its own. */
static char *
copy_aliases(udpai_script *script, const udpai_xds_received *received)
{
    udpai_strbuf lines = {0};
    for (size_t i = 0; i < received->n_aliases; i++) {
        udpai_strbuf_str(&lines, received->aliases[i]);
        udpai_strbuf_putc(&lines, '\n');
    }
    char *copied = copy(script, udpai_strbuf_view(&lines));
    udpai_strbuf_done(&lines);
    return copied;
}

static void
note_resource(udpai_talk *talk, udpai_kind kind, const udpai_xds_received *received)
{
    udpai_str value = value_of_any(received->any), endpoints = {0};
    bool has_endpoints = kind == UDPAI_CLUSTER && udpai_xds_peek_endpoints_name(value, &endpoints);
    note(talk, &(udpai_news){
                   .kind = kind,
                   .endpoints = has_endpoints ? copy(talk->script, endpoints) : NULL,
                   .name = copy(talk->script, received_name(kind, received)),
                   .aliases = copy_aliases(talk->script, received),
                   .version = copy(talk->script, received->version),
                   .contents = udpai_kind_of_url(udpai_proto_last_bytes(received->any, 1)),
                   .is_wrapped = received->is_wrapped,
                   .has_payload = received->has_any,
                   .has_ttl = received->has_ttl,
                   .variant = udpai_kind_variant(value),
                   .response = talk->responses.n,
               });
}

static void
note_removal(udpai_talk *talk, udpai_kind kind, udpai_str name)
{
    note(talk, &(udpai_news){
                   .kind = kind,
                   .name = copy(talk->script, name),
                   .version = copy(talk->script, (udpai_str){0}),
                   .is_removal = true,
                   .response = talk->responses.n,
               });
}

static void
note_response(udpai_talk *talk, udpai_kind kind, const udpai_xds_answer *answer)
{
    udpai_response response = {
        .kind = kind,
        .nonce = copy(talk->script, answer->nonce),
        .version = copy(talk->script, answer->version),
        .n_resources = answer->n_resources,
    };
    for (size_t i = 0; i < answer->n_resources; i++)
        note_resource(talk, kind, &answer->resources[i]);
    for (size_t i = 0; i < answer->n_removed; i++)
        note_removal(talk, kind, answer->removed[i]);
    if (!udpai_vector_push(&talk->responses, response)) {
        udpai_free(response.nonce);
        udpai_free(response.version);
        udpai_fail_script(talk->script, "out of memory");
    }
}

/* A payload of another type fails every case. Collections list resources of other types. */
static void
check_payloads(udpai_talk *talk, udpai_kind kind, const udpai_xds_answer *answer)
{
    for (size_t i = 0; i < answer->n_resources && udpai_is_running(talk->script); i++) {
        const udpai_xds_received *received = &answer->resources[i];
        udpai_str type_url = udpai_proto_last_bytes(received->any, 1),
                  name = received_name(kind, received);
        if (received->has_any && !udpai_kind_is(kind, UDPAI_NAMED_BY_URL) &&
            udpai_kind_of_url(type_url) != kind)
            udpai_fail_script(talk->script,
                              "in a response with %ss the payload of '%.*s' is of type '%.*s'",
                              udpai_kind_word(kind), UDPAI_SHOWN(name), UDPAI_SHOWN(type_url));
    }
}

/* ---- telling ---- */

static void
transcribe_answer(const udpai_talk *talk, udpai_kind kind, const udpai_xds_answer *answer)
{
    udpai_strbuf line = {0};
    udpai_strbuf_printf(&line, "< %u %s [", talk->number,
                        kind == UDPAI_KINDS ? "(another type)" : udpai_kind_word(kind));
    for (size_t i = 0; i < answer->n_resources && i < SHOWN_NAMES; i++) {
        unsigned variant = udpai_kind_variant(value_of_any(answer->resources[i].any));
        udpai_str name = received_name(kind, &answer->resources[i]);
        udpai_strbuf_printf(&line, "%s%.*s", i ? ", " : "", UDPAI_SHOWN(name));
        if (variant)
            udpai_strbuf_printf(&line, " v%u", variant);
    }
    if (answer->n_resources > SHOWN_NAMES)
        udpai_strbuf_printf(&line, ", … %zu in all", answer->n_resources);
    udpai_strbuf_putc(&line, ']');
    for (size_t i = 0; i < answer->n_removed && i < SHOWN_NAMES; i++)
        udpai_strbuf_printf(&line, "%s%.*s", i ? ", " : " removed ",
                            UDPAI_SHOWN(answer->removed[i]));
    udpai_strbuf_printf(&line, " version %.*s nonce %.*s", UDPAI_SHOWN(answer->version),
                        UDPAI_SHOWN(answer->nonce));
    if (line.data)
        udpai_transcribe(talk->script, "%s", line.data);
    udpai_strbuf_done(&line);
}

/* ---- answering ---- */

static void
answer(udpai_talk *talk, udpai_kind kind, const udpai_response *response)
{
    udpai_topic *topic = &talk->topics[kind];
    bool is_refused = topic->manner == UDPAI_REFUSES;
    udpai_xds_ask ask = {
        .type_url = udpai_kind_url(kind),
        .nonce = udpai_str_from(response->nonce),
        .error_code = is_refused ? INVALID_ARGUMENT : 0,
        .error_text = is_refused ? UDPAI_STR("refused by a test") : (udpai_str){0},
    };
    UDPAI_VECTOR(udpai_str) names = {0};
    for (size_t i = 0; i < topic->names.n && !talk->is_delta; i++)
        if (!udpai_vector_push(&names, udpai_str_from(topic->names.items[i])))
            udpai_fail_script(talk->script, "out of memory");
    if (!talk->is_delta) {
        ask.names = names.items;
        ask.n_names = names.n;
        ask.version = udpai_str_from(topic->version ? topic->version : "");
    }
    udpai_talk_send(talk, kind, &ask);
    udpai_vector_done(&names);
}

static void
take(udpai_talk *talk, const udpai_xds_answer *heard, udpai_str message)
{
    udpai_kind kind = udpai_kind_of_url(heard->type_url);
    if (!heard->type_url.len)
        kind = talk->only;
    transcribe_answer(talk, kind, heard);
    if (kind == UDPAI_KINDS)
        return;
    udpai_topic *topic = &talk->topics[kind];
    udpai_note_errors(talk, kind, message);
    note_response(talk, kind, heard);
    check_payloads(talk, kind, heard);
    if (!udpai_is_running(talk->script))
        return;
    const udpai_response *response = &talk->responses.items[talk->responses.n - 1];
    topic->n_responses++;
    replace(&topic->nonce, copy(talk->script, heard->nonce));
    if (topic->manner == UDPAI_ACCEPTS)
        replace(&topic->version, copy(talk->script, heard->version));
    if (topic->manner != UDPAI_IGNORES && udpai_is_running(talk->script))
        answer(talk, kind, response);
}

static void
end(udpai_talk *talk)
{
    udpai_call_status status = talk->script->stage->peer->status(talk->call);
    talk->is_over = true;
    udpai_transcribe(talk->script, "* stream %u: ended by the server with status %d: %.*s",
                     talk->number, status.code, UDPAI_SHOWN(status.text));
    if (status.code == UNIMPLEMENTED && !talk->responses.n && talk->is_optional)
        udpai_skip_script(talk->script, "the server does not serve this method (UNIMPLEMENTED)");
}

bool
udpai_hear(udpai_talk *talk, uint64_t timeout_ms)
{
    udpai_str message;
    udpai_xds_answer heard;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!udpai_talk_is_usable(talk))
        return false;
    switch (talk->script->stage->peer->hear(talk->call, timeout_ms, &message)) {
    case UDPAI_HEARD_NOTHING:
        return false;
    case UDPAI_HEARD_END:
        end(talk);
        return false;
    case UDPAI_HEARD_MESSAGE:
        break;
    }
    if (udpai_xds_answer_decode(&talk->decoder, message, talk->is_delta, &heard, &error) == UDPA_OK)
        take(talk, &heard, message);
    else
        udpai_fail_script(talk->script, "the server sent what is no response: %s",
                          udpa_error_message(error));
    return true;
}
