/* SPDX-License-Identifier: Apache-2.0 */
/* What has not turned for long is named; what the loop has to report is not known if that hangs. */
#include "daemon/liveness.h"

#include "base/alloc.h"
#include "loop/clock.h"
#include "tests/harness/test.h"

typedef struct fixture {
    udpai_liveness *liveness;
    uint64_t now_ms; /* when it was made, or a moment later */
} fixture;

static fixture self;

static int
begin(void **state)
{
    (void)state;
    assert_ok(udpai_liveness_new(&self.liveness, 2));
    self.now_ms = udpai_monotonic_ms();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    self.liveness = udpai_liveness_free(self.liveness);
    return 0;
}

static void
expect(uint64_t later_ms, bool is_alive, const char *expected)
{
    udpai_strbuf text = {0};
    bool is = udpai_liveness_look(self.liveness, self.now_ms + later_ms, &text);
    assert_int_equal(is, is_alive);
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
    udpai_strbuf_done(&text);
}

static void
what_has_just_begun_is_alive(void **state)
{
    (void)state;
    expect(0, true, "alive\n");
    expect(UDPAI_LIVENESS_MS - 1000, true, "alive\n");
}

static void
a_loop_that_hangs_is_named_alone(void **state)
{
    (void)state;
    expect(12500, false, "the loop has not turned for 12 s\n");
}

/* Turns the loop until its timer was called. */
static void
turn(uv_loop_t *loop, uint64_t now_ms)
{
    udpai_liveness_begin(self.liveness, loop, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
    udpai_liveness_end(self.liveness);
    udpai_liveness_end(self.liveness); /* once is enough */
    uv_run(loop, UV_RUN_DEFAULT);
    self.now_ms = now_ms;
}

static void
workers_that_hang_are_named(void **state)
{
    (void)state;
    uv_loop_t loop;
    uv_loop_init(&loop);
    turn(&loop, udpai_monotonic_ms());
    uv_loop_close(&loop);
    udpai_liveness_note_worker(self.liveness, 1, true);
    udpai_liveness_note_worker(self.liveness, 2, false);
    expect(0, false, "the stream thread of worker 2 has not turned for 10 s\n");
    udpai_liveness_note_worker(self.liveness, 2, true);
    expect(0, true, "alive\n");
    udpai_liveness_note_worker(self.liveness, 0, false); /* there are none of these numbers */
    udpai_liveness_note_worker(self.liveness, 3, false);
    expect(0, true, "alive\n");
}

static void
without_memory_there_is_none(void **state)
{
    (void)state;
    udpai_liveness *liveness = NULL;
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_liveness_new(&liveness, 1), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_null(liveness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_has_just_begun_is_alive, begin, end),
        cmocka_unit_test_setup_teardown(a_loop_that_hangs_is_named_alone, begin, end),
        cmocka_unit_test_setup_teardown(workers_that_hang_are_named, begin, end),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
