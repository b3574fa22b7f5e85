/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/table.h"

#include "base/error.h"
#include "tests/harness/oom.h"

static const char *const heads[] = {"NAME", "N", "WHY"};

static void
expect(const udpai_ctl_table *table, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_ctl_table_write(table, &out);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
test_columns(void **state)
{
    (void)state;
    udpai_ctl_table table;
    udpai_ctl_table_begin(&table, heads, 3);
    expect(&table, "NAME   N   WHY\n");
    assert_int_equal(udpai_ctl_table_n_rows(&table), 0);
    udpai_ctl_table_add(&table, UDPAI_STR("a-long-name"));
    udpai_ctl_table_addf(&table, "%d", 12345);
    udpai_ctl_table_add(&table, UDPAI_STR(""));
    udpai_ctl_table_add(&table, UDPAI_STR("b"));
    udpai_ctl_table_add(&table, UDPAI_STR(""));
    udpai_ctl_table_add(&table, UDPAI_STR("no room"));
    assert_int_equal(udpai_ctl_table_n_rows(&table), 2);
    expect(&table, "NAME          N       WHY\n"
                   "a-long-name   12345   -\n"
                   "b             -       no room\n");
    udpai_ctl_table_add(&table, UDPAI_STR("unfinished and left out"));
    assert_int_equal(udpai_ctl_table_n_rows(&table), 2);
    udpai_ctl_table_done(&table);
}

static void
test_characters_not_bytes(void **state)
{
    (void)state;
    static const char *const two[] = {"A", "B"};
    udpai_ctl_table table;
    udpai_ctl_table_begin(&table, two, 2);
    udpai_ctl_table_add(&table, UDPAI_STR("Grüße"));
    udpai_ctl_table_add(&table, UDPAI_STR("x"));
    udpai_ctl_table_add(&table, UDPAI_STR("12345"));
    udpai_ctl_table_add(&table, UDPAI_STR("y"));
    expect(&table, "A       B\nGrüße   x\n12345   y\n");
    udpai_ctl_table_done(&table);
}

/* What a peer has named must not reach the terminal as a command. */
static void
test_nothing_a_terminal_obeys(void **state)
{
    (void)state;

    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"\x1b[2J", "?[2J"},     {"a\nb\tc\rd", "a?b?c?d"},    {"\x7f", "?"},
        {"\xc2\x9b[2J", "?[2J"}, {"\xc2\xa0ok", "\xc2\xa0ok"}, {"\xc3\x9f", "\xc3\x9f"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf out = {0};
        udpai_ctl_put_text(&out, udpai_str_from(cases[i].text));
        assert_str(udpai_strbuf_view(&out), cases[i].shown);
        udpai_strbuf_done(&out);
    }
}

static udpa_err
make_table(void *context)
{
    (void)context;
    udpai_ctl_table table;
    udpai_strbuf out = {0};
    udpai_ctl_table_begin(&table, heads, 3);
    udpai_ctl_table_addf(&table, "%s", "x");
    udpai_ctl_table_add(&table, UDPAI_STR("y"));
    udpai_ctl_table_add(&table, UDPAI_STR("z"));
    udpai_ctl_table_write(&table, &out);
    udpa_err err = udpai_strbuf_failed(&out) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_strbuf_done(&out);
    udpai_ctl_table_done(&table);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    oom_torture(make_table, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_characters_not_bytes),
        cmocka_unit_test(test_nothing_a_terminal_obeys),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("ctl table", tests, NULL, NULL);
}
