/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: those that come after others, several at once, and what may be sent on them. */
#include "tools/conform/cases.h"

#define UNKNOWN_TYPE "type.googleapis.com/conform.v1.Unknown"

static void
new_stream_is_answered(udpai_script *script)
{
    udpai_test_session_close(udpai_begin_with(script, UDPAI_A));
    (void)udpai_begin_with(script, UDPAI_A);
}

/* As an Envoy does that has lost its connection: what the stream before had, without its nonce. */
static void
come_again(udpai_script *script, udpai_names before, udpai_names names, bool with_nonce)
{
    udpai_test_session *first = udpai_begin_with(script, before);
    const udpai_response *last = udpai_last_response(first, script->kind);
    udpai_test_session *second = udpai_test_session_open(script, script->kind);
    udpai_test_request request = {.names = names};
    if (last && !script->is_delta)
        request.version = last->version;
    if (last && with_nonce)
        request.nonce = last->nonce;
    udpai_test_session_close(first);
    udpai_send_request(second, script->kind, &request);
    udpai_expect(second, script->kind, names);
}

static void
same_version_is_answered(udpai_script *script)
{
    come_again(script, UDPAI_A, UDPAI_A, false);
}

static void
other_names_are_answered(udpai_script *script)
{
    come_again(script, UDPAI_A, UDPAI_B, false);
}

static void
old_nonce_is_answered(udpai_script *script)
{
    come_again(script, UDPAI_A, UDPAI_B, true);
}

static void
new_stream_after_refusal(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_behave(session, script->kind, UDPAI_NACKS);
    udpai_subscribe(session, script->kind, UDPAI_A);
    udpai_expect(session, script->kind, UDPAI_A);
    udpai_test_session_close(session);
    (void)udpai_begin_with(script, UDPAI_A);
}

static void
change_between_streams(udpai_script *script)
{
    udpai_test_session_close(udpai_begin_with(script, UDPAI_A));
    udpai_set(script, script->kind, "a");
    (void)udpai_begin_with(script, UDPAI_A);
}

static void
two_streams_of_a_node(udpai_script *script)
{
    udpai_test_session *one = udpai_begin_with(script, UDPAI_A);
    udpai_test_session *other = udpai_begin_with(script, UDPAI_A_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(one, script->kind, UDPAI_A);
    udpai_expect(other, script->kind, UDPAI_A);
}

static void
stream_for_each_name(udpai_script *script)
{
    udpai_test_session *one = udpai_begin_with(script, UDPAI_A);
    udpai_test_session *other = udpai_begin_with(script, UDPAI_B);
    udpai_set(script, script->kind, "b");
    udpai_expect(other, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(one, script->kind, UDPAI_A);
}

static void
stream_that_ends_takes_none_along(udpai_script *script)
{
    udpai_test_session *one = udpai_begin_with(script, UDPAI_A);
    udpai_test_session *other = udpai_begin_with(script, UDPAI_A);
    udpai_test_session_close(other);
    udpai_set(script, script->kind, "a");
    udpai_expect(one, script->kind, UDPAI_A);
}

/* Only the first request of any stream here has the Node. */
static void
node_once(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_subscribe(session, script->kind, UDPAI_A_B);
    udpai_expect(session, script->kind, UDPAI_B);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
}

/* A field of a length that the message does not have. */
static const udpai_str malformed = {"\x0a\x7f"
                                    "a",
                                    3};

static void
malformed_ends_its_stream(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_bytes(session, malformed);
    udpai_expect_end(session, -1);
}

static void
malformed_spares_others(udpai_script *script)
{
    udpai_test_session *good = udpai_begin_with(script, UDPAI_A);
    udpai_test_session *bad = udpai_test_session_open(script, script->kind);
    udpai_send_bytes(bad, malformed);
    udpai_wait_until_quiet(bad);
    udpai_subscribe(good, script->kind, UDPAI_A_B);
    udpai_expect(good, script->kind, UDPAI_B);
}

static void
unknown_type_spares_others(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_send_request_of_type(session, UNKNOWN_TYPE);
    udpai_wait_until_quiet(session);
    udpai_subscribe(session, UDPAI_LISTENER, UDPAI_A);
    udpai_expect(session, UDPAI_LISTENER, UDPAI_A);
}

static void
aggregated_needs_type(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_A, .has_no_type = true});
    udpai_expect_end(session, -1);
}

static void
type_may_be_left_out(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(session, script->kind,
                       &(udpai_test_request){.names = UDPAI_A, .has_no_type = true});
    udpai_expect(session, script->kind, UDPAI_A);
}

static void
other_type_is_refused(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, UDPAI_LISTENER, UDPAI_A);
    udpai_wait_until_quiet(session);
    udpai_require(script, !udpai_last_of(session, UDPAI_LISTENER, "a"),
                  "the service of %ss has sent a listener", udpai_kind_word(script->kind));
    udpai_expect_end(session, -1);
}

#define AGAIN(label, text, ways_of_it, how, type, function)                                        \
    {                                                                                              \
        .name = "reconnect-" label, .section = UDPAI_SECTION_ACK, .rule = (text), .level = (how),  \
        .ways = (ways_of_it), .kind = (type), .run = (function)                                    \
    }
#define SEVERAL(label, text, function)                                                             \
    {                                                                                              \
        .name = (label), .section = UDPAI_SECTION_MULTIPLE, .rule = (text),                        \
        .ways = UDPAI_ALL_WAYS, .needs = UDPAI_NEEDS_CHANGES, .kind = UDPAI_ENDPOINTS,             \
        .run = (function)                                                                          \
    }
#define RULE_SERVICE "Each service is for one type of resources."

static const udpai_case cases[] = {
    AGAIN("is-answered",
          "A new stream has no state: the server sends what the client subscribes to.",
          UDPAI_ALL_WAYS,
          UDPAI_MUST,
          UDPAI_CLUSTER,
          new_stream_is_answered),
    AGAIN("same-version-is-answered",
          "A version does not identify the names that the client had, so the server sends those of "
          "the request.",
          UDPAI_SOTW,
          UDPAI_SHOULD,
          UDPAI_ENDPOINTS,
          same_version_is_answered),
    AGAIN("other-names-are-answered",
          "A client that names a version may subscribe to names that it did not have: the server "
          "sends them.",
          UDPAI_SOTW,
          UDPAI_MUST,
          UDPAI_ENDPOINTS,
          other_names_are_answered),
    AGAIN("old-nonce-is-answered",
          "A nonce does not outlive its stream: a first request that has one is a first request.",
          UDPAI_ALL_WAYS,
          UDPAI_MUST,
          UDPAI_ENDPOINTS,
          old_nonce_is_answered),
    AGAIN("after-nack-is-answered",
          "A client that has sent a NACK and reconnects holds nothing: the server sends the "
          "resources that it subscribes to.",
          UDPAI_ALL_WAYS,
          UDPAI_MUST,
          UDPAI_CLUSTER,
          new_stream_after_refusal),
    {.name = "reconnect-gets-change",
     .section = UDPAI_SECTION_ACK,
     .rule = "The server sends on the next stream what has changed while there was none.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_CLUSTER,
     .run = change_between_streams},
    SEVERAL("two-streams-of-a-node",
            "A client may have several streams; the server serves each of them.",
            two_streams_of_a_node),
    SEVERAL("stream-for-each-name",
            "Clients may have a stream for each resource.",
            stream_for_each_name),
    SEVERAL("stream-that-ends-spares-others",
            "Streams are independent of each other.",
            stream_that_ends_takes_none_along),
    {.name = "node-once",
     .section = UDPAI_SECTION_OVERVIEW,
     .rule = "Only the first request of a stream is certain to carry the Node.",
     .ways = UDPAI_ALL_WAYS,
     .needs = UDPAI_NEEDS_CHANGES,
     .kind = UDPAI_ENDPOINTS,
     .run = node_once},
    {.name = "malformed-ends-its-stream",
     .section = UDPAI_SECTION_OVERVIEW,
     .rule = "An invalid request ends the stream with an error.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = malformed_ends_its_stream},
    {.name = "malformed-spares-others",
     .section = UDPAI_SECTION_OVERVIEW,
     .rule = "Streams are independent of each other, and of errors on others.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_ENDPOINTS,
     .run = malformed_spares_others},
    {.name = "unknown-type-spares-others",
     .section = UDPAI_SECTION_ADS,
     .rule = "Types of one aggregated stream are independent, also of a type that the server does "
             "not have.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_AGGREGATED,
     .kind = UDPAI_CLUSTER,
     .run = unknown_type_spares_others},
    {.name = "request-without-type-is-refused",
     .section = UDPAI_SECTION_ADS,
     .rule = "On an aggregated stream a request needs the type URL: without it, the client "
             "receives an error.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_AGGREGATED,
     .kind = UDPAI_CLUSTER,
     .run = aggregated_needs_type},
    {.name = "type-may-be-left-out",
     .section = UDPAI_SECTION_VARIANTS,
     .rule = RULE_SERVICE " So requests on its streams need not name it.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_PER_TYPE,
     .kind = UDPAI_CLUSTER,
     .run = type_may_be_left_out},
    {.name = "other-type-is-refused",
     .section = UDPAI_SECTION_VARIANTS,
     .rule = RULE_SERVICE " A request for another type receives an error.",
     .level = UDPAI_SHOULD,
     .ways = UDPAI_PER_TYPE,
     .kind = UDPAI_CLUSTER,
     .run = other_type_is_refused},
};

const udpai_cases udpai_cases_stream = {cases, UDPAI_ARRAY_LEN(cases)};
