/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a step of udpactl bench, reported now and then. */
#include "tests/harness/test.h"
#include "tools/bench/progress.h"

static size_t n_told, last;

static void
on_progress(void *userdata, const char *step, size_t n, size_t n_all)
{
    (void)userdata;
    assert_string_equal(step, "steps");
    assert_int_equal(n_all, 100);
    n_told++;
    last = n;
}

static void
it_is_told_now_and_then(void **state)
{
    (void)state;
    udpai_load_progress progress = {.fn = on_progress, .last_ns = 1000};
    n_told = 0;
    for (uint64_t i = 0; i <= 100; i++)
        udpai_load_progress_report(&progress, 1000 + i * UDPAI_LOAD_PROGRESS_NS / 25, "steps", i,
                                   100);
    assert_int_equal(n_told, 4);
    assert_int_equal(last, 100);
}

static void
nobody_need_listen(void **state)
{
    (void)state;
    udpai_load_progress progress = {0};
    udpai_load_progress_report(&progress, UINT64_MAX, "steps", 1, 100);
    assert_int_equal(progress.last_ns, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_now_and_then),
        cmocka_unit_test(nobody_need_listen),
    };
    return cmocka_run_group_tests_name("bench/progress", tests, NULL, NULL);
}
