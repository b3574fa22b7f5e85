/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that are computed for checkers, as clusters and checkers change. */
#include "endpoint/check_planner.h"

#include <stdio.h>

#include "base/alloc.h"
#include "model/types.h"
#include "reports/health_table.h"
#include "tests/harness/node_bed.h"
#include "tests/unit/reports/health_test.h"

#define ROOT UDPAI_STR("/resources")
#define INTERVAL_MS 1000
#define HANDOVER_MS (3 * INTERVAL_MS + 10000)
#define RESOURCES_MAX 8

/* ---- a node, what it has in files, and checkers that come to it ---- */

static udpai_wheel wheel;
static udpai_node *node;
static udpai_service *planner;
static uint64_t now_ms, last_session;
static udpa_resource *files[RESOURCES_MAX];
static size_t n_files;
static size_t n_changes; /* of specifiers, that were told */

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return (int64_t)now_ms * 1000 + 1000000;
}

static void
on_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    for (size_t i = 0;
         order->kind == UDPAI_ORDER_CHANGES && i < udpai_change_set_size(order->changes); i++) {
        const udpai_change *change = udpai_change_set_at(order->changes, i);
        n_changes += change->kind != UDPAI_CHANGE_REFRESH &&
                     udpai_str_eq(udpai_resource_type_url(change->resource),
                                  UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE));
    }
    udpai_order_free(order);
}

static udpa_err
make_planner(const char *prefix, size_t redundancy)
{
    const udpai_check_rule rule = {udpai_str_from(prefix), redundancy, INTERVAL_MS};
    const udpai_check_planner_options options = {node, &wheel, &rule, 1};
    return udpai_check_planner_new(&planner, &options);
}

static void
begin(const char *prefix, size_t redundancy)
{
    assert_ok(make_planner(prefix, redundancy));
    udpai_node_start(node);
    udpai_node_flush(node);
}

static int
setup(void **state)
{
    (void)state;
    const udpai_node_config config = node_bed_config("node", 1000);
    const udpai_node_env env = {
        .order = on_order, .wall_us = wall_us, .random = node_bed_no_chance};
    now_ms = 1000;
    last_session = n_changes = 0;
    udpai_wheel_init(&wheel, now_ms);
    assert_ok(udpai_node_new(&node, &wheel, &config, &env, NULL));
    assert_ok(udpai_node_expect_files(node, ROOT));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    udpai_service_free(UDPAI_TAKE(planner));
    node = udpai_node_free(node);
    while (n_files)
        udpa_resource_unref(files[--n_files]);
    wire_free_all();
    return 0;
}

static void
pass(uint64_t ms)
{
    for (uint64_t end = now_ms + ms; now_ms < end;) {
        now_ms += end - now_ms < 100 ? end - now_ms : 100;
        udpai_wheel_advance(&wheel, now_ms);
        udpai_node_flush(node);
    }
}

static udpa_resource *
make(const char *type, const char *name, udpai_str payload, uint64_t ttl_ms)
{
    udpa_resource *resource = NULL;
    udpa_bytes *any = udpai_any_make(udpai_str_from(type), payload);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any, .ttl_ms = ttl_ms};
    assert_ok(udpai_resource_make(&resource, &parts));
    udpa_bytes_unref(any);
    return resource;
}

/* ---- files ---- */

static void
read_files(void)
{
    const udpai_directory directory = {.root = ROOT, .resources = files, .n_resources = n_files};
    assert_ok(udpai_node_set_files(node, &directory, NULL));
    udpai_node_flush(node);
}

/* Adds it, or puts it in the place of that of the same type and name. */
static void
put_file(const char *type, const char *name, udpai_str payload)
{
    udpa_resource *added = make(type, name, payload, 0);
    size_t i = 0;
    while (i < n_files && (!udpai_str_eq(udpai_resource_name(files[i]), udpai_str_from(name)) ||
                           !udpai_str_eq(udpai_resource_type_url(files[i]), udpai_str_from(type))))
        i++;
    assert_true(i < RESOURCES_MAX);
    if (i == n_files)
        n_files++;
    else
        udpa_resource_unref(files[i]);
    files[i] = added;
}

/* A cluster with one check, its endpoints by EDS. */
static udpai_str
cluster(const char *name, const char *service, const char *path)
{
    udpai_str second = W_MESSAGE(1, W_VARINT(1, 1));
    return W_JOIN(W_TEXT(1, name), W_VARINT(2, 3), W_MESSAGE(3, W_TEXT(2, service)),
                  W_MESSAGE(8, second, W_MESSAGE(2, W_VARINT(1, 1)), W_MESSAGE(4, W_VARINT(1, 1)),
                            W_MESSAGE(5, W_VARINT(1, 1)), W_MESSAGE(8, W_TEXT(2, path))));
}

/* So many endpoints, of a zone if one is given. */
static udpai_str
endpoints(const char *zone, unsigned n)
{
    udpai_str all = zone ? W_MESSAGE(1, W_TEXT(1, "here"), W_TEXT(2, zone)) : W_NOTHING;
    char text[32];
    for (unsigned i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%s%u:80", zone ? zone : "x", i);
        all = W_JOIN(all, W_MESSAGE(2, health_endpoint(1, text)));
    }
    return wire_bytes(2, all);
}

static void
put_backend(void)
{
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/shop", cluster("shop", "backend", "/"));
    put_file(UDPAI_TYPE_ENDPOINTS, "com.acme/backend",
             W_JOIN(W_TEXT(1, "backend"), endpoints("a", 3), endpoints("b", 2)));
    read_files();
}

/* ---- checkers ---- */

static uint64_t
arrive(const char *id)
{
    node_bed_tell(node, ++last_session, node_bed_report(UDPAI_REPORT_OPENED));
    node_bed_tell(node, last_session, node_bed_introduction(id, false));
    return last_session;
}

static void
announce(uint64_t session, const char *id, const char *zone)
{
    char name[64];
    snprintf(name, sizeof(name), "com.acme/%s", id);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        make(UDPAI_TYPE_CHECKER, name, W_JOIN(W_VARINT(1, 0), W_TEXT(2, "here"), W_TEXT(3, zone)),
             15000);
    node_bed_tell(node, session, node_bed_publication(resource));
}

static void
come(const char *id, const char *zone)
{
    announce(arrive(id), id, zone);
}

/* ---- what they are given ---- */

typedef struct search {
    char text[4096];
    size_t n_endpoints;
} search;

static void
add_endpoints(search *found, udpai_str specifier)
{
    udpai_proto_reader reader = udpai_proto_read(specifier);
    udpai_proto_field asked, locality, endpoint;
    while (udpai_proto_next(&reader, &asked)) {
        udpai_proto_reader of_cluster = udpai_proto_read(asked.bytes);
        while (asked.number == 1 && udpai_proto_next(&of_cluster, &locality)) {
            udpai_proto_reader of_locality = udpai_proto_read(locality.bytes);
            while (locality.number == 3 && udpai_proto_next(&of_locality, &endpoint))
                found->n_endpoints += endpoint.number == 2;
        }
    }
}

static bool
note_specifier(void *userdata, const udpai_contribution *contribution)
{
    search *found = userdata;
    found->n_endpoints = 0;
    add_endpoints(found, udpai_resource_value(contribution->resource));
    size_t len = strlen(found->text);
    snprintf(found->text + len, sizeof(found->text) - len, "%s%s:%zu", len ? " " : "",
             udpa_resource_name(contribution->resource), found->n_endpoints);
    return true;
}

static int
compare_words(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "com.acme/computed/a:3 …": how many endpoints each has, by name. */
static void
expect_given(const char *wanted)
{
    search found = {.text = ""};
    char sorted[4096] = "", *words[16], *rest = found.text;
    size_t n = 0;
    udpai_store_visit_effective(udpai_node_store(node), UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE),
                                UDPAI_STR("com"), note_specifier, &found);
    while ((words[n] = strsep(&rest, " ")) && *words[n])
        n++;
    qsort(words, n, sizeof(*words), compare_words);
    for (size_t i = 0; i < n; i++)
        snprintf(sorted + strlen(sorted), sizeof(sorted) - strlen(sorted), "%s%s", i ? " " : "",
                 words[i]);
    assert_string_equal(sorted, wanted);
}

/* ---- */

static void
each_is_given_its_zone(void **state)
{
    (void)state;
    begin("com.acme", 1);
    put_backend();
    come("one", "a");
    come("two", "b");
    expect_given("");
    pass(1000);
    expect_given("com.acme/computed/one:3 com.acme/computed/two:2");
    assert_int_equal(n_changes, 2);
}

/* It may have something to check. */
static void
before_all_is_known_nobody_is_given_anything(void **state)
{
    (void)state;
    begin("com.acme", 1);
    come("one", "a");
    pass(5000);
    expect_given("");
    put_backend();
    pass(1000);
    expect_given("com.acme/computed/one:5");
}

static void
who_comes_takes_over_and_who_had_it_goes_on_for_a_while(void **state)
{
    (void)state;
    begin("com.acme", 1);
    put_backend();
    uint64_t one = arrive("one");
    announce(one, "one", "a");
    pass(1000);
    uint64_t two = arrive("two");
    announce(two, "two", "b");
    pass(1000);
    expect_given("com.acme/computed/one:5 com.acme/computed/two:2");
    for (uint64_t ms = 0; ms < HANDOVER_MS - 1000; ms += 1000) {
        announce(one, "one", "a");
        announce(two, "two", "b");
        pass(1000);
        expect_given("com.acme/computed/one:5 com.acme/computed/two:2");
    }
    announce(one, "one", "a");
    announce(two, "two", "b");
    pass(1000);
    expect_given("com.acme/computed/one:3 com.acme/computed/two:2");
    assert_int_equal(n_changes, 3);
}

static void
who_goes_needs_nothing_and_is_replaced(void **state)
{
    (void)state;
    begin("com.acme", 1);
    put_backend();
    uint64_t one = arrive("one");
    come("two", "b");
    announce(one, "one", "a");
    pass(1000);
    expect_given("com.acme/computed/one:3 com.acme/computed/two:2");
    for (int i = 0; i < 3; i++) { /* "two" expires */
        pass(5000);
        announce(one, "one", "a");
    }
    pass(2000);
    expect_given("com.acme/computed/one:5");
    pass(20000);
    expect_given("");
}

static void
both_check_all_with_a_redundancy_of_two(void **state)
{
    (void)state;
    begin("com.acme", 2);
    put_backend();
    come("one", "a");
    come("a%2Fb", "b"); /* refused: it speaks for another */
    pass(1000);
    expect_given("com.acme/computed/one:5");
    uint64_t session = arrive("a/b");
    announce(session, "a%2Fb", "b");
    pass(1000);
    expect_given("com.acme/computed/a%2Fb:5 com.acme/computed/one:5");
}

static void
changes_that_change_nothing_are_not_told(void **state)
{
    (void)state;
    begin("com.acme", 1);
    put_backend();
    uint64_t one = arrive("one");
    announce(one, "one", "a");
    pass(1000);
    assert_int_equal(n_changes, 1);
    for (int i = 0; i < 200; i++) { /* while it is renewed */
        announce(one, "one", "a");
        pass(5000);
    }
    expect_given("com.acme/computed/one:5");
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/other", W_TEXT(1, "other"));
    read_files();
    announce(one, "one", "a");
    pass(2000);
    assert_int_equal(n_changes, 1);
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/shop", cluster("shop", "backend", "/other"));
    read_files();
    pass(1000);
    assert_int_equal(n_changes, 2);
}

/* A cluster outside the prefix, one of an unknown service, one without EDS, two of one service. */
static void
what_is_not_to_be_checked_is_not(void **state)
{
    (void)state;
    begin("com.acme/till", 1);
    put_backend();
    come("one", "a");
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/till/a", cluster("till/a", "none", "/"));
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/till/b",
             W_JOIN(cluster("till/b", "backend", "/"), W_VARINT(2, 0)));
    read_files();
    pass(1000);
    expect_given("com.acme/computed/one:0");
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/till/c", cluster("till/c", "backend", "/"));
    put_file(UDPAI_TYPE_CLUSTER, "com.acme/till/d", cluster("till/d", "backend", "/d"));
    put_file(UDPAI_TYPE_CLUSTER, "com.acme.till/e", cluster("e", "backend", "/e"));
    read_files();
    pass(1000);
    expect_given("com.acme/computed/one:5");
}

static void
checkers_of_other_namespaces_are_not_asked(void **state)
{
    (void)state;
    begin("com", 1);
    put_backend();
    come("one", "a");
    pass(3000);
    expect_given("");
}

static udpa_err
make_and_free(void *context)
{
    (void)context;
    udpa_err err = make_planner("com.acme", 1);
    udpai_service_free(UDPAI_TAKE(planner));
    return err;
}

static void
without_memory_it_is_done_later(void **state)
{
    (void)state;
    for (long n = 0;; n++) {
        udpai_alloc_fail_after(n);
        udpa_err err = make_and_free(NULL);
        udpai_alloc_fail_after(-1);
        if (err == UDPA_OK)
            break;
        assert_int_equal(err, UDPA_ERR_NOMEM);
    }
    begin("com.acme", 1);
    put_backend();
    come("one", "a");
    for (long n = 0; n < 60; n++) {
        put_file(UDPAI_TYPE_ENDPOINTS, "com.acme/backend",
                 W_JOIN(W_TEXT(1, "backend"), endpoints(NULL, (unsigned)n % 7)));
        read_files();
        now_ms += 1000;
        udpai_alloc_fail_after(n);
        udpai_wheel_advance(&wheel, now_ms);
        udpai_alloc_fail_after(-1);
        udpai_node_flush(node);
        announce(1, "one", "a");
        pass(1000);
        char wanted[64];
        snprintf(wanted, sizeof(wanted), "com.acme/computed/one:%ld", n % 7);
        expect_given(wanted);
    }
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(each_is_given_its_zone),
        CASE(before_all_is_known_nobody_is_given_anything),
        CASE(who_comes_takes_over_and_who_had_it_goes_on_for_a_while),
        CASE(who_goes_needs_nothing_and_is_replaced),
        CASE(both_check_all_with_a_redundancy_of_two),
        CASE(changes_that_change_nothing_are_not_told),
        CASE(what_is_not_to_be_checked_is_not),
        CASE(checkers_of_other_namespaces_are_not_asked),
        CASE(without_memory_it_is_done_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
