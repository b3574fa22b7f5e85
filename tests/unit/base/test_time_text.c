/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text, beside those of the C library. */
#include "base/time_text.h"

#include <time.h>

#include "tests/harness/test.h"

static void
assert_time(int64_t seconds, const char *expected)
{
    char text[UDPAI_TIME_TEXT_SIZE];
    udpai_time_text(text, seconds * 1000000 + 999999);
    assert_string_equal(text, expected);
}

static void
test_known_times(void **state)
{
    (void)state;
    assert_time(0, "1970-01-01T00:00:00Z");
    assert_time(951782400, "2000-02-29T00:00:00Z");
    assert_time(951868799, "2000-02-29T23:59:59Z");
    assert_time(4107542400, "2100-03-01T00:00:00Z");
    assert_time(-5, "1970-01-01T00:00:00Z");
    assert_time(253402300799, "9999-12-31T23:59:59Z");
    assert_time(INT64_C(9000000000000), "9999-12-31T23:59:59Z");
}

/* Each day for 500 years, at another time of it. */
static void
test_each_day(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 500 * 366; day++) {
        time_t seconds = (time_t)(day * 86400 + day * 7919 % 86400);
        char expected[32];
        struct tm parts;
        assert_non_null(gmtime_r(&seconds, &parts));
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &parts);
        assert_time((int64_t)seconds, expected);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_times),
        cmocka_unit_test(test_each_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
