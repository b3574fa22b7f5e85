/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes say upwards of others with one id. */
#include "model/twin_notices.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/test.h"

/* Reads one text after the other into one collection, and shows it. */
static const char *
collect(const char *const *texts)
{
    static char shown[4096];
    udpai_twin_notices notices = {0};
    udpai_strbuf text = {0};
    for (; *texts; texts++) {
        udpai_twin_notice notice;
        udpai_str rest = udpai_str_from(*texts);
        while (udpai_twin_notices_next(&rest, &notice))
            udpai_twin_notices_add(&notices, &notice);
        assert_int_equal(rest.len, strlen(*texts) && !strchr(*texts, '\n') ? strlen(*texts) : 0);
    }
    udpai_twin_notices_put(&notices, &text);
    assert_false(udpai_strbuf_failed(&text));
    snprintf(shown, sizeof(shown), "%.*s", (int)text.len, text.len ? text.data : "");
    udpai_strbuf_done(&text);
    return shown;
}

#define COLLECT(...) collect((const char *const[]){__VA_ARGS__, NULL})

static void
what_is_read_is_written(void **state)
{
    (void)state;
    udpai_strbuf text = {0};
    udpai_twin_notices_put_own(&text, UDPAI_STR("a b\n%"), UDPAI_STR("1"), UDPAI_STR("\xc3\xa4"));
    char *own = udpai_strbuf_take(&text);
    assert_string_equal(own, "a%20b%0A%25 1 %C3%A4 0\n");
    assert_string_equal(COLLECT(own), own);
    udpai_free(own);
    assert_string_equal(COLLECT(""), "");
}

static void
the_order_in_which_they_come_is_none_of_theirs(void **state)
{
    (void)state;
    static const char all[] = "a 1 2 3\nb 1 2 0\nb 2 1 4\nb 2 2 1\n";
    assert_string_equal(COLLECT("b 2 1 4\nb 2 2 1\na 1 2 3\n", "b 1 2 0\n"), all);
    assert_string_equal(COLLECT("b 1 2 0\na 1 2 3\n", "b 2 2 1\nb 2 1 4\n"), all);
}

static void
the_least_distance_counts(void **state)
{
    (void)state;
    assert_string_equal(COLLECT("a 1 2 3\na 1 2 2\n", "a 1 2 5\n"), "a 1 2 2\n");
}

static void
what_is_none_is_passed_over(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\n",          "a\n",          "a 1\n",
        "a 1 2\n",     "a 1 2 \n",     " 1 2 0\n",
        "a  2 0\n",    "a 1  0\n",     "a 1 2 17\n",
        "a 1 2 x\n",   "a 1 2 -1\n",   "a 1 2 0 \n",
        "a\t 1 2 0\n", "\x7f 1 2 0\n", "\xc3 1 2 0\n",
        "a 1 2 0 0\n", "a 1 2 0",      "a 1 2 99999999999999999999\n",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++)
        if (*COLLECT(wrong[i]))
            fail_msg("%zu: taken", i);
    assert_string_equal(COLLECT("a\nb 1 2 16\n\n"), "b 1 2 16\n");
}

static void
a_field_is_bounded(void **state)
{
    (void)state;
    char line[600];
    for (size_t len = 511; len < 515; len++) {
        memset(line, 'x', len);
        snprintf(line + len, sizeof(line) - len, " 1 2 0\n");
        assert_string_equal(COLLECT(line), len <= 512 ? line : "");
    }
}

/* Whatever comes first, the same eight are kept. */
static void
of_too_many_the_first_are_kept(void **state)
{
    (void)state;
    static char up[256], down[256], first[256];
    for (int i = 0; i < 12; i++) {
        snprintf(up + strlen(up), sizeof(up) - strlen(up), "%c 1 2 0\n", 'a' + i);
        snprintf(down + strlen(down), sizeof(down) - strlen(down), "%c 1 2 0\n", 'l' - i);
    }
    memcpy(first, up, strlen("a 1 2 0\n") * UDPAI_TWIN_NOTICES_MAX);
    assert_string_equal(COLLECT(up), first);
    assert_string_equal(COLLECT(down), first);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_written),
        cmocka_unit_test(the_order_in_which_they_come_is_none_of_theirs),
        cmocka_unit_test(the_least_distance_counts),
        cmocka_unit_test(what_is_none_is_passed_over),
        cmocka_unit_test(a_field_is_bounded),
        cmocka_unit_test(of_too_many_the_first_are_kept),
    };
    return cmocka_run_group_tests_name("model twin_notices", tests, NULL, NULL);
}
