/* SPDX-License-Identifier: Apache-2.0 */
/* An xDS server as a source: what it is asked, what is made of its states of the world, and how
 * what has no wildcard is followed. */
#include "tests/unit/xds/upstream_test.h"

#include "tests/harness/test.h"
#include "tests/harness/wire.h"

/* ---- the state of the world ---- */

static void
a_wildcard_is_answered_by_the_first_state(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(udpai_node_info_parts(bed->request.node)->id, "me");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    udpai_report *alive = fake_hub_take_report(&bed->hub, UDPAI_REPORT_ALIVE);
    assert_non_null(alive);
    udpai_report_free(alive);
    upstream_expect(bed, "+com.acme/a +com.acme/b ");
    upstream_expect(bed, "complete");
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n1");
    assert_false(bed->request.is_refusal);
    assert_null(bed->request.node);
    upstream_expect_no_request(bed);
}

static void
what_a_state_leaves_out_is_removed(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(bed, "+com.acme/a +com.acme/b ");
    upstream_expect(bed, "complete");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("c", 1))));
    upstream_expect(bed, "+com.acme/c -com.acme/b ");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n3"),
                                 wire_bytes(2, upstream_cluster("a", 2)),
                                 wire_bytes(2, upstream_cluster("c", 1))));
    upstream_expect(bed, "+com.acme/a ");
}

/* A node that was restarted holds what it held. */
static void
what_was_held_before_and_is_not_there_any_more_is_removed(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_holding(bed, CLUSTER, "",
                         (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a -com.acme/old ");
    upstream_expect(bed, "complete");
}

static void
a_refusal_names_what_is_refused_and_keeps_the_version(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(W_TEXT(4, CLUSTER), W_TEXT(5, "n2"), W_TEXT(1, "v2"),
                                 wire_bytes(2, upstream_cluster("a", 2))));
    upstream_judge(bed, "+com.acme/a ",
                   udpa_error_new(UDPA_ERR_DENIED, NULL, "'com.acme/a' may not be"));
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n2");
    assert_true(bed->request.is_refusal);
    assert_int_equal(bed->request.error_code, 7);
    assert_str(bed->request.error_text, "'com.acme/a' may not be");
    assert_non_null(memmem(udpa_bytes_data(bed->bytes), udpa_bytes_size(bed->bytes), "v1", 2));
    assert_null(memmem(udpa_bytes_data(bed->bytes), udpa_bytes_size(bed->bytes), "v2", 2));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n3"), wire_bytes(2, upstream_cluster("a", 2))));
    upstream_expect(bed, "+com.acme/a "); /* judged again */
}

/* A server need not wait for an answer; what it sends twice is not taken because it is not new. */
static void
what_comes_again_before_it_is_judged_is_refused_each_time(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    upstream_judge(bed, "+com.acme/a ", udpa_error_new(UDPA_ERR_DENIED, NULL, "not a"));
    upstream_expect(bed, "complete");
    upstream_judge(bed, "+com.acme/a +com.acme/b ", udpa_error_new(UDPA_ERR_DENIED, NULL, "not a"));
    assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.nonce, UDPAI_STR("n2")))
        assert_true(upstream_next_request(bed));
    assert_true(bed->request.is_refusal);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n3"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(bed, "+com.acme/a "); /* judged again, and b is held */
}

static void
what_cannot_be_is_refused_by_itself(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("a", 2)),
                                 wire_bytes(2, upstream_endpoints("b", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    assert_true(upstream_next_request(bed));
    assert_true(bed->request.is_refusal);
    assert_non_null(
        strstr(bed->request.error_text.data, "'com.acme/a' occurs twice in one response"));
}

static void
names_change_with_the_answer_that_is_under_way(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    upstream_expect_request(bed, ENDPOINTS, "a");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"), wire_bytes(2, upstream_endpoints("a", 1))));
    upstream_ask_name(bed, ENDPOINTS, "com.acme/b");
    upstream_expect_no_request(bed); /* it would be stale */
    upstream_expect(bed, "+com.acme/a ");
    assert_true(upstream_next_request(bed));
    assert_int_equal(bed->request.n_names, 2);
    assert_str(bed->request.nonce, "n1");
    upstream_expect(bed, "complete");
    upstream_expect(bed, "");
}

static void
what_is_not_sent_in_time_is_not_there(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_holding(bed, ENDPOINTS, "com.acme/old",
                         (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"), wire_bytes(2, upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_PATIENCE_MS - 1);
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, 2);
    upstream_expect(bed, "-com.acme/old ");
    upstream_expect(bed, "complete");
    upstream_expect(bed, "complete");
}

static void
who_says_nothing_takes_nothing_away(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_holding(bed, ENDPOINTS, "com.acme/old",
                         (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    assert_true(upstream_next_request(bed));
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_PATIENCE_MS + 1);
    upstream_expect(bed, "complete");
}

static void
a_wildcard_beside_names_is_explicit(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, CLUSTER, "com.acme/a");
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "a *");
    upstream_ask_no_more(bed, CLUSTER, "com.acme/a");
    upstream_expect_request(bed, CLUSTER, "*"); /* empty, it would unsubscribe */
}

/* ---- what has no wildcard ---- */

static void
endpoints_are_asked_for_as_clusters_name_them(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 wire_bytes(2, upstream_cluster("a", 1)),
                                 wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(bed, "nothing"); /* nobody asked for clusters */
    upstream_expect(bed, "");
    assert_true(upstream_next_request(bed));
    while (bed->request.n_names == 0)
        assert_true(upstream_next_request(bed));
    assert_str(bed->request.type_url, ENDPOINTS);
    assert_int_equal(bed->request.n_names, 2);
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 wire_bytes(2, upstream_endpoints("a", 1)),
                                 wire_bytes(2, upstream_endpoints("b", 1)),
                                 wire_bytes(2, upstream_endpoints("c", 1))));
    upstream_expect(bed, "+com.acme/a +com.acme/b ");
    upstream_expect(bed, "complete");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n2"), wire_bytes(2, upstream_cluster("b", 1))));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "-com.acme/a ");
    do
        assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, UDPAI_STR(ENDPOINTS)) || bed->request.n_names != 1);
    assert_str(bed->request.names[0], "b");
}

static void
clusters_that_are_known_are_handed_up_when_asked_for(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "nothing");
    upstream_ask_all(bed, CLUSTER);
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
}

/* After a restart, of a cluster that has gone meanwhile. */
static void
endpoints_that_nothing_names_any_more_are_removed(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_holding(bed, ENDPOINTS, "",
                         (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1))));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "");
    assert_true(upstream_next_request(bed));
    assert_true(upstream_next_request(bed));
    upstream_respond(
        bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"), wire_bytes(2, upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "-com.acme/old ");
    upstream_expect(bed, "complete");
}

static void
nothing_to_follow_is_an_answer(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ROUTES);
    upstream_expect_request(bed, LISTENER, "");
    upstream_respond(bed, upstream_of_type(LISTENER, "n1"));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "complete");
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, upstream_setup_sotw, upstream_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_wildcard_is_answered_by_the_first_state),
        TEST(what_a_state_leaves_out_is_removed),
        TEST(what_was_held_before_and_is_not_there_any_more_is_removed),
        TEST(a_refusal_names_what_is_refused_and_keeps_the_version),
        TEST(what_comes_again_before_it_is_judged_is_refused_each_time),
        TEST(what_cannot_be_is_refused_by_itself),
        TEST(names_change_with_the_answer_that_is_under_way),
        TEST(what_is_not_sent_in_time_is_not_there),
        TEST(who_says_nothing_takes_nothing_away),
        TEST(a_wildcard_beside_names_is_explicit),
        TEST(endpoints_are_asked_for_as_clusters_name_them),
        TEST(clusters_that_are_known_are_handed_up_when_asked_for),
        TEST(endpoints_that_nothing_names_any_more_are_removed),
        TEST(nothing_to_follow_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
