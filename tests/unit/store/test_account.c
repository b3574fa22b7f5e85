/* SPDX-License-Identifier: Apache-2.0 */
/* How much room there is, for whom, and what it says when there is none. */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#include <udpa/error.h>

static void
limit(store_bed *bed, size_t *option, size_t value)
{
    *option = value;
    udpai_store_set_options(bed->store, &bed->options);
}

/* Takes over the resource. */
static void
assert_refused(store_bed *bed, udpai_origin *origin, udpa_resource *resource, const char *why)
{
    udpa_error *error = NULL;
    assert_int_equal(store_bed_try(bed, origin, resource, &error), UDPA_ERR_LIMIT);
    if (!strstr(udpa_error_message(error), why))
        fail_msg("not because '%s', but: %s", why, udpa_error_message(error));
    udpa_error_unref(error);
}

/* ---- namespaces ---- */

static void
test_a_namespace_holds_so_many(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    bed->options.max_resources_per_namespace = 2;
    udpai_store_set_options(bed->store, &bed->options);
    PUT(bed, one, "a", .value = "1");
    PUT(bed, other, "a", .value = "2"); /* contributions are counted, not names */
    udpa_error *error = NULL;
    assert_int_equal(store_bed_try(bed, one, RESOURCE("com.acme/b"), &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "'com.acme' is full: 2 resources of 2"));
    udpa_error_unref(error);
    assert_changes(bed, "+a=1");
    /* Another tenant does not pay for it, nor does what is there. */
    store_bed_put(bed, one, RESOURCE("com.acme.sub/b", .value = "1"));
    PUT(bed, one, "a", .value = "3");
    assert_changes(bed, "+a=3 +com.acme.sub/b=1");
    store_bed_withdraw(bed, other, "com.acme/a");
    PUT(bed, one, "b", .value = "1");
    assert_changes(bed, "+b=1");
}

static void
test_a_namespace_holds_so_many_bytes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
    udpa_resource *small = RESOURCE("com.acme/a", .value = "small");
    udpa_resource *large = RESOURCE("com.acme/a", .value = "quite a bit larger than small");
    bed->options.max_bytes_per_namespace = udpai_resource_footprint(large);
    udpai_store_set_options(bed->store, &bed->options);
    store_bed_put(bed, origin, small);
    udpa_error *error = NULL;
    assert_int_equal(store_bed_try(bed, origin, RESOURCE("com.acme/b"), &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "bytes of"));
    udpa_error_unref(error);
    store_bed_put(bed, origin, large);
    assert_int_equal(
        store_bed_try(bed, origin,
                      RESOURCE("com.acme/a", .value = "even larger than the other, by far"), NULL),
        UDPA_ERR_LIMIT);
    assert_changes(bed, "+a=quite a bit larger than small");
    /* What shrinks is let in even where there is too much already. */
    bed->options.max_bytes_per_namespace = 1;
    udpai_store_set_options(bed->store, &bed->options);
    PUT(bed, origin, "a", .value = "small");
    assert_changes(bed, "+a=small");
}

/* What was refused leaves no account of its namespace behind. */
static void
test_a_refusal_leaves_nothing(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
    bed->options.max_resources_per_namespace = 0;
    udpai_store_set_options(bed->store, &bed->options);
    unsigned long before = udpai_alloc_live();
    assert_int_equal(store_bed_try(bed, origin, RESOURCE("com.acme/b"), NULL), UDPA_ERR_LIMIT);
    assert_changes(bed, "");
    /* Tables keep their room: not more than one each. */
    unsigned long after = udpai_alloc_live();
    for (size_t i = 0; i < 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%zu.x/b", i);
        assert_int_equal(store_bed_try(bed, origin, RESOURCE(name), NULL), UDPA_ERR_LIMIT);
        assert_changes(bed, "");
    }
    assert_int_equal(udpai_alloc_live(), after);
    assert_true(after <= before + 2);
}

/* ---- publishers ---- */

static void
test_a_publisher_holds_so_many_in_all_namespaces(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    limit(bed, &bed->options.max_resources_per_publisher, 2);
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "1"));
    store_bed_put(bed, one, RESOURCE("a2/x", .value = "1"));
    assert_refused(bed, one, RESOURCE("a3/x"),
                   "'a3/x' finds no room: origin 'one' is full: 2 resources of 2, and this takes 1 "
                   "more (limits.max_resources_per_publisher)");
    store_bed_put(bed, one, RESOURCE("a2/x", .value = "2"));
    store_bed_put(bed, other, RESOURCE("a3/x", .value = "1"));
    assert_changes(bed, "+a1/x=1 +a2/x=2 +a3/x=1");
    store_bed_withdraw(bed, one, "a1/x");
    assert_changes(bed, "-a1/x");
    store_bed_put(bed, one, RESOURCE("a4/x", .value = "1"));
    assert_changes(bed, "+a4/x=1");
}

static void
test_a_publisher_holds_so_many_bytes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    udpa_resource *first = RESOURCE("a1/x", .value = "1");
    bed->options.max_bytes_per_publisher = 2 * udpai_resource_footprint(first) - 1;
    udpai_store_set_options(bed->store, &bed->options);
    store_bed_put(bed, one, first);
    assert_refused(bed, one, RESOURCE("a2/x", .value = "1"), "bytes of");
    assert_refused(bed, one, RESOURCE("a2/x", .value = "1"), "(limits.max_bytes_per_publisher)");
    store_bed_put(bed, other, RESOURCE("a2/x", .value = "1"));
    assert_changes(bed, "+a1/x=1 +a2/x=1");
}

static void
test_who_is_configured_is_no_publisher(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *source = store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0);
    bed->options.max_resources_per_publisher = 0;
    bed->options.max_bytes_per_publisher = 0;
    udpai_store_set_options(bed->store, &bed->options);
    PUT(bed, files, "a", .value = "1");
    PUT(bed, source, "b", .value = "1");
    assert_changes(bed, "+a=1 +b=1");
}

/* ---- the node ---- */

static void
test_publishers_together_hold_so_many(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    limit(bed, &bed->options.max_resources, 2);
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "1"));
    store_bed_put(bed, other, RESOURCE("a2/x", .value = "1"));
    assert_refused(bed, other, RESOURCE("a3/x"),
                   "this node is full: 2 resources of 2, and this takes 1 more "
                   "(limits.max_resources)");
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "2"));
    /* Nobody who is configured pays for what they hold, … */
    PUT(bed, files, "a", .value = "1");
    PUT(bed, files, "b", .value = "1");
    assert_changes(bed, "+a1/x=2 +a2/x=1 +a=1 +b=1");
    /* … but has a limit of its own. */
    assert_refused(bed, files, RESOURCE("com.acme/c"),
                   "this node, publishers left out, is full: 2 resources of 2");
    /* Publishers have what the others leave. */
    store_bed_withdraw(bed, one, "a1/x");
    store_bed_withdraw(bed, other, "a2/x");
    assert_changes(bed, "-a1/x -a2/x");
    assert_refused(bed, one, RESOURCE("a1/x"), "this node is full");
    store_bed_withdraw(bed, files, "com.acme/b");
    assert_changes(bed, "-b");
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "3"));
    assert_changes(bed, "+a1/x=3");
}

static void
test_the_node_holds_so_many_bytes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpa_resource *first = RESOURCE("a1/x", .value = "1");
    bed->options.max_bytes = 2 * udpai_resource_footprint(first) - 1;
    udpai_store_set_options(bed->store, &bed->options);
    store_bed_put(bed, one, first);
    assert_refused(bed, one, RESOURCE("a2/x", .value = "1"), "(limits.max_bytes)");
    store_bed_put(bed, files, RESOURCE("a3/x", .value = "1"));
    assert_refused(bed, files, RESOURCE("a4/x", .value = "1"), "(limits.max_bytes)");
    assert_changes(bed, "+a1/x=1 +a3/x=1");
}

/* What an origin holds moves with it. */
static void
test_an_origin_may_become_configured(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    limit(bed, &bed->options.max_resources, 1);
    PUT(bed, one, "a", .value = "1");
    PUT(bed, files, "b", .value = "1");
    store_bed_withdraw(bed, files, "com.acme/b");
    udpai_origin_set_rank(bed->store, one, UDPAI_ORIGIN_SOURCE, 0);
    assert_refused(bed, files, RESOURCE("com.acme/b"), "publishers left out");
    udpai_origin_set_rank(bed->store, one, UDPAI_ORIGIN_PUBLISHER, 0);
    PUT(bed, files, "b", .value = "2");
    assert_changes(bed, "+a=1 +b=2");
}

/* ---- what was let in before ---- */

static void
test_what_is_loaded_always_finds_room(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    bed->options = (udpai_store_options){.remember_ms = 1000, .remember_max = 10};
    udpai_store_set_options(bed->store, &bed->options);
    udpai_store_set_loading(bed->store, true);
    PUT(bed, one, "a", .value = "1");
    PUT(bed, one, "b", .value = "1");
    udpai_store_set_loading(bed->store, false);
    assert_refused(bed, one, RESOURCE("com.acme/c"),
                   "namespace 'com.acme' is full: 2 resources of 0");
    PUT(bed, one, "a", .value = "2");
    assert_changes(bed, "+a=2 +b=1");
}

/* ---- counting ---- */

#define NAMES 6

/* What is there, once more: contributions of one origin, by name; 0: none. */
struct ledger {
    udpai_origin *origin;
    size_t footprints[NAMES];
};

static void
exchange(store_bed *bed, struct ledger *ledger, uint64_t *random)
{
    size_t at = test_random_below(random, NAMES);
    char name[16], value[40] = "";
    (void)snprintf(name, sizeof(name), "n%zu/%zu", at % 2, at);
    if (test_random_below(random, 3) == 0) {
        store_bed_withdraw(bed, ledger->origin, name);
        ledger->footprints[at] = 0;
        return;
    }
    memset(value, 'x', test_random_below(random, sizeof(value)));
    udpa_resource *resource =
        RESOURCE(name, .value = value, .generation = test_random_below(random, 2));
    size_t footprint = udpai_resource_footprint(resource);
    udpai_contribution before;
    bool outdated = udpai_store_get(bed->store, ledger->origin, UDPAI_STR(TEST_TYPE),
                                    udpai_str_from(name), &before) &&
                    udpa_resource_generation(before.resource) > udpa_resource_generation(resource);
    if (!outdated)
        ledger->footprints[at] = footprint;
    store_bed_put(bed, ledger->origin, resource);
}

static udpai_store_options
unlimited(void)
{
    return (udpai_store_options){
        1000, 10, SIZE_MAX, UINT64_MAX, SIZE_MAX, UINT64_MAX, SIZE_MAX, UINT64_MAX,
    };
}

/* With this limit at nothing, it says how much there is. */
static void
assert_counted(store_bed *bed, udpai_origin *origin, void *option, size_t used, const char *unit)
{
    char expected[64];
    memset(option, 0, sizeof(size_t));
    udpai_store_set_options(bed->store, &bed->options);
    (void)snprintf(expected, sizeof(expected), "is full: %zu %s of 0,", used, unit);
    assert_refused(bed, origin, RESOURCE("n0/new"), expected);
    bed->options = unlimited();
    udpai_store_set_options(bed->store, &bed->options);
}

static void
assert_ledgers(store_bed *bed, const struct ledger *ledgers, size_t n_ledgers)
{
    size_t n[2] = {0}, bytes[2] = {0}, n_of_0 = 0, bytes_of_0 = 0;
    for (size_t i = 0; i < n_ledgers * NAMES; i++) {
        size_t footprint = ledgers[i / NAMES].footprints[i % NAMES];
        n[i % 2] += footprint > 0;
        bytes[i % 2] += footprint;
        n_of_0 += i < NAMES && footprint > 0;
        bytes_of_0 += i < NAMES ? footprint : 0;
    }
    udpai_store_options *options = &bed->options;
    udpai_origin *origin = ledgers[0].origin;
    assert_counted(bed, origin, &options->max_resources_per_namespace, n[0], "resources");
    assert_counted(bed, origin, &options->max_bytes_per_namespace, bytes[0], "bytes");
    assert_counted(bed, origin, &options->max_resources_per_publisher, n_of_0, "resources");
    assert_counted(bed, origin, &options->max_bytes_per_publisher, bytes_of_0, "bytes");
    assert_counted(bed, origin, &options->max_resources, n[0] + n[1], "resources");
    assert_counted(bed, origin, &options->max_bytes, bytes[0] + bytes[1], "bytes");
}

static void
test_what_is_counted_is_what_is_there(void **state)
{
    store_bed *bed = *state;
    uint64_t random = 20240607;
    struct ledger ledgers[] = {
        {.origin = store_bed_origin(bed, "p", UDPAI_ORIGIN_PUBLISHER, 0)},
        {.origin = store_bed_origin(bed, "q", UDPAI_ORIGIN_PUBLISHER, 0)},
        {.origin = store_bed_origin(bed, "f", UDPAI_ORIGIN_FILES, 0)},
    };
    bed->options = unlimited();
    udpai_store_set_options(bed->store, &bed->options);
    for (int i = 0; i < 2000; i++) {
        exchange(bed, &ledgers[test_random_below(&random, UDPAI_ARRAY_LEN(ledgers))], &random);
        if (test_random_below(&random, 4) == 0)
            (void)store_bed_changes(bed);
        assert_ledgers(bed, ledgers, UDPAI_ARRAY_LEN(ledgers));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_a_namespace_holds_so_many),
        store_test(test_a_namespace_holds_so_many_bytes),
        store_test(test_a_refusal_leaves_nothing),
        store_test(test_a_publisher_holds_so_many_in_all_namespaces),
        store_test(test_a_publisher_holds_so_many_bytes),
        store_test(test_who_is_configured_is_no_publisher),
        store_test(test_publishers_together_hold_so_many),
        store_test(test_the_node_holds_so_many_bytes),
        store_test(test_an_origin_may_become_configured),
        store_test(test_what_is_loaded_always_finds_room),
        store_test(test_what_is_counted_is_what_is_there),
    };
    return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
