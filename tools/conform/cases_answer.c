/* SPDX-License-Identifier: Apache-2.0 */
/* Acknowledgements, refusals and nonces: in all four variants. */
#include "tools/conform/cases.h"

#define RESENT_MAX 1000

static void
silent_after_ack(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_test_session_mark(session);
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

static void
silent_after_wildcard_ack(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with_all(script, UDPAI_NO_NAMES);
    udpai_test_session_mark(session);
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

/* A stream that refuses what comes from its next response on. */
static udpai_test_session *
refuse(udpai_script *script, udpai_names names)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_subscribe(session, script->kind, names);
    udpai_expect(session, script->kind, names);
    return session;
}

/* A server that sends rejected resources again does so with each NACK: that is counted. */
static void
count_attempts(udpai_test_session *session)
{
    if (!session || !udpai_is_running(session->script))
        return;
    const udpai_peer *peer = session->script->stage->peer;
    uint64_t begin = peer->now_ms(peer->self);
    size_t n = session->subscriptions[session->script->kind].n_responses, most = n + RESENT_MAX;
    udpai_test_session_mark(session);
    while (session->subscriptions[session->script->kind].n_responses < most &&
           peer->now_ms(peer->self) - begin <= session->script->stage->quiet_ms)
        if (!udpai_receive(session, session->script->stage->quiet_ms))
            break;
    if (udpai_update_of(session, session->script->kind, "a"))
        udpai_fail_script(
            session->script,
            "the server sent what was rejected again, unchanged: %zu more attempts within %llu ms",
            session->subscriptions[session->script->kind].n_responses - n,
            (unsigned long long)(peer->now_ms(peer->self) - begin));
}

static void
refused_not_sent_again(udpai_script *script)
{
    count_attempts(refuse(script, UDPAI_A));
}

static void
refused_update_not_sent_again(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    count_attempts(session);
}

static void
correction_is_sent(udpai_script *script)
{
    udpai_test_session *session = refuse(script, UDPAI_A);
    udpai_behave(session, script->kind, UDPAI_ACKS);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
correction_of_update_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_behave(session, script->kind, UDPAI_ACKS);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
revert_is_sent(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_update *first = udpai_last_of(session, script->kind, "a");
    unsigned good = first ? first->variant : 0;
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_behave(session, script->kind, UDPAI_ACKS);
    udpai_set_as(script, script->kind, "a", &(udpai_world_extra){.variant = good});
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
refusal_spares_others(udpai_script *script)
{
    udpai_test_session *session = refuse(script, UDPAI_A_B);
    udpai_behave(session, script->kind, UDPAI_ACKS);
    udpai_set(script, script->kind, "b");
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
refusal_spares_other_types(udpai_script *script)
{
    udpai_test_session *session = refuse(script, UDPAI_A);
    udpai_subscribe(session, UDPAI_LISTENER, UDPAI_A);
    udpai_expect(session, UDPAI_LISTENER, UDPAI_A);
    udpai_subscribe(session, UDPAI_ENDPOINTS, UDPAI_A);
    udpai_expect(session, UDPAI_ENDPOINTS, UDPAI_A);
}

/* The nonce of clusters is not the last of the stream any more when it is used. */
static void
nonce_is_of_type(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_subscribe(session, UDPAI_LISTENER, UDPAI_A);
    udpai_expect(session, UDPAI_LISTENER, UDPAI_A);
    if (script->is_delta)
        udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_B});
    else
        udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_B);
}

/* The number of the first response, which a later one has made stale. */
static size_t
make_stale(udpai_test_session *session)
{
    udpai_script *script = session ? session->script : NULL;
    if (!script)
        return 0;
    const udpai_response *first = udpai_last_response(session, script->kind);
    size_t index = first ? (size_t)(first - session->responses.items) : 0;
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    return index;
}

/* As sent by a client that has not read the second response yet. */
static void
send_stale(udpai_test_session *session, size_t stale, udpai_test_request request)
{
    if (!session || !udpai_is_running(session->script))
        return;
    request.nonce = session->responses.items[stale].nonce;
    request.version = session->responses.items[stale].version;
    udpai_send_request(session, session->script->kind, &request);
}

static void
stale_is_not_answered(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    size_t stale = make_stale(session);
    udpai_wait_until_quiet(session);
    send_stale(session, stale, (udpai_test_request){.names = UDPAI_A});
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

/* The second request is the answer to the last response, which every client sends. */
static void
stale_names_are_not_lost(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    size_t stale = make_stale(session);
    send_stale(session, stale, (udpai_test_request){.names = UDPAI_A_B});
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_A_B});
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
stale_subscribes(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    size_t stale = make_stale(session);
    send_stale(session, stale, (udpai_test_request){.names = UDPAI_B});
    udpai_expect(session, script->kind, UDPAI_B);
}

static void
stale_unsubscribes(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A_B);
    size_t stale = make_stale(session);
    send_stale(session, stale, (udpai_test_request){.unsubscribed = UDPAI_B});
    udpai_wait_until_quiet(session);
    udpai_set(script, script->kind, "b");
    udpai_expect_nothing_of(session, script->kind, UDPAI_B);
}

static void
unprompted_subscribes(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request(session, script->kind, &(udpai_test_request){.names = UDPAI_B, .nonce = ""});
    udpai_expect(session, script->kind, UDPAI_B);
}

/* Neither answers the last response: the first has an old version, but no error. */
static void
old_version_is_no_refusal(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_test_session_mark(session);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_A, .version = "an-older-version"});
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
}

/* Clients that have rejected their first response of a type have no other version to name. */
static void
refusal_by_error_alone(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_response *last = udpai_last_response(session, script->kind);
    udpai_test_session_mark(session);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_A,
                                             .version = last ? last->version : "",
                                             .error_code = 3});
    udpai_expect_nothing_of(session, script->kind, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

#define RULE_SILENT                                                                                \
    "The server sends updates when resources have changed; sending the same again is needless "    \
    "work."
#define RULE_HOT_LOOP                                                                              \
    "A NACK does not cause the same response again: only a change of the resources causes a "      \
    "response."

#define SILENT(label, type, function)                                                              \
    {                                                                                              \
        .name = "ack-" label, .section = UDPAI_SECTION_UPDATE, .rule = RULE_SILENT,                \
        .ways = UDPAI_ALL_WAYS, .kind = (type), .run = (function)                                  \
    }
#define NACK(label, text, ways_of_it, type, function)                                              \
    {                                                                                              \
        .name = "nack-" label, .section = UDPAI_SECTION_ACK, .rule = (text), .ways = (ways_of_it), \
        .needs = UDPAI_NEEDS_CHANGES, .kind = (type), .run = (function)                            \
    }
#define STALE(label, text, how, ways_of_it, function)                                              \
    {                                                                                              \
        .name = (label), .section = UDPAI_SECTION_RESOURCE_UPDATES, .rule = (text),                \
        .level = (how), .ways = (ways_of_it), .needs = UDPAI_NEEDS_CHANGES,                        \
        .kind = UDPAI_ENDPOINTS, .run = (function)                                                 \
    }

static const udpai_case cases[] = {
    SILENT("silence-listener", UDPAI_LISTENER, silent_after_ack),
    SILENT("silence-route", UDPAI_ROUTES, silent_after_ack),
    SILENT("silence-cluster", UDPAI_CLUSTER, silent_after_ack),
    SILENT("silence-endpoint", UDPAI_ENDPOINTS, silent_after_ack),
    SILENT("silence-wildcard", UDPAI_CLUSTER, silent_after_wildcard_ack),
    {.name = "nack-no-hot-loop",
     .section = UDPAI_SECTION_UPDATE,
     .rule = RULE_HOT_LOOP,
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_CLUSTER,
     .run = refused_not_sent_again},
    {.name = "nack-no-hot-loop-endpoint",
     .section = UDPAI_SECTION_UPDATE,
     .rule = RULE_HOT_LOOP,
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = refused_not_sent_again},
    {.name = "nack-of-update-no-hot-loop",
     .section = UDPAI_SECTION_UPDATE,
     .rule = RULE_HOT_LOOP,
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = refused_update_not_sent_again},
    NACK("then-correction",
         "After a NACK an update may succeed: the server sends it.",
         UDPAI_ALL_WAYS,
         UDPAI_CLUSTER,
         correction_is_sent),
    NACK("of-update-then-correction",
         "After a NACK an update may succeed: the server sends it.",
         UDPAI_ALL_WAYS,
         UDPAI_ENDPOINTS,
         correction_of_update_is_sent),
    NACK("then-revert",
         "A rejected resource differs from the one before it, so going back is a change.",
         UDPAI_ALL_WAYS,
         UDPAI_CLUSTER,
         revert_is_sent),
    NACK(
        "spares-other-resources",
        "A NACK applies to one response; the server continues to send other resources of the type.",
        UDPAI_ALL_WAYS,
        UDPAI_ENDPOINTS,
        refusal_spares_others),
    {.name = "nack-spares-other-types",
     .section = UDPAI_SECTION_ADS,
     .rule = "Types of one aggregated stream are independent sequences of requests and responses.",
     .ways = UDPAI_AGGREGATED,
     .kind = UDPAI_CLUSTER,
     .run = refusal_spares_other_types},
    {.name = "nack-by-error-detail-alone",
     .section = UDPAI_SECTION_ACK,
     .rule = "error_detail makes a request a NACK; its version need not be an older one.",
     .ways = UDPAI_SOTW,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = refusal_by_error_alone},
    {.name = "old-version-is-no-nack",
     .section = UDPAI_SECTION_ACK,
     .rule = "Without error_detail a request is not a NACK, whatever version it names.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_SOTW,
     .kind = UDPAI_ENDPOINTS,
     .run = old_version_is_no_refusal},
    {.name = "nonce-is-of-its-type",
     .section = UDPAI_SECTION_ADS,
     .rule = "A nonce pairs request and response of one type; responses of other types do not make "
             "it stale.",
     .ways = UDPAI_AGGREGATED,
     .kind = UDPAI_CLUSTER,
     .run = nonce_is_of_type},
    STALE("stale-nonce-is-not-answered",
          "The server does not respond to a stale nonce: the client will answer the last response.",
          UDPAI_SHOULD,
          UDPAI_SOTW,
          stale_is_not_answered),
    STALE("stale-nonce-loses-no-names",
          "A newer request replaces an older one: the server sends names that a stale request had "
          "as well.",
          UDPAI_MUST,
          UDPAI_SOTW,
          stale_names_are_not_lost),
    STALE("stale-nonce-subscribes",
          "In delta the server applies changes of subscriptions even if their nonce is stale.",
          UDPAI_MUST,
          UDPAI_DELTA,
          stale_subscribes),
    STALE("stale-nonce-unsubscribes",
          "In delta the server applies changes of subscriptions even if their nonce is stale.",
          UDPAI_MUST,
          UDPAI_DELTA,
          stale_unsubscribes),
    {.name = "request-without-nonce-subscribes",
     .section = UDPAI_SECTION_DELTA,
     .rule = "Delta clients may subscribe at any time, without answering a response.",
     .ways = UDPAI_DELTA,
     .kind = UDPAI_ENDPOINTS,
     .run = unprompted_subscribes},
};

const udpai_cases udpai_cases_answer = {cases, UDPAI_ARRAY_LEN(cases)};
