/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints divided over checkers: shares, localities, redundancy, and invalid clusters. */
#include <stdio.h>

#include "health_test.h"
#include "reports/health_plan.h"
#include "tests/harness/oom.h"

#define HTTP UDPAI_HEALTH_HTTP
#define TCP UDPAI_HEALTH_TCP
#define CLUSTERS_MAX 8
#define CHECKERS_MAX 8

static udpai_health_plan *plan;
static udpai_health_cluster_input clusters[CLUSTERS_MAX];
static udpai_health_checker checkers[CHECKERS_MAX];
static udpai_health_plan_input input;

static int
setup(void **state)
{
    (void)state;
    input = (udpai_health_plan_input){
        .checkers = checkers,
        .clusters = clusters,
        .redundancy = 1,
        .interval_ms = 1500,
    };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    plan = udpai_health_plan_free(plan);
    wire_free_all();
    return 0;
}

/* ---- pieces ---- */

#define CHECK_BASICS                                                                               \
    W_MESSAGE(1, W_VARINT(1, 1)), W_MESSAGE(2, W_VARINT(1, 1)), W_MESSAGE(4, W_VARINT(1, 2)),      \
        W_MESSAGE(5, W_VARINT(1, 1))

static udpai_str
http_check(uint32_t number)
{
    return W_MESSAGE(number, CHECK_BASICS, W_MESSAGE(8, W_TEXT(2, "/healthz")));
}

static udpai_str
tcp_check(uint32_t number)
{
    return W_MESSAGE(number, CHECK_BASICS, W_EMPTY(9));
}

static udpai_str
place(const char *region, const char *zone)
{
    return W_JOIN(W_TEXT(1, region), W_TEXT(2, zone));
}

/* An LbEndpoint of a locality. */
static udpai_str
member(const char *endpoint)
{
    return W_MESSAGE(2, health_endpoint(1, endpoint), W_VARINT(2, 1));
}

static void
add_cluster(const char *name, udpai_str cluster, udpai_str assignment)
{
    assert_true(input.n_clusters < CLUSTERS_MAX);
    clusters[input.n_clusters++] = (udpai_health_cluster_input){
        udpai_str_from(name),
        W_JOIN(W_TEXT(1, name), W_VARINT(2, 3), cluster),
        W_JOIN(W_TEXT(1, name), assignment),
    };
}

static void
add_checker(const char *id, const char *region, const char *zone, unsigned capability)
{
    assert_true(input.n_checkers < CHECKERS_MAX);
    checkers[input.n_checkers++] = (udpai_health_checker){
        udpai_str_from(id),
        {udpai_str_from(region), udpai_str_from(zone), {0}},
        capability,
    };
}

static const udpai_health_plan_counts *
make_plan(void)
{
    udpai_health_plan *made = NULL;
    assert_ok(udpai_health_plan_new(&made, &input));
    udpai_health_plan_free(plan);
    plan = made;
    return udpai_health_plan_counted(plan);
}

#define INTERVAL W_MESSAGE(2, W_VARINT(1, 1), W_VARINT(2, 500000000))

static void
expect(size_t checker, udpai_str specifier)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *found = udpai_health_plan_specifier(plan, checker);
    assert_true(udpai_str_eq(udpai_bytes_view(found), specifier));
}

/* How many endpoints a checker is to check. */
static size_t
share_of(size_t checker)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *found = udpai_health_plan_specifier(plan, checker);
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(found));
    udpai_proto_field cluster, locality, endpoint;
    size_t n = 0;
    while (udpai_proto_next(&reader, &cluster)) {
        udpai_proto_reader of_cluster = udpai_proto_read(cluster.bytes);
        while (cluster.number == 1 && udpai_proto_next(&of_cluster, &locality)) {
            udpai_proto_reader of_locality = udpai_proto_read(locality.bytes);
            while (locality.number == 3 && udpai_proto_next(&of_locality, &endpoint))
                n += endpoint.number == 2;
        }
    }
    return n;
}

/* ---- what a checker is sent ---- */

static void
each_checks_its_zone(void **state)
{
    (void)state;
    add_checker("one", "eu", "a", HTTP | TCP);
    add_checker("two", "eu", "b", HTTP);
    add_cluster("cart", http_check(8),
                W_JOIN(W_MESSAGE(2, W_MESSAGE(1, place("eu", "a")), member("10.0.0.1:80"),
                                 member("10.0.0.2:80")),
                       W_MESSAGE(2, W_MESSAGE(1, place("eu", "b")), member("10.0.1.1:80"))));
    add_cluster("till", W_JOIN(tcp_check(8), http_check(8)),
                W_MESSAGE(2, W_MESSAGE(1, place("eu", "b")), member("/run/till")));
    const udpai_health_plan_counts *counts = make_plan();
    assert_int_equal(counts->n_clusters, 2);
    assert_int_equal(counts->n_endpoints, 4);
    assert_int_equal(counts->n_unchecked + counts->n_left_out + counts->n_leaving, 0);
    expect(0, W_JOIN(W_MESSAGE(1, W_TEXT(1, "cart"), http_check(2),
                               W_MESSAGE(3, W_MESSAGE(1, place("eu", "a")),
                                         health_endpoint(2, "10.0.0.1:80"),
                                         health_endpoint(2, "10.0.0.2:80"))),
                     W_MESSAGE(1, W_TEXT(1, "till"), tcp_check(2), http_check(2),
                               W_MESSAGE(3, W_MESSAGE(1, place("eu", "b")),
                                         health_endpoint(2, "/run/till"))),
                     INTERVAL));
    expect(1, W_JOIN(W_MESSAGE(1, W_TEXT(1, "cart"), http_check(2),
                               W_MESSAGE(3, W_MESSAGE(1, place("eu", "b")),
                                         health_endpoint(2, "10.0.1.1:80"))),
                     INTERVAL));
    input.redundancy = 2;
    make_plan();
    assert_int_equal(share_of(0), 4);
    assert_int_equal(share_of(1), 3);
}

static void
how_it_is_checked_is_copied(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP);
    udpai_str match = W_JOIN(W_TEXT(1, "m"), W_MESSAGE(3, W_TEXT(1, "plain")));
    add_cluster("c",
                W_JOIN(W_MESSAGE(24, W_TEXT(1, "tls")), W_MESSAGE(21, W_VARINT(9, 9)),
                       http_check(8), wire_bytes(43, match)),
                W_MESSAGE(2, member("10.0.0.1:80")));
    make_plan();
    expect(0, W_JOIN(W_MESSAGE(1, W_TEXT(1, "c"), W_MESSAGE(5, W_VARINT(9, 9)), http_check(2),
                               wire_bytes(4, match),
                               W_MESSAGE(4, W_TEXT(1, "default"), W_EMPTY(2),
                                         W_MESSAGE(3, W_TEXT(1, "tls"))),
                               W_MESSAGE(3, health_endpoint(2, "10.0.0.1:80"))),
                     INTERVAL));
}

/* An empty one is sent, too: nothing is to be checked. */
static void
without_anything_to_check(void **state)
{
    (void)state;
    make_plan();
    add_checker("one", "", "", HTTP);
    add_cluster("unchecked", W_NOTHING, W_MESSAGE(2, member("10.0.0.1:80")));
    add_cluster("empty", http_check(8), W_NOTHING);
    const udpai_health_plan_counts *counts = make_plan();
    assert_int_equal(counts->n_clusters + counts->n_left_out + counts->n_endpoints, 0);
    expect(0, INTERVAL);
}

/* ---- what is left out ---- */

static void
who_is_not_to_be_checked_is_not(void **state)
{
    (void)state;
    udpai_str off = W_MESSAGE(2, W_VARINT(4, 1)), port = W_MESSAGE(2, W_VARINT(1, 81));
    udpai_str address = wire_bytes(1, health_address("10.0.0.2:80"));
    add_checker("one", "", "", HTTP);
    add_cluster(
        "c", http_check(8),
        W_MESSAGE(2, W_MESSAGE(2, W_MESSAGE(1, address, off)),
                  W_MESSAGE(2, W_MESSAGE(1, W_TEXT(3, "no address"))),
                  W_MESSAGE(2, W_TEXT(5, "a name")),
                  W_MESSAGE(2, W_MESSAGE(1, wire_bytes(1, health_address("10.0.0.1:80")), port))));
    assert_int_equal(make_plan()->n_endpoints, 1);
    expect(0,
           W_JOIN(W_MESSAGE(1, W_TEXT(1, "c"), http_check(2),
                            W_MESSAGE(3, W_MESSAGE(2, wire_bytes(1, health_address("10.0.0.1:80")),
                                                   port))),
                  INTERVAL));
}

static void
of_an_address_that_is_there_twice_the_first_counts(void **state)
{
    (void)state;
    add_checker("one", "eu", "b", HTTP);
    udpai_str twice = W_JOIN(W_MESSAGE(2, W_MESSAGE(1, place("eu", "a")), member("10.0.0.1:80"),
                                       member("10.0.0.2:80"), member("10.0.0.1:80")),
                             W_MESSAGE(2, W_MESSAGE(1, place("eu", "b")), member("10.0.0.1:80")));
    add_cluster("c", http_check(8), twice);
    add_cluster("d", http_check(8), twice);
    assert_int_equal(make_plan()->n_endpoints, 4);
    udpai_str once = W_MESSAGE(3, W_MESSAGE(1, place("eu", "a")), health_endpoint(2, "10.0.0.1:80"),
                               health_endpoint(2, "10.0.0.2:80"));
    expect(0, W_JOIN(W_MESSAGE(1, W_TEXT(1, "c"), http_check(2), once),
                     W_MESSAGE(1, W_TEXT(1, "d"), http_check(2), once), INTERVAL));
}

/* Envoy refuses a specifier with such a check in it, and would check nothing. */
static void
checks_that_cannot_be_used_are_left_out(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP | TCP);
    udpai_str kind = W_MESSAGE(8, W_TEXT(2, "/"));
    udpai_str endpoints = W_MESSAGE(2, member("10.0.0.1:80"));
    add_cluster("half", W_JOIN(W_MESSAGE(8, W_MESSAGE(1, W_VARINT(1, 1)), kind), tcp_check(8)),
                endpoints);
    add_cluster("none", W_MESSAGE(8, kind), endpoints);
    add_cluster("kind", W_MESSAGE(8, CHECK_BASICS), endpoints);
    add_cluster("cut", W_MESSAGE(8, CHECK_BASICS, kind, W_BYTES(0, "x")), endpoints);
    assert_int_equal(make_plan()->n_clusters, 1);
    expect(0, W_JOIN(W_MESSAGE(1, W_TEXT(1, "half"), tcp_check(2),
                               W_MESSAGE(3, health_endpoint(2, "10.0.0.1:80"))),
                     INTERVAL));
}

static void
a_malformed_cluster_is_left_out_whole(void **state)
{
    (void)state;
    udpai_str good = member("10.0.0.1:80"), broken = W_BYTES(0, "x");
    add_checker("one", "", "", HTTP);
    add_cluster("a", W_JOIN(http_check(8), broken), W_MESSAGE(2, good));
    add_cluster("b", http_check(8), W_JOIN(W_MESSAGE(2, good), broken));
    add_cluster("c", http_check(8), W_JOIN(W_MESSAGE(2, good), W_MESSAGE(2, good, broken)));
    add_cluster("d", http_check(8), W_MESSAGE(2, good, W_MESSAGE(2, W_BYTES(1, "\x0a\x05"))));
    add_cluster("e", http_check(8),
                W_MESSAGE(2, good, W_MESSAGE(2, W_MESSAGE(1, W_BYTES(3, "\xff")))));
    add_cluster("f", http_check(8), W_MESSAGE(2, W_MESSAGE(1, W_BYTES(1, "\xff")), good));
    const udpai_health_plan_counts *counts = make_plan();
    assert_int_equal(counts->n_left_out, 6);
    assert_int_equal(counts->n_clusters + counts->n_endpoints, 0);
    expect(0, INTERVAL);
}

static udpai_str
many(size_t n)
{
    udpai_str *members = malloc(n * sizeof(*members));
    char text[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "10.%zu.%zu.%zu:80", i >> 16, i >> 8 & 255, i & 255);
        members[i] = member(text);
    }
    udpai_str all = wire_bytes(2, wire_join(members, n));
    free(members);
    return all;
}

static void
a_cluster_with_too_many_endpoints_is_left_out(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP);
    add_cluster("a", http_check(8), W_MESSAGE(2, member("10.9.0.1:80")));
    add_cluster("b", http_check(8), many(UDPAI_HEALTH_ENDPOINTS_MAX));
    add_cluster("c", http_check(8), W_MESSAGE(2, member("10.9.0.2:80")));
    const udpai_health_plan_counts *counts = make_plan();
    assert_int_equal(counts->n_left_out, 1);
    assert_int_equal(counts->n_endpoints, 2);
    assert_int_equal(share_of(0), 2);
}

/* ---- who is there ---- */

static void
who_cannot_do_it_is_not_asked(void **state)
{
    (void)state;
    add_checker("http", "", "", HTTP);
    add_checker("tcp", "", "", TCP);
    add_cluster("c", http_check(8), W_MESSAGE(2, member("10.0.0.1:80"), member("10.0.0.2:80")));
    add_cluster("d", W_JOIN(http_check(8), tcp_check(8)), W_MESSAGE(2, member("10.0.0.3:80")));
    input.redundancy = 2;
    assert_int_equal(make_plan()->n_unchecked, 1);
    assert_int_equal(share_of(0), 2);
    assert_int_equal(share_of(1), 0);
    input.n_checkers = 0;
    assert_int_equal(make_plan()->n_unchecked, 3);
}

static void
each_endpoint_is_in_as_many_shares_as_said(void **state)
{
    (void)state;
    static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g"};
    for (size_t i = 0; i < 7; i++)
        add_checker(ids[i], "", "", HTTP);
    add_cluster("c", http_check(8), many(1000));
    for (input.redundancy = 1; input.redundancy <= UDPAI_HEALTH_REDUNDANCY_MAX;
         input.redundancy++) {
        size_t n = 0, each = input.redundancy < 7 ? input.redundancy : 7;
        make_plan();
        for (size_t i = 0; i < 7; i++) {
            n += share_of(i);
            assert_in_range(share_of(i), 1000 * each / 7 * 8 / 10, 1000 * each / 7 * 12 / 10 + 1);
        }
        assert_int_equal(n, 1000 * each);
    }
}

/* Who had it goes on until who has it now can have looked. */
static void
before_another_takes_over_both_check(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP);
    add_checker("gone", "", "", HTTP);
    add_cluster("c", http_check(8), many(1000));
    assert_int_equal(make_plan()->n_leaving, 0);
    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *first = UDPAI_TAKE(plan);

    checkers[1].id = UDPAI_STR("new");
    make_plan();
    size_t share = share_of(0), share_of_new = share_of(1);
    assert_int_equal(share + share_of_new, 1000);
    input.before = first;
    size_t n_leaving = make_plan()->n_leaving;
    assert_in_range(n_leaving, 1, 999);
    assert_int_equal(share_of(0), share + n_leaving); /* "gone" cannot go on */
    assert_int_equal(share_of(1), share_of_new);

    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *second = UDPAI_TAKE(plan);
    input.before = second;
    assert_int_equal(make_plan()->n_leaving, 0); /* of a plan, what was drawn counts */
    assert_int_equal(share_of(0), share);
}

static void
who_cannot_do_it_any_more_does_not_go_on(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP);
    add_checker("two", "", "", HTTP);
    add_cluster("c", http_check(8), many(100));
    make_plan();
    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *first = UDPAI_TAKE(plan);
    checkers[1].capability = TCP;
    input.before = first;
    assert_int_equal(make_plan()->n_leaving, 0);
    assert_int_equal(share_of(0), 100);
    assert_int_equal(share_of(1), 0);
}

/* ---- without memory ---- */

static udpa_err
plan_without_memory(void *context)
{
    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *first = NULL;
    UDPA_AUTO(udpai_health_plan_free) udpai_health_plan *made = NULL;
    (void)context;
    udpai_health_plan_input alone = input;
    alone.n_checkers = 1;
    alone.before = NULL;
    udpa_err err = udpai_health_plan_new(&first, &alone);
    input.before = first;
    if (err == UDPA_OK)
        err = udpai_health_plan_new(&made, &input);
    if (err != UDPA_OK)
        return err;
    udpa_bytes *specifier = udpai_health_plan_specifier(made, 0);
    udpa_bytes_unref(specifier);
    return specifier ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    add_checker("one", "", "", HTTP);
    add_checker("two", "", "", HTTP);
    add_cluster("c", http_check(8), many(50));
    oom_torture(plan_without_memory, NULL);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(each_checks_its_zone),
        CASE(how_it_is_checked_is_copied),
        CASE(without_anything_to_check),
        CASE(who_is_not_to_be_checked_is_not),
        CASE(of_an_address_that_is_there_twice_the_first_counts),
        CASE(checks_that_cannot_be_used_are_left_out),
        CASE(a_malformed_cluster_is_left_out_whole),
        CASE(a_cluster_with_too_many_endpoints_is_left_out),
        CASE(who_cannot_do_it_is_not_asked),
        CASE(each_endpoint_is_in_as_many_shares_as_said),
        CASE(before_another_takes_over_both_check),
        CASE(who_cannot_do_it_any_more_does_not_go_on),
        CASE(without_memory_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
