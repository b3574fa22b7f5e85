/* SPDX-License-Identifier: Apache-2.0 */
/* Responses: decoded, noted, answered. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "tools/conform/session_internal.h"
#include "xds/peek.h"

#define LISTED_NAMES 8
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
note(udpai_test_session *session, const udpai_update *update)
{
    if (udpai_vector_push(&session->updates, *update))
        return;
    udpai_free(update->name);
    udpai_free(update->version);
    udpai_free(update->endpoints);
    udpai_free(update->aliases);
    udpai_fail_script(session->script, "out of memory");
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
note_resource(udpai_test_session *session, udpai_kind kind, const udpai_xds_received *received)
{
    udpai_str value = value_of_any(received->any), endpoints = {0};
    bool has_endpoints = kind == UDPAI_CLUSTER && udpai_xds_peek_endpoints_name(value, &endpoints);
    note(session, &(udpai_update){
                      .kind = kind,
                      .endpoints = has_endpoints ? copy(session->script, endpoints) : NULL,
                      .name = copy(session->script, received_name(kind, received)),
                      .aliases = copy_aliases(session->script, received),
                      .version = copy(session->script, received->version),
                      .contents = udpai_kind_of_url(udpai_proto_last_bytes(received->any, 1)),
                      .is_wrapped = received->is_wrapped,
                      .has_payload = received->has_any,
                      .has_ttl = received->has_ttl,
                      .variant = udpai_kind_variant(value),
                      .response = session->responses.n,
                  });
}

static void
note_removal(udpai_test_session *session, udpai_kind kind, udpai_str name)
{
    note(session, &(udpai_update){
                      .kind = kind,
                      .name = copy(session->script, name),
                      .version = copy(session->script, (udpai_str){0}),
                      .is_removal = true,
                      .response = session->responses.n,
                  });
}

static void
note_response(udpai_test_session *session, udpai_kind kind, const udpai_xds_answer *answer)
{
    udpai_response response = {
        .kind = kind,
        .nonce = copy(session->script, answer->nonce),
        .version = copy(session->script, answer->version),
        .n_resources = answer->n_resources,
    };
    for (size_t i = 0; i < answer->n_resources; i++)
        note_resource(session, kind, &answer->resources[i]);
    for (size_t i = 0; i < answer->n_removed; i++)
        note_removal(session, kind, answer->removed[i]);
    if (!udpai_vector_push(&session->responses, response)) {
        udpai_free(response.nonce);
        udpai_free(response.version);
        udpai_fail_script(session->script, "out of memory");
    }
}

/* A payload of another type fails every case. Collections list resources of other types. */
static void
check_payloads(udpai_test_session *session, udpai_kind kind, const udpai_xds_answer *answer)
{
    for (size_t i = 0; i < answer->n_resources && udpai_is_running(session->script); i++) {
        const udpai_xds_received *received = &answer->resources[i];
        udpai_str type_url = udpai_proto_last_bytes(received->any, 1),
                  name = received_name(kind, received);
        if (received->has_any && !udpai_kind_is(kind, UDPAI_NAMED_BY_URL) &&
            udpai_kind_of_url(type_url) != kind)
            udpai_fail_script(session->script,
                              "in a response with %ss the payload of '%.*s' is of type '%.*s'",
                              udpai_kind_word(kind), UDPAI_SHOWN(name), UDPAI_SHOWN(type_url));
    }
}

/* ---- the transcript ---- */

static void
transcribe_answer(const udpai_test_session *session,
                  udpai_kind kind,
                  const udpai_xds_answer *answer)
{
    udpai_strbuf line = {0};
    udpai_strbuf_printf(&line, "< %u %s [", session->number,
                        kind == UDPAI_KINDS ? "(another type)" : udpai_kind_word(kind));
    for (size_t i = 0; i < answer->n_resources && i < LISTED_NAMES; i++) {
        unsigned variant = udpai_kind_variant(value_of_any(answer->resources[i].any));
        udpai_str name = received_name(kind, &answer->resources[i]);
        udpai_strbuf_printf(&line, "%s%.*s", i ? ", " : "", UDPAI_SHOWN(name));
        if (variant)
            udpai_strbuf_printf(&line, " v%u", variant);
    }
    if (answer->n_resources > LISTED_NAMES)
        udpai_strbuf_printf(&line, ", … %zu in all", answer->n_resources);
    udpai_strbuf_putc(&line, ']');
    for (size_t i = 0; i < answer->n_removed && i < LISTED_NAMES; i++)
        udpai_strbuf_printf(&line, "%s%.*s", i ? ", " : " removed ",
                            UDPAI_SHOWN(answer->removed[i]));
    udpai_strbuf_printf(&line, " version %.*s nonce %.*s", UDPAI_SHOWN(answer->version),
                        UDPAI_SHOWN(answer->nonce));
    if (line.data)
        udpai_transcribe(session->script, "%s", line.data);
    udpai_strbuf_done(&line);
}

/* ---- answering ---- */

static void
answer(udpai_test_session *session, udpai_kind kind, const udpai_response *response)
{
    udpai_test_subscription *subscription = &session->subscriptions[kind];
    bool is_refused = subscription->manner == UDPAI_NACKS;
    udpai_xds_ask ask = {
        .type_url = udpai_kind_url(kind),
        .nonce = udpai_str_from(response->nonce),
        .error_code = is_refused ? INVALID_ARGUMENT : 0,
        .error_text = is_refused ? UDPAI_STR("rejected by a test") : (udpai_str){0},
    };
    UDPAI_VECTOR(udpai_str) names = {0};
    for (size_t i = 0; i < subscription->names.n && !session->is_delta; i++)
        if (!udpai_vector_push(&names, udpai_str_from(subscription->names.items[i])))
            udpai_fail_script(session->script, "out of memory");
    if (!session->is_delta) {
        ask.names = names.items;
        ask.n_names = names.n;
        ask.version = udpai_str_from(subscription->version ? subscription->version : "");
    }
    udpai_test_session_send(session, kind, &ask);
    udpai_vector_done(&names);
}

static void
take(udpai_test_session *session, const udpai_xds_answer *decoded, udpai_str message)
{
    udpai_kind kind = udpai_kind_of_url(decoded->type_url);
    if (!decoded->type_url.len)
        kind = session->only;
    transcribe_answer(session, kind, decoded);
    if (kind == UDPAI_KINDS)
        return;
    udpai_test_subscription *subscription = &session->subscriptions[kind];
    udpai_note_errors(session, kind, message);
    note_response(session, kind, decoded);
    check_payloads(session, kind, decoded);
    if (!udpai_is_running(session->script))
        return;
    const udpai_response *response = &session->responses.items[session->responses.n - 1];
    subscription->n_responses++;
    replace(&subscription->nonce, copy(session->script, decoded->nonce));
    if (subscription->manner == UDPAI_ACKS)
        replace(&subscription->version, copy(session->script, decoded->version));
    if (subscription->manner != UDPAI_IGNORES && udpai_is_running(session->script))
        answer(session, kind, response);
}

static void
end(udpai_test_session *session)
{
    udpai_call_status status = session->script->stage->peer->status(session->call);
    session->is_over = true;
    udpai_transcribe(session->script, "* stream %u: ended by the server with status %d: %.*s",
                     session->number, status.code, UDPAI_SHOWN(status.text));
    if (status.code == UNIMPLEMENTED && !session->responses.n && session->is_optional)
        udpai_skip_script(session->script, "the server does not serve this method (UNIMPLEMENTED)");
}

bool
udpai_receive(udpai_test_session *session, uint64_t timeout_ms)
{
    udpai_str message;
    udpai_xds_answer decoded;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!udpai_test_session_is_usable(session))
        return false;
    switch (session->script->stage->peer->receive(session->call, timeout_ms, &message)) {
    case UDPAI_RECEIVED_NOTHING:
        return false;
    case UDPAI_RECEIVED_END:
        end(session);
        return false;
    case UDPAI_RECEIVED_MESSAGE:
        break;
    }
    if (udpai_xds_answer_decode(&session->decoder, message, session->is_delta, &decoded, &error) ==
        UDPA_OK)
        take(session, &decoded, message);
    else
        udpai_fail_script(session->script, "the server sent an invalid response: %s",
                          udpa_error_message(error));
    return true;
}
