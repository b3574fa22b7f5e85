/* SPDX-License-Identifier: Apache-2.0 */
/* A sum that is put back from its records is the sum: it says the same, and goes on the same way.
 */
#include "reports/load_stats_state.h"

#include "load_stats_test.h"
#include "tests/harness/oom.h"

#define RECORDS_MAX 64

static udpai_load_stats_split *
new_split(void)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .node_id = UDPAI_STR("here"), .epoch = 7};
    udpai_load_stats_split *split = NULL;
    assert_ok(udpai_load_stats_split_new(&split, &options));
    return split;
}

static udpa_bytes *
record_of(udpai_load_stats_split *split, uint64_t elapsed_ns, bool all)
{
    const udpai_load_stats_state of = {
        .cluster = UDPAI_STR("com.acme/a"), .epoch = 7, .elapsed_ns = elapsed_ns};
    assert_non_null(udpai_load_stats_split_total(split, elapsed_ns));
    udpa_bytes *record = udpai_load_stats_state_make(&of, split, all);
    assert_non_null(record);
    udpai_load_stats_state_made(split);
    return record;
}

static udpai_load_stats *
stats_of(udpai_load_stats_kind kind, uint64_t n, uint64_t ns)
{
    udpai_load_stats *stats = stats_new(3);
    stats->is_lasting = true;
    stats->elapsed_ns = stats->covered_ns = stats->at_ns = ns;
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = n;
    stats_figures(stats, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 1;
    if (kind == UDPAI_LOAD_STATS_OF_NODE) {
        udpai_load_stats_node node = {.since_us = 10, .until_us = 10 + n};
        stats->limits = &udpai_load_aggregate_limits;
        stats->n_clients = 1;
        assert_ok(udpai_load_stats_set_text(&node.id, UDPAI_STR("below")));
        assert_non_null(udpai_vector_push(&stats->nodes, node));
    }
    return stats;
}

static void
take(udpai_load_stats_split *split, udpai_load_stats_kind kind, uint64_t n, uint64_t ns)
{
    const char *names[] = {"c", "n", "s"};
    assert_ok(udpai_load_stats_split_take(split, kind, udpai_str_from(names[kind]),
                                          stats_of(kind, n, ns), NULL));
}

static uint64_t
issued(udpai_load_stats_split *split, uint64_t ns)
{
    const udpai_load_stats *total = udpai_load_stats_split_total(split, ns);
    assert_non_null(total);
    return stats_count(total, "eu", UDPAI_LOAD_STATS_ISSUED);
}

static void
restore(udpai_load_stats_split *split, udpa_bytes *const *records, size_t n)
{
    udpai_arena arena;
    udpai_arena_init(&arena);
    for (size_t i = 0; i < n; i++)
        assert_ok(udpai_load_stats_state_take(split, &arena, udpai_bytes_view(records[i]), NULL));
    udpai_arena_done(&arena);
}

/* What counts is what all of them had said at last, whenever each of them has; a stream that begins
 * anew is in the sum, and not known. */
static void
it_goes_on_where_it_was(void **state)
{
    udpa_bytes *records[RECORDS_MAX];
    uint64_t n[3] = {0}, random = 5, ns = 0;
    (void)state;
    udpai_load_stats_split *split = new_split();
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        udpai_load_stats_kind kind = (udpai_load_stats_kind)test_random_below(&random, 3);
        take(split, kind, n[kind] += test_random_below(&random, 9), ns += 1000000);
        records[i] = record_of(split, ns, i == RECORDS_MAX / 2);
    }
    for (size_t from = 0; from <= RECORDS_MAX / 2; from += RECORDS_MAX / 2) {
        udpai_load_stats_split *again = new_split();
        restore(again, records + from, RECORDS_MAX - from);
        assert_int_equal(issued(again, ns), n[0] + n[1] + n[2]);
        assert_int_equal(udpai_load_stats_split_total(again, ns)->n_clients, 0);
        for (udpai_load_stats_kind kind = UDPAI_LOAD_STATS_OF_CLIENT;
             kind <= UDPAI_LOAD_STATS_OF_SHARED; kind++)
            take(again, kind, n[kind] + 2, ns + 5);
        assert_int_equal(issued(again, ns + 5), n[0] + n[1] + n[2] + 6);
        udpai_load_stats_split_free(again);
    }
    udpai_load_stats_split_free(split);
    for (size_t i = 0; i < RECORDS_MAX; i++)
        udpa_bytes_unref(records[i]);
}

static void
what_begins_anew_with_its_node_is_not_kept(void **state)
{
    (void)state;
    udpai_load_stats_split *split = new_split(), *again = new_split();
    udpai_load_stats *stats = stats_of(UDPAI_LOAD_STATS_OF_CLIENT, 5, 10);
    stats->is_lasting = false;
    assert_ok(udpai_load_stats_split_take(split, UDPAI_LOAD_STATS_OF_CLIENT, UDPAI_STR("c"), stats,
                                          NULL));
    udpa_bytes *record = record_of(split, 10, true);
    restore(again, &record, 1);
    assert_int_equal(issued(again, 10), 5);
    assert_false(
        udpai_load_stats_split_knows(again, UDPAI_LOAD_STATS_OF_CLIENT, UDPAI_STR("c"), 3));
    udpa_bytes_unref(record);
    udpai_load_stats_split_free(split);
    udpai_load_stats_split_free(again);
}

static udpa_bytes *
record_of_all(void)
{
    udpai_load_stats_split *split = new_split();
    for (udpai_load_stats_kind kind = UDPAI_LOAD_STATS_OF_CLIENT;
         kind <= UDPAI_LOAD_STATS_OF_SHARED; kind++)
        take(split, kind, 5, 10);
    udpa_bytes *record = record_of(split, 10, true);
    udpai_load_stats_split_free(split);
    return record;
}

static void
damage_is_refused(void **state)
{
    (void)state;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_bytes *record = record_of_all();
    udpai_str whole = udpai_bytes_view(record);
    for (size_t len = 0; len < whole.len; len++) {
        udpai_load_stats_split *split = new_split();
        assert_int_not_equal(
            udpai_load_stats_state_take(split, &arena, (udpai_str){whole.data, len}, NULL),
            UDPA_OK);
        udpai_load_stats_split_free(split);
    }
    char *copy = udpai_strndup(whole.data, whole.len);
    for (size_t i = 0; i < whole.len; i++) { /* whatever comes of it, but no harm */
        udpai_load_stats_split *split = new_split();
        copy[i] ^= 0x55;
        (void)udpai_load_stats_state_take(split, &arena, (udpai_str){copy, whole.len}, NULL);
        copy[i] ^= 0x55;
        udpai_load_stats_split_free(split);
    }
    udpai_free(copy);
    udpa_bytes_unref(record);
    udpai_arena_done(&arena);
}

static udpa_err
restore_with_little_memory(void *context)
{
    const udpai_load_aggregate_options options = {
        .cluster = UDPAI_STR("com.acme/a"), .node_id = UDPAI_STR("here"), .epoch = 7};
    udpai_load_stats_split *split = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = udpai_load_stats_split_new(&split, &options);
    if (err == UDPA_OK)
        err = udpai_load_stats_state_take(split, &arena, udpai_bytes_view(context), NULL);
    udpai_load_stats_split_free(split);
    udpai_arena_done(&arena);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    udpa_bytes *record = record_of_all();
    oom_torture(restore_with_little_memory, record);
    udpa_bytes_unref(record);
}

/* A file may have been put in the place of another. */
static void
what_is_of_another_sum_is_refused(void **state)
{
    (void)state;
    const udpai_load_aggregate_options others[] = {
        {.cluster = UDPAI_STR("com.acme/b"), .node_id = UDPAI_STR("here"), .epoch = 7},
        {.cluster = UDPAI_STR("com.acme/a"), .node_id = UDPAI_STR("here"), .epoch = 8},
    };
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpai_load_stats_split *split = new_split();
    take(split, UDPAI_LOAD_STATS_OF_CLIENT, 5, 10);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *record = record_of(split, 10, true);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        udpai_load_stats_split *other = NULL;
        assert_ok(udpai_load_stats_split_new(&other, &others[i]));
        assert_int_equal(udpai_load_stats_state_take(other, &arena, udpai_bytes_view(record), NULL),
                         UDPA_ERR_MALFORMED);
        udpai_load_stats_split_free(other);
    }
    udpai_load_stats_split_free(split);
    udpai_arena_done(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_where_it_was),
        cmocka_unit_test(what_begins_anew_with_its_node_is_not_kept),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(what_is_of_another_sum_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
