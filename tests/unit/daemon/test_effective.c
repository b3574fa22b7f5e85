/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in effect follows what is taken over of a file, part by part. */
#include "daemon/effective.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/oom.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define STARTED                                                                                    \
    "node: {id: one}\nacl: {rules: [{name: one}]}\nsignatures: {trusted: [{key_id: one}]}\n"       \
    "store: {directory: one, keys: [{file: one}]}\n"
#define LATER                                                                                      \
    "node: {id: two}\nacl: {rules: [{name: two}]}\nsignatures: {trusted: [{key_id: two}]}\n"       \
    "store: {directory: two, keys: [{file: two}, {file: too}]}\n"
#define BYTES_MAX ((size_t)1 << 20)

static udpai_plan plan;
static udpai_bootstrap later;

static udpai_bootstrap
read_text(bootstrap_test *test, const char *text)
{
    bootstrap_test_read_unchecked(test, text);
    udpai_diagnostics_done(&test->diagnostics);
    test->diagnostics = (udpai_diagnostics){0};
    udpai_bootstrap taken = test->bootstrap;
    test->bootstrap = (udpai_bootstrap){0};
    return taken;
}

static udpai_effective
start(bootstrap_test *test, const char *started, const char *again)
{
    plan.bootstrap = read_text(test, started);
    later = read_text(test, again);
    return (udpai_effective){.plan = &plan};
}

static void
done(udpai_effective *effective)
{
    udpai_effective_done(effective);
    udpai_bootstrap_done(&plan.bootstrap);
    udpai_bootstrap_done(&later);
}

/* "rule key file", "-" for what is not there. */
static void
expect(const udpai_effective *effective, const char *wanted)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    char found[100];
    udpai_arena_init(&arena);
    assert_ok(udpai_effective_read(effective, BYTES_MAX, &arena, &now));
    snprintf(found, sizeof(found), "%s %s %s", now->acl ? now->acl->rules[0]->name : "-",
             now->signatures ? now->signatures->trusted[0]->key_id : "-",
             now->store && now->store->n_keys ? now->store->keys[0]->file : "-");
    assert_string_equal(found, wanted);
    udpai_arena_done(&arena);
}

static void
it_begins_as_the_file_was(void **state)
{
    udpai_effective effective = start(*state, STARTED, "");
    expect(&effective, "one one one");
    assert_true(effective.again_us == 0);
    done(&effective);
}

static void
each_part_is_taken_over_by_itself(void **state)
{
    udpai_effective effective = start(*state, STARTED, LATER);
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_SIGNATURES);
    expect(&effective, "one two one");
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_STORE_KEYS);
    expect(&effective, "one two two");
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_ACL);
    expect(&effective, "two two two");
    assert_string_equal(effective.restart, "node.id, store.directory");
    udpai_effective_note(&effective, &plan.bootstrap, UDPAI_EFFECTIVE_ALL);
    expect(&effective, "one one one");
    assert_null(effective.restart);
    done(&effective);
}

static void
the_rest_stays_as_it_was(void **state)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_effective effective = start(*state, STARTED, LATER);
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_ALL);
    udpai_arena_init(&arena);
    assert_ok(udpai_effective_read(&effective, BYTES_MAX, &arena, &now));
    assert_string_equal(now->node->id, "one");
    assert_string_equal(now->store->directory, "one");
    assert_int_equal(now->store->n_keys, 2);
    udpai_arena_done(&arena);
    done(&effective);
}

static void
a_part_may_come_or_go(void **state)
{
    udpai_effective effective = start(*state, "", LATER);
    expect(&effective, "- - -");
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_ALL);
    expect(&effective, "two two two");
    udpai_effective_note(&effective, &plan.bootstrap, UDPAI_EFFECTIVE_ALL);
    expect(&effective, "- - -");
    done(&effective);
}

static void
without_keys_the_rest_of_the_store_stays(void **state)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_effective effective = start(*state, STARTED, "node: {id: one}\n");
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_STORE_KEYS);
    udpai_arena_init(&arena);
    assert_ok(udpai_effective_read(&effective, BYTES_MAX, &arena, &now));
    assert_non_null(now->store);
    assert_string_equal(now->store->directory, "one");
    assert_int_equal(now->store->n_keys, 0);
    udpai_arena_done(&arena);
    done(&effective);
    effective = start(*state, "", "");
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_STORE_KEYS);
    udpai_arena_init(&arena);
    assert_ok(udpai_effective_read(&effective, BYTES_MAX, &arena, &now));
    assert_null(now->store);
    udpai_arena_done(&arena);
    done(&effective);
}

static void
of_a_file_with_errors_nothing_is(void **state)
{
    udpai_effective effective = start(*state, STARTED, LATER);
    const udpai_bootstrap bad = {.read_us = 7, .sha256 = "abc"};
    udpai_effective_note(&effective, &later, UDPAI_EFFECTIVE_ACL);
    udpai_effective_note(&effective, &bad, 0);
    expect(&effective, "two one one");
    assert_true(effective.again_us == 7);
    assert_string_equal(effective.again_sha256, "abc");
    assert_int_equal(effective.taken, 0);
    assert_null(effective.restart);
    done(&effective);
}

static void
it_is_bounded(void **state)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    udpai_effective effective = start(*state, STARTED, "");
    udpai_arena_init(&arena);
    assert_int_equal(udpai_effective_read(&effective, 4, &arena, &now), UDPA_ERR_LIMIT);
    assert_null(now);
    udpai_arena_done(&arena);
    done(&effective);
}

/* What was not noted is not shown as if it had been, until all is known again. */
static udpa_err
note_and_read(void *context)
{
    udpai_effective *effective = context;
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *now = NULL;
    *effective = (udpai_effective){.plan = &plan};
    udpai_effective_note(effective, &later, UDPAI_EFFECTIVE_ACL);
    udpai_arena_init(&arena);
    udpa_err err = udpai_effective_read(effective, BYTES_MAX, &arena, &now);
    if (err == UDPA_OK)
        assert_string_equal(now->acl->rules[0]->name, "two");
    if (err == UDPA_ERR_NOMEM) {
        udpai_alloc_fail_after(-1);
        udpai_effective_note(effective, &later, UDPAI_EFFECTIVE_ALL);
        assert_int_equal(udpai_effective_read(effective, BYTES_MAX, &arena, &now), UDPA_OK);
    }
    udpai_arena_done(&arena);
    udpai_effective_done(effective);
    return err;
}

static void
without_memory_nothing_wrong_is_shown(void **state)
{
    udpai_effective effective = start(*state, STARTED, LATER);
    assert_true(oom_torture(note_and_read, &effective) > 2);
    effective = (udpai_effective){0};
    done(&effective);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(it_begins_as_the_file_was),
        CASE(each_part_is_taken_over_by_itself),
        CASE(the_rest_stays_as_it_was),
        CASE(a_part_may_come_or_go),
        CASE(without_keys_the_rest_of_the_store_stays),
        CASE(of_a_file_with_errors_nothing_is),
        CASE(it_is_bounded),
        CASE(without_memory_nothing_wrong_is_shown),
#undef CASE
    };
    return cmocka_run_group_tests_name("effective", tests, NULL, NULL);
}
