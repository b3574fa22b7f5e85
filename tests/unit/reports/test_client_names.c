/* SPDX-License-Identifier: Apache-2.0 */
/* Names of reports on clients: made and read, and names of other things. */
#include "reports/client_names.h"

#include "tests/harness/test.h"

static void
expect_made(const char *node, const char *client, uint64_t number, const char *expected)
{
    udpai_strbuf out = {0};
    udpai_client_name name;
    udpai_client_names_put_client(&out, udpai_str_from(node), udpai_str_from(client), number);
    assert_false(udpai_strbuf_failed(&out));
    assert_string_equal(out.data, expected);
    assert_true(udpai_client_name_read(udpai_strbuf_view(&out), &name));
    assert_int_equal(name.number, number);
    assert_false(name.is_of_node);
    udpai_strbuf_done(&out);
}

static void
names_are_made_and_read(void **state)
{
    (void)state;
    expect_made("edge", "shop-1", 7, "udpa.clients/edge/shop-1/7/edge");
    expect_made("a/b", "x/y z", UINT64_MAX,
                "udpa.clients/a%2Fb/x%2Fy%20z/18446744073709551615/a%2Fb");
    expect_made("edge", "", 1, "udpa.clients/edge/-/1/edge");
}

static void
a_long_id_is_cut(void **state)
{
    (void)state;
    char id[2000];
    udpai_strbuf out = {0};
    memset(id, '/', sizeof(id));
    udpai_client_names_put_client(&out, UDPAI_STR("edge"), (udpai_str){id, sizeof(id)}, 1);
    assert_true(out.len < 300);
    udpai_strbuf_done(&out);
}

static void
the_name_of_the_node_is_told_apart(void **state)
{
    (void)state;
    udpai_client_name name;
    udpai_strbuf out = {0};
    udpai_client_names_put_node(&out, UDPAI_STR("a/b"));
    assert_string_equal(out.data, "udpa.clients/a%2Fb/a%2Fb");
    assert_true(udpai_client_name_read(udpai_strbuf_view(&out), &name));
    assert_true(name.is_of_node);
    assert_true(udpai_str_eq(name.node, UDPAI_STR("a%2Fb")));
    udpai_strbuf_done(&out);
}

static void
what_is_none_of_these_is_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "udpa.clients",
        "udpa.clients/",
        "udpa.clients//",
        "udpa.clients/edge",
        "udpa.clients/edge/other",
        "udpa.client/edge/edge",
        "udpa.clients/edge/shop/1",
        "udpa.clients/edge/shop/1/other",
        "udpa.clients/edge/shop/0/edge",
        "udpa.clients/edge/shop/01/edge",
        "udpa.clients/edge/shop//edge",
        "udpa.clients/edge/shop/x/edge",
        "udpa.clients/edge/shop/-1/edge",
        "udpa.clients/edge/shop/18446744073709551616/edge",
        "udpa.clients/edge/shop/1/edge/edge",
    };
    udpai_client_name name;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        assert_false(udpai_client_name_read(udpai_str_from(texts[i]), &name));
}

static void
a_node_knows_when_it_is_asked(void **state)
{
    (void)state;
    static const char *const of_all[] = {"*",
                                         "*udpa",
                                         "*udpa.clients",
                                         "*udpa.clients/edge",
                                         "*udpa.clients/edge/shop",
                                         "udpa.clients/edge/edge",
                                         "udpa.clients/edge/shop/1/edge"},
                             *const of_others[] = {"*com.acme", "*udpa.clients/edge-1",
                                                   "*udpa.clients/ed", "udpa.clients/other/other",
                                                   "udpa.clients"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(of_all); i++)
        assert_true(udpai_client_names_match(udpai_str_from(of_all[i]), UDPAI_STR("edge")));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(of_others); i++)
        assert_false(udpai_client_names_match(udpai_str_from(of_others[i]), UDPAI_STR("edge")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_made_and_read),
        cmocka_unit_test(a_long_id_is_cut),
        cmocka_unit_test(the_name_of_the_node_is_told_apart),
        cmocka_unit_test(what_is_none_of_these_is_not_read),
        cmocka_unit_test(a_node_knows_when_it_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
