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

/* It is there while somebody looks, and must not depend on that. */
static void
what_the_node_says_of_itself_takes_no_room(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *own = store_bed_origin(bed, "own", UDPAI_ORIGIN_FILES, 0);
    limit(bed, &bed->options.max_resources, 2);
    store_bed_put(bed, own, RESOURCE("udpa.node/n/node", .value = "1"));
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "1"));
    store_bed_put(bed, one, RESOURCE("a2/x", .value = "1"));
    assert_refused(bed, one, RESOURCE("a3/x"), "this node is full: 2 resources of 2");
    assert_changes(bed, "+a1/x=1 +a2/x=1 +udpa.node/n/node=1");
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

/* ---- what is gone, and held back ---- */

static bool
is_certain(void *userdata, const udpa_resource *last)
{
    (void)last;
    return *(const bool *)userdata;
}

static void
doubt(store_bed *bed, bool *certain)
{
    *certain = false;
    udpai_store_set_certain(bed->store, is_certain, certain);
}

static void
be_certain(store_bed *bed, bool *certain)
{
    *certain = true;
    udpai_store_recheck_removals(bed->store);
}

/* Nobody grows a store without bounds by names that come and go while a source is missing. */
static void
test_what_is_held_back_takes_room(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_PUBLISHER, 0);
    doubt(bed, &certain);
    limit(bed, &bed->options.max_resources_per_namespace, 1);
    PUT(bed, origin, "0", .value = "1");
    assert_changes(bed, "+0=1");
    store_bed_withdraw(bed, origin, "com.acme/0");
    for (int i = 1; i < 10; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "com.acme/%d", i);
        assert_refused(bed, origin, RESOURCE(name),
                       "namespace 'com.acme' is full: 1 resources of 1, and this takes 1 more "
                       "(limits.max_resources_per_namespace); this counts 1 removed resources, "
                       "which stay until every source that may have them has synchronized");
        assert_changes(bed, "");
        store_bed_withdraw(bed, origin, name);
    }
    be_certain(bed, &certain);
    assert_changes(bed, "-0");
    PUT(bed, origin, "1", .value = "1");
    assert_changes(bed, "+1=1");
}

/* What is certain to be gone makes room at once, though nobody has been told yet; if it then turns
 * out to be uncertain, it is counted again. */
static void
test_what_is_certain_makes_room_at_once(void **state)
{
    store_bed *bed = *state;
    bool certain = true;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_store_set_certain(bed->store, is_certain, &certain);
    limit(bed, &bed->options.max_resources_per_namespace, 1);
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    PUT(bed, origin, "b", .value = "1");
    assert_changes(bed, "-a +b=1");
    store_bed_withdraw(bed, origin, "com.acme/b");
    certain = false;
    assert_changes(bed, "");
    assert_refused(bed, origin, RESOURCE("com.acme/c"), "1 resources of 1");
    certain = true;
    udpai_store_recheck_removals(bed->store);
    assert_changes(bed, "-b");
    PUT(bed, origin, "c", .value = "1");
    assert_changes(bed, "+c=1");
}

static void
test_what_is_held_back_late_may_need_memory(void **state)
{
    store_bed *bed = *state;
    bool certain = true;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_store_set_certain(bed->store, is_certain, &certain);
    limit(bed, &bed->options.max_resources_per_publisher, 1);
    PUT(bed, origin, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, origin, "com.acme/a");
    certain = false;
    udpa_err err = UDPA_ERR_NOMEM;
    for (long n = 0; err != UDPA_OK; n++) {
        udpai_change_set *set = NULL;
        udpai_alloc_fail_after(n);
        err = udpai_store_take_changes(bed->store, &set);
        udpai_alloc_fail_after(-1);
        assert_null(set);
        assert_true(err == UDPA_OK ? n > 1 : udpai_store_has_changes(bed->store));
    }
    assert_refused(bed, origin, RESOURCE("com.acme/b"), "1 resources of 1");
}

/* In each count, of whoever had it. */
static void
test_what_is_held_back_is_counted_everywhere(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    doubt(bed, &certain);
    bed->options.max_resources_per_publisher = 1;
    bed->options.max_resources = 2;
    udpai_store_set_options(bed->store, &bed->options);
    store_bed_put(bed, one, RESOURCE("a1/x", .value = "1"));
    store_bed_put(bed, files, RESOURCE("a2/x", .value = "1"));
    assert_changes(bed, "+a1/x=1 +a2/x=1");
    store_bed_withdraw(bed, one, "a1/x");
    store_bed_withdraw(bed, files, "a2/x");
    assert_refused(bed, one, RESOURCE("a3/x"), "origin 'one' is full: 1 resources of 1");
    assert_refused(bed, other, RESOURCE("a3/x"), "this node is full: 2 resources of 2");
    store_bed_put(bed, files, RESOURCE("a4/x", .value = "1"));
    assert_refused(bed, files, RESOURCE("a5/x"), "this node, publishers left out, is full: 2");
    be_certain(bed, &certain);
    assert_changes(bed, "-a1/x -a2/x +a4/x=1");
    store_bed_put(bed, one, RESOURCE("a3/x", .value = "1"));
    assert_changes(bed, "+a3/x=1");
}

/* What takes the place of something held back takes its room too, whoever had it. */
static void
test_what_is_held_back_may_be_replaced(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    doubt(bed, &certain);
    limit(bed, &bed->options.max_resources, 1);
    PUT(bed, one, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, one, "com.acme/a");
    assert_changes(bed, "");
    PUT(bed, one, "a", .value = "1");
    assert_changes(bed, "");
    store_bed_withdraw(bed, one, "com.acme/a");
    PUT(bed, other, "a", .value = "2");
    assert_refused(bed, other, RESOURCE("com.acme/b"), "1 resources of 1");
    assert_changes(bed, "+a=2");
    /* And if it goes before anybody was told, the first one is still held back. */
    store_bed_withdraw(bed, other, "com.acme/a");
    PUT(bed, one, "a", .value = "3");
    store_bed_withdraw(bed, one, "com.acme/a");
    assert_refused(bed, one, RESOURCE("com.acme/b"), "1 resources of 1");
    assert_changes(bed, "");
    assert_refused(bed, one, RESOURCE("com.acme/b"), "1 resources of 1");
}

/* Nobody goes beyond a limit of his own by what others had. */
static void
test_room_of_others_is_nobodys_own(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    doubt(bed, &certain);
    limit(bed, &bed->options.max_resources_per_publisher, 1);
    PUT(bed, one, "a", .value = "1");
    PUT(bed, other, "b", .value = "1");
    PUT(bed, files, "c", .value = "1");
    assert_changes(bed, "+a=1 +b=1 +c=1");
    store_bed_withdraw(bed, one, "com.acme/a");
    assert_refused(bed, other, RESOURCE("com.acme/a"), "origin 'other' is full: 1 resources of 1");
    limit(bed, &bed->options.max_resources, 1);
    assert_refused(bed, files, RESOURCE("com.acme/a"),
                   "this node, publishers left out, is full: 1 resources of 1");
}

/* Something that does not count takes nobody's place: what was told stays, and both take room. */
static void
test_what_does_not_count_takes_room_of_its_own(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_PUBLISHER, 0);
    doubt(bed, &certain);
    limit(bed, &bed->options.max_resources, 1);
    PUT(bed, one, "a", .value = "1", .generation = 5, .authority = "x");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, one, "com.acme/a");
    assert_refused(bed, other, RESOURCE("com.acme/a", .generation = 4, .authority = "x"),
                   "1 resources of 1");
    /* Nor when it replaces what counted: then there is one more, and it says so. */
    PUT(bed, one, "a", .value = "y", .generation = 1, .authority = "y");
    assert_changes(bed, "+a=y");
    PUT(bed, one, "a", .value = "2", .generation = 4, .authority = "x");
    assert_changes(bed, "");
    assert_refused(bed, one, RESOURCE("com.acme/b"), "2 resources of 1, and this takes 1 more");
    be_certain(bed, &certain);
    assert_changes(bed, "-a");
    assert_refused(bed, one, RESOURCE("com.acme/b"), "1 resources of 1");
    store_bed_withdraw(bed, one, "com.acme/a");
    PUT(bed, one, "b", .value = "1");
    assert_changes(bed, "+b=1");
}

/* An origin that counts no more has what it had: nothing is counted twice. */
static void
test_what_stays_with_its_contribution_is_counted_once(void **state)
{
    store_bed *bed = *state;
    bool certain;
    udpai_origin *source = store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0);
    doubt(bed, &certain);
    limit(bed, &bed->options.max_resources, 2);
    PUT(bed, source, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_eligible(bed, source, false);
    assert_changes(bed, "");
    PUT(bed, source, "b", .value = "1");
    assert_refused(bed, source, RESOURCE("com.acme/c"), "2 resources of 2");
    PUT(bed, source, "a", .value = "2"); /* what was told is a resource of its own now */
    assert_changes(bed, "");
    assert_refused(bed, source, RESOURCE("com.acme/c"), "3 resources of 2");
    store_bed_eligible(bed, source, true);
    assert_changes(bed, "+a=2 +b=1");
    assert_refused(bed, source, RESOURCE("com.acme/c"), "2 resources of 2");
}

/* ---- names ---- */

/* Each change of a name looks at all who state it. */
static void
test_so_many_publishers_state_a_name(void **state)
{
    store_bed *bed = *state;
    char key[32];
    for (unsigned i = 0; i < UDPAI_PUBLISHERS_PER_NAME; i++) {
        snprintf(key, sizeof(key), "p%u", i);
        PUT(bed, store_bed_origin(bed, key, UDPAI_ORIGIN_PUBLISHER, 0), "a", .value = "1");
    }
    udpai_origin *one = store_bed_origin(bed, "p0", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *more = store_bed_origin(bed, "more", UDPAI_ORIGIN_PUBLISHER, 0);
    assert_refused(bed, more, RESOURCE("com.acme/a", .value = "2"),
                   "'com.acme/a' is published by 256 peers already, which is the limit "
                   "(limits.max_publishers_per_name)");
    PUT(bed, one, "a", .value = "2");
    PUT(bed, more, "b", .value = "1");
    /* Directories and sources do not pay for it. */
    PUT(bed, store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0), "a", .value = "1");
    PUT(bed, store_bed_origin(bed, "file", UDPAI_ORIGIN_FILES, 0), "a", .value = "1");
    store_bed_withdraw(bed, one, "com.acme/a");
    PUT(bed, more, "a", .value = "2");
    bed->options.max_publishers_per_name = 300;
    udpai_store_set_options(bed->store, &bed->options);
    PUT(bed, one, "a", .value = "2");
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
#define ORIGINS 3

/* What takes room, once more: footprints by name, of contributions and of what was told; 0: none.
 * The origins stand in their order, so that the first that has a name is effective. */
struct ledger {
    udpai_origin *origins[ORIGINS];
    size_t contributions[ORIGINS][NAMES];
    size_t told[NAMES], reported_by[NAMES];
};

static void
open_ledger(struct ledger *ledger, store_bed *bed)
{
    *ledger = (struct ledger){.origins = {
                                  store_bed_origin(bed, "f", UDPAI_ORIGIN_FILES, 0),
                                  store_bed_origin(bed, "p", UDPAI_ORIGIN_PUBLISHER, 0),
                                  store_bed_origin(bed, "q", UDPAI_ORIGIN_PUBLISHER, 0),
                              }};
}

static void
put_or_withdraw(struct ledger *ledger, store_bed *bed, uint64_t *random)
{
    size_t name = test_random_below(random, NAMES), who = test_random_below(random, ORIGINS);
    char text[16], value[40] = "";
    (void)snprintf(text, sizeof(text), "n%zu/%zu", name % 2, name);
    if (test_random_below(random, 3) == 0) {
        store_bed_withdraw(bed, ledger->origins[who], text);
        ledger->contributions[who][name] = 0;
        return;
    }
    memset(value, 'x', test_random_below(random, sizeof(value)));
    udpa_resource *resource = RESOURCE(text, .value = value);
    ledger->contributions[who][name] = udpai_resource_footprint(resource);
    store_bed_put(bed, ledger->origins[who], resource);
}

/* Everybody is told, but not that something is gone. */
static void
tell(struct ledger *ledger, store_bed *bed)
{
    (void)store_bed_changes(bed);
    for (size_t name = 0; name < NAMES; name++)
        for (size_t who = ORIGINS; who-- > 0;)
            if (ledger->contributions[who][name]) {
                ledger->told[name] = ledger->contributions[who][name];
                ledger->reported_by[name] = who;
            }
}

struct sum {
    size_t n, bytes;
};

/* Of what lies in this namespace and is of this origin; -1: of any. */
static struct sum
sum_of(const struct ledger *ledger, int name_space, int origin)
{
    struct sum sum = {0};
    for (size_t name = 0; name < NAMES; name++) {
        size_t held = ledger->told[name];
        if (name_space >= 0 && name % 2 != (size_t)name_space)
            continue;
        for (size_t who = 0; who < ORIGINS; who++) {
            size_t footprint = ledger->contributions[who][name];
            held = footprint ? 0 : held;
            if (footprint && (origin < 0 || who == (size_t)origin)) {
                sum.n++;
                sum.bytes += footprint;
            }
        }
        if (held && (origin < 0 || ledger->reported_by[name] == (size_t)origin)) {
            sum.n++;
            sum.bytes += held;
        }
    }
    return sum;
}

static void
limit_nothing(store_bed *bed)
{
    bed->options = (udpai_store_options){
        1000, 10, SIZE_MAX, UINT64_MAX, SIZE_MAX, UINT64_MAX, SIZE_MAX, UINT64_MAX, SIZE_MAX, 0,
    };
    udpai_store_set_options(bed->store, &bed->options);
}

/* With these limits at nothing, they say how much there is. */
static void
assert_sum(store_bed *bed, udpai_origin *origin, size_t *n_max, uint64_t *bytes_max, struct sum sum)
{
    char expected[64];
    limit(bed, n_max, 0);
    (void)snprintf(expected, sizeof(expected), "is full: %zu resources of 0,", sum.n);
    assert_refused(bed, origin, RESOURCE("n0/new"), expected);
    limit_nothing(bed);
    *bytes_max = 0;
    udpai_store_set_options(bed->store, &bed->options);
    (void)snprintf(expected, sizeof(expected), "is full: %zu bytes of 0,", sum.bytes);
    assert_refused(bed, origin, RESOURCE("n0/new"), expected);
    limit_nothing(bed);
}

static void
assert_ledger(const struct ledger *ledger, store_bed *bed)
{
    udpai_store_options *options = &bed->options;
    udpai_origin *files = ledger->origins[0], *publisher = ledger->origins[1];
    assert_sum(bed, files, &options->max_resources_per_namespace, &options->max_bytes_per_namespace,
               sum_of(ledger, 0, -1));
    assert_sum(bed, publisher, &options->max_resources_per_publisher,
               &options->max_bytes_per_publisher, sum_of(ledger, -1, 1));
    assert_sum(bed, publisher, &options->max_resources, &options->max_bytes,
               sum_of(ledger, -1, -1));
    assert_sum(bed, files, &options->max_resources, &options->max_bytes, sum_of(ledger, -1, 0));
}

static void
test_what_is_counted_is_what_is_there(void **state)
{
    store_bed *bed = *state;
    uint64_t random = 20240607;
    bool certain;
    struct ledger ledger;
    open_ledger(&ledger, bed);
    limit_nothing(bed);
    doubt(bed, &certain);
    for (int i = 0; i < 2000; i++) {
        put_or_withdraw(&ledger, bed, &random);
        if (test_random_below(&random, 4) == 0)
            tell(&ledger, bed);
        assert_ledger(&ledger, bed);
    }
    for (size_t who = 0; who < ORIGINS; who++)
        udpai_store_withdraw_all(bed->store, ledger.origins[who], (udpai_str){0}, (udpai_str){0},
                                 NULL, NULL);
    memset(ledger.contributions, 0, sizeof(ledger.contributions));
    assert_ledger(&ledger, bed);
    be_certain(bed, &certain);
    (void)store_bed_changes(bed);
    memset(ledger.told, 0, sizeof(ledger.told));
    assert_ledger(&ledger, bed);
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
        store_test(what_the_node_says_of_itself_takes_no_room),
        store_test(test_the_node_holds_so_many_bytes),
        store_test(test_an_origin_may_become_configured),
        store_test(test_what_is_held_back_takes_room),
        store_test(test_what_is_certain_makes_room_at_once),
        store_test(test_what_is_held_back_late_may_need_memory),
        store_test(test_what_is_held_back_is_counted_everywhere),
        store_test(test_what_is_held_back_may_be_replaced),
        store_test(test_room_of_others_is_nobodys_own),
        store_test(test_what_does_not_count_takes_room_of_its_own),
        store_test(test_what_stays_with_its_contribution_is_counted_once),
        store_test(test_so_many_publishers_state_a_name),
        store_test(test_what_is_loaded_always_finds_room),
        store_test(test_what_is_counted_is_what_is_there),
    };
    return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
