/* SPDX-License-Identifier: Apache-2.0 */
/* Why a stream of udpactl bench ended, as text. */
#include "base/alloc.h"
#include "tests/harness/test.h"
#include "tools/bench/reason.h"

static void
assert_reason(const udpai_load_end *end, const char *expected)
{
    udpai_strbuf out = {0};
    udpai_load_put_reason(&out, end);
    assert_str(udpai_strbuf_view(&out), expected);
    udpai_strbuf_done(&out);
}

#define NO_STATUS UDPAI_LOAD_NO_STATUS

static void
what_the_server_says(void **state)
{
    (void)state;
    assert_reason(&(udpai_load_end){200, 7, UDPAI_STR("by%20a rule%3A none"), NULL},
                  "gRPC status 7 (permission denied): by a rule: none");
    assert_reason(&(udpai_load_end){200, 12, UDPAI_STR(""), "NO_ERROR"},
                  "gRPC status 12 (not implemented)");
    assert_reason(&(udpai_load_end){200, 0, UDPAI_STR(""), NULL}, "gRPC status 0");
    assert_reason(&(udpai_load_end){NO_STATUS, 999, UDPAI_STR("x"), NULL},
                  "gRPC status 999 (unknown error): x");
}

static void
what_is_not_encoded_well_is_shown_as_it_is(void **state)
{
    (void)state;
    assert_reason(&(udpai_load_end){200, 5, UDPAI_STR("100% of %2"), NULL},
                  "gRPC status 5 (not found): 100% of %2");
}

static void
what_is_long_is_cut(void **state)
{
    (void)state;
    char text[4 * UDPAI_SHOWN_MAX];
    udpai_strbuf out = {0};
    memset(text, 'x', sizeof(text));
    udpai_load_put_reason(&out, &(udpai_load_end){200, 5, {text, sizeof(text)}, NULL});
    assert_true(out.len < UDPAI_SHOWN_MAX + 50);
    udpai_strbuf_done(&out);
}

static void
else_what_it_has_done(void **state)
{
    (void)state;
    assert_reason(&(udpai_load_end){404, NO_STATUS, UDPAI_STR(""), "CANCEL"}, "HTTP status 404");
    assert_reason(&(udpai_load_end){200, NO_STATUS, UDPAI_STR(""), "CANCEL"},
                  "RST_STREAM with CANCEL");
    assert_reason(&(udpai_load_end){NO_STATUS, NO_STATUS, UDPAI_STR(""), NULL}, "without a status");
}

static void
without_memory_it_is_as_it_came(void **state)
{
    (void)state;
    udpai_strbuf out = {0};
    udpai_strbuf_extend(&out, 100);
    out.len = 0;
    udpai_alloc_fail_after(0);
    udpai_load_put_reason(&out, &(udpai_load_end){200, 5, UDPAI_STR("a%20b"), NULL});
    udpai_alloc_fail_after(-1);
    assert_str(udpai_strbuf_view(&out), "gRPC status 5 (not found): a%20b");
    udpai_strbuf_done(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_server_says),
        cmocka_unit_test(what_is_not_encoded_well_is_shown_as_it_is),
        cmocka_unit_test(what_is_long_is_cut),
        cmocka_unit_test(else_what_it_has_done),
        cmocka_unit_test(without_memory_it_is_as_it_came),
    };
    return cmocka_run_group_tests_name("bench/reason", tests, NULL, NULL);
}
