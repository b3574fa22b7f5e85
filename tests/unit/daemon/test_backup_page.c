/* SPDX-License-Identifier: Apache-2.0 */
/* What there is no backup of. Making and reading one: tests/product/test_backup.py. */
#include "daemon/backup_page.h"

#include "tests/harness/test.h"

static void
expect(udpai_plan *plan, const char *body, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_strbuf text = {0};
    udpai_backup_page *page = udpai_backup_page_new(plan, NULL);
    assert_non_null(page);
    assert_int_equal(
        udpai_backup_page_ask(page, (udpai_str){0}, udpai_str_from(body), &text, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    assert_int_equal(text.len, 0);
    udpai_backup_page_free(page);
}

static void
a_replica_refers_to_etcd(void **state)
{
    udpai_plan plan = {.state_directory = "/proc/no", .etcd = {.n_endpoints = 1}};
    (void)state;
    expect(&plan, "{}", UDPA_ERR_PRECONDITION, "back up etcd ('etcdctl snapshot save FILE')");
}

static void
what_stores_nothing_has_none(void **state)
{
    udpai_plan plan = {0};
    (void)state;
    expect(&plan, "{}", UDPA_ERR_PRECONDITION, "stores nothing");
    expect(&plan, "{\"look\": true}", UDPA_ERR_PRECONDITION, "stores nothing");
}

static void
another_body_is_an_error(void **state)
{
    udpai_plan plan = {.state_directory = "/proc/no"};
    (void)state;
    expect(&plan, "{\"path\": \"/etc/passwd\"}", UDPA_ERR_INVAL, "usage: POST /backup");
    expect(&plan, "[", UDPA_ERR_INVAL, "");
}

static void
a_part_needs_both_numbers(void **state)
{
    static const char *const forms[] = {
        "", "id=1", "from=1", "id=1&from=x", "id=1&from=1&more=1", "id=1&from=9223372036854775808"};
    udpai_plan plan = {.state_directory = "/proc/no"};
    udpai_strbuf bytes = {0};
    udpai_backup_page *page = udpai_backup_page_new(&plan, NULL);
    (void)state;
    assert_non_null(page);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(forms); i++)
        assert_int_equal(udpai_backup_page_read(page, udpai_str_from(forms[i]), &bytes, NULL),
                         UDPA_ERR_INVAL);
    assert_int_equal(bytes.len, 0);
    udpai_backup_page_free(page);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replica_refers_to_etcd),
        cmocka_unit_test(what_stores_nothing_has_none),
        cmocka_unit_test(another_body_is_an_error),
        cmocka_unit_test(a_part_needs_both_numbers),
    };
    return cmocka_run_group_tests_name("daemon backup_page", tests, NULL, NULL);
}
