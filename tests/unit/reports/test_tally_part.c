/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a sum that is of shared clients: written and read, checked, and taken out. */
#include <float.h>
#include <math.h>

#include "tally_test.h"
#include "tests/harness/oom.h"

static udpai_tally *
new_sum(void)
{
    udpai_tally *tally = udpai_tally_new(&udpai_tally_sum_limits);
    udpai_tally_node node = {0};
    assert_non_null(tally);
    assert_ok(udpai_tally_set_text(&tally->cluster, UDPAI_STR("com.acme/a")));
    assert_ok(udpai_tally_set_text(&node.id, UDPAI_STR("edge")));
    assert_true(udpai_vector_push(&tally->nodes, node));
    tally->n_clients = 5;
    tally->shared = udpai_tally_new(&udpai_tally_sum_limits);
    assert_non_null(tally->shared);
    tally->shared->n_clients = 2;
    return tally;
}

static void
fill(udpai_tally *tally, uint64_t n)
{
    tally_figures(tally, "eu")->counts[UDPAI_TALLY_ISSUED] = n;
    tally_figures(tally, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = n;
    tally_endpoint(tally, "eu", "10.0.0.1", 80)->figures.counts[UDPAI_TALLY_ERROR] = n;
    tally_endpoint(tally, "eu", "10.0.0.1", 80)->figures.gauges[UDPAI_TALLY_ACTIVE] = n;
    tally_metric(tally, "eu", "queue")->n = n;
    tally_metric(tally, "eu", "queue")->sum = (double)n / 2;
    tally_drop(tally, "full")->n = n;
    tally->dropped = n;
}

/* As messages; NULL: it is refused. */
static udpai_tally *
pass_on(const udpai_tally *tally, udpa_error **ret_error)
{
    udpai_arena arena;
    udpai_tally *again = NULL;
    udpai_arena_init(&arena);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_tally_encode(tally);
    assert_non_null(bytes);
    if (udpai_tally_decode(&arena, udpai_bytes_view(bytes), tally->limits, &again, ret_error) !=
        UDPA_OK)
        assert_null(again);
    udpai_arena_done(&arena);
    return again;
}

static void
the_part_goes_with_the_sum(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = new_sum();
    fill(tally, 10);
    fill(tally->shared, 4);
    UDPA_AUTO(udpai_tally_free) udpai_tally *again = pass_on(tally, NULL);
    assert_non_null(again);
    assert_same_tally(tally, again);
    assert_non_null(again->shared);
    assert_int_equal(again->shared->n_clients, 2);
    assert_int_equal(again->shared->dropped, 4);
    assert_int_equal(tally_count(again->shared, "eu", UDPAI_TALLY_ISSUED), 4);
    assert_int_equal(tally_drop(again->shared, "full")->n, 4);
}

static void
without_the_part_the_rest_is_left(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = new_sum();
    fill(tally, 10);
    fill(tally->shared, 4);
    tally_figures(tally, "us")->counts[UDPAI_TALLY_ISSUED] = UINT64_C(1) << 60;
    tally_figures(tally->shared, "us")->counts[UDPAI_TALLY_ISSUED] = (UINT64_C(1) << 60) - 1;
    udpai_tally_leave_shared(tally);
    assert_null(tally->shared);
    assert_int_equal(tally->n_clients, 3);
    assert_int_equal(tally->dropped, 6);
    assert_int_equal(tally_drop(tally, "full")->n, 6);
    assert_int_equal(tally_count(tally, "eu", UDPAI_TALLY_ISSUED), 6);
    assert_int_equal(tally_count(tally, "us", UDPAI_TALLY_ISSUED), 1);
    assert_int_equal(tally_gauge(tally, "eu", UDPAI_TALLY_IN_PROGRESS), 6);
    assert_int_equal(tally_metric(tally, "eu", "queue")->n, 6);
    assert_true(tally_metric(tally, "eu", "queue")->sum == 3);
    const udpai_tally_endpoint *endpoint = tally_endpoint(tally, "eu", "10.0.0.1", 80);
    assert_int_equal(endpoint->figures.counts[UDPAI_TALLY_ERROR], 6);
    assert_int_equal(endpoint->figures.gauges[UDPAI_TALLY_ACTIVE], 6);
    udpai_tally_leave_shared(tally);
    assert_int_equal(tally->n_clients, 3);
}

static void
what_is_left_is_a_number(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = new_sum();
    tally_metric(tally, "eu", "queue")->n = 2;
    tally_metric(tally, "eu", "queue")->sum = DBL_MAX;
    tally_metric(tally->shared, "eu", "queue")->n = 1;
    tally_metric(tally->shared, "eu", "queue")->sum = -DBL_MAX;
    tally_metric(tally, "eu", "cost")->n = 1;
    tally_metric(tally, "eu", "cost")->sum = 0.1;
    tally_metric(tally->shared, "eu", "cost")->n = 1;
    udpai_tally_leave_shared(tally);
    assert_true(isfinite(tally_metric(tally, "eu", "queue")->sum));
    assert_true(tally_metric(tally, "eu", "cost")->sum == 0);
}

/* ---- what cannot be ---- */

static void
too_many_requests(udpai_tally *shared)
{
    tally_figures(shared, "eu")->counts[UDPAI_TALLY_ISSUED] = 11;
}

static void
too_many_now(udpai_tally *shared)
{
    tally_figures(shared, "eu")->gauges[UDPAI_TALLY_IN_PROGRESS] = 11;
}

static void
another_place(udpai_tally *shared)
{
    tally_figures(shared, "mars")->gauges[UDPAI_TALLY_ACTIVE] = 1;
}

static void
another_endpoint(udpai_tally *shared)
{
    tally_endpoint(shared, "eu", "10.0.0.2", 80)->figures.gauges[UDPAI_TALLY_ACTIVE] = 1;
}

static void
too_many_measured(udpai_tally *shared)
{
    tally_metric(shared, "eu", "queue")->n = 11;
}

static void
too_many_dropped(udpai_tally *shared)
{
    shared->dropped = 11;
}

static void
too_many_of_a_category(udpai_tally *shared)
{
    tally_drop(shared, "empty")->n = 1;
}

static void
too_many_clients(udpai_tally *shared)
{
    shared->n_clients = 6;
}

static void
a_part_that_is_more_than_all_is_refused(void **state)
{
    (void)state;
    static void (*const wrongs[])(udpai_tally *) = {
        too_many_requests, too_many_now,     another_place,          another_endpoint,
        too_many_measured, too_many_dropped, too_many_of_a_category, too_many_clients,
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrongs); i++) {
        UDPA_AUTO(udpai_tally_free) udpai_tally *tally = new_sum();
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        fill(tally, 10);
        fill(tally->shared, 10);
        tally->shared->n_clients = 5;
        UDPA_AUTO(udpai_tally_free) udpai_tally *right = pass_on(tally, NULL);
        assert_non_null(right);
        wrongs[i](tally->shared);
        assert_null(pass_on(tally, &error));
        assert_int_equal(udpa_error_code(error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "shared"));
    }
}

/* ---- clients ---- */

static void
a_client_says_that_it_is_shared(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = tally_new(7);
    tally->is_shared = true;
    tally->lasts_ns = 40000000001;
    UDPA_AUTO(udpai_tally_free) udpai_tally *again = pass_on(tally, NULL);
    assert_non_null(again);
    assert_true(again->is_shared);
    assert_int_equal(again->lasts_ns, 40000000001);
    tally->is_shared = false;
    UDPA_AUTO(udpai_tally_free) udpai_tally *alone = pass_on(tally, NULL);
    assert_false(alone->is_shared);
    assert_int_equal(alone->lasts_ns, 40000000001);
    tally->lasts_ns = 0;
    UDPA_AUTO(udpai_tally_free) udpai_tally *bare = pass_on(tally, NULL);
    assert_int_equal(bare->lasts_ns, 0);
}

static udpa_err
decode_once(void *context)
{
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = udpai_tally_decode(&arena, udpai_bytes_view(context), &udpai_tally_sum_limits,
                                      &tally, NULL);
    udpai_arena_done(&arena);
    return err;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_tally_free) udpai_tally *tally = new_sum();
    fill(tally, 10);
    fill(tally->shared, 4);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_tally_encode(tally);
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
