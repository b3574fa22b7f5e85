/* SPDX-License-Identifier: Apache-2.0 */
/* A server that is polled, on a clock that stands still: what is asked when, with which version,
 * and what the session is shown of the answers. */
#include "xds/polling.h"

#include "tests/harness/oom.h"
#include "tests/harness/wire.h"
#include "tests/unit/xds/polling_test.h"
#include "tests/unit/xds/upstream_test.h"
#include "xds/exchange.h"

#define REFRESH POLLING_REFRESH
#define CDS "/v3/discovery:clusters"

/* ---- the server ---- */

static udpai_polling_response
response_of(const char *version, const char *type_url)
{
    return (udpai_polling_response){.outcome = UDPAI_POLLING_NEW,
                                    .message = W_JOIN(W_TEXT(1, version), W_TEXT(4, type_url))};
}

static const udpai_polling_response same = {.outcome = UDPAI_POLLING_SAME};

static void
respond_version(polling_bed *bed, const char *version)
{
    const udpai_polling_response what = response_of(version, CLUSTER);
    polling_respond(bed, CLUSTER, &what);
}

/* ---- the session ---- */

static void
say(polling_bed *bed, const char *type_url, udpai_str rest)
{
    udpai_str message = W_JOIN(W_TEXT(4, type_url), rest);
    assert_ok(udpai_polling_send(bed->polling, message));
    polling_pass(bed, 0);
}

static udpai_str
nonce_of_delivered(const polling_bed *bed)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(bed->delivered));
    udpai_proto_field field;
    udpai_str nonce = {"", 0};
    while (udpai_proto_next(&reader, &field))
        if (field.number == 5)
            nonce = field.bytes;
    return nonce;
}

/* An answer of the session's, with what else is in its request. */
static void
ack(polling_bed *bed, udpai_str rest)
{
    say(bed, CLUSTER, W_JOIN(wire_bytes(5, nonce_of_delivered(bed)), rest));
}

static udpai_str
refusal(void)
{
    return W_MESSAGE(6, W_VARINT(1, 3), W_TEXT(2, "no"));
}

/* The session has this version of all clusters. */
static void
have(polling_bed *bed, const char *version)
{
    say(bed, CLUSTER, W_NOTHING);
    respond_version(bed, version);
    ack(bed, W_NOTHING);
}

/* ---- asking ---- */

static void
what_is_wanted_is_asked_for_at_once(void **state)
{
    polling_bed *bed = *state;
    polling_expect_nothing(bed);
    say(bed, CLUSTER, W_NOTHING);
    assert_string_equal(bed->asked[polling_index(CLUSTER)].path, CDS);
    polling_expect(bed, CLUSTER, ":");
    say(bed, ENDPOINTS, W_JOIN(W_TEXT(3, "b"), W_TEXT(3, "a"), W_TEXT(5, "x")));
    polling_expect(bed, ENDPOINTS, ": a b");
    assert_int_equal(bed->n_asked, 2);
}

static void
each_type_has_its_path(void **state)
{
    polling_bed *bed = *state;

    static const char *const paths[][2] = {
        {LISTENER, "/v3/discovery:listeners"},
        {ROUTES, "/v3/discovery:routes"},
        {"type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration",
         "/v3/discovery:scoped-routes"},
        {CLUSTER, CDS},
        {ENDPOINTS, "/v3/discovery:endpoints"},
        {SECRET, "/v3/discovery:secrets"},
        {"type.googleapis.com/envoy.service.runtime.v3.Runtime", "/v3/discovery:runtime"},
        {"type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
         "/v3/discovery:extension_configs"},
    };

    assert_int_equal(UDPAI_ARRAY_LEN(paths), UDPAI_XDS_POLLS);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        say(bed, paths[i][0], W_NOTHING);
        assert_string_equal(bed->asked[polling_index(paths[i][0])].path, paths[i][1]);
        polling_expect(bed, paths[i][0], ":");
    }
    say(bed, UDPAI_TYPE_VIRTUAL_HOST, W_NOTHING); /* has none */
    assert_int_equal(bed->n_asked, UDPAI_XDS_POLLS);
}

static void
an_accepted_version_goes_with_the_next_question(void **state)
{
    polling_bed *bed = *state;
    have(bed, "v1");
    polling_pass(bed, REFRESH - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, "v1:");
    polling_respond(bed, CLUSTER, &same);
    assert_int_equal(bed->n_delivered, 1);
    polling_pass(bed, REFRESH);
    polling_expect(bed, CLUSTER, "v1:");
}

static void
nothing_is_asked_before_the_session_has_judged(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    respond_version(bed, "v1");
    polling_pass(bed, 10 * REFRESH);
    polling_expect_nothing(bed);
    say(bed, CLUSTER, W_TEXT(5, "000000000099")); /* of no response */
    polling_pass(bed, REFRESH);
    polling_expect_nothing(bed);
    ack(bed, W_NOTHING);
    polling_expect(bed, CLUSTER, "v1:");
}

static void
refused_version_is_not_said_and_not_fetched_in_a_loop(void **state)
{
    polling_bed *bed = *state;
    have(bed, "v1");
    polling_pass(bed, REFRESH - 1);
    for (unsigned i = 0; i < 3; i++) {
        polling_pass(bed, 1);
        assert_int_equal(bed->n_asked, 2 + i);
        polling_expect(bed, CLUSTER, "v1:");
        udpai_polling_response bad = response_of("v2", CLUSTER);
        bad.server_holds = true; /* and yet answers at once */
        polling_respond(bed, CLUSTER, &bad);
        ack(bed, refusal());
        polling_pass(bed, REFRESH - 1);
        polling_expect_nothing(bed);
    }
    polling_pass(bed, 1);
    respond_version(bed, "v3");
    ack(bed, W_NOTHING);
    polling_pass(bed, REFRESH);
    polling_expect(bed, CLUSTER, "v3:");
}

static void
jitter_is_up_to_a_quarter(void **state)
{
    polling_bed *bed = *state;
    bed->random = REFRESH / 4;
    have(bed, "v1");
    polling_pass(bed, REFRESH + REFRESH / 4 - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, "v1:");
}

/* ---- servers that hold requests ---- */

static void
held_question_is_asked_again_at_once(void **state)
{
    polling_bed *bed = *state;
    have(bed, "v1");
    for (unsigned i = 0; i < 3; i++) {
        polling_pass(bed, REFRESH);
        polling_expect(bed, CLUSTER, "v1:");
        polling_pass(bed, 20 * REFRESH);
        polling_respond(bed, CLUSTER, &same);
        polling_pass(bed, 0);
        polling_expect(bed, CLUSTER, "v1:");
        polling_pass(bed, 20 * REFRESH);
        polling_respond(bed, CLUSTER, &same);
    }
}

static void
who_says_that_he_holds_is_asked_again_behind_a_change(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    udpai_polling_response change = response_of("v1", CLUSTER);
    change.server_holds = true;
    polling_respond(bed, CLUSTER, &change);
    ack(bed, W_NOTHING);
    polling_pass(bed, UDPAI_POLLING_GAP_MS - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, "v1:");
    /* The same again says nothing new, and neither does "nothing" at once: then it does not hold.
     */
    polling_respond(bed, CLUSTER, &change);
    ack(bed, W_NOTHING);
    polling_pass(bed, REFRESH - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_respond(bed, CLUSTER,
                    &(udpai_polling_response){.outcome = UDPAI_POLLING_SAME, .server_holds = true});
    polling_pass(bed, REFRESH - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, "v1:");
}

/* ---- other names ---- */

static void
other_names_are_asked_for_at_once_without_a_version(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_TEXT(3, "a"));
    respond_version(bed, "v1");
    ack(bed, W_TEXT(3, "a"));
    polling_pass(bed, REFRESH);
    polling_expect(bed, CLUSTER, "v1: a");
    say(bed, CLUSTER, W_JOIN(W_TEXT(3, "a"), W_TEXT(3, "b")));
    assert_true(bed->asked[polling_index(CLUSTER)].is_cancelled);
    polling_pass(bed, REFRESH);
    assert_int_equal(bed->n_asked, 2);
    respond_version(bed, "v2"); /* it was under way already */
    polling_pass(bed, 0);
    assert_int_equal(bed->n_delivered, 1);
    polling_expect(bed, CLUSTER, ": a b");
}

static void
names_that_come_one_by_one_are_gathered(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_TEXT(3, "a"));
    respond_version(bed, "v1");
    ack(bed, W_TEXT(3, "a"));
    say(bed, CLUSTER, W_JOIN(W_TEXT(3, "a"), W_TEXT(3, "b")));
    say(bed, CLUSTER, W_JOIN(W_TEXT(3, "c"), W_TEXT(3, "a"), W_TEXT(3, "b")));
    polling_pass(bed, UDPAI_POLLING_GAP_MS - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, ": a b c");
}

static void
version_of_other_names_is_not_taken_over(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_TEXT(3, "a"));
    respond_version(bed, "v1");
    ack(bed, W_JOIN(W_TEXT(3, "a"), W_TEXT(3, "b")));
    polling_pass(bed, UDPAI_POLLING_GAP_MS);
    polling_expect(bed, CLUSTER, ": a b");
    say(bed, CLUSTER, W_JOIN(W_TEXT(3, "b"), W_TEXT(3, "a"))); /* the same */
    assert_false(bed->asked[polling_index(CLUSTER)].is_cancelled);
}

static void
no_names_are_all_only_until_there_were_some(void **state)
{
    polling_bed *bed = *state;
    have(bed, "v1");
    say(bed, CLUSTER, W_TEXT(3, "a"));
    polling_pass(bed, UDPAI_POLLING_GAP_MS);
    polling_expect(bed, CLUSTER, ": a");
    respond_version(bed, "v2");
    ack(bed, W_NOTHING);
    polling_pass(bed, 10 * REFRESH);
    polling_expect_nothing(bed);
    say(bed, CLUSTER, W_JOIN(W_TEXT(3, "a"), W_TEXT(3, "*")));
    polling_expect(bed, CLUSTER, ":"); /* what every server knows for all */
    say(bed, CLUSTER, W_NOTHING);
    assert_true(bed->asked[polling_index(CLUSTER)].is_cancelled);
    polling_respond(bed, CLUSTER, &(udpai_polling_response){.outcome = UDPAI_POLLING_FAILED});
    polling_pass(bed, 10 * REFRESH);
    polling_expect_nothing(bed);
    assert_null(bed->error);
}

/* ---- answers ---- */

static void
session_is_shown_type_and_a_nonce_of_ours(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    const udpai_polling_response bare = {.outcome = UDPAI_POLLING_NEW,
                                         .message = W_JOIN(W_TEXT(5, "theirs"), W_TEXT(1, "v1"))};
    polling_respond(bed, CLUSTER, &bare);
    udpai_decoder decoder;
    udpai_xds_answer seen;
    udpai_decoder_init(&decoder);
    assert_ok(
        udpai_xds_answer_decode(&decoder, udpai_bytes_view(bed->delivered), false, &seen, NULL));
    assert_str(seen.type_url, CLUSTER);
    assert_str(seen.version, "v1");
    assert_str(seen.nonce, "000000000001");
    udpai_decoder_done(&decoder);
}

static void
expect_failure(polling_bed *bed,
               const udpai_polling_response *what,
               udpa_err err,
               const char *words)
{
    say(bed, CLUSTER, W_NOTHING);
    polling_respond(bed, CLUSTER, what);
    assert_int_equal(udpa_error_code(bed->error), err);
    assert_non_null(strstr(udpa_error_message(bed->error), words));
    assert_int_equal(bed->n_delivered, 0);
    polling_pass(bed, 10 * REFRESH);
    polling_expect_nothing(bed);
    bed->error = udpa_error_unref(bed->error);
}

static void
odd_answers_fail(void **state)
{
    polling_bed *bed = *state;
    udpai_polling_response what = response_of("v1", LISTENER);
    expect_failure(bed, &what, UDPA_ERR_INVAL, CDS ": the answer is of type '" LISTENER "'");
    bed->polling = udpai_polling_free(bed->polling);
    polling_open(bed);
    what.message = UDPAI_STR("\x0a\x7f");
    expect_failure(bed, &what, UDPA_ERR_MALFORMED, CDS ": the answer is no DiscoveryResponse");
}

static void
failure_ends_it(void **state)
{
    polling_bed *bed = *state;
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "503");
    expect_failure(bed, &(udpai_polling_response){.outcome = UDPAI_POLLING_FAILED, .error = error},
                   UDPA_ERR_UNAVAILABLE, "503");
    udpa_error_unref(error);
}

static void
what_was_stopped_asks_no_more(void **state)
{
    polling_bed *bed = *state;
    have(bed, "v1");
    say(bed, ENDPOINTS, W_TEXT(3, "a"));
    udpai_polling_set_reading(bed->polling, false);
    const udpai_polling_response late = response_of("e1", ENDPOINTS);
    polling_respond(bed, ENDPOINTS, &late);
    udpai_polling_stop(bed->polling);
    say(bed, LISTENER, W_NOTHING);
    udpai_polling_set_reading(bed->polling, true);
    polling_pass(bed, 10 * REFRESH);
    polling_expect_nothing(bed);
    assert_int_equal(bed->n_delivered, 1);
    assert_null(bed->error);
}

static void
nothing_new_to_who_has_nothing_is_no_state(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    polling_respond(bed, CLUSTER, &same);
    assert_int_equal(bed->n_delivered, 0);
    assert_null(bed->error);
    polling_pass(bed, REFRESH);
    polling_expect(bed, CLUSTER, ":");
}

static void
answer_waits_while_the_session_does_not_read(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    udpai_polling_set_reading(bed->polling, false);
    udpai_polling_response traced = response_of("v1", CLUSTER);
    traced.trace = (udpai_trace){{1}, {2}, true};
    polling_respond(bed, CLUSTER, &traced);
    polling_pass(bed, 10 * REFRESH);
    assert_int_equal(bed->n_delivered, 0);
    polling_expect_nothing(bed);
    udpai_polling_set_reading(bed->polling, true);
    assert_int_equal(bed->n_delivered, 0); /* not in the call */
    polling_pass(bed, 0);
    assert_int_equal(bed->n_delivered, 1);
    assert_memory_equal(&bed->trace, &traced.trace, sizeof(bed->trace)); /* with its trace */
    ack(bed, W_NOTHING);
    polling_expect(bed, CLUSTER, "v1:");
}

/* ---- streams ---- */

static void
new_stream_asks_no_more_often_than_the_old_one(void **state)
{
    polling_bed *bed = *state;
    say(bed, CLUSTER, W_NOTHING);
    polling_pass(bed, 300);
    bed->polling = udpai_polling_free(bed->polling);
    bed->asked[polling_index(CLUSTER)].is_under_way = false;
    polling_open(bed);
    say(bed, CLUSTER, W_NOTHING);
    say(bed, LISTENER, W_NOTHING);
    polling_expect(bed, LISTENER, ":"); /* was not asked for yet */
    polling_pass(bed, REFRESH - 301);
    assert_int_equal(bed->n_asked, 2);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, ":");
}

static void
long_refresh_is_not_waited_for_by_a_new_stream(void **state)
{
    polling_bed *bed = *state;
    bed->polling = udpai_polling_free(bed->polling);
    udpai_polled_server_free(bed->server);
    bed->server = udpai_polled_server_new(
        &(udpai_polling_options){.node = W_TEXT(1, "me"), .refresh_ms = 3600000});
    polling_open(bed);
    say(bed, CLUSTER, W_NOTHING);
    bed->polling = udpai_polling_free(bed->polling);
    bed->asked[polling_index(CLUSTER)].is_under_way = false;
    polling_open(bed);
    say(bed, CLUSTER, W_NOTHING);
    polling_pass(bed, UDPAI_POLLING_RECONNECT_MS - 1);
    polling_expect_nothing(bed);
    polling_pass(bed, 1);
    polling_expect(bed, CLUSTER, ":");
}

/* ---- memory ---- */

static udpa_err
oom_begin(void *userdata, const udpai_polling_request *request)
{
    *(bool *)userdata = request->message != NULL;
    return UDPA_OK;
}

static void
oom_deliver(void *userdata, udpai_str response, const udpai_trace *trace)
{
    (void)trace;
    (void)userdata;
    (void)response;
}

static uint64_t
oom_random(void *userdata)
{
    (void)userdata;
    return 0;
}

static udpa_err oom_failed_with;

static void
oom_fail(void *userdata, udpa_error *error)
{
    (void)userdata;
    oom_failed_with = error ? udpa_error_code(error) : UDPA_ERR_NOMEM;
    udpa_error_unref(error);
}

static udpa_err
whole_life(void *context)
{
    udpai_wheel wheel;
    bool is_asked = false;
    const udpai_polling_ops ops = {.begin = oom_begin,
                                   .deliver = oom_deliver,
                                   .fail = oom_fail,
                                   .random = oom_random,
                                   .userdata = &is_asked};
    (void)context;
    oom_failed_with = UDPA_OK;
    udpai_wheel_init(&wheel, 1);
    UDPA_AUTO(udpai_polled_server_free)
    udpai_polled_server *server = udpai_polled_server_new(&(udpai_polling_options){0});
    UDPA_AUTO(udpai_polling_free)
    udpai_polling *polling = server ? udpai_polling_new(server, &wheel, &ops) : NULL;
    if (!polling)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_polling_send(polling, UDPAI_STR("\x22\x33" CLUSTER "\x1a\x01x"));
    udpai_wheel_advance(&wheel, 2);
    if (err != UDPA_OK || !is_asked)
        return err != UDPA_OK ? err : oom_failed_with;
    udpai_polling_receive(polling, udpai_xds_rest_index(UDPAI_STR(CLUSTER)),
                          &(udpai_polling_response){.message = UDPAI_STR("\x0a\x01v")});
    return oom_failed_with;
}

static void
lack_of_memory_is_told(void **state)
{
    (void)state;
    assert_int_equal(sizeof(CLUSTER) - 1, 0x33);
    oom_torture(whole_life, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, polling_setup, polling_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wanted_is_asked_for_at_once),
        TEST(each_type_has_its_path),
        TEST(an_accepted_version_goes_with_the_next_question),
        TEST(nothing_is_asked_before_the_session_has_judged),
        TEST(refused_version_is_not_said_and_not_fetched_in_a_loop),
        TEST(jitter_is_up_to_a_quarter),
        TEST(held_question_is_asked_again_at_once),
        TEST(who_says_that_he_holds_is_asked_again_behind_a_change),
        TEST(other_names_are_asked_for_at_once_without_a_version),
        TEST(names_that_come_one_by_one_are_gathered),
        TEST(version_of_other_names_is_not_taken_over),
        TEST(no_names_are_all_only_until_there_were_some),
        TEST(session_is_shown_type_and_a_nonce_of_ours),
        TEST(odd_answers_fail),
        TEST(failure_ends_it),
        TEST(what_was_stopped_asks_no_more),
        TEST(nothing_new_to_who_has_nothing_is_no_state),
        TEST(answer_waits_while_the_session_does_not_read),
        TEST(new_stream_asks_no_more_often_than_the_old_one),
        TEST(long_refresh_is_not_waited_for_by_a_new_stream),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
