/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of resources, which those of one publisher share. */
#include "model/hop_path.h"

#include "tests/harness/resources.h"

#define ACME UDPAI_STR("acme")

static udpai_hop
hop(const char *node_id, const char *authority)
{
    return (udpai_hop){
        .node_id = udpai_str_from(node_id), .authority = udpai_str_from(authority), .time_us = 7};
}

static void
texts_are_those_it_was_made_of(void **state)
{
    (void)state;
    udpai_hop hops[] = {hop("node-1", "acme"), hop("node-2", ""), hop("", "node-2")};
    hops[1].instance = UDPAI_STR("7f");
    udpai_hop_path *path = udpai_hop_path_of(NULL, ACME, hops, 3);
    assert_non_null(path);
    assert_string_equal(udpai_hop_path_authority(path).data, "acme");
    assert_int_equal(udpai_hop_path_n_hops(path), 3);
    for (size_t i = 0; i < 3; i++) {
        udpai_hop there = udpai_hop_path_hop(path, i);
        assert_true(udpai_str_eq(there.node_id, hops[i].node_id));
        assert_true(udpai_str_eq(there.authority, hops[i].authority));
        assert_true(udpai_str_eq(there.instance, hops[i].instance));
        assert_int_equal(there.instance.data[there.instance.len], 0);
        assert_int_equal(there.node_id.data[there.node_id.len], 0);
        assert_int_equal(there.authority.data[there.authority.len], 0);
    }
    assert_true(udpai_hop_path_size(path) > strlen("acmenode-1acmenode-2node-2"));
    udpai_hop_path_unref(path);
}

static void
one_without_anything_can_be(void **state)
{
    (void)state;
    udpai_hop_path *path = udpai_hop_path_of(NULL, (udpai_str){0}, NULL, 0);
    assert_non_null(path);
    assert_string_equal(udpai_hop_path_authority(path).data, "");
    assert_int_equal(udpai_hop_path_n_hops(path), 0);
    assert_null(udpai_hop_path_unref(path));
    assert_null(udpai_hop_path_unref(NULL));
}

/* But for the time, which is each resource's own. */
static void
the_same_is_shared(void **state)
{
    (void)state;
    udpai_hop hops[] = {hop("node-1", "acme"), hop("node-2", "node-1")};
    udpai_hop_path *path = udpai_hop_path_of(NULL, ACME, hops, 2);
    hops[1].time_us = 8;
    udpai_hop_path *again = udpai_hop_path_of(path, ACME, hops, 2);
    assert_ptr_equal(again, path);
    udpai_hop_path_unref(path);
    assert_string_equal(udpai_hop_path_authority(again).data, "acme");
    udpai_hop_path_unref(again);
}

static void
another_is_not_shared(void **state)
{
    (void)state;
    const udpai_hop hops[] = {hop("node-1", "acme"), hop("node-2", "node-1")};
    const udpai_hop others[][2] = {
        {hop("node-1", "acme"), hop("node-3", "node-1")},
        {hop("node-1", "acme"), hop("node-2", "node-")},
        {hop("node-1a", "cme"), hop("node-2", "node-1")}, /* the same text, cut elsewhere */
    };
    udpai_hop_path *path = udpai_hop_path_of(NULL, ACME, hops, 2);
    udpai_hop twin[] = {hops[0], hops[1]};
    twin[1].instance = UDPAI_STR("7f");
    udpai_hop_path *of_twin = udpai_hop_path_of(path, ACME, twin, 2);
    assert_ptr_not_equal(of_twin, path);
    udpai_hop_path_unref(of_twin);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        udpai_hop_path *other = udpai_hop_path_of(path, ACME, others[i], 2);
        assert_ptr_not_equal(other, path);
        assert_true(udpai_str_eq(udpai_hop_path_hop(other, 1).node_id, others[i][1].node_id));
        udpai_hop_path_unref(other);
    }
    udpai_hop_path *shorter = udpai_hop_path_of(path, ACME, hops, 1);
    udpai_hop_path *of_another = udpai_hop_path_of(path, UDPAI_STR("acm"), hops, 2);
    assert_ptr_not_equal(shorter, path);
    assert_ptr_not_equal(of_another, path);
    udpai_hop_path_unref(shorter);
    udpai_hop_path_unref(of_another);
    udpai_hop_path_unref(path);
}

/* What limits count does not depend on whom it is shared with. */
static void
resources_share_it(void **state)
{
    (void)state;
    const test_resource spec = {.name = "com.acme/a",
                                .authority = "acme",
                                .value = "x",
                                .hops = {{"node-1", "acme"}, {"node-2", "node-1"}}};
    udpa_resource *first = test_resource_make(&spec);
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(first, &room);
    udpa_resource *second = NULL, *third = NULL;
    parts.hops = room.hops;
    room.hops[0].time_us = 5;
    assert_ok(udpai_resource_make(&second, &parts));
    parts.n_hops = 1;
    assert_ok(udpai_resource_make(&third, &parts));
    assert_ptr_equal(udpai_resource_hop_path(second), udpai_resource_hop_path(first));
    assert_ptr_not_equal(udpai_resource_hop_path(third), udpai_resource_hop_path(first));
    assert_int_equal(udpai_resource_hop(first, 0).time_us, 1000000);
    assert_int_equal(udpai_resource_hop(second, 0).time_us, 5);
    assert_int_equal(udpai_resource_footprint(second), udpai_resource_footprint(first));
    assert_true(udpai_resource_footprint(third) < udpai_resource_footprint(first));
    udpa_resource_unref(first);
    assert_string_equal(udpa_resource_authority(second), "acme");
    udpa_resource_unref(second);
    udpa_resource_unref(third);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_those_it_was_made_of),
        cmocka_unit_test(one_without_anything_can_be),
        cmocka_unit_test(the_same_is_shared),
        cmocka_unit_test(another_is_not_shared),
        cmocka_unit_test(resources_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
