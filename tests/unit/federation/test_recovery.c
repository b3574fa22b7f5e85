/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose standby has learned something meanwhile; and one that is a standby. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"
#define REMEMBERED_MS ((uint64_t)2 * 3600 * 1000)
#define LATER_US ((int64_t)60 * 1000000)

static const fed_peer registrar = {.id = "registrar", .is_plain = true};
static const fed_peer client = {.id = "client"};

static const udpai_str endpoints[] = {{TEST_EDS, sizeof(TEST_EDS) - 1}};

/* a is standby for this node, as far as endpoints go. */
static void
recover_from_a(fed_bed *bed)
{
    static const udpai_str prefixes[] = {{ACME, sizeof(ACME) - 1}};
    bed->sources[0].recover = (udpai_recover_config){endpoints, 1, prefixes, 1};
}

static void
set_files(fed_bed *bed, const char *value)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *endpoint = RESOURCE("com.acme/x", .type = TEST_EDS, .value = value);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *cluster = RESOURCE("com.acme/x", .type = TEST_CDS, .value = value);
    udpa_resource *all[] = {endpoint, cluster};
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"), .resources = all, .n_resources = 2};
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpai_node_flush(bed->node);
}

static void
start_with_files(fed_bed *bed)
{
    bed->root = "/files";
    fed_start(bed);
    set_files(bed, "1");
}

/* As a would, which stamps what others say there. */
static const char *
learn(fed_bed *bed, const char *type, const char *authority, const char *value, int64_t after_us)
{
    const char *said = fed_put(
        bed, bed->sessions[0],
        RESOURCE("com.acme/x", .type = type, .value = value, .version = value,
                 .authority = authority,
                 .generation = (uint64_t)(bed->wall_us + after_us) + bed->wheel.now_ms * 1000,
                 .hops = {{"a", "registrar"}}),
        false);
    return said;
}

/* What was taken over; NULL: nothing. */
static const udpa_resource *
taken_over(fed_bed *bed)
{
    udpai_store *store = udpai_node_store(bed->node);
    const udpai_origin *origin = udpai_store_find_origin(store, UDPAI_STR("adopted"));
    udpai_contribution found;
    bool is_there = origin && udpai_store_get(store, origin, UDPAI_STR(TEST_EDS),
                                              UDPAI_STR("com.acme/x"), &found);
    return is_there ? found.resource : NULL;
}

/* ---- taking over ---- */

static void
what_a_standby_has_learned_is_taken_over(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    assert_orders(bed, "dial a");
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a EDS com.acme:*");
    assert_string_equal(learn(bed, TEST_EDS, "files", "2", 1000), "");
    assert_value(bed, "EDS", "x", "2");
    const udpa_resource *adopted = taken_over(bed);
    assert_non_null(adopted);
    assert_true(udpai_str_eq(udpai_resource_authority(adopted), UDPAI_STR("files")));
    assert_int_equal(udpa_resource_n_hops(adopted), 1); /* it is this node's own */
    assert_true(udpai_str_eq(udpai_resource_hop(adopted, 0).node_id, UDPAI_STR("node")));
    assert_true(udpai_str_eq(udpai_resource_hop(adopted, 0).authority, UDPAI_STR("")));
}

static void
what_is_older_is_not(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    assert_string_equal(learn(bed, TEST_EDS, "files", "2", -1000), "");
    assert_value(bed, "EDS", "x", "1");
}

static void
a_standby_changes_no_other_types(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    assert_non_null(strstr(learn(bed, TEST_CDS, "files", "2", 1000), "lies outside"));
    assert_value(bed, "CDS", "x", "1");
}

static void
a_standby_speaks_for_no_other_authority(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    assert_string_equal(learn(bed, TEST_EDS, "somebody", "2", 1000), "");
    assert_value(bed, "EDS", "x", "1");
}

static void
a_standby_adds_nothing(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    fed_start(bed);
    fed_connect(bed, 'a');
    assert_string_equal(learn(bed, TEST_EDS, "files", "2", 1000), "");
    assert_value(bed, "EDS", "x", "");
}

/* ---- what becomes of it ---- */

static void
it_stays_when_the_standby_has_gone(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    (void)learn(bed, TEST_EDS, "files", "2", 1000);
    (void)fed_publish(bed, 'a', "EDS", "-x !com.acme"); /* it takes ours now */
    assert_value(bed, "EDS", "x", "2");
    fed_close(bed, 'a');
    assert_value(bed, "EDS", "x", "2");
}

static void
it_is_kept_over_a_restart(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    (void)learn(bed, TEST_EDS, "files", "2", 1000);
    bed->wall_us += LATER_US;
    fed_restart(bed);
    assert_value(bed, "EDS", "x", "2");
    set_files(bed, "1"); /* the same as ever */
    assert_value(bed, "EDS", "x", "2");
    bed->wall_us += LATER_US;
    set_files(bed, "3");
    assert_value(bed, "EDS", "x", "3");
}

static void
it_goes_with_the_word_whose_place_it_takes(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    (void)learn(bed, TEST_EDS, "files", "2", 1000);
    const udpai_directory nothing = {.root = UDPAI_STR("/files")};
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_ok(udpai_node_set_files(bed->node, &nothing, NULL));
    udpai_node_flush(bed->node);
    assert_value(bed, "EDS", "x", "");
    fed_restart(bed); /* and nothing of it is kept longer than that */
    assert_null(taken_over(bed));
}

static void
a_publisher_that_says_the_old_again_means_it(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &registrar);
    (void)fed_publish_at(bed, session, "EDS", "x=1");
    fed_connect(bed, 'a');
    (void)learn(bed, TEST_EDS, "registrar", "2", LATER_US);
    assert_value(bed, "EDS", "x", "2");
    (void)fed_publish_at(bed, session, "EDS", "x=1");
    assert_value(bed, "EDS", "x", "1");
    (void)fed_publish_at(bed, session, "EDS", "x=1"); /* and is believed once */
    assert_value(bed, "EDS", "x", "1");
}

/* However little memory there is when the standby speaks: what is lost comes with its next stream,
 * and nothing is taken for complete before it. */
static void
without_memory_it_is_taken_over_later(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    size_t n_lost = 0;
    for (long n = 0; n < 120; n++) {
        char value[16];
        snprintf(value, sizeof(value), "of %ld", n);
        fed_connect(bed, 'a');
        (void)fed_orders(bed);
        fed_short(bed, n / 2, n % 2);
        (void)learn(bed, TEST_EDS, "files", value, 1000);
        (void)fed_publish(bed, 'a', "EDS", "!com.acme");
        if (strcmp(fed_value(bed, "EDS", "x"), value) != 0) {
            n_lost++;
            assert_false(fed_settled(bed, "EDS", ACME));
            assert_non_null(strstr(fed_orders(bed), "hangup a"));
            fed_close(bed, 'a');
            fed_connect(bed, 'a');
            (void)learn(bed, TEST_EDS, "files", value, 1000);
            (void)fed_publish(bed, 'a', "EDS", "!com.acme");
        }
        assert_value(bed, "EDS", "x", value);
        assert_true(fed_settled(bed, "EDS", ACME));
        fed_close(bed, 'a');
        fed_advance(bed, 20000);
    }
    assert_in_range(n_lost, 5, 115); /* there was too little, and there was enough */
}

/* ---- when it is certain ---- */

static void
nothing_negative_is_said_before_the_standby_was_heard(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    assert_false(fed_settled(bed, "EDS", ACME));
    assert_true(fed_settled(bed, "CDS", ACME));
    fed_connect(bed, 'a');
    assert_false(fed_settled(bed, "EDS", ACME));
    (void)learn(bed, TEST_EDS, "files", "2", 1000);
    assert_false(fed_settled(bed, "EDS", ACME));
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_settled(bed, "EDS", ACME));
    fed_close(bed, 'a'); /* it is not needed for what is known */
    assert_true(fed_settled(bed, "EDS", ACME));
}

static void
a_standby_that_is_not_there_is_not_waited_for(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_close(bed, 'a');
    assert_false(fed_settled(bed, "EDS", ACME)); /* it may be starting, as we are */
    fed_advance(bed, 2000);
    assert_true(fed_settled(bed, "EDS", ACME));
}

static void
a_standby_that_says_nothing_is_not_waited_for(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_connect(bed, 'a');
    fed_advance(bed, 9999);
    assert_false(fed_settled(bed, "EDS", ACME));
    fed_advance(bed, 1);
    assert_true(fed_settled(bed, "EDS", ACME));
    (void)learn(bed, TEST_EDS, "files", "2", 1000); /* and heard when it speaks */
    assert_value(bed, "EDS", "x", "2");
}

/* The client that comes back from it may know more than we do. */
static void
it_is_reached_for_when_somebody_comes(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    start_with_files(bed);
    fed_advance(bed, 3000);
    (void)fed_orders(bed);
    for (int i = 0; i < 10; i++) { /* until the pauses are long */
        fed_close(bed, 'a');
        fed_advance(bed, 8000);
    }
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    assert_true(fed_settled(bed, "EDS", ACME));
    (void)fed_orders(bed);
    (void)fed_arrive(bed, &client);
    assert_orders(bed, "dial a");
    assert_false(fed_settled(bed, "EDS", ACME));
    fed_close(bed, 'a');
    assert_true(fed_settled(bed, "EDS", ACME));
    (void)fed_arrive(bed, &client); /* but not for each of them */
    assert_orders(bed, "");
}

/* ---- the other side: this node is standby ---- */

static void
start_as_standby(fed_bed *bed)
{
    bed->sources[0].standby_for = endpoints;
    bed->sources[0].n_standby_for = 1;
    fed_type(bed, "EDS");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)learn(bed, TEST_EDS, "registrar", "1", 0);
    (void)learn(bed, TEST_CDS, "registrar", "1", 0);
    fed_advance(bed, 1000);
    uint64_t session = fed_arrive(bed, &registrar);
    (void)fed_publish_at(bed, session, "EDS", "x=2");
    (void)fed_publish_at(bed, session, "CDS", "x=2");
    assert_value(bed, "EDS", "x", "2");
}

static void
what_was_taken_over_is_let_go(void **state)
{
    fed_bed *bed = *state;
    start_as_standby(bed);
    (void)learn(bed, TEST_EDS, "registrar", "3", 1000);
    assert_value(bed, "EDS", "x", "3");
    (void)fed_publish(bed, 'a', "EDS", "-x");
    assert_value(bed, "EDS", "x", ""); /* no ghost of what was said here, */
    fed_advance(bed, REMEMBERED_MS);   /* nor when nobody remembers that it was older */
    assert_value(bed, "EDS", "x", "");
}

/* The primary may have had the same word already, in an older generation. */
static void
what_was_taken_over_may_come_as_a_refresh(void **state)
{
    fed_bed *bed = *state;
    start_as_standby(bed);
    assert_string_equal(
        fed_put(bed, bed->sessions[0],
                RESOURCE("com.acme/x", .type = TEST_EDS, .version = "1", .authority = "registrar",
                         .generation = (uint64_t)bed->wall_us + 2000000,
                         .hops = {{"a", "registrar"}}),
                true),
        "");
    assert_value(bed, "EDS", "x", "1");
    (void)fed_publish(bed, 'a', "EDS", "-x");
    assert_value(bed, "EDS", "x", "");
    fed_advance(bed, REMEMBERED_MS);
    assert_value(bed, "EDS", "x", "");
}

static void
what_is_newer_here_stays(void **state)
{
    fed_bed *bed = *state;
    start_as_standby(bed);
    (void)learn(bed, TEST_EDS, "registrar", "0", -2000000);
    assert_value(bed, "EDS", "x", "2");
    (void)learn(bed, TEST_EDS, "somebody", "3", 1000);
    assert_value(bed, "EDS", "x", "2");
}

/* ---- what may not be configured ---- */

static void
assert_refused(fed_bed *bed, const char *why)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(fed_make(bed, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), why));
}

static void
a_source_is_not_asked_twice(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    assert_refused(bed, "'a' is in a provider");
}

static void
a_source_without_udpa_is_standby_for_none(void **state)
{
    fed_bed *bed = *state;
    recover_from_a(bed);
    bed->sources[0].kind = UDPAI_SOURCE_XDS;
    assert_refused(bed, "'a' does not speak UDPA");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_a_standby_has_learned_is_taken_over),
        fed_test(what_is_older_is_not),
        fed_test(a_standby_changes_no_other_types),
        fed_test(a_standby_speaks_for_no_other_authority),
        fed_test(a_standby_adds_nothing),
        fed_test(it_stays_when_the_standby_has_gone),
        fed_test(it_is_kept_over_a_restart),
        fed_test(it_goes_with_the_word_whose_place_it_takes),
        fed_test(a_publisher_that_says_the_old_again_means_it),
        fed_test(without_memory_it_is_taken_over_later),
        fed_test(nothing_negative_is_said_before_the_standby_was_heard),
        fed_test(a_standby_that_is_not_there_is_not_waited_for),
        fed_test(a_standby_that_says_nothing_is_not_waited_for),
        fed_test(it_is_reached_for_when_somebody_comes),
        fed_test(what_was_taken_over_is_let_go),
        fed_test(what_was_taken_over_may_come_as_a_refresh),
        fed_test(what_is_newer_here_stays),
        fed_test(a_source_is_not_asked_twice),
        fed_test(a_source_without_udpa_is_standby_for_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
