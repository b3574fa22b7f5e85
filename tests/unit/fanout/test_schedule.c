/* SPDX-License-Identifier: Apache-2.0 */
/* Make before break: the order of what is sent over all types, and that nobody waits for ever. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

static fanout_reader one;

static void
subscribe_all(fanout_bed *bed)
{
    fanout_open(&one, bed);
    fanout_wildcard(&one, "RDS", "");
    fanout_wildcard(&one, "Unknown", "");
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&one, "LDS", "");
    fanout_wildcard(&one, "EDS", "");
}

/* ---- order ---- */

static void
test_types_have_ranks(void **state)
{
    (void)state;
    assert_int_equal(udpai_type_rank(UDPAI_STR(TEST_CDS)), 0);
    assert_int_equal(udpai_type_rank(UDPAI_STR("any.example/envoy.config.cluster.v3.Cluster")), 0);
    unsigned eds = udpai_type_rank(UDPAI_STR(TEST_EDS)), lds = udpai_type_rank(UDPAI_STR(TEST_LDS)),
             rds = udpai_type_rank(UDPAI_STR(TEST_RDS)),
             none = udpai_type_rank(UDPAI_STR(TEST_TYPE));
    assert_true(0 < eds && eds < lds && lds < rds && rds < none);
    assert_int_equal(udpai_type_rank((udpai_str){0}), none);
    assert_int_equal(udpai_type_rank(UDPAI_STR("envoy.config.cluster.v3.Cluster")), 0);
}

static void
test_additions_go_up_and_removals_down(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+RDS/r=1 +LDS/l=1 +Unknown/u=1 +EDS/e=1 +CDS/c=1");
    assert_all(&one, "CDS[c=1] EDS[e=1] LDS[l=1] RDS[r=1] Unknown[u=1]");
    fanout_change(bed, "-CDS/c -EDS/e -LDS/l -RDS/r -Unknown/u +CDS/d=1 +RDS/s=1");
    assert_all(&one, "CDS[d=1] RDS[s=1] Unknown[-u] RDS[-r] LDS[-l] EDS[-e] CDS[-c]");
    fanout_close(&one);
}

static void
test_a_route_moves_from_one_cluster_to_another(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c1=1 +RDS/r=c1");
    (void)fanout_all(&one);
    fanout_change(bed, "+CDS/c2=1 +RDS/r=c2 -CDS/c1");
    assert_next(&one, "CDS[c2=1]");
    assert_next(&one, "RDS[r=c2]");
    assert_next(&one, "CDS[-c1]");
    assert_next(&one, "");
    fanout_close(&one);
}

/* Several change sets while one is on its way become one. */
static void
test_change_sets_become_one(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c1=1 +RDS/r=c1");
    (void)fanout_all(&one);
    fanout_change(bed, "+CDS/c2=1 +RDS/r=c2 -CDS/c1");
    fanout_change(bed, "+CDS/c3=1 +RDS/r=c3 -CDS/c2");
    assert_all(&one, "CDS[c3=1] RDS[r=c3] CDS[-c1 -c2]");
    fanout_close(&one);
}

/* The next change set comes when half of this one is on its way. */
static void
test_a_change_set_that_comes_mid_way_waits(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c1=1 +RDS/r=c1");
    (void)fanout_all(&one);
    fanout_change(bed, "+CDS/c2=1 +RDS/r=c2 -CDS/c1");
    assert_next(&one, "CDS[c2=1]");
    fanout_change(bed, "+CDS/c3=1 +RDS/s=c3");
    assert_next(&one, "RDS[r=c2]");
    assert_next(&one, "CDS[-c1]");
    assert_next(&one, "CDS[c3=1]");
    assert_next(&one, "RDS[s=c3]");
    assert_next(&one, "");
    fanout_close(&one);
}

/* Asked for again and changed before it went out: it does not run ahead of what it refers to. */
static void
test_what_is_pending_does_not_run_ahead(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c1=1 +RDS/r=c1");
    (void)fanout_all(&one);
    fanout_change(bed, "+CDS/c4=1");
    udpai_subscription_resend(fanout_of(&one, "RDS"), UDPAI_STR("com.acme/r"));
    assert_next(&one, "CDS[c4=1]");
    fanout_change(bed, "+CDS/c2=1 +RDS/r=c2");
    for (unsigned i = 0; i < 10; i++) {
        (void)fanout_next(&one);
        if (strcmp(fanout_holds(&one, "RDS", "r"), "c2") == 0)
            assert_string_equal(fanout_holds(&one, "CDS", "c2"), "1");
    }
    assert_string_equal(fanout_holds(&one, "RDS", "r"), "c2");
    fanout_close(&one);
}

static void
test_what_is_asked_for_again_and_refreshed_is_sent_whole(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c1=1 +RDS/r=c1");
    (void)fanout_all(&one);
    fanout_change(bed, "+CDS/c4=1");
    udpai_subscription_resend(fanout_of(&one, "RDS"), UDPAI_STR("com.acme/r"));
    assert_next(&one, "CDS[c4=1]");
    fanout_change(bed, "+CDS/c2=1 ~RDS/r=c1:7");
    assert_non_null(strstr(fanout_all(&one), "RDS[r=c1]"));
    fanout_close(&one);
}

/* ---- patience ---- */

/* One type changes before every response: the others come all the same. */
static void
test_other_types_come_though_one_changes_all_the_time(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c=0 +LDS/l=0 +RDS/r=0");
    (void)fanout_all(&one);
    fanout_change(bed, "+LDS/l=1 +RDS/r=1 +CDS/gone=1");
    char change[32];
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/c=%u", i + 1);
        fanout_change(bed, change);
        (void)fanout_next(&one);
    }
    assert_string_equal(fanout_holds(&one, "LDS", "l"), "1");
    assert_string_equal(fanout_holds(&one, "RDS", "r"), "1");
    fanout_change(bed, "-CDS/gone");
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/c=%u", i);
        fanout_change(bed, change);
        (void)fanout_next(&one);
    }
    assert_string_equal(fanout_holds(&one, "CDS", "gone"), "");
    fanout_close(&one);
}

/* All of them change before every response. */
static void
test_all_types_come_though_all_change_all_the_time(void **state)
{
    fanout_bed *bed = *state;
    subscribe_all(bed);
    fanout_change(bed, "+CDS/c=0 +LDS/l=0 +RDS/r=0");
    (void)fanout_all(&one);
    unsigned n_seen[2] = {0};
    for (unsigned i = 0; i < 60; i++) {
        char change[64], value[8];
        (void)snprintf(value, sizeof(value), "%u", i % 7);
        (void)snprintf(change, sizeof(change), "+CDS/c=%u +LDS/l=%u +RDS/r=%u", i % 7, i % 7,
                       i % 7);
        fanout_change(bed, change);
        (void)fanout_next(&one);
        n_seen[0] += strcmp(fanout_holds(&one, "LDS", "l"), value) == 0;
        n_seen[1] += strcmp(fanout_holds(&one, "RDS", "r"), value) == 0;
    }
    assert_true(n_seen[0] >= 5 && n_seen[1] >= 5);
    fanout_close(&one);
}

/* The end of an initial load comes, though something changes all the time. */
static void
test_complete_comes_though_something_changes_all_the_time(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=0");
    fanout_open(&one, bed);
    one.checks_refreshes = false;
    udpai_subscription *subscription = fanout_of(&one, "CDS");
    assert_ok(
        udpai_subscription_hold_version(subscription, UDPAI_STR("com.acme/x"), UDPAI_STR("v")));
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_ok(udpai_subscription_await_complete(subscription, UDPAI_STR("com.acme"), NULL, 0));
    char change[32];
    bool has_come = false, is_told = false;
    for (unsigned i = 0; i < 12 && !has_come; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/c=%u", i + 1);
        fanout_change(bed, change);
        const char *text = fanout_next(&one);
        is_told |= strcmp(text, "CDS[-x]") == 0;
        has_come = strcmp(text, "CDS!com.acme") == 0;
    }
    assert_true(is_told && has_come);
    fanout_close(&one);
}

/* ---- chance ---- */

#define CLUSTERS 12
#define ROUTES 8

/* Routes in RDS name clusters in CDS; each change set leaves every route with its cluster. */
struct world {
    bool has_cluster[CLUSTERS];
    unsigned cluster_of[ROUTES];
    unsigned next_route;
    uint64_t random;
};

static void add_word(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
add_word(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    if (used)
        text[used++] = ' ';
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static bool
is_used(const struct world *world, unsigned cluster)
{
    for (unsigned i = 0; i < ROUTES; i++)
        if (world->cluster_of[i] == cluster)
            return true;
    return false;
}

/* Routes in turn: one that changes before every response is what patience is for. */
static void
change_world(fanout_bed *bed, struct world *world)
{
    char text[512] = "";
    unsigned route = world->next_route++ % ROUTES;
    unsigned cluster = (unsigned)test_random_below(&world->random, CLUSTERS);
    unsigned before = world->cluster_of[route];
    if (!world->has_cluster[cluster] || test_random_below(&world->random, 3) == 0)
        add_word(text, sizeof(text), "+CDS/c%u=%u", cluster,
                 (unsigned)test_random_below(&world->random, 10));
    world->has_cluster[cluster] = true;
    world->cluster_of[route] = cluster;
    add_word(text, sizeof(text), "+RDS/r%u=c%u", route, cluster);
    if (!is_used(world, before) && test_random_below(&world->random, 4)) {
        add_word(text, sizeof(text), "-CDS/c%u", before);
        world->has_cluster[before] = false;
    }
    fanout_change(bed, text);
}

static void
check_routes(fanout_reader *reader)
{
    for (size_t i = 0; i < reader->n_held; i++) {
        const fanout_held *held = &reader->held[i];
        char cluster[16];
        if (strcmp(held->type, "RDS") != 0)
            continue;
        udpai_str value = udpai_resource_value(held->resource);
        (void)snprintf(cluster, sizeof(cluster), "%.*s", (int)value.len, value.data);
        if (!fanout_find_held(reader, "CDS", cluster))
            fail_msg("%s names %s, which is not there", held->name, cluster);
    }
}

/* By wildcard, or by names; in pages of this size. */
static void
live(fanout_bed *bed, uint64_t seed, size_t page, bool by_names)
{
    struct world world = {.random = seed};
    fanout_bed_page(bed, page);
    fanout_settle(bed);
    world.has_cluster[0] = true;
    fanout_change(bed,
                  "+CDS/c0=0 +RDS/r0=c0 +RDS/r1=c0 +RDS/r2=c0 +RDS/r3=c0 +RDS/r4=c0 +RDS/r5=c0 "
                  "+RDS/r6=c0 +RDS/r7=c0");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    if (by_names)
        fanout_ask(&one, "RDS", "r0 r1 r2 r3 r4 r5 r6 r7");
    else
        fanout_wildcard(&one, "RDS", "");
    for (unsigned i = 0; i < 1500; i++) {
        if (test_random_below(&world.random, page == 1 ? 6 : 4) == 0)
            change_world(bed, &world);
        else
            (void)fanout_next(&one);
        check_routes(&one);
    }
    while (*fanout_next(&one))
        check_routes(&one);
    for (unsigned i = 0; i < ROUTES; i++) {
        char name[16], value[16];
        (void)snprintf(name, sizeof(name), "r%u", i);
        (void)snprintf(value, sizeof(value), "c%u", world.cluster_of[i]);
        assert_string_equal(fanout_holds(&one, "RDS", name), value);
    }
    fanout_close(&one);
}

static void
test_no_route_is_ever_without_its_cluster(void **state)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        live(*state, seed, 1 + seed % 4, seed % 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_types_have_ranks),
        fanout_test(test_additions_go_up_and_removals_down),
        fanout_test(test_a_route_moves_from_one_cluster_to_another),
        fanout_test(test_change_sets_become_one),
        fanout_test(test_a_change_set_that_comes_mid_way_waits),
        fanout_test(test_what_is_pending_does_not_run_ahead),
        fanout_test(test_what_is_asked_for_again_and_refreshed_is_sent_whole),
        fanout_test(test_other_types_come_though_one_changes_all_the_time),
        fanout_test(test_all_types_come_though_all_change_all_the_time),
        fanout_test(test_complete_comes_though_something_changes_all_the_time),
        fanout_test(test_no_route_is_ever_without_its_cluster),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
