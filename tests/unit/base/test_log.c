/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: thresholds, one line each, nothing a peer can forge, and the limit that keeps a peer
 * from filling the log. */
#include "base/log.h"

#include <stdio.h>

#include "base/utf8.h"
#include "tests/harness/test.h"

static struct {
    unsigned n;
    udpa_log_level level;
    char component[32];
    char message[4096];
} seen;

static void
remember(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    assert_ptr_equal(userdata, &seen);
    seen.n++;
    seen.level = level;
    snprintf(seen.component, sizeof(seen.component), "%s", component);
    snprintf(seen.message, sizeof(seen.message), "%s", message);
}

static int
silence(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_DEBUG, NULL, NULL);
    memset(&seen, 0, sizeof(seen));
    return 0;
}

static void
without_a_sink_nothing_is_said(void **state)
{
    (void)state;
    assert_false(udpai_log_enabled(UDPA_LOG_ERROR));
    udpai_log(UDPA_LOG_ERROR, "test", "not heard");
    udpai_log_write(UDPA_LOG_ERROR, "test", "not heard either");
    assert_int_equal(seen.n, 0);
}

static void
sink_hears_level_component_and_words(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_DEBUG, remember, &seen);
    udpai_log(UDPA_LOG_WARNING, "session", "%d of %s", 3, "four");
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.level, UDPA_LOG_WARNING);
    assert_string_equal(seen.component, "session");
    assert_string_equal(seen.message, "3 of four");
}

static int n_evaluated;

static int
evaluated(void)
{
    return ++n_evaluated;
}

static void
lines_below_the_threshold_are_not_made(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_WARNING, remember, &seen);
    udpai_log(UDPA_LOG_INFO, "test", "%d", evaluated());
    assert_int_equal(n_evaluated, 0);
    assert_false(udpai_log_enabled(UDPA_LOG_DEBUG));
    assert_false(udpai_log_enabled(UDPA_LOG_INFO));
    assert_true(udpai_log_enabled(UDPA_LOG_WARNING));
    assert_true(udpai_log_enabled(UDPA_LOG_ERROR));
    udpai_log(UDPA_LOG_ERROR, "test", "%d", evaluated());
    assert_int_equal(n_evaluated, 1);
    assert_int_equal(seen.n, 1);
    udpa_log_set_sink(UDPA_LOG_SILENT, remember, &seen);
    assert_false(udpai_log_enabled(UDPA_LOG_ERROR));
}

static void
components_have_levels_of_their_own(void **state)
{
    const udpai_log_component_level levels[] = {{"loud", UDPA_LOG_DEBUG}, {"mute", UDPA_LOG_ERROR}};

    (void)state;
    udpa_log_set_sink(UDPA_LOG_WARNING, remember, &seen);
    udpai_log_set_threshold(UDPA_LOG_WARNING, levels, 2);
    udpai_log(UDPA_LOG_DEBUG, "loud", "heard");
    assert_int_equal(seen.n, 1);
    udpai_log(UDPA_LOG_WARNING, "mute", "not heard");
    udpai_log(UDPA_LOG_INFO, "other", "not heard either");
    assert_int_equal(seen.n, 1);
    udpai_log(UDPA_LOG_ERROR, "mute", "heard");
    udpai_log(UDPA_LOG_WARNING, "other", "heard");
    assert_int_equal(seen.n, 3);
    udpai_log_set_threshold(UDPA_LOG_INFO, levels + 1, 1);
    udpai_log(UDPA_LOG_DEBUG, "loud", "as all others");
    assert_false(udpai_log_enabled(UDPA_LOG_DEBUG));
    udpai_log(UDPA_LOG_INFO, "mute", "not heard");
    assert_int_equal(seen.n, 3);
    udpai_log(UDPA_LOG_INFO, "loud", "heard");
    assert_int_equal(seen.n, 4);
    udpa_log_set_sink(UDPA_LOG_DEBUG, remember, &seen);
    udpai_log(UDPA_LOG_INFO, "mute", "what was set goes with the sink");
    assert_int_equal(seen.n, 5);
}

static void
components_are_bounded(void **state)
{
    udpai_log_component_level one = {"", UDPA_LOG_ERROR};
    (void)state;
    udpa_log_set_sink(UDPA_LOG_INFO, remember, &seen);
    for (int i = 0; i < 2 * UDPAI_LOG_COMPONENTS_MAX; i++) {
        snprintf(one.component, sizeof(one.component), "component-%d", i);
        udpai_log_set_threshold(UDPA_LOG_INFO, &one, 1);
    }
    udpai_log(UDPA_LOG_INFO, one.component, "there was no room, so it is heard");
    assert_int_equal(seen.n, 1);
}

static void
text_cannot_forge_a_line(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_DEBUG, remember, &seen);
    udpai_log(UDPA_LOG_INFO, "test", "a%cb\r\nc\td\x1b[2J\x7f", '\n');
    assert_string_equal(seen.message, "a b  c d [2J ");
    udpai_log(UDPA_LOG_INFO, "test", "\u00e9\xff");
    assert_string_equal(seen.message, "\u00e9?");
}

static void
text_cannot_change_a_terminal(void **state)
{
    (void)state;
    udpa_log_set_sink(UDPA_LOG_DEBUG, remember, &seen);
    udpai_log(UDPA_LOG_INFO, "test",
              "a\xc2\x9b"
              "2Jb\xc2\x85"
              "c\u202ed\u2066e\u2028f\u061cg\xe2\x80");
    assert_string_equal(seen.message, "a 2Jb c?d?e?f?g??");
}

/* ---- fields ---- */

static struct {
    unsigned n;
    char text[512];
} seen_line;

static void
remember_line(const udpai_log_line *line, void *userdata)
{
    assert_ptr_equal(userdata, &seen_line);
    seen_line.n++;
    int at = snprintf(seen_line.text, sizeof(seen_line.text), "%s %s: %s",
                      udpa_log_level_name(line->level), line->component, line->message);
    for (size_t i = 0; i < line->n_fields; i++)
        at += snprintf(seen_line.text + at, sizeof(seen_line.text) - (size_t)at, " %s=%.*s",
                       udpai_log_key_name(line->fields[i].key), (int)line->fields[i].value.len,
                       line->fields[i].value.data);
}

static void
fields_reach_a_sink_that_takes_them(void **state)
{
    (void)state;
    const udpai_str name = UDPAI_STR("a\nb");
    seen_line.n = 0;
    udpai_log_set_line_sink(UDPA_LOG_INFO, remember_line, &seen_line);
    udpai_log_about(UDPA_LOG_INFO, "x",
                    UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_CODE, UDPAI_STR("IO")}),
                    "source %.*s: lost", UDPAI_SHOWN(name));
    assert_string_equal(seen_line.text, "info x: source a b: lost source=a\nb code=IO");
    udpai_log(UDPA_LOG_ERROR, "x", "nothing known");
    assert_string_equal(seen_line.text, "error x: nothing known");
    udpai_log_about(UDPA_LOG_DEBUG, "x", UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}), "not enabled");
    assert_int_equal(seen_line.n, 2);
    udpai_log_set_line_sink(UDPA_LOG_INFO, NULL, NULL);
    assert_false(udpai_log_enabled(UDPA_LOG_ERROR));
}

static void
a_plain_sink_receives_lines_with_fields_too(void **state)
{
    (void)state;
    udpai_log_set_line_sink(UDPA_LOG_DEBUG, remember_line, &seen_line);
    udpa_log_set_sink(UDPA_LOG_INFO, remember, &seen);
    udpai_log_about(UDPA_LOG_INFO, "x", UDPAI_ABOUT({UDPAI_LOG_PEER, UDPAI_STR("p")}), "%d", 7);
    udpai_log_about(UDPA_LOG_DEBUG, "x", UDPAI_ABOUT({UDPAI_LOG_PEER, UDPAI_STR("p")}), "%d", 8);
    assert_int_equal(seen.n, 1);
    assert_string_equal(seen.message, "7");
}

static void
keys_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"peer", "identity", "address", "source",
                                        "type", "name",     "version", "code"};
    assert_int_equal(UDPAI_LOG_KEYS, UDPAI_ARRAY_LEN(names));
    for (int key = 0; key < UDPAI_LOG_KEYS; key++)
        assert_string_equal(udpai_log_key_name((udpai_log_key)key), names[key]);
    assert_string_equal(udpai_log_key_name(UDPAI_LOG_KEYS), "?");
}

static void
long_lines_are_cut_between_characters(void **state)
{
    (void)state;
    char text[6001];
    for (size_t i = 0; i < 6000; i += 3)
        memcpy(text + i, "\u20ac", 3);
    text[6000] = '\0';
    udpa_log_set_sink(UDPA_LOG_DEBUG, remember, &seen);
    for (size_t skip = 0; skip < 3; skip++) {
        udpai_log(UDPA_LOG_INFO, "test", "%.*s%s", (int)skip, "xx", text);
        assert_int_equal(strlen(seen.message), 2047);
        assert_true(udpai_utf8_valid(udpai_str_from(seen.message)));
    }
}

static void
levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(udpa_log_level_name(UDPA_LOG_DEBUG), "debug");
    assert_string_equal(udpa_log_level_name(UDPA_LOG_INFO), "info");
    assert_string_equal(udpa_log_level_name(UDPA_LOG_WARNING), "warning");
    assert_string_equal(udpa_log_level_name(UDPA_LOG_ERROR), "error");
    assert_string_equal(udpa_log_level_name(UDPA_LOG_SILENT), "silent");
    assert_string_equal(udpa_log_level_name((udpa_log_level)5), "?");
    assert_string_equal(udpa_log_level_name((udpa_log_level)-1), "?");
}

/* How many of n lines at one moment are allowed. */
static unsigned
allowed_of(udpai_log_limit *limit, unsigned n, uint64_t now_ms)
{
    unsigned allowed = 0, suppressed;
    for (unsigned i = 0; i < n; i++)
        allowed += udpai_log_allow(limit, now_ms, &suppressed) != 0;
    return allowed;
}

static void
limit_lets_a_burst_through_and_counts_the_rest(void **state)
{
    (void)state;
    udpai_log_limit limit = {0};
    unsigned suppressed = 99;
    assert_int_equal(allowed_of(&limit, 25, 50000), 10);
    assert_int_equal(udpai_log_allow(&limit, 59999, &suppressed), 0);
    assert_int_equal(suppressed, 0);
    assert_int_equal(udpai_log_allow(&limit, 60000, &suppressed), 1);
    assert_int_equal(suppressed, 16);
    assert_int_equal(udpai_log_allow(&limit, 60000, &suppressed), 1);
    assert_int_equal(suppressed, 0);
    assert_int_equal(allowed_of(&limit, 25, 60001), 8);
}

static void
what_was_left_out_is_written_if_anything_was(void **state)
{
    (void)state;
    char room[UDPAI_LOG_MORE_MAX];
    assert_string_equal(udpai_log_more(room, 0), "");
    assert_string_equal(udpai_log_more(room, 3), " (3 more not shown)");
    assert_string_equal(udpai_log_more(room, UINT32_MAX), " (4294967295 more not shown)");
}

static void
an_error_has_a_code(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = udpa_error_new(UDPA_ERR_LIMIT, NULL, "x");
    assert_int_equal(udpai_log_code(NULL).len, 0);
    assert_string_equal(udpai_log_code(error).data, "RESOURCE_EXHAUSTED");
    assert_string_equal(udpai_log_code_of(UDPA_ERR_DENIED).data, "PERMISSION_DENIED");
    assert_string_equal(udpai_log_code_of(UDPA_ERR_UNAUTHENTICATED).data, "UNAUTHENTICATED");
    assert_string_equal(udpai_log_code_of(UDPA_OK).data, "OK");
}

static void
limit_works_from_the_first_millisecond(void **state)
{
    (void)state;
    udpai_log_limit limit = {0};
    assert_int_equal(allowed_of(&limit, 11, 0), 10);
    assert_int_equal(allowed_of(&limit, 11, 10000), 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_sink_nothing_is_said, silence),
        cmocka_unit_test_setup(sink_hears_level_component_and_words, silence),
        cmocka_unit_test_setup(lines_below_the_threshold_are_not_made, silence),
        cmocka_unit_test_setup(components_have_levels_of_their_own, silence),
        cmocka_unit_test_setup(components_are_bounded, silence),
        cmocka_unit_test_setup(text_cannot_forge_a_line, silence),
        cmocka_unit_test_setup(text_cannot_change_a_terminal, silence),
        cmocka_unit_test_setup(fields_reach_a_sink_that_takes_them, silence),
        cmocka_unit_test_setup(a_plain_sink_receives_lines_with_fields_too, silence),
        cmocka_unit_test(keys_have_names),
        cmocka_unit_test_setup(long_lines_are_cut_between_characters, silence),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(limit_lets_a_burst_through_and_counts_the_rest),
        cmocka_unit_test(what_was_left_out_is_written_if_anything_was),
        cmocka_unit_test(an_error_has_a_code),
        cmocka_unit_test(limit_works_from_the_first_millisecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
