/* SPDX-License-Identifier: Apache-2.0 */
/* A client of LRS is asked for what somebody wants. The loop side is the test. */
#include "lrs_test.h"

/* ---- who it is ---- */

static void
client_is_introduced_as_a_client(void **state)
{
    lrs_test *test = *state;
    lrs_begin_as(test, ID, UDPAI_LRS_FEATURE_ALL);
    udpai_report *opened = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_OPENED);
    udpai_report *told = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_NODE);
    assert_non_null(opened);
    assert_non_null(told);
    assert_str(udpai_node_info_parts(told->info)->id, ID);
    assert_true(udpai_node_info_has_feature(told->info, UDPAI_FEATURE_CLIENT));
    assert_false(udpai_node_info_has_feature(told->info, UDPAI_FEATURE_NODE));
    assert_false(told->is_extended);
    udpai_report_free(opened);
    udpai_report_free(told);
    fake_stream_close(&test->stream);
    udpai_report *closed = fake_hub_take_report(&test->world.hub, UDPAI_REPORT_CLOSED);
    assert_non_null(closed);
    udpai_report_free(closed);
}

static void
first_request_must_say_who_it_is(void **state)
{
    lrs_test *test = *state;
    lrs_open_stream(test);
    lrs_send(test, W_NOTHING);
    lrs_expect_end(test, UDPA_ERR_PRECONDITION, "must have the client's Node");
    fake_stream_close(&test->stream);
    assert_int_equal(test->world.hub.n_reports, 0);
}

static void
node_needs_an_id(void **state)
{
    lrs_test *test = *state;
    lrs_begin_as(test, "", UDPAI_LRS_FEATURE_ALL);
    lrs_expect_end(test, UDPA_ERR_INVAL, "needs an id");
}

static void
strangers_are_refused(void **state)
{
    lrs_test *test = *state;
    static const udpai_str ids[] = {{"other", 5}};
    test->world.audience.match.node_ids = (udpai_xds_patterns){ids, 1};
    lrs_begin_as(test, ID, UDPAI_LRS_FEATURE_ALL);
    lrs_expect_end(test, UDPA_ERR_DENIED, "you belong to no audience");
    assert_int_equal(test->world.hub.n_reports, 0);
}

static void
nobody_becomes_somebody_else(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_send(test, W_JOIN(lrs_node(test, ID, "x"), lrs_stats("a", 1, 1)));
    assert_false(test->stream.is_finished);
    lrs_send(test, lrs_node(test, "other", "x"));
    lrs_expect_end(test, UDPA_ERR_ABORTED, "you were 'client/1'");
}

static void
malformed_requests_end_the_stream(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_send(test, W_MESSAGE(2, W_BYTES(1, "\xff")));
    lrs_expect_end(test, UDPA_ERR_MALFORMED, "UTF-8");
}

/* ---- what is asked ---- */

static void
nothing_is_asked_while_nobody_wants_anything(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_expect_asked(test, NULL);
    lrs_order(test, UDPAI_ORDER_SUBSCRIBE, "type.googleapis.com/udpa.load.v1.ClusterLoad", "*");
    lrs_expect_asked(test, NULL);
    lrs_want(test, "*com.other"); /* which it is not shown */
    lrs_want(test, "local/a/somebody-else");
    lrs_expect_asked(test, NULL);
}

static void
clusters_are_named_where_they_can_be(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_expect_asked(test, "a");
    lrs_want(test, "local/b/c/" SEGMENT);
    lrs_expect_asked(test, "a b/c");
    lrs_want(test, "*com.acme/x");
    lrs_expect_asked(test, "a b/c com.acme/x");
    lrs_want(test, "*local/a"); /* again */
    lrs_expect_asked(test, NULL);
    lrs_want(test, "*local/d/" SEGMENT); /* a cluster of that name, or this client's word on d */
    lrs_expect_asked(test, "a b/c com.acme/x d d/" SEGMENT);
}

static void
all_are_asked_for_where_a_namespace_is_wanted(void **state)
{
    static const char *const wishes[] = {"*", "*local", "*local/", "*com.acme", "*com.acme.shop"};
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_expect_asked(test, "a");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wishes); i++) {
        lrs_want(test, wishes[i]);
        lrs_expect_asked(test, "(all)");
        lrs_unwant(test, wishes[i]);
        lrs_want(test, "*local/a"); /* the end of "*" is that of all wildcards */
        const char *last = lrs_asked(test);
        for (const char *next; last && (next = lrs_asked(test));)
            last = next;
        assert_string_equal(last ? last : "(nothing)", "a");
    }
}

static void
whoever_cannot_send_all_is_asked_for_names(void **state)
{
    lrs_test *test = *state;
    lrs_begin_as(test, ID, "some.other.feature");
    lrs_want(test, "*");
    lrs_expect_asked(test, NULL);
    lrs_want(test, "*local/a");
    lrs_expect_asked(test, "a");
}

static void
asking_ends_with_the_last_wish(void **state)
{
    lrs_test *test = *state;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_want(test, "local/b/" SEGMENT);
    lrs_expect_asked(test, "a");
    lrs_expect_asked(test, "a b");
    lrs_unwant(test, "*local/a");
    lrs_expect_asked(test, "b");
    lrs_unwant(test, "local/b/" SEGMENT);
    lrs_expect_asked(test, "");
    lrs_unwant(test, "local/b/" SEGMENT);
    lrs_expect_asked(test, NULL);
}

static void
names_of_other_forms_are_spelled(void **state)
{
    lrs_test *test = *state;
    static const udpai_xdstp_authority authority = {{"Shop", 4}, {"com.acme", 8}};
    test->world.audience.authorities = (udpai_xdstp_authorities){&authority, 1};
    lrs_begin(test);
    lrs_want(test, "*com.acme/x/y");
    lrs_expect_asked(test, "com.acme/x/y xdstp://Shop/envoy.config.cluster.v3.Cluster/x/y");
    lrs_send(test, lrs_stats("xdstp://Shop/envoy.config.cluster.v3.Cluster/x/y", 3, 0));
    lrs_expect_said(test, "com.acme/x/y/" SEGMENT "=3/0");
}

/* It would not see another response. */
static void
grpc_for_go_is_asked_for_all_once(void **state)
{
    lrs_test *test = *state;
    test->user_agent = "gRPC Go";
    lrs_begin(test);
    lrs_expect_asked(test, NULL);
    lrs_want(test, "*local/a");
    lrs_expect_asked(test, "(all)");
    lrs_want(test, "*local/b");
    lrs_unwant(test, "*local/a");
    lrs_expect_asked(test, NULL);
    lrs_send(test, W_JOIN(lrs_stats("a", 1, 0), lrs_stats("b", 2, 0)));
    lrs_expect_said(test, "local/b/" SEGMENT "=2/0");
}

static void
granularity_is_asked_for(void **state)
{
    lrs_test *test = *state;
    test->service.per_endpoint = true;
    test->service.interval_ms = 60 * SECOND_MS;
    lrs_begin(test);
    lrs_want(test, "*local/a");
    lrs_expect_asked(test, "a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, lrs_setup, lrs_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(client_is_introduced_as_a_client),
        TEST(first_request_must_say_who_it_is),
        TEST(node_needs_an_id),
        TEST(strangers_are_refused),
        TEST(nobody_becomes_somebody_else),
        TEST(malformed_requests_end_the_stream),
        TEST(nothing_is_asked_while_nobody_wants_anything),
        TEST(clusters_are_named_where_they_can_be),
        TEST(all_are_asked_for_where_a_namespace_is_wanted),
        TEST(whoever_cannot_send_all_is_asked_for_names),
        TEST(asking_ends_with_the_last_wish),
        TEST(names_of_other_forms_are_spelled),
        TEST(grpc_for_go_is_asked_for_all_once),
        TEST(granularity_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
