/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sum that is of shared clients: written and read, checked, and taken out. */
#include <float.h>
#include <math.h>

#include "load_stats_test.h"
#include "tests/harness/oom.h"

static udpai_load_stats *
new_sum(void)
{
    udpai_load_stats *stats = udpai_load_stats_new(&udpai_load_aggregate_limits);
    udpai_load_stats_node node = {0};
    assert_non_null(stats);
    assert_ok(udpai_load_stats_set_text(&stats->cluster, UDPAI_STR("com.acme/a")));
    assert_ok(udpai_load_stats_set_text(&node.id, UDPAI_STR("edge")));
    assert_true(udpai_vector_push(&stats->nodes, node));
    stats->n_clients = 5;
    stats->shared = udpai_load_stats_new(&udpai_load_aggregate_limits);
    assert_non_null(stats->shared);
    stats->shared->n_clients = 2;
    return stats;
}

static void
fill(udpai_load_stats *stats, uint64_t n)
{
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = n;
    stats_figures(stats, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = n;
    stats_endpoint(stats, "eu", "10.0.0.1", 80)->figures.counts[UDPAI_LOAD_STATS_ERROR] = n;
    stats_endpoint(stats, "eu", "10.0.0.1", 80)->figures.gauges[UDPAI_LOAD_STATS_ACTIVE] = n;
    stats_metric(stats, "eu", "queue")->n = n;
    stats_metric(stats, "eu", "queue")->sum = (double)n / 2;
    stats_drop(stats, "full")->n = n;
    stats->dropped = n;
}

/* As messages; NULL: it is refused. */
static udpai_load_stats *
pass_on(const udpai_load_stats *stats, udpa_error **ret_error)
{
    udpai_arena arena;
    udpai_load_stats *again = NULL;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_non_null(bytes);
    if (udpai_load_stats_decode(&arena, udpai_bytes_view(bytes), stats->limits, &again,
                                ret_error) != UDPA_OK)
        assert_null(again);
    udpai_arena_done(&arena);
    return again;
}

static void
the_part_goes_with_the_sum(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = new_sum();
    fill(stats, 10);
    fill(stats->shared, 4);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *again = pass_on(stats, NULL);
    assert_non_null(again);
    assert_same_stats(stats, again);
    assert_non_null(again->shared);
    assert_int_equal(again->shared->n_clients, 2);
    assert_int_equal(again->shared->dropped, 4);
    assert_int_equal(stats_count(again->shared, "eu", UDPAI_LOAD_STATS_ISSUED), 4);
    assert_int_equal(stats_drop(again->shared, "full")->n, 4);
}

static void
without_the_part_the_rest_is_left(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = new_sum();
    fill(stats, 10);
    fill(stats->shared, 4);
    stats_figures(stats, "us")->counts[UDPAI_LOAD_STATS_ISSUED] = UINT64_C(1) << 60;
    stats_figures(stats->shared, "us")->counts[UDPAI_LOAD_STATS_ISSUED] = (UINT64_C(1) << 60) - 1;
    udpai_load_stats_leave_shared(stats);
    assert_null(stats->shared);
    assert_int_equal(stats->n_clients, 3);
    assert_int_equal(stats->dropped, 6);
    assert_int_equal(stats_drop(stats, "full")->n, 6);
    assert_int_equal(stats_count(stats, "eu", UDPAI_LOAD_STATS_ISSUED), 6);
    assert_int_equal(stats_count(stats, "us", UDPAI_LOAD_STATS_ISSUED), 1);
    assert_int_equal(stats_gauge(stats, "eu", UDPAI_LOAD_STATS_IN_PROGRESS), 6);
    assert_int_equal(stats_metric(stats, "eu", "queue")->n, 6);
    assert_true(stats_metric(stats, "eu", "queue")->sum == 3);
    const udpai_load_stats_endpoint *endpoint = stats_endpoint(stats, "eu", "10.0.0.1", 80);
    assert_int_equal(endpoint->figures.counts[UDPAI_LOAD_STATS_ERROR], 6);
    assert_int_equal(endpoint->figures.gauges[UDPAI_LOAD_STATS_ACTIVE], 6);
    udpai_load_stats_leave_shared(stats);
    assert_int_equal(stats->n_clients, 3);
}

static void
what_is_left_is_a_number(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = new_sum();
    stats_metric(stats, "eu", "queue")->n = 2;
    stats_metric(stats, "eu", "queue")->sum = DBL_MAX;
    stats_metric(stats->shared, "eu", "queue")->n = 1;
    stats_metric(stats->shared, "eu", "queue")->sum = -DBL_MAX;
    stats_metric(stats, "eu", "cost")->n = 1;
    stats_metric(stats, "eu", "cost")->sum = 0.1;
    stats_metric(stats->shared, "eu", "cost")->n = 1;
    udpai_load_stats_leave_shared(stats);
    assert_true(isfinite(stats_metric(stats, "eu", "queue")->sum));
    assert_true(stats_metric(stats, "eu", "cost")->sum == 0);
}

/* ---- what cannot be ---- */

static void
too_many_requests(udpai_load_stats *shared)
{
    stats_figures(shared, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = 11;
}

static void
too_many_now(udpai_load_stats *shared)
{
    stats_figures(shared, "eu")->gauges[UDPAI_LOAD_STATS_IN_PROGRESS] = 11;
}

static void
another_place(udpai_load_stats *shared)
{
    stats_figures(shared, "mars")->gauges[UDPAI_LOAD_STATS_ACTIVE] = 1;
}

static void
another_endpoint(udpai_load_stats *shared)
{
    stats_endpoint(shared, "eu", "10.0.0.2", 80)->figures.gauges[UDPAI_LOAD_STATS_ACTIVE] = 1;
}

static void
too_many_measured(udpai_load_stats *shared)
{
    stats_metric(shared, "eu", "queue")->n = 11;
}

static void
too_many_dropped(udpai_load_stats *shared)
{
    shared->dropped = 11;
}

static void
too_many_of_a_category(udpai_load_stats *shared)
{
    stats_drop(shared, "empty")->n = 1;
}

static void
too_many_clients(udpai_load_stats *shared)
{
    shared->n_clients = 6;
}

static void
a_part_that_is_more_than_all_is_refused(void **state)
{
    (void)state;
    static void (*const wrongs[])(udpai_load_stats *) = {
        too_many_requests, too_many_now,     another_place,          another_endpoint,
        too_many_measured, too_many_dropped, too_many_of_a_category, too_many_clients,
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrongs); i++) {
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = new_sum();
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        fill(stats, 10);
        fill(stats->shared, 10);
        stats->shared->n_clients = 5;
        UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *right = pass_on(stats, NULL);
        assert_non_null(right);
        wrongs[i](stats->shared);
        assert_null(pass_on(stats, &error));
        assert_int_equal(udpa_error_code(error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "shared"));
    }
}

/* ---- clients ---- */

static void
a_client_says_that_it_is_shared(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(7);
    stats->is_shared = true;
    stats->lasts_ns = 40000000001;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *again = pass_on(stats, NULL);
    assert_non_null(again);
    assert_true(again->is_shared);
    assert_int_equal(again->lasts_ns, 40000000001);
    stats->is_shared = false;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *alone = pass_on(stats, NULL);
    assert_false(alone->is_shared);
    assert_int_equal(alone->lasts_ns, 40000000001);
    stats->lasts_ns = 0;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *bare = pass_on(stats, NULL);
    assert_int_equal(bare->lasts_ns, 0);
}

static udpa_err
decode_once(void *context)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = udpai_load_stats_decode(&arena, udpai_bytes_view(context),
                                           &udpai_load_aggregate_limits, &stats, NULL);
    udpai_arena_done(&arena);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = new_sum();
    fill(stats, 10);
    fill(stats->shared, 4);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_true(oom_torture(decode_once, bytes) > 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_part_goes_with_the_sum),
        cmocka_unit_test(without_the_part_the_rest_is_left),
        cmocka_unit_test(what_is_left_is_a_number),
        cmocka_unit_test(a_part_that_is_more_than_all_is_refused),
        cmocka_unit_test(a_client_says_that_it_is_shared),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
