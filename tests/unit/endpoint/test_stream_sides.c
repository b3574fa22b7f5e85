/* SPDX-License-Identifier: Apache-2.0 */
/* The stream sides of an endpoint with two workers, which only note what they are ordered. */
#include "endpoint/stream_sides.h"

#include "tests/harness/test.h"

static unsigned n_ordered[3], n_stopped;
static udpai_report *taken;

static void
order_worker(void *userdata, size_t worker, const udpai_order *order)
{
    (void)userdata;
    assert_true(worker == 1 || worker == 2);
    assert_int_equal(order->kind, UDPAI_ORDER_ACL);
    n_ordered[worker]++;
}

static void
on_report(void *userdata, udpai_report *report)
{
    (void)userdata;
    udpai_report_free(report);
}

static void
on_stopped(void *userdata)
{
    ++*(unsigned *)userdata;
}

static void
take(void *userdata, udpai_report *report)
{
    assert_ptr_equal(userdata, &n_stopped);
    udpai_report_free(taken);
    taken = report;
}

static udpa_err
make(size_t n_workers, udpai_stream_sides **ret_sides)
{
    const udpai_node_parts parts = {.id = UDPAI_STR("node")};
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    udpai_endpoint_settings settings;
    const udpai_stream_sides_env env = {on_report, on_stopped, take, &n_stopped};
    udpa_err err = udpai_node_info_new(&info, &parts);
    if (err != UDPA_OK)
        return err;
    udpai_endpoint_settings_init(&settings);
    settings.info = info;
    settings.n_workers = n_workers;
    settings.order_worker = order_worker;
    return udpai_stream_sides_new(ret_sides, &settings, &env, NULL);
}

static int
setup(void **state)
{
    memset(n_ordered, 0, sizeof(n_ordered));
    n_stopped = 0;
    udpai_stream_sides *sides = NULL;
    assert_ok(make(2, &sides));
    *state = sides;
    return 0;
}

static int
teardown(void **state)
{
    udpai_stream_sides_free(*state);
    udpai_report_free(UDPAI_TAKE(taken));
    assert_int_equal(n_stopped, 1);
    return 0;
}

static void
what_concerns_all_is_ordered_of_each_worker(void **state)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    udpai_stream_sides_order(*state, order);
    assert_int_equal(n_ordered[1], 1);
    assert_int_equal(n_ordered[2], 1);
}

static void
all_report_to_the_same(void **state)
{
    for (size_t side = 0; side < 3; side++) {
        udpai_report *report = udpai_report_new(UDPAI_REPORT_OPENED);
        assert_non_null(report);
        report->session = 64 + side;
        udpai_stream_sides_report(*state, side, report);
        assert_ptr_equal(taken, report);
    }
}

static void
counts_are_those_of_all_as_they_were_sent_last(void **state)
{
    const udpai_stream_counts five = {{5}, 50, 500}, seven = {{7}, 70, 700};
    udpai_stream_sides_set_counts(*state, 1, &seven);
    udpai_stream_sides_set_counts(*state, 1, &five);
    udpai_stream_sides_set_counts(*state, 2, &seven);
    udpai_stream_sides_set_counts(*state, 0, &seven); /* of no worker */
    udpai_stream_sides_set_counts(*state, 3, &seven);
    assert_int_equal(udpai_stream_sides_counts(*state).n[UDPAI_STREAMS_REFUSED], 12);
    assert_int_equal(udpai_stream_sides_counts(*state).n_clients, 120);
    assert_int_equal(udpai_stream_sides_counts(*state).n_served, 1200);
}

static void
the_thread_of_this_process_ends_first(void **state)
{
    assert_non_null(udpai_stream_sides_own(*state));
    udpai_stream_sides_join(*state);
    assert_null(udpai_stream_sides_own(*state));
    assert_int_equal(n_stopped, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_concerns_all_is_ordered_of_each_worker, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(all_report_to_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_are_those_of_all_as_they_were_sent_last, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_thread_of_this_process_ends_first, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
