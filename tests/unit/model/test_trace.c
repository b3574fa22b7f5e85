/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of traces: what is one, and what is none. */
#include "model/trace.h"

#include "tests/harness/test.h"

#define GOOD "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static bool
reads(const char *text)
{
    udpai_trace trace;
    bool is_read = udpai_trace_read(udpai_str_from(text), &trace);
    assert_true(is_read == udpai_trace_is_set(&trace));
    return is_read;
}

static void
test_it_is_written_as_it_was_read(void **state)
{
    (void)state;
    udpai_trace trace;
    char room[UDPAI_TRACEPARENT_LEN];
    assert_true(udpai_trace_read(UDPAI_STR(GOOD), &trace));
    assert_true(trace.is_sampled);
    assert_int_equal(trace.id[0], 0x4b);
    assert_int_equal(trace.span[7], 0xb7);
    udpai_trace_write(&trace, room);
    assert_memory_equal(room, GOOD, UDPAI_TRACEPARENT_LEN);
    trace.is_sampled = false;
    udpai_trace_write(&trace, room);
    assert_memory_equal(room + 52, "-00", 3);
}

static void
test_what_is_none(void **state)
{
    (void)state;
    assert_true(reads("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff")); /* later */
    assert_false(reads(""));
    assert_false(reads("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    assert_false(reads("00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    assert_false(reads("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"));
    assert_false(reads("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01"));
    assert_false(reads("00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_written_as_it_was_read),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
