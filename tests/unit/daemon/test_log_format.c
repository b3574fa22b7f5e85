/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the log in each of its forms, with what a peer may put into it. */
#include "daemon/log_format.h"

#include "base/utf8.h"
#include "tests/harness/random.h"
#include "tests/harness/test.h"

#define TIME "2026-11-30T17:02:03.007Z"

static const struct timespec when = {1796058123, 7999999};
static udpai_log_encoded encoded;

/* The result as a text that ends. */
static const char *
encode(udpai_log_format format, const udpai_log_line *line)
{
    udpai_log_encode(&encoded, format, line, &when);
    assert_true(encoded.len < sizeof(encoded.data));
    encoded.data[encoded.len] = '\0';
    assert_int_equal(strlen(encoded.data), encoded.len);
    assert_true(udpai_utf8_valid((udpai_str){encoded.data, encoded.len}));
    return encoded.data;
}

static void
text_has_time_level_module_and_message(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {{UDPAI_LOG_SOURCE, UDPAI_STR("core")}};
    const udpai_log_line line = {UDPA_LOG_WARNING, "federation", "source core: lost", fields, 1};
    assert_string_equal(encode(UDPAI_LOG_TEXT, &line),
                        TIME " warning federation: source core: lost\n");
}

static void
json_is_an_object_with_the_fields(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {
        {UDPAI_LOG_SOURCE, UDPAI_STR("core")},
        {UDPAI_LOG_ADDRESS, {NULL, 0}},
        {UDPAI_LOG_CODE, UDPAI_STR("IO")},
    };
    const udpai_log_line line = {UDPA_LOG_ERROR, "federation", "\"a\" \\ b", fields, 3};
    assert_string_equal(encode(UDPAI_LOG_JSON, &line),
                        "{\"time\":\"" TIME "\",\"level\":\"error\",\"module\":\"federation\","
                        "\"message\":\"\\\"a\\\" \\\\ b\",\"source\":\"core\",\"code\":\"IO\"}\n");
}

static void
logfmt_quotes_what_needs_it(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {
        {UDPAI_LOG_PEER, UDPAI_STR("envoy-1")},     {UDPAI_LOG_IDENTITY, UDPAI_STR("a b")},
        {UDPAI_LOG_ADDRESS, UDPAI_STR("[::1]:7")},  {UDPAI_LOG_TYPE, UDPAI_STR("k=v")},
        {UDPAI_LOG_NAME, UDPAI_STR("say \"x\"\\")}, {UDPAI_LOG_VERSION, UDPAI_STR("\xc3\xa9")},
    };
    const udpai_log_line line = {UDPA_LOG_INFO, "client", "up", fields, 6};
    assert_string_equal(encode(UDPAI_LOG_LOGFMT, &line),
                        "time=" TIME " level=info module=client message=up peer=envoy-1 "
                        "identity=\"a b\" address=[::1]:7 type=\"k=v\" name=\"say \\\"x\\\"\\\\\" "
                        "version=\"\xc3\xa9\"\n");
}

static void
journald_receives_fields_of_its_own(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {
        {UDPAI_LOG_PEER, UDPAI_STR("a\nPRIORITY=0")},
        {UDPAI_LOG_NAME, UDPAI_STR("\\ \"q\"")},
    };
    const udpai_log_line line = {UDPA_LOG_DEBUG, "client", "connected", fields, 2};
    assert_string_equal(encode(UDPAI_LOG_JOURNAL, &line),
                        "PRIORITY=7\nSYSLOG_IDENTIFIER=udpad\nMESSAGE=connected\n"
                        "UDPA_MODULE=client\nUDPA_PEER=a\\nPRIORITY=0\nUDPA_NAME=\\\\ \"q\"\n");
}

static void
levels_have_priorities_of_syslog(void **state)
{
    (void)state;
    static const char *const expected[] = {"PRIORITY=7\n", "PRIORITY=6\n", "PRIORITY=4\n",
                                           "PRIORITY=3\n"};
    for (int level = UDPA_LOG_DEBUG; level <= UDPA_LOG_ERROR; level++) {
        const udpai_log_line line = {(udpa_log_level)level, "x", "y", NULL, 0};
        const char *text = encode(UDPAI_LOG_JOURNAL, &line);
        assert_memory_equal(text, expected[level], strlen(expected[level]));
    }
}

/* ESC, C1, a line end, a zero byte, what turns the direction, and bytes that are no text. */
#define HOSTILE                                                                                    \
    "\x1b[2J\xc2\x9b"                                                                              \
    "1m\n\0\xe2\x80\xae\x7f\xff\xc3"
#define HARMLESS "\\u001b[2J\\u009b1m\\n\\u0000\\u202e\\u007f??"

static void
nothing_hidden_is_left_in_any_form(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {{UDPAI_LOG_IDENTITY, UDPAI_STR(HOSTILE)}};
    const udpai_log_line line = {UDPA_LOG_INFO, "client", "m", fields, 1};
    assert_non_null(strstr(encode(UDPAI_LOG_JSON, &line), "\"identity\":\"" HARMLESS "\"}\n"));
    assert_non_null(strstr(encode(UDPAI_LOG_LOGFMT, &line), " identity=\"" HARMLESS "\"\n"));
    assert_non_null(strstr(encode(UDPAI_LOG_JOURNAL, &line), "UDPA_IDENTITY=" HARMLESS "\n"));
}

/* Whatever bytes come: one line, valid, and nothing that a terminal obeys. */
static void
random_bytes_stay_in_one_line(void **state)
{
    (void)state;
    static const udpai_log_format formats[] = {UDPAI_LOG_JSON, UDPAI_LOG_LOGFMT};
    uint64_t random = 20;
    for (unsigned n = 0; n < 2000; n++) {
        char bytes[64];
        size_t len = 1 + test_random(&random) % sizeof(bytes);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)test_random(&random);
        const udpai_log_field fields[] = {{UDPAI_LOG_NAME, {bytes, len}}};
        const udpai_log_line line = {UDPA_LOG_INFO, "x", "y", fields, 1};
        for (size_t f = 0; f < UDPAI_ARRAY_LEN(formats); f++) {
            udpai_str rest = udpai_str_from(encode(formats[f], &line));
            uint32_t point = 0;
            for (size_t step; rest.len > 1; rest.data += step, rest.len -= step) {
                step = udpai_utf8_decode(rest, &point);
                assert_true(step > 0 && !udpai_utf8_is_hidden(point));
            }
            assert_string_equal(rest.data, "\n");
        }
    }
}

static void
values_are_cut_between_characters(void **state)
{
    (void)state;
    char value[UDPAI_LOG_VALUE_MAX + 8];
    for (size_t skip = 0; skip < 3; skip++) {
        memset(value, 'x', skip);
        for (size_t i = skip; i + 3 <= sizeof(value); i += 3)
            memcpy(value + i, "\xe2\x82\xac", 3);
        const udpai_log_field fields[] = {{UDPAI_LOG_NAME, {value, sizeof(value) - 6}}};
        const udpai_log_line line = {UDPA_LOG_INFO, "x", "y", fields, 1};
        const char *text = strstr(encode(UDPAI_LOG_JSON, &line), "\"name\":\"") + 8;
        assert_null(strchr(text, '?'));
        assert_in_range(strlen(text), UDPAI_LOG_VALUE_MAX - 2 + 3, UDPAI_LOG_VALUE_MAX + 3);
    }
}

static void
the_longest_line_has_room(void **state)
{
    (void)state;
    static char message[UDPAI_LOG_MESSAGE_MAX], value[2 * UDPAI_LOG_VALUE_MAX];
    udpai_log_field fields[UDPAI_LOG_KEYS];
    memset(message, '\x01', sizeof(message) - 1);
    memset(value, '\x01', sizeof(value));
    for (int key = 0; key < UDPAI_LOG_KEYS; key++)
        fields[key] = (udpai_log_field){(udpai_log_key)key, {value, sizeof(value)}};
    const udpai_log_line line = {UDPA_LOG_INFO, "x", message, fields, UDPAI_LOG_KEYS};
    for (int format = UDPAI_LOG_TEXT; format <= UDPAI_LOG_JOURNAL; format++) {
        const char *text = encode((udpai_log_format)format, &line);
        assert_int_equal(text[encoded.len - 1], '\n');
        if (format == UDPAI_LOG_JSON)
            assert_string_equal(text + encoded.len - 3, "\"}\n");
    }
}

static void
a_key_is_written_once(void **state)
{
    (void)state;
    const udpai_log_field fields[] = {{UDPAI_LOG_NAME, UDPAI_STR("")},
                                      {UDPAI_LOG_NAME, UDPAI_STR("one")},
                                      {UDPAI_LOG_NAME, UDPAI_STR("two")},
                                      {UDPAI_LOG_KEYS, UDPAI_STR("none")}};
    const udpai_log_line line = {UDPA_LOG_INFO, "x", "y", fields, 4};
    assert_string_equal(encode(UDPAI_LOG_LOGFMT, &line),
                        "time=" TIME " level=info module=x message=y name=one\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_time_level_module_and_message),
        cmocka_unit_test(json_is_an_object_with_the_fields),
        cmocka_unit_test(logfmt_quotes_what_needs_it),
        cmocka_unit_test(journald_receives_fields_of_its_own),
        cmocka_unit_test(levels_have_priorities_of_syslog),
        cmocka_unit_test(nothing_hidden_is_left_in_any_form),
        cmocka_unit_test(random_bytes_stay_in_one_line),
        cmocka_unit_test(values_are_cut_between_characters),
        cmocka_unit_test(the_longest_line_has_room),
        cmocka_unit_test(a_key_is_written_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
