/* SPDX-License-Identifier: Apache-2.0 */
/* What this node has written itself, and need not write again yet. */
#include "federation/refreshes.h"

#include <stdio.h>

#include "tests/harness/resources.h"

static const udpai_str type = {TEST_CDS, sizeof(TEST_CDS) - 1};

static uint64_t
numbered(unsigned i)
{
    char name[32];
    int len = snprintf(name, sizeof(name), "com.acme/%u", i);
    return udpai_refresh_key(UDPAI_STR("publisher:a/a"), type, (udpai_str){name, (size_t)len});
}

static void
write_one(udpai_refreshes *refreshes, uint64_t key, uint64_t until_ms, uint64_t now_ms)
{
    udpai_refresh one = {key, until_ms};
    const udpai_refresh_list list = {&one, 1, 1};
    udpai_refreshes_end(refreshes, &list, now_ms);
}

static void
each_part_of_a_key_counts(void **state)
{
    (void)state;
    uint64_t one = udpai_refresh_key(UDPAI_STR("a"), UDPAI_STR("b"), UDPAI_STR("c"));
    assert_int_equal(one, udpai_refresh_key(UDPAI_STR("a"), UDPAI_STR("b"), UDPAI_STR("c")));
    assert_int_not_equal(one, udpai_refresh_key(UDPAI_STR("x"), UDPAI_STR("b"), UDPAI_STR("c")));
    assert_int_not_equal(one, udpai_refresh_key(UDPAI_STR("a"), UDPAI_STR("x"), UDPAI_STR("c")));
    assert_int_not_equal(one, udpai_refresh_key(UDPAI_STR("a"), UDPAI_STR("b"), UDPAI_STR("x")));
    assert_int_not_equal(one, udpai_refresh_key(UDPAI_STR("ab"), UDPAI_STR(""), UDPAI_STR("c")));
}

static void
it_lasts_until_its_time(void **state)
{
    (void)state;
    udpai_refreshes refreshes = {0};
    assert_false(udpai_refreshes_have(&refreshes, numbered(1), 0));
    write_one(&refreshes, numbered(1), 100, 0);
    assert_true(udpai_refreshes_have(&refreshes, numbered(1), 99));
    assert_false(udpai_refreshes_have(&refreshes, numbered(1), 100));
    assert_false(udpai_refreshes_have(&refreshes, numbered(2), 99));
    write_one(&refreshes, numbered(1), 200, 100);
    assert_true(udpai_refreshes_have(&refreshes, numbered(1), 199));
    assert_int_equal(refreshes.all.n, 1);
    udpai_refreshes_done(&refreshes);
}

/* One write a millisecond, each of another name: of 100,000 those of the last second are there. */
static void
what_is_over_is_forgotten(void **state)
{
    (void)state;
    udpai_refreshes refreshes = {0};
    for (unsigned i = 0; i < 100000; i++) {
        write_one(&refreshes, numbered(i), i + 1000, i);
        assert_true(refreshes.all.n <= 2 * 1000 + 1);
        if (i >= 999)
            assert_true(udpai_refreshes_have(&refreshes, numbered(i - 999), i));
        if (i >= 1000)
            assert_false(udpai_refreshes_have(&refreshes, numbered(i - 1000), i));
    }
    udpai_refreshes_done(&refreshes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_of_a_key_counts),
        cmocka_unit_test(it_lasts_until_its_time),
        cmocka_unit_test(what_is_over_is_forgotten),
    };
    return cmocka_run_group_tests_name("federation/refreshes", tests, NULL, NULL);
}
