/* SPDX-License-Identifier: Apache-2.0 */
/* The growing text: everything appended in order, ended by a NUL, and one failure that lasts. */
#include "base/strbuf.h"

#include <wchar.h>

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static void
pieces_stand_in_order(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_puts(&buffer, "one ");
    udpai_strbuf_str(&buffer, UDPAI_STR("two "));
    udpai_strbuf_append(&buffer, "three!", 5);
    udpai_strbuf_putc(&buffer, ' ');
    udpai_strbuf_printf(&buffer, "%d%%", 4);
    assert_str(udpai_strbuf_view(&buffer), "one two three 4%");
    assert_int_equal(buffer.data[buffer.len], '\0');
    assert_false(udpai_strbuf_failed(&buffer));
    UDPAI_AUTO_FREE char *text = udpai_strbuf_take(&buffer);
    assert_string_equal(text, "one two three 4%");
    assert_null(buffer.data);
    assert_int_equal(buffer.len, 0);
}

static void
empty_buffer_gives_empty_text(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    assert_int_equal(udpai_strbuf_view(&buffer).len, 0);
    UDPAI_AUTO_FREE char *text = udpai_strbuf_take(&buffer);
    assert_string_equal(text, "");
    udpai_strbuf_done(&buffer);
}

static void
nothing_can_be_appended(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_append(&buffer, NULL, 0);
    udpai_strbuf_str(&buffer, (udpai_str){NULL, 0});
    udpai_strbuf_puts(&buffer, "");
    udpai_strbuf_printf(&buffer, "%s", "");
    assert_int_equal(buffer.len, 0);
    assert_string_equal(buffer.data, "");
    assert_false(udpai_strbuf_failed(&buffer));
    udpai_strbuf_done(&buffer);
}

static void
bytes_may_be_zero(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_append(&buffer, "a\0b", 3);
    udpai_strbuf_putc(&buffer, '\0');
    assert_int_equal(buffer.len, 4);
    assert_memory_equal(buffer.data, "a\0b\0", 5);
    udpai_strbuf_done(&buffer);
}

static void
room_can_be_filled_by_the_caller(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_puts(&buffer, "head:");
    char *room = udpai_strbuf_extend(&buffer, 4);
    assert_non_null(room);
    memcpy(room, "body", 4);
    assert_str(udpai_strbuf_view(&buffer), "head:body");
    assert_string_equal(buffer.data, "head:body");
    udpai_strbuf_done(&buffer);
}

static void
it_grows_without_losing_anything(void **state)
{
    (void)state;

    enum {
        N = 3000
    };

    udpai_strbuf buffer = {0};
    for (int i = 0; i < N; i++)
        udpai_strbuf_printf(&buffer, "%04d ", i);
    assert_int_equal(buffer.len, N * 5);
    for (int i = 0; i < N; i++)
        assert_int_equal(atol(buffer.data + i * 5), i);
    udpai_strbuf_done(&buffer);
}

static void
impossible_size_fails_and_the_failure_lasts(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_puts(&buffer, "x");
    assert_null(udpai_strbuf_extend(&buffer, SIZE_MAX));
    assert_true(udpai_strbuf_failed(&buffer));
    udpai_strbuf_puts(&buffer, "not any more");
    udpai_strbuf_printf(&buffer, "%d", 1);
    assert_int_equal(buffer.len, 1);
    assert_null(udpai_strbuf_extend(&buffer, 1));
    assert_null(udpai_strbuf_take(&buffer));
    assert_false(udpai_strbuf_failed(&buffer)); /* it can be used again */
    udpai_strbuf_puts(&buffer, "again");
    assert_str(udpai_strbuf_view(&buffer), "again");
    udpai_strbuf_done(&buffer);
}

static void
size_just_below_the_largest_fails(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_strbuf_putc(&buffer, 'x');
    assert_null(udpai_strbuf_extend(&buffer, SIZE_MAX - 1)); /* the NUL would not fit */
    udpai_strbuf_done(&buffer);
}

static void
text_that_printf_cannot_make_fails(void **state)
{
    (void)state;
    static const wchar_t no_character[] = {0x110000, 0};
    udpai_strbuf buffer = {0};
    udpai_strbuf_printf(&buffer, "%ls", no_character);
    assert_true(udpai_strbuf_failed(&buffer));
    assert_null(udpai_strbuf_take(&buffer));
}

static udpa_err
write_a_text(void *context)
{
    udpai_strbuf buffer = {0};
    for (int i = 0; i < 100; i++) {
        udpai_strbuf_puts(&buffer, "some words and ");
        udpai_strbuf_printf(&buffer, "number %d; ", i);
    }
    bool failed = udpai_strbuf_failed(&buffer);
    UDPAI_AUTO_FREE char *text = udpai_strbuf_take(&buffer);
    *(bool *)context |= failed != !text;
    return text ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
lack_of_memory_is_reported_at_the_end(void **state)
{
    (void)state;
    bool disagreed = false;
    assert_true(oom_torture(write_a_text, &disagreed) > 3);
    assert_false(disagreed);
}

static void
take_of_an_empty_buffer_needs_memory(void **state)
{
    (void)state;
    udpai_strbuf buffer = {0};
    udpai_alloc_fail_after(0);
    char *text = udpai_strbuf_take(&buffer);
    udpai_alloc_fail_after(-1);
    assert_null(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_stand_in_order),
        cmocka_unit_test(empty_buffer_gives_empty_text),
        cmocka_unit_test(nothing_can_be_appended),
        cmocka_unit_test(bytes_may_be_zero),
        cmocka_unit_test(room_can_be_filled_by_the_caller),
        cmocka_unit_test(it_grows_without_losing_anything),
        cmocka_unit_test(impossible_size_fails_and_the_failure_lasts),
        cmocka_unit_test(size_just_below_the_largest_fails),
        cmocka_unit_test(text_that_printf_cannot_make_fails),
        cmocka_unit_test(lack_of_memory_is_reported_at_the_end),
        cmocka_unit_test(take_of_an_empty_buffer_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
