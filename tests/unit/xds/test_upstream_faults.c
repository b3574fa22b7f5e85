/* SPDX-License-Identifier: Apache-2.0 */
/* An xDS server as a source that misbehaves, is slow, or says more than it should. */
#include "tests/unit/xds/upstream_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "xds/upstream_internal.h"

/* ---- what is answered ---- */

/* What answers it is not without limit, either. */
static void
who_does_not_read_is_not_read(void **state)
{
    upstream_bed *bed = *state;
    size_t n = 0;
    upstream_ask_all(bed, CLUSTER);
    udpai_hub_run(bed->hub.hub); /* this write never ends */
    for (; n < 10000 && !bed->stream.is_paused; n++) {
        upstream_respond(bed, upstream_of_type(CLUSTER, "n"));
        upstream_expect(bed, "nothing");
        udpai_hub_run(bed->hub.hub);
    }
    assert_in_range(n, 100, 1000);
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    upstream_expect(bed, ""); /* there may be more to read */
    fake_hub_advance(&bed->hub, 60000);
    assert_true(bed->stream.is_finished);
    assert_int_equal(udpa_error_code(bed->stream.status), UDPA_ERR_LIMIT);
}

static udpai_publication *
take_publication(upstream_bed *bed)
{
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    assert_non_null(report);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    return publication;
}

static void
give_back(upstream_bed *bed, udpai_publication *publication)
{
    udpai_order *judged = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    judged->session = bed->stream.session->id;
    judged->publication = publication;
    udpai_hub_order(bed->hub.hub, judged);
}

/* An application may take its time with one, and none with the next. */
static void
answers_keep_the_order_of_responses(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "1", upstream_cluster("a", 1))));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"),
                                 upstream_resource("b", "1", upstream_cluster("b", 1))));
    udpai_publication *first = take_publication(bed);
    give_back(bed, take_publication(bed));
    upstream_expect_no_request(bed);
    give_back(bed, first);
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n1");
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n2");
}

/* Its error is a string, which others refuse if a character is cut in two. */
static void
a_refusal_is_valid_text(void **state)
{
    upstream_bed *bed = *state;
    char text[2001] = "a";
    for (size_t i = 1; i + 1 < sizeof(text) - 1; i += 2)
        memcpy(text + i, "é", 2);
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "1", upstream_cluster("a", 1))));
    upstream_judge(bed, "+com.acme/a ", udpa_error_new(UDPA_ERR_DENIED, NULL, "%s", text));
    upstream_expect_request(bed, CLUSTER, ""); /* decoded, and so checked */
    assert_true(bed->request.is_refusal);
}

/* ---- what is told ---- */

/* The version that the next stream tells. */
static const char *
told_of(upstream_bed *bed, size_t len)
{
    static char version[5001];
    memset(version, 'v', len);
    version[len] = '\0';
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 upstream_resource("a", version, upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_disconnect(bed);
    upstream_connect(bed);
    upstream_ask_holding(
        bed, ENDPOINTS, "com.acme/a",
        (udpai_held_version){UDPAI_STR("com.acme/a"),
                             udpai_str_from(upstream_hash(upstream_endpoints("a", 1)))});
    upstream_expect_request(bed, ENDPOINTS, "a");
    return udpai_str_eq(bed->request.versions[0].version, udpai_str_from(version)) ? "it" : "?";
}

/* A version is as long as the server likes; what is not told is sent again. */
static void
versions_without_end_are_not_told(void **state)
{
    upstream_bed *bed = *state;
    assert_string_equal(told_of(bed, 5000), "?");
    assert_str(bed->request.versions[0].version, "?");
}

static void
versions_are_told_up_to_a_length(void **state)
{
    assert_string_equal(told_of(*state, UDPAI_UPSTREAM_VERSION_MAX), "it");
}

static void
and_no_further(void **state)
{
    assert_string_equal(told_of(*state, UDPAI_UPSTREAM_VERSION_MAX + 1), "?");
}

/* ---- what is taken for gone ---- */

#define HELD(name)                                                                                 \
    (udpai_held_version)                                                                           \
    {                                                                                              \
        UDPAI_STR(name), UDPAI_STR("h")                                                            \
    }

/* It is refused, so what was there is there still. */
static void
what_is_refused_is_not_gone(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    udpai_str wrong = upstream_any(
        "type.googleapis.com/envoy.service.discovery.v3.Resource",
        W_JOIN(W_TEXT(3, "a"), W_TEXT(1, "2"), wire_bytes(2, upstream_endpoints("a", 1))));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"), wire_bytes(2, wrong)));
    upstream_expect(bed, "nothing");
}

/* A state may have been sent before the server heard of the name. */
static void
a_state_says_nothing_of_what_was_asked_for_meanwhile(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, CLUSTER, "com.acme/a");
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    upstream_ask_holding(bed, CLUSTER, "com.acme/b", HELD("com.acme/b"));
    while (upstream_next_request(bed))
        ;
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n2"), wire_bytes(2, upstream_cluster("a", 2))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n3"),
                                 wire_bytes(2, upstream_cluster("a", 2)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(bed, "+com.acme/b ");
    upstream_expect(bed, "complete");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n4"), wire_bytes(2, upstream_cluster("a", 2))));
    upstream_expect(bed, "-com.acme/b "); /* which it had */
}

static void
nor_of_a_wildcard_that_came_later(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, CLUSTER, "com.acme/a");
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    upstream_ask_holding(bed, CLUSTER, "", HELD("com.acme/b"));
    upstream_expect(bed, "+com.acme/a ");
    while (upstream_next_request(bed))
        ;
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n2"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    upstream_expect(bed, "-com.acme/b ");
    upstream_expect(bed, "complete");
}

static void
ask_all_of(upstream_bed *bed, const char *name_space, udpai_held_version held)
{
    const udpai_str all = {"", 0};
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(CLUSTER),
        .name_space = udpai_str_from(name_space),
        .names = &all,
        .n_names = 1,
        .versions = &held,
        .n_versions = 1,
    };
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = bed->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    udpai_hub_order(bed->hub.hub, order);
}

/* All was said when it was asked for, so what is held and was not named has gone. */
static void
who_asks_late_learns_what_has_gone(void **state)
{
    upstream_bed *bed = *state;
    ask_all_of(bed, "com.acme/one", HELD("com.acme/one/old"));
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, upstream_of_type(CLUSTER, "n1"));
    upstream_expect(bed, "nothing");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    upstream_expect(bed, "-com.acme/one/old ");
    upstream_expect(bed, "complete");
    ask_all_of(bed, "com.acme/two", HELD("com.acme/two/old"));
    upstream_expect(bed, "-com.acme/two/old ");
    upstream_expect(bed, "complete");
}

/* ---- what it may not be asked for ---- */

/* Told as a name, and taken back, it would be everybody's wildcard. */
static void
a_wildcard_is_no_name(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_ask_name(bed, CLUSTER, "com.acme/*");
    upstream_expect_no_request(bed);
    upstream_ask_no_more(bed, CLUSTER, "com.acme/*");
    upstream_expect_no_request(bed);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("*", "1", upstream_cluster("*", 1))));
    upstream_expect(bed, "nothing");
    upstream_expect_request(bed, CLUSTER, "");
    assert_true(bed->request.is_refusal);
}

/* ---- what may be there ---- */

static udpai_str
some_clusters(const char *nonce, unsigned first, unsigned n)
{
    udpai_str all = upstream_of_type(CLUSTER, nonce);
    for (unsigned i = first; i < first + n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%u", i);
        all = W_JOIN(all, wire_bytes(2, upstream_cluster(name, 1)));
    }
    return all;
}

static int
setup_small(void **state)
{
    (void)upstream_setup_sotw(state);
    upstream_bed *bed = *state;
    upstream_disconnect(bed);
    udpai_upstream_free(bed->upstream);
    assert_ok(udpai_upstream_new(&bed->upstream, &(udpai_upstream_options){
                                                     .name_space = UDPAI_STR("com.acme"),
                                                     .authority = UDPAI_STR("istio"),
                                                     .max_held = 2,
                                                 }));
    upstream_connect(bed);
    return 0;
}

/* All may be others at once; what is too many is refused, and does not end the stream. */
static void
too_many_are_refused_one_by_one(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, some_clusters("n1", 0, 2));
    upstream_expect(bed, "+com.acme/0 +com.acme/1 ");
    upstream_expect(bed, "complete");
    upstream_respond(bed, some_clusters("n2", 2, 2));
    fake_hub_advance(&bed->hub, 1);
    assert_false(bed->stream.is_finished);
    udpai_publication *others = take_publication(bed);
    assert_int_equal(others->entries.n, 2);
    assert_int_equal(others->removals.n, 2);
    give_back(bed, others);
    upstream_respond(bed, some_clusters("n3", 2, 6));
    assert_false(bed->stream.is_finished);
    upstream_expect(bed, "+com.acme/4 +com.acme/5 ");
    do
        assert_true(upstream_next_request(bed));
    while (!bed->request.is_refusal);
    assert_int_equal(bed->request.error_code, 8);
}

/* A server that sends ever other names with a ttl has not all of them held; and what an ended one
 * named ends, too. */
static void
what_has_expired_is_let_go(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"),
                                           wire_bytes(2, upstream_cluster("a", 1)),
                                           W_MESSAGE(6, W_VARINT(1, 5)))));
    upstream_expect(bed, "nothing");
    do
        assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, UDPAI_STR(ENDPOINTS)));
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 upstream_resource("a", "1", upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, 4999);
    upstream_expect(bed, "complete");
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, 2);
    upstream_expect(bed, "-com.acme/a ");
    do
        assert_true(upstream_next_request(bed));
    while (bed->request.n_unsubscribed == 0);
    assert_str(bed->request.unsubscribed[0], "a");
}

/* Though nobody has asked for it but those that follow it. */
static void
what_is_renewed_has_not_expired(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"),
                                           wire_bytes(2, upstream_cluster("a", 1)),
                                           W_MESSAGE(6, W_VARINT(1, 5)))));
    upstream_expect(bed, "nothing");
    do
        assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, UDPAI_STR(ENDPOINTS)));
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 upstream_resource("a", "1", upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, 4000);
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n2"),
                    W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"), W_MESSAGE(6, W_VARINT(1, 9)))));
    fake_hub_advance(&bed->hub, 8000);
    upstream_expect(bed, "complete");
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, 2000);
    upstream_expect(bed, "-com.acme/a ");
}

static void
a_heartbeat_renews_what_came_by_an_alias(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, SECRET, "com.acme/www");
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(SECRET, "n1"),
                                 W_MESSAGE(2, W_TEXT(3, "host"), W_TEXT(1, "1"), W_TEXT(4, "www"),
                                           wire_bytes(2, upstream_any(SECRET, W_TEXT(1, "h"))),
                                           W_MESSAGE(6, W_VARINT(1, 5)))));
    upstream_expect(bed, "+com.acme/host ");
    upstream_expect(bed, "complete");
    for (int i = 0; i < 5; i++) {
        fake_hub_advance(&bed->hub, 3000);
        upstream_respond(bed, W_JOIN(upstream_of_type(SECRET, "n2"),
                                     W_MESSAGE(2, W_TEXT(3, "host"), W_TEXT(1, "1"),
                                               W_TEXT(4, "www"), W_MESSAGE(6, W_VARINT(1, 5)))));
        upstream_expect(bed, "+com.acme/host ");
    }
}

/* ---- what is told of its end ---- */

/* Or nobody would know what is wrong with the server. */
static void
the_end_says_why(void **state)
{
    upstream_bed *bed = *state;
    udpa_error *why = udpa_error_new(UDPA_ERR_LIMIT, NULL, "enough");
    udpai_session_closed(UDPAI_TAKE(bed->stream.session), why);
    udpa_error_unref(why);
    udpai_report *closed = fake_hub_take_report(&bed->hub, UDPAI_REPORT_CLOSED);
    assert_string_equal(udpa_error_message(closed->error), "enough");
    udpai_report_free(closed);
    fake_stream_close(&bed->stream);
    upstream_connect(bed);
}

/* ---- what it costs ---- */

/* Patterns are compared with all names that were asked for: a response of patterns that match none
 * would take a minute. */
static void
patterns_are_not_compared_without_end(void **state)
{
    enum {
        N_ASKED = 20000,
        N_RESOURCES = 50
    };

    upstream_bed *bed = *state;
    char(*texts)[32] = calloc(N_ASKED, sizeof(*texts));
    udpai_str *names = calloc(N_ASKED, sizeof(*names));
    for (size_t i = 0; i < N_ASKED; i++)
        names[i] =
            (udpai_str){texts[i], (size_t)snprintf(texts[i], sizeof(*texts), "com.acme/a/%zu", i)};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = bed->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&(udpai_subscription_message){
        .type_url = UDPAI_STR(SECRET), .names = names, .n_names = N_ASKED});
    udpai_hub_order(bed->hub.hub, order);
    free(names);
    free(texts);
    while (upstream_next_request(bed))
        ;
    udpai_str aliases = {"", 0};
    for (size_t i = 0; i < 100; i++)
        aliases = W_JOIN(aliases, W_TEXT(4, "z/*"));
    udpai_str response = upstream_of_type(SECRET, "n1");
    for (size_t i = 0; i < N_RESOURCES; i++)
        response = W_JOIN(response, W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"), aliases,
                                              wire_bytes(2, upstream_any(SECRET, W_TEXT(1, "h")))));
    upstream_respond(bed, response);
    upstream_expect(bed, "nothing");
    upstream_expect_request(bed, SECRET, "");
    assert_true(bed->request.is_refusal);
    assert_int_equal(bed->request.error_code, 8);
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, upstream_setup_delta, upstream_teardown)
#define TEST_SOTW(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, upstream_setup_sotw, upstream_teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_does_not_read_is_not_read),
        TEST(answers_keep_the_order_of_responses),
        TEST(a_refusal_is_valid_text),
        TEST(versions_without_end_are_not_told),
        TEST(versions_are_told_up_to_a_length),
        TEST(and_no_further),
        TEST_SOTW(what_is_refused_is_not_gone),
        TEST_SOTW(a_state_says_nothing_of_what_was_asked_for_meanwhile),
        TEST_SOTW(nor_of_a_wildcard_that_came_later),
        TEST(who_asks_late_learns_what_has_gone),
        TEST(a_wildcard_is_no_name),
        TEST(what_has_expired_is_let_go),
        TEST(what_is_renewed_has_not_expired),
        TEST(the_end_says_why),
        TEST(patterns_are_not_compared_without_end),
        TEST(a_heartbeat_renews_what_came_by_an_alias),
        cmocka_unit_test_setup_teardown(too_many_are_refused_one_by_one, setup_small,
                                        upstream_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
