/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: widths, long texts, sorting. */
#include "cli/table.h"

#include "base/error.h"
#include "tests/harness/oom.h"

static const char *const heads[] = {"NAME", "N", "WHY"};
static udpai_cli_layout plain;

static void
expect(const udpai_cli_table *table, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_cli_table_write(table, &out);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
test_columns(void **state)
{
    (void)state;
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &plain, heads, 3);
    expect(&table, "NAME   N   WHY\n");
    assert_int_equal(udpai_cli_table_n_rows(&table), 0);
    udpai_cli_table_add(&table, UDPAI_STR("a-long-name"));
    udpai_cli_table_addf(&table, "%d", 12345);
    udpai_cli_table_add(&table, UDPAI_STR(""));
    udpai_cli_table_add(&table, UDPAI_STR("b"));
    udpai_cli_table_add(&table, UDPAI_STR(""));
    udpai_cli_table_add(&table, UDPAI_STR("no room"));
    assert_int_equal(udpai_cli_table_n_rows(&table), 2);
    expect(&table, "NAME          N       WHY\n"
                   "a-long-name   12345   -\n"
                   "b             -       no room\n");
    udpai_cli_table_add(&table, UDPAI_STR("unfinished and left out"));
    assert_int_equal(udpai_cli_table_n_rows(&table), 2);
    udpai_cli_table_done(&table);
}

static void
test_characters_not_bytes(void **state)
{
    (void)state;
    static const char *const two[] = {"A", "B"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &plain, two, 2);
    udpai_cli_table_add(&table, UDPAI_STR("Grüße"));
    udpai_cli_table_add(&table, UDPAI_STR("x"));
    udpai_cli_table_add(&table, UDPAI_STR("12345"));
    udpai_cli_table_add(&table, UDPAI_STR("y"));
    expect(&table, "A       B\nGrüße   x\n12345   y\n");
    udpai_cli_table_done(&table);
}

/* What a peer has named must not reach the terminal as a command; test_display has all cases. */
static void
test_nothing_a_terminal_obeys(void **state)
{
    (void)state;
    static const char *const one[] = {"A"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &plain, one, 1);
    udpai_cli_table_add_text(&table, "\x1b[2J\n");
    expect(&table, "A\n?[2J?\n");
    udpai_cli_table_done(&table);
}

static void
test_wide_characters(void **state)
{
    (void)state;
    static const char *const two[] = {"NAME", "B"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &plain, two, 2);
    udpai_cli_table_add_text(&table, "配置中心");
    udpai_cli_table_add_text(&table, "x");
    udpai_cli_table_add_text(&table, "e\xcc\x81");
    udpai_cli_table_add_text(&table, "y");
    udpai_cli_table_add_text(&table, "\xff\xff");
    udpai_cli_table_add_text(&table, "z");
    expect(&table, "NAME       B\n配置中心   x\ne\xcc\x81          y\n??         z\n");
    udpai_cli_table_done(&table);
}

/* ---- numbers, and the order of rows ---- */

static void
add_rows(udpai_cli_table *table, udpai_cli_layout *layout)
{
    static const char *const columns[] = {"NAME", "SENT", "LAST SEEN"};

    static const struct {
        const char *name;
        uint64_t sent;
        double age;
        const char *age_text;
    } rows[] = {
        {"r10", 9, 60, "1 min"},
        {"r2", 100, 7200, "2 h"},
        {"r1", 9, 0, ""},
        {"", 0, 59, "59 s"},
    };

    udpai_cli_table_begin(table, layout, columns, UDPAI_ARRAY_LEN(columns));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rows); i++) {
        udpai_cli_table_add_text(table, rows[i].name);
        udpai_cli_table_add_number(table, rows[i].sent);
        udpai_cli_table_add_quantity(table, rows[i].age, udpai_str_from(rows[i].age_text));
    }
}

static void
test_numbers_stand_below_each_other(void **state)
{
    (void)state;
    static const char *const two[] = {"N", "MANY"};
    udpai_cli_table table;
    add_rows(&table, &plain);
    expect(&table, "NAME   SENT   LAST SEEN\n"
                   "r10       9   1 min\n"
                   "r2      100   2 h\n"
                   "r1        9   -\n"
                   "-         0   59 s\n");
    udpai_cli_table_done(&table);
    udpai_cli_table_begin(&table, &plain, two, 2);
    udpai_cli_table_add_text(&table, "no number");
    udpai_cli_table_add_number(&table, 7);
    udpai_cli_table_add_number(&table, 12345);
    udpai_cli_table_add_text(&table, "");
    expect(&table, "N           MANY\nno number      7\n12345          -\n");
    udpai_cli_table_done(&table);
}

static void
expect_order(const char *sort_by, bool is_descending, const char *wanted)
{
    udpai_cli_layout layout = {
        .without_heads = true, .sort_by = sort_by, .is_descending = is_descending};
    udpai_cli_table table;
    udpai_strbuf out = {0}, names = {0};
    add_rows(&table, &layout);
    udpai_cli_table_write(&table, &out);
    udpai_cli_table_done(&table);
    for (const char *line = out.data; *line; line = strchr(line, '\n') + 1)
        udpai_strbuf_printf(&names, "%.*s ", (int)strcspn(line, " "), line);
    assert_str(udpai_strbuf_view(&names), wanted);
    assert_int_equal(layout.is_sorted, strcmp(sort_by, "age") != 0);
    assert_int_equal(layout.heads.n, 3);
    udpai_strbuf_done(&out);
    udpai_strbuf_done(&names);
    udpai_cli_layout_done(&layout);
}

/* What is empty is last, whatever the direction. */
static void
test_sorting(void **state)
{
    (void)state;
    expect_order("NAME", false, "r1 r2 r10 - ");
    expect_order("name", true, "r10 r2 r1 - ");
    expect_order("sent", false, "- r10 r1 r2 ");
    expect_order("Sent", true, "r2 r10 r1 - ");
    expect_order("last-seen", false, "- r10 r2 r1 ");
    expect_order("LAST SEEN", true, "r2 r10 - r1 ");
    expect_order("age", false, "r10 r2 r1 - ");
}

static void
test_own_order_of_a_table(void **state)
{
    (void)state;
    udpai_cli_table table;
    add_rows(&table, &plain);
    table.sorted_by = "NAME";
    expect(&table, "NAME   SENT   LAST SEEN\n"
                   "r1        9   -\n"
                   "r2      100   2 h\n"
                   "r10       9   1 min\n"
                   "-         0   59 s\n");
    udpai_cli_table_done(&table);
}

/* ---- the width of a terminal ---- */

static void
expect_within(size_t n_columns, bool is_wide, const char *wanted)
{
    static const char *const columns[] = {"NAME", "SENT", "WHY"};
    udpai_cli_layout layout = {.n_columns = n_columns, .is_wide = is_wide};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &layout, columns, UDPAI_ARRAY_LEN(columns));
    udpai_cli_table_add_text(&table, "a-name-of-some-length");
    udpai_cli_table_add_number(&table, 123456789012);
    udpai_cli_table_add_text(&table, "配置中心配置中心");
    expect(&table, wanted);
    udpai_cli_table_done(&table);
}

static void
test_rows_do_not_wrap(void **state)
{
    (void)state;
    static const char whole[] = "NAME                            SENT   WHY\n"
                                "a-name-of-some-length   123456789012   配置中心配置中心\n";
    expect_within(0, false, whole);
    expect_within(55, false, whole);
    expect_within(20, true, whole);
    expect_within(54, false,
                  "NAME                           SENT   WHY\n"
                  "a-name-of-some-leng…   123456789012   配置中心配置中心\n");
    expect_within(40, false,
                  "NAME                  SENT   WHY\n"
                  "a-name-of-…   123456789012   配置中心配…\n");
    expect_within(20, false,
                  "NAME               …\n"
                  "a-name-…   12345678…\n");
}

static void
test_versions(void **state)
{
    (void)state;
    static const char *const one[] = {"VERSION"};
    udpai_cli_layout wide = {.is_wide = true};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, &plain, one, 1);
    udpai_cli_table_add_version(&table, UDPAI_STR("0123456789abcdef0123456789abcdef"));
    expect(&table, "VERSION\n0123456789ab…\n");
    udpai_cli_table_done(&table);
    udpai_cli_table_begin(&table, &wide, one, 1);
    udpai_cli_table_add_version(&table, UDPAI_STR("0123456789abcdef0123456789abcdef"));
    expect(&table, "VERSION\n0123456789abcdef0123456789abcdef\n");
    udpai_cli_table_done(&table);
}

static udpa_err
make_table(void *context)
{
    (void)context;
    udpai_cli_table table;
    udpai_strbuf out = {0};
    udpai_cli_table_begin(&table, &plain, heads, 3);
    udpai_cli_table_addf(&table, "%s", "x");
    udpai_cli_table_add(&table, UDPAI_STR("y"));
    udpai_cli_table_add(&table, UDPAI_STR("z"));
    udpai_cli_table_write(&table, &out);
    udpa_err err = udpai_strbuf_failed(&out) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_strbuf_done(&out);
    udpai_cli_table_done(&table);
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
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_numbers_stand_below_each_other),
        cmocka_unit_test(test_sorting),
        cmocka_unit_test(test_own_order_of_a_table),
        cmocka_unit_test(test_rows_do_not_wrap),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("cli table", tests, NULL, NULL);
}
