/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces of udpactl bench, and which stream subscribes to which. */
#include "tests/harness/test.h"
#include "tools/bench/spaces.h"

static void
without_any_there_is_one(void **state)
{
    (void)state;
    const udpai_load_options options = {.name_space = "com.acme", .n_resources = 7};
    udpai_load_space room;
    assert_int_equal(udpai_load_n_spaces(&options), 1);
    assert_int_equal(udpai_load_space_of(&options, 5), 0);
    assert_int_equal(udpai_load_n_in_space(&options, 0), 7);
    udpai_load_space_name(room, &options, 0);
    assert_string_equal(room, "com.acme");
}

static void
each_has_a_name(void **state)
{
    (void)state;
    const udpai_load_options options = {
        .name_space = "com.acme", .n_namespaces = 12, .n_resources = 100};
    udpai_load_space room;
    udpai_load_space_name(room, &options, 0);
    assert_string_equal(room, "com.acme.t0");
    udpai_load_space_name(room, &options, 11);
    assert_string_equal(room, "com.acme.t11");
}

/* As many as are counted one by one, from any of them on. */
static void
resources_lie_in_them_by_turns(void **state)
{
    (void)state;
    udpai_load_options options = {.name_space = "com.acme"};
    for (options.n_namespaces = 1; options.n_namespaces < 7; options.n_namespaces++)
        for (options.n_resources = 0; options.n_resources < 20; options.n_resources++)
            for (size_t first = 0; first < 25; first++) {
                size_t n = 0;
                for (size_t i = first; i < options.n_resources; i++)
                    n += udpai_load_space_of(&options, i) == udpai_load_space_of(&options, first);
                assert_int_equal(udpai_load_n_in_space(&options, first), n);
            }
}

/* From its own one on, around. */
static void
a_stream_asks_for_several(void **state)
{
    (void)state;
    const udpai_load_options one = {.n_namespaces = 5, .n_resources = 12};
    const udpai_load_options three = {.n_namespaces = 5, .n_of_a_stream = 3, .n_resources = 12};
    for (size_t first = 0; first < 5; first++) {
        size_t n_one = 0, n_three = 0;
        for (size_t i = 0; i < 12; i++) {
            n_one += udpai_load_subscribes_to_space(&one, first, udpai_load_space_of(&one, i));
            n_three +=
                udpai_load_subscribes_to_space(&three, first, udpai_load_space_of(&three, i));
        }
        assert_int_equal(udpai_load_n_in_spaces(&one, first), n_one);
        assert_int_equal(udpai_load_n_in_spaces(&three, first), n_three);
    }
    assert_true(udpai_load_subscribes_to_space(&three, 4, 1));
    assert_false(udpai_load_subscribes_to_space(&three, 4, 2));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_any_there_is_one),
        cmocka_unit_test(each_has_a_name),
        cmocka_unit_test(resources_lie_in_them_by_turns),
        cmocka_unit_test(a_stream_asks_for_several),
    };
    return cmocka_run_group_tests_name("bench/spaces", tests, NULL, NULL);
}
