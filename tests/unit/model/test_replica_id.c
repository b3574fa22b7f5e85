/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of replicas: what is in them, and what is none. */
#include "model/replica_id.h"

#include "tests/harness/test.h"

static void
expect_id(const char *node, const char *replica, const char *expected)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *id = udpai_replica_id(udpai_str_from(node), udpai_str_from(replica));
    assert_non_null(id);
    assert_true(udpai_str_eq(udpai_bytes_view(id), udpai_str_from(expected)));
}

static void
it_has_the_first_digits(void **state)
{
    (void)state;
    expect_id("edge", "6c1b9a0e5f0f4d3b8f7a2e1d0c9b8a79", "edge~6c1b9a0e");
    expect_id("edge", "6c1b9a0e", "edge~6c1b9a0e");
    expect_id("edge", "", "edge");
    expect_id("edge", "6c1b9a0", "edge");
}

static void
expect_node(const char *id, const char *expected)
{
    assert_true(udpai_str_eq(udpai_replica_id_node(udpai_str_from(id)), udpai_str_from(expected)));
}

static void
the_node_is_in_it(void **state)
{
    (void)state;
    expect_node("edge~6c1b9a0e", "edge");
    expect_node("edge", "edge");
    expect_node("edge~6c1b9a0", "edge~6c1b9a0");
    expect_node("edge~6c1b9a0E", "edge~6c1b9a0E");
    expect_node("edge-6c1b9a0e", "edge-6c1b9a0e");
    expect_node("~6c1b9a0e", "~6c1b9a0e");
    expect_node("a~b~6c1b9a0e", "a~b");
}

static void
it_is_of_one_node(void **state)
{
    (void)state;
    const udpai_str id = UDPAI_STR("edge~6c1b9a0e");
    assert_true(udpai_replica_id_is_of(id, UDPAI_STR("edge")));
    assert_false(udpai_replica_id_is_of(id, UDPAI_STR("core")));
    assert_false(udpai_replica_id_is_of(id, id));
    assert_false(udpai_replica_id_is_of(UDPAI_STR("edge"), UDPAI_STR("edge")));
    assert_false(udpai_replica_id_is_of((udpai_str){0}, UDPAI_STR("edge")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_first_digits),
        cmocka_unit_test(the_node_is_in_it),
        cmocka_unit_test(it_is_of_one_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
