/* SPDX-License-Identifier: Apache-2.0 */
/* Contributions: putting, withdrawing, expiring, counting, looking at them. */
#include "store/fill.h"
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#include <udpa/error.h>

/* ---- time to live ---- */

static void
test_a_ttl_ends(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
    PUT_UNTIL(bed, origin, 2000, "a", .value = "1", .ttl_ms = 1000);
    assert_changes(bed, "+a=1@2000");
    store_bed_at(bed, 1999);
    assert_changes(bed, "");
    store_bed_at(bed, 2000);
    assert_changes(bed, "-a");
    assert_int_equal(udpai_store_n_contributions(bed->store), 0);
    assert_false(udpai_origin_has(bed->store, origin, UDPAI_STR(TEST_TYPE)));
}

static void
test_a_refresh_sets_the_timer_again(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
    PUT_UNTIL(bed, origin, 2000, "a", .value = "1", .ttl_ms = 1000);
    store_bed_at(bed, 1500);
    PUT_UNTIL(bed, origin, 2500, "a", .value = "1", .ttl_ms = 1000);
    store_bed_at(bed, 2499);
    assert_changes(bed, "+a=1@2500");
    store_bed_at(bed, 2500);
    assert_changes(bed, "-a");
}

static void
test_without_a_ttl_the_timer_goes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *origin = store_bed_origin(bed, "o", UDPAI_ORIGIN_FILES, 0);
    PUT_UNTIL(bed, origin, 2000, "a", .value = "1", .ttl_ms = 1000);
    PUT(bed, origin, "a", .value = "1");
    store_bed_at(bed, 100000);
    assert_changes(bed, "+a=1");
    assert_true(udpai_wheel_next(&bed->wheel) == UDPAI_WHEEL_NEVER);
}

/* What its origin keeps alive is renewed at half of its ttl, together with all that have the same,
 * with no new version and nothing to write. */
static void
test_what_is_kept_alive_is_renewed_until_it_goes(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpai_origin_set_durable(files, true);
    udpai_origin_set_keeps_alive(files, true);
    PUT_UNTIL(bed, files, 5000, "a", .value = "1", .ttl_ms = 4000);
    store_bed_at(bed, 1300);
    PUT_UNTIL(bed, files, 5300, "b", .value = "1", .ttl_ms = 4000);
    assert_changes(bed, "+a=1@5000 +b=1@5300");
    assert_durable(bed, "P:files/a=1 P:files/b=1"); /* it counts from the next start, too */
    store_bed_at(bed, 1999);
    assert_changes(bed, "");
    store_bed_at(bed, 2000);
    assert_changes(bed, "~a=1@6000 ~b=1@6000");
    store_bed_at(bed, 3999);
    assert_changes(bed, "");
    store_bed_at(bed, 4000);
    assert_changes(bed, "~a=1@8000 ~b=1@8000");
    store_bed_at(bed, 100500); /* after a long sleep it is one change */
    assert_changes(bed, "~a=1@104000 ~b=1@104000");
    assert_durable(bed, "");
    PUT(bed, files, "a", .value = "1"); /* no ttl any more */
    store_bed_withdraw(bed, files, "com.acme/b");
    assert_changes(bed, "+a=1 -b");
    store_bed_at(bed, 200000);
    assert_changes(bed, "");
    assert_true(udpai_wheel_next(&bed->wheel) == UDPAI_WHEEL_NEVER);
}

/* A publisher's ttl is its lease, whatever else is kept alive beside it. */
static void
test_only_its_own_are_kept_alive(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *publisher = store_bed_origin(bed, "publisher", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin_set_keeps_alive(files, true);
    assert_false(udpai_origin_keeps_alive(publisher));
    PUT_UNTIL(bed, files, 5000, "a", .value = "f", .ttl_ms = 4000);
    PUT_UNTIL(bed, publisher, 5000, "b", .value = "p", .ttl_ms = 4000);
    assert_changes(bed, "+a=f@5000 +b=p@5000");
    store_bed_at(bed, 4999);
    assert_changes(bed, "~a=f@8000");
    store_bed_at(bed, 5000);
    assert_changes(bed, "-b");
}

/* The next best takes its place, and what expired is remembered like what was withdrawn. */
static void
test_an_end_is_a_withdrawal(void **state)
{
    store_bed *bed = *state;
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *source = store_bed_origin(bed, "source", UDPAI_ORIGIN_SOURCE, 0);
    PUT_UNTIL(bed, files, 2000, "a", .value = "f", .authority = "f", .generation = 5);
    PUT(bed, source, "a", .value = "s", .authority = "s");
    assert_changes(bed, "+a=f@2000");
    store_bed_at(bed, 2000);
    assert_changes(bed, "+a=s");
    assert_int_equal(
        udpai_store_highest_generation(bed->store, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")),
        5);
}

/* ---- withdrawing ---- */

static void
test_what_is_not_there_is_withdrawn_without_a_word(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    PUT(bed, one, "a", .value = "1");
    assert_changes(bed, "+a=1");
    store_bed_withdraw(bed, other, "com.acme/a");
    store_bed_withdraw(bed, one, "com.acme/b");
    udpai_store_withdraw(bed->store, one, UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/a"));
    assert_false(udpai_store_has_changes(bed->store));
}

static bool
keep_b(void *userdata, const udpa_resource *resource)
{
    (void)userdata;
    return udpai_str_eq(udpai_resource_name(resource), UDPAI_STR("com.acme/t/b"));
}

/* A state of the world in its scope: type, prefix, and what it still has. */
static void
test_all_of_a_scope_is_withdrawn_but_what_is_kept(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    const char *names[] = {"com.acme/t/a", "com.acme/t/b", "com.acme/tt/a", "com.acme.t/a"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        store_bed_put(bed, one, RESOURCE(names[i], .value = "1"));
    store_bed_put(bed, one, RESOURCE("com.acme/t/a", .type = TEST_CDS, .value = "c"));
    store_bed_put(bed, other, RESOURCE("com.acme/t/o", .value = "1"));
    (void)store_bed_changes(bed);
    udpai_store_withdraw_all(bed->store, one, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/t"), keep_b,
                             NULL);
    assert_changes(bed, "-t/a");
    udpai_store_withdraw_all(bed->store, one, UDPAI_STR(TEST_TYPE), (udpai_str){0}, keep_b, NULL);
    assert_changes(bed, "-com.acme.t/a -tt/a");
    udpai_store_withdraw_all(bed->store, one, (udpai_str){0}, (udpai_str){0}, NULL, NULL);
    assert_changes(bed, "-t/a -t/b");
    assert_false(udpai_origin_has(bed->store, one, UDPAI_STR(TEST_TYPE)));
    assert_int_equal(udpai_store_n_contributions(bed->store), 1);
}

static void
test_it_is_known_who_has_something_of_a_type(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *two = store_bed_origin(bed, "two", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_origin *none = store_bed_origin(bed, "none", UDPAI_ORIGIN_PUBLISHER, 0);
    udpai_str type = UDPAI_STR(TEST_TYPE);
    assert_false(udpai_origin_has(bed->store, one, type));
    PUT(bed, one, "a", .value = "1");
    PUT(bed, two, "b", .value = "1");
    PUT(bed, two, "c", .value = "1");
    PUT(bed, two, "d", .value = "1");
    assert_true(udpai_origin_has(bed->store, one, type));
    assert_true(udpai_origin_has(bed->store, two, type));
    assert_false(udpai_origin_has(bed->store, none, type));
    assert_false(udpai_origin_has(bed->store, two, UDPAI_STR("type.googleapis.com/x.Other")));
    (void)store_bed_changes(bed);
}

/* ---- looking ---- */

static bool
write_origin(void *userdata, const udpai_contribution *contribution)
{
    store_bed *bed = userdata;
    udpai_str key = udpai_origin_key(contribution->origin);
    size_t used = strlen(bed->text);
    (void)snprintf(bed->text + used, sizeof(bed->text) - used, "%s%.*s%s%s", used ? " " : "",
                   (int)key.len, key.data, contribution->effective ? "!" : "",
                   contribution->eligible ? "" : "?");
    return true;
}

static bool
stop_at_once(void *userdata, const udpai_contribution *contribution)
{
    (void)contribution;
    return ++*(size_t *)userdata < 1;
}

static void
test_contributions_of_a_name_are_shown_best_first(void **state)
{
    store_bed *bed = *state;
    udpai_origin *s2 = store_bed_origin(bed, "s2", UDPAI_ORIGIN_SOURCE, 2);
    udpai_origin *s1 = store_bed_origin(bed, "s1", UDPAI_ORIGIN_SOURCE, 1);
    udpai_origin *files = store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0);
    PUT(bed, s2, "a", .authority = "z", .generation = 9);
    PUT(bed, s1, "a", .authority = "x", .generation = 3);
    PUT(bed, files, "a", .authority = "y", .generation = 1);
    (void)store_bed_changes(bed);
    bed->text[0] = '\0';
    udpai_str type = UDPAI_STR(TEST_TYPE), name = UDPAI_STR("com.acme/a");
    udpai_store_visit_name(bed->store, type, name, write_origin, bed);
    assert_string_equal(bed->text, "files! s1 s2");
    store_bed_eligible(bed, files, false);
    (void)store_bed_changes(bed);
    bed->text[0] = '\0';
    udpai_store_visit_name(bed->store, type, name, write_origin, bed);
    assert_string_equal(bed->text, "s1! files? s2");
    size_t n = 0;
    udpai_store_visit_name(bed->store, type, name, stop_at_once, &n);
    assert_int_equal(n, 1);
    udpai_store_visit_name(bed->store, type, UDPAI_STR("com.acme/none"), stop_at_once, &n);
    udpai_store_visit_name(bed->store, UDPAI_STR(TEST_CDS), name, stop_at_once, &n);
    assert_int_equal(n, 1);
}

static bool
count(void *userdata, const udpai_contribution *contribution)
{
    (void)contribution;
    ++*(size_t *)userdata;
    return true;
}

static size_t
count_effective(const store_bed *bed, const char *type, const char *prefix)
{
    size_t n = 0;
    udpai_store_visit_effective(bed->store, udpai_str_from(type), udpai_str_from(prefix), count,
                                &n);
    return n;
}

static void
test_what_is_effective_is_shown_by_type_and_prefix(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    store_bed_put(bed, one, RESOURCE("com.acme/a"));
    store_bed_put(bed, other, RESOURCE("com.acme/a"));
    store_bed_put(bed, one, RESOURCE("com.acme.sub/a"));
    store_bed_put(bed, one, RESOURCE("com.acmecorp/a"));
    store_bed_put(bed, one, RESOURCE("com.acme/a", .type = TEST_CDS));
    (void)store_bed_changes(bed);
    assert_int_equal(count_effective(bed, TEST_TYPE, "com.acme"), 2);
    assert_int_equal(count_effective(bed, TEST_TYPE, ""), 3);
    assert_int_equal(count_effective(bed, "", "com.acme"), 3);
    assert_int_equal(count_effective(bed, "", ""), 4);
    assert_int_equal(count_effective(bed, TEST_EDS, ""), 0);
    size_t n = 0;
    udpai_store_visit_effective(bed->store, (udpai_str){0}, (udpai_str){0}, stop_at_once, &n);
    assert_int_equal(n, 1);
    n = 0;
    udpai_store_visit_origin(bed->store, one, UDPAI_STR(TEST_TYPE), count, &n);
    assert_int_equal(n, 3);
    udpai_store_visit_origin(bed->store, one, (udpai_str){0}, count, &n);
    assert_int_equal(n, 3 + 4);
    n = 0;
    udpai_store_visit_origin(bed->store, one, (udpai_str){0}, stop_at_once, &n);
    assert_int_equal(n, 1);
    n = 0;
    udpai_store_visit_all(bed->store, count, &n);
    assert_int_equal(n, 5);
    n = 0;
    udpai_store_visit_all(bed->store, stop_at_once, &n);
    assert_int_equal(n, 1);
}

static void
test_one_contribution_is_found(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    PUT_UNTIL(bed, one, 5000, "a", .value = "1");
    (void)store_bed_changes(bed);
    udpai_str type = UDPAI_STR(TEST_TYPE), name = UDPAI_STR("com.acme/a");
    udpai_contribution found = {0};
    assert_false(udpai_store_get(bed->store, other, type, name, &found));
    assert_false(udpai_store_get(bed->store, one, UDPAI_STR(TEST_CDS), name, &found));
    assert_true(udpai_store_get(bed->store, one, type, name, &found));
    assert_ptr_equal(found.origin, one);
    assert_str(udpai_resource_value(found.resource), "1");
    assert_int_equal(found.deadline_ms, 5000);
    assert_true(found.eligible && found.effective && !found.superseded);
}

static bool
write_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    store_bed *bed = userdata;
    if (udpai_str_eq(type_url, UDPAI_STR(TEST_TYPE)))
        (void)snprintf(bed->text, sizeof(bed->text), "%zu", n_effective);
    return true;
}

static void
test_effective_resources_are_counted_by_type(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpai_origin *other = store_bed_origin(bed, "other", UDPAI_ORIGIN_FILES, 1);
    PUT(bed, one, "a", .value = "1");
    PUT(bed, other, "a", .value = "2");
    PUT(bed, one, "b", .value = "1");
    (void)store_bed_changes(bed);
    PUT(bed, one, "b", .value = "2");
    (void)store_bed_changes(bed);
    udpai_store_visit_types(bed->store, write_type, bed);
    assert_string_equal(bed->text, "2");
    store_bed_withdraw(bed, one, "com.acme/b");
    store_bed_withdraw(bed, one, "com.acme/a");
    (void)store_bed_changes(bed);
    udpai_store_visit_types(bed->store, write_type, bed);
    assert_string_equal(bed->text, "1");
}

static void
test_how_full_the_node_is(void **state)
{
    store_bed *bed = *state;
    udpai_origin *one = store_bed_origin(bed, "one", UDPAI_ORIGIN_FILES, 0);
    udpa_resource *resource = RESOURCE("com.acme/a", .value = "1");
    udpai_origin *publisher = store_bed_origin(bed, "p", UDPAI_ORIGIN_PUBLISHER, 0);
    bed->options.max_resources = 4;
    bed->options.max_bytes = 4 * udpai_resource_footprint(resource);
    udpai_store_set_options(bed->store, &bed->options);
    udpai_store_fill fill = udpai_store_fill_of(bed->store);
    assert_true(fill.resources == 0 && fill.bytes == 0);
    store_bed_put(bed, one, resource);
    PUT(bed, publisher, "a", .value = "2");
    store_bed_put(bed, one, RESOURCE("udpa.node/status", .value = "1")); /* its own status */
    fill = udpai_store_fill_of(bed->store);
    assert_true(fill.resources == 0.5 && fill.bytes == 0.5);
    bed->options.max_resources = 1; /* less than there is */
    udpai_store_set_options(bed->store, &bed->options);
    assert_true(udpai_store_fill_of(bed->store).resources == 2);
    assert_changes(bed, "+a=1 +udpa.node/status=1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(test_a_ttl_ends),
        store_test(test_a_refresh_sets_the_timer_again),
        store_test(test_without_a_ttl_the_timer_goes),
        store_test(test_what_is_kept_alive_is_renewed_until_it_goes),
        store_test(test_only_its_own_are_kept_alive),
        store_test(test_an_end_is_a_withdrawal),
        store_test(test_it_is_known_who_has_something_of_a_type),
        store_test(test_what_is_not_there_is_withdrawn_without_a_word),
        store_test(test_all_of_a_scope_is_withdrawn_but_what_is_kept),
        store_test(test_contributions_of_a_name_are_shown_best_first),
        store_test(test_what_is_effective_is_shown_by_type_and_prefix),
        store_test(test_one_contribution_is_found),
        store_test(test_effective_resources_are_counted_by_type),
        store_test(test_how_full_the_node_is),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
