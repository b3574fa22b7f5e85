/* SPDX-License-Identifier: Apache-2.0 */
/* An xDS server as a source that misbehaves, is slow, or says more than it should. */
#include "tests/unit/xds/upstream_test.h"

#include "tests/harness/test.h"
#include "tests/harness/wire.h"

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
    udpai_order *judged = udpai_order_new(UDPAI_ORDER_JUDGED);
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

/* A version is as long as the server likes; what is not told is sent again. */
static void
versions_without_end_are_not_told(void **state)
{
    upstream_bed *bed = *state;
    char version[5001];
    memset(version, 'v', sizeof(version) - 1);
    version[sizeof(version) - 1] = '\0';
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
    assert_str(bed->request.versions[0].version, "?");
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
