/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of links as bytes, and which links are in them. */
#include "model/links.h"
#include "tests/harness/oom.h"

static void
test_the_same_links_are_the_same_bytes(void **state)
{
    (void)state;
    uint64_t one[] = {7, 300, 2, 7, 2}, other[] = {300, 2, 7};
    size_t n = udpai_links_sort(one, 5);
    assert_int_equal(n, 3);
    assert_int_equal(udpai_links_sort(other, 3), 3);
    assert_memory_equal(one, other, sizeof(other));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *links = udpai_links_new(one, n);
    assert_non_null(links);
    assert_memory_equal(udpa_bytes_data(links), other, sizeof(other));
    assert_int_equal(udpa_bytes_size(links), sizeof(other));
}

static void
test_which_are_in_them(void **state)
{
    (void)state;
    const uint64_t numbers[] = {2, UINT64_MAX};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *links = udpai_links_new(numbers, 2);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *none = udpai_links_new(NULL, 0);
    assert_non_null(links);
    assert_non_null(none);
    assert_true(udpai_links_have(links, 2));
    assert_true(udpai_links_have(links, UINT64_MAX));
    assert_false(udpai_links_have(links, 1));
    assert_false(udpai_links_have(none, 1));
    assert_true(udpai_links_have(NULL, 1)); /* all */
}

static void
test_what_bytes_are_links(void **state)
{
    (void)state;

    static const struct {
        uint64_t numbers[3];
        size_t size;
        bool is_good;
    } cases[] = {{{0}, 0, true},  {{1}, 8, true},      {{1, 2, 3}, 24, true},
                 {{0}, 8, false}, {{1, 1}, 16, false}, {{2, 1}, 16, false},
                 {{1}, 7, false}, {{1, 2}, 15, false}, {{1, 3, 2}, 24, false}};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        char room[25]; /* they may lie anywhere */
        memcpy(room + 1, cases[i].numbers, sizeof(cases[i].numbers));
        assert_int_equal(udpai_links_check((udpai_str){room + 1, cases[i].size}), cases[i].is_good);
    }
}

static udpa_err
make_some(void *context)
{
    const uint64_t numbers[] = {1, 2};
    (void)context;
    udpa_bytes *links = udpai_links_new(numbers, 2);
    bool is_made = links != NULL;
    udpa_bytes_unref(links);
    return is_made ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_without_memory(void **state)
{
    (void)state;
    assert_true(oom_torture(make_some, NULL) > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_links_are_the_same_bytes),
        cmocka_unit_test(test_which_are_in_them),
        cmocka_unit_test(test_what_bytes_are_links),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
