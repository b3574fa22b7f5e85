/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of servers. */
#include "model/server_list.h"

#include <stdio.h>

#include "tests/harness/test.h"

static void
check_parts(const char *list, const char *parts)
{
    udpai_str rest = udpai_str_from(list), server;
    char text[400] = "";
    size_t n = 0;
    while (udpai_server_list_cut(&rest, &server)) {
        assert_true(udpai_str_eq(server, udpai_server_list_at(udpai_str_from(list), n)));
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "<%.*s>", UDPAI_SHOWN(server));
        n++;
    }
    assert_string_equal(text, parts);
    assert_int_equal(udpai_server_list_size(udpai_str_from(list)), n);
    assert_int_equal(udpai_server_list_at(udpai_str_from(list), n).len, 0);
}

static void
a_list_has_its_servers_in_order(void **state)
{
    (void)state;
    check_parts("a:1", "<a:1>");
    check_parts("a:1,b:2,c:3", "<a:1><b:2><c:3>");
    check_parts(" a:1 ,\tb:2  ", "<a:1><b:2>");
    check_parts("[::1]:1,[2001:db8::1]:2", "<[::1]:1><[2001:db8::1]:2>");
    check_parts(",a:1,", "<><a:1><>");
    check_parts(",", "<><>");
}

static void
no_text_has_no_server(void **state)
{
    (void)state;
    assert_int_equal(udpai_server_list_size((udpai_str){0}), 0);
    assert_int_equal(udpai_server_list_size(UDPAI_STR("")), 0);
    assert_int_equal(udpai_server_list_at((udpai_str){0}, 0).len, 0);
}

/* NULL: it is one. */
static void
check_error(const char *list, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_server_list_check(udpai_str_from(list), &error);
    assert_int_equal(err, words ? UDPA_ERR_INVAL : UDPA_OK);
    if (words)
        assert_non_null(strstr(udpa_error_message(error), words));
}

static void
what_is_no_list_is_refused(void **state)
{
    (void)state;
    check_error("a:1", NULL);
    check_error("a:1, b:1", NULL);
    check_error("a:1,,b:1", "server 2 of the list is empty");
    check_error("a:1, ", "server 2 of the list is empty");
    check_error(",a:1", "server 1 of the list is empty");
    check_error("a:1,b:1,a:1", "'a:1' is in the list twice");
    check_error("a:1, a:1", "'a:1' is in the list twice");
    check_error("a:1,a:10", NULL);
}

static void
a_list_has_at_most_16(void **state)
{
    (void)state;
    char list[200] = "h:1";
    for (unsigned i = 2; i <= UDPAI_SERVERS_MAX; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), ",h:%u", i);
    check_error(list, NULL);
    snprintf(list + strlen(list), sizeof(list) - strlen(list), ",h:0");
    check_error(list, "17 servers are more than the 16");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_has_its_servers_in_order),
        cmocka_unit_test(no_text_has_no_server),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(a_list_has_at_most_16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
