/* SPDX-License-Identifier: Apache-2.0 */
/* An xDS server as a source, by the delta protocol. */
#include "tests/unit/xds/upstream_test.h"

#include "tests/harness/test.h"
#include "tests/harness/wire.h"

static void
a_delta_wildcard_is_answered_by_silence(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "1", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS - 1);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"),
                                 upstream_resource("b", "1", upstream_cluster("b", 1))));
    upstream_expect(bed, "+com.acme/b ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS - 1);
    upstream_expect(bed, "");
    fake_hub_advance(&bed->hub, 2);
    upstream_expect(bed, "complete");
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n1");
    upstream_expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n2");
}

static void
a_delta_name_is_answered_either_way(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, ENDPOINTS, "com.acme/none");
    upstream_expect_request(bed, ENDPOINTS, "none");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"), W_TEXT(6, "none")));
    upstream_expect(bed, "nothing");
    upstream_expect(bed, "complete");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n2"),
                                 upstream_resource("none", "1", upstream_endpoints("none", 1))));
    upstream_expect(bed, "+com.acme/none ");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n3"), W_TEXT(6, "none")));
    upstream_expect(bed, "-com.acme/none ");
}

static void
a_stream_goes_on_where_the_last_one_ended(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "17", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_disconnect(bed);
    upstream_connect(bed);
    upstream_ask_holding(
        bed, CLUSTER, "",
        (udpai_held_version){UDPAI_STR("com.acme/a"),
                             udpai_str_from(upstream_hash(upstream_cluster("a", 1)))});
    upstream_expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 1);
    assert_str(bed->request.versions[0].name, "a");
    assert_str(bed->request.versions[0].version, "17");
    upstream_respond(bed, upstream_of_type(CLUSTER, "n1"));
    upstream_expect(bed, "nothing");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    upstream_expect(bed, "complete"); /* and nothing is taken away */
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n2"), W_TEXT(6, "a")));
    upstream_expect(bed, "-com.acme/a ");
}

/* With the version of what was refused the server would be silent about it, though the loop side
 * holds the same payload: here the one that was refused has an alias. */
static void
what_was_refused_comes_again_by_the_next_stream(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "17", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    const udpai_str with_alias =
        W_JOIN(upstream_of_type(CLUSTER, "n2"),
               W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "18"), W_TEXT(4, "b"),
                         wire_bytes(2, upstream_cluster("a", 1))));
    upstream_respond(bed, with_alias);
    upstream_judge(bed, "+com.acme/a ", udpa_error_new(UDPA_ERR_INVAL, NULL, "no"));
    upstream_disconnect(bed);
    upstream_connect(bed);
    upstream_ask_holding(
        bed, CLUSTER, "",
        (udpai_held_version){UDPAI_STR("com.acme/a"),
                             udpai_str_from(upstream_hash(upstream_cluster("a", 1)))});
    upstream_expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 1);
    assert_str(bed->request.versions[0].name, "a");
    assert_str(bed->request.versions[0].version, "?");
    upstream_respond(bed, with_alias);
    upstream_expect(bed, "+com.acme/a ");
}

static void
what_the_loop_side_does_not_hold_is_not_told_as_held(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "17", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_disconnect(bed);
    upstream_connect(bed);
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 0);
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "17", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
}

/* After a restart: the version is of ours, which the server cannot have. */
static void
what_is_held_without_the_servers_version_is_asked_about(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_holding(bed, CLUSTER, "",
                         (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    upstream_expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 1);
    assert_str(bed->request.versions[0].name, "old");
    assert_str(bed->request.versions[0].version, "?");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "1", upstream_cluster("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    upstream_expect(bed, "-com.acme/old ");
    upstream_expect(bed, "complete");
}

static void
what_is_unsubscribed_comes_anew(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    assert_true(upstream_next_request(bed));
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 upstream_resource("a", "1", upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    upstream_ask_no_more(bed, ENDPOINTS, "com.acme/a");
    do
        assert_true(upstream_next_request(bed));
    while (bed->request.n_unsubscribed == 0);
    assert_str(bed->request.unsubscribed[0], "a");
    upstream_expect(bed, "-com.acme/a "); /* it ends what may be under way */
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    upstream_expect_request(bed, ENDPOINTS, "a");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n2"),
                                 upstream_resource("a", "1", upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
}

static void
an_alias_is_answered_by_its_resource(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, SECRET, "com.acme/routes/www");
    upstream_expect_request(bed, SECRET, "routes/www");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(SECRET, "n1"),
                    W_MESSAGE(2, W_TEXT(3, "routes/host"), W_TEXT(1, "1"), W_TEXT(4, "routes/www"),
                              wire_bytes(2, upstream_any(SECRET, W_TEXT(1, "h"))))));
    upstream_expect(bed, "+com.acme/routes/host ");
    upstream_expect(bed, "complete");
}

static void
another_alias_is_a_change(void **state)
{
    upstream_bed *bed = *state;
    static const char *const aliases[] = {"b", "c", "c"};
    upstream_ask_all(bed, CLUSTER);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++) {
        upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                     W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "17"),
                                               wire_bytes(4, udpai_str_from(aliases[i])),
                                               wire_bytes(2, upstream_cluster("a", 1)))));
        upstream_expect(bed, i == 2 ? "nothing" : "+com.acme/a ");
    }
}

/* What it leads to is for clients to ask for. */
static void
a_redirect_is_passed_on(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_respond(
        bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                    upstream_resource("a", "1", upstream_any(UDPAI_TYPE_LOCATOR, W_TEXT(2, "b")))));
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    const udpa_resource *resource = report->publication->entries.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), "com.acme/a");
    assert_string_equal(udpa_resource_type_url(resource), CLUSTER);
    assert_true(udpa_resource_is_redirect(resource));
    udpai_report_free(report);
}

/* A server that tells variants by their constraints sends what is for no parameters. */
static void
a_variant_is_taken_by_its_name(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 W_MESSAGE(2, W_MESSAGE(8, W_TEXT(1, "a")), W_TEXT(1, "1"),
                                           wire_bytes(2, upstream_endpoints("a", 1)))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
}

static void
a_ttl_is_renewed_by_a_heartbeat(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, ENDPOINTS, "com.acme/a");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"),
                                           wire_bytes(2, upstream_endpoints("a", 1)),
                                           W_MESSAGE(6, W_VARINT(1, 5)))));
    upstream_expect(bed, "+com.acme/a ");
    upstream_expect(bed, "complete");
    upstream_respond(
        bed, W_JOIN(upstream_of_type(ENDPOINTS, "n2"),
                    W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"), W_MESSAGE(6, W_VARINT(1, 9)))));
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    assert_int_equal(udpa_resource_ttl_ms(report->publication->entries.items[0].resource), 9000);
    udpai_report_free(report);
}

static void
a_service_of_one_type_refuses_others(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    udpai_report *refused = fake_hub_take_report(&bed->hub, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    assert_non_null(refused);
    assert_str(refused->subscription->type_url, ENDPOINTS);
    udpai_report_free(refused);
    upstream_expect_no_request(bed);
    upstream_ask_all(bed, CLUSTER);
    upstream_expect_request(bed, CLUSTER, "");
}

static void
what_has_another_namespace_is_not_the_servers(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_name(bed, CLUSTER, "com.other/a");
    upstream_expect(bed, "complete");
    upstream_expect_no_request(bed);
}

static void
garbage_ends_the_stream(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, CLUSTER);
    upstream_respond(bed, UDPAI_STR("\x0a\x7f"));
    assert_true(bed->stream.is_finished);
    assert_int_equal(udpa_error_code(bed->stream.status), UDPA_ERR_MALFORMED);
}

static void
names_may_lie_below_a_path(void **state)
{
    upstream_bed *bed = *state;
    upstream_ask_all(bed, ENDPOINTS);
    upstream_expect_request(bed, CLUSTER, "");
    upstream_respond(bed, W_JOIN(upstream_of_type(CLUSTER, "n1"),
                                 upstream_resource("a", "1", upstream_cluster("a", 1))));
    upstream_expect(bed, "nothing");
    do
        assert_true(upstream_next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, UDPAI_STR(ENDPOINTS)));
    assert_int_equal(bed->request.n_names, 1);
    assert_str(bed->request.names[0], "a");
    upstream_respond(bed, W_JOIN(upstream_of_type(ENDPOINTS, "n1"),
                                 upstream_resource("a", "1", upstream_endpoints("a", 1))));
    upstream_expect(bed, "+com.acme/clients/one/a ");
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, upstream_setup_delta, upstream_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_delta_wildcard_is_answered_by_silence),
        TEST(a_redirect_is_passed_on),
        TEST(a_variant_is_taken_by_its_name),
        TEST(a_delta_name_is_answered_either_way),
        TEST(a_stream_goes_on_where_the_last_one_ended),
        TEST(what_was_refused_comes_again_by_the_next_stream),
        TEST(what_the_loop_side_does_not_hold_is_not_told_as_held),
        TEST(what_is_held_without_the_servers_version_is_asked_about),
        TEST(what_is_unsubscribed_comes_anew),
        TEST(an_alias_is_answered_by_its_resource),
        TEST(another_alias_is_a_change),
        TEST(a_ttl_is_renewed_by_a_heartbeat),
        TEST(what_has_another_namespace_is_not_the_servers),
        TEST(garbage_ends_the_stream),
        cmocka_unit_test_setup_teardown(names_may_lie_below_a_path, upstream_setup_in_a_path,
                                        upstream_teardown),
        cmocka_unit_test_setup_teardown(a_service_of_one_type_refuses_others,
                                        upstream_setup_clusters_only, upstream_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
