/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a store is the one that was seen. */
#include "model/lineage.h"

#include "tests/harness/test.h"

static void
a_store_that_has_gone_on_is_the_same(void **state)
{
    (void)state;

    static const struct {
        const char *lineage, *seen;
        uint64_t commit;
        bool is_same;
    } cases[] = {
        {"e a@0", "e a", 7, true}, /* in the same opening */
        {"e a@0 b@7", "e a", 7, true},
        {"e a@0 b@9 c@9 d@20", "e a", 7, true},
        {"e a@0 b@6", "e a", 7, false},      /* copied back to its sixth commit */
        {"e a@0 b@6 c@30", "e a", 7, false}, /* and gone on */
        {"e a@0 b@0 c@7", "e b", 7, true},
        {"e a@0 b@0 c@7", "e a", 7, false}, /* copied back before the second opening */
        {"e a@0 b@5", "e c", 2, false},     /* that opening is none of it */
        {"e b@5 c@9", "e a", 2, false},     /* or is not told of any more */
        {"f a@0", "e a", 0, false},
        {"e", "e a", 0, false},
        {"e a@0", "e", 7, true}, /* seen when it told of no openings */
        {"e", "e", 7, true},
        {"e a@0 b", "e a", 7, false}, /* nothing that can be read */
        {"e a@0 @7", "e a", 7, false},
        {"e a@0 b@7x", "e a", 7, false},
        {"e a@0  b@7", "e a", 7, false},
        {"e b@99999999999999999999 a@0", "e a", 0, false},
        {"", "e a", 0, false},
        {" a@0", "e a", 0, false},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (udpai_lineage_comes_from(udpai_str_from(cases[i].lineage),
                                     udpai_str_from(cases[i].seen),
                                     cases[i].commit) != cases[i].is_same)
            fail_msg("'%s' after '%s'", cases[i].lineage, cases[i].seen);
}

static void
its_parts_are_found(void **state)
{
    (void)state;
    assert_str(udpai_lineage_epoch(UDPAI_STR("e a@0 b@1")), "e");
    assert_str(udpai_lineage_last(UDPAI_STR("e a@0 b@1")), "b");
    assert_str(udpai_lineage_epoch(UDPAI_STR("e")), "e");
    assert_str(udpai_lineage_last(UDPAI_STR("e")), "");
    assert_str(udpai_lineage_last(UDPAI_STR("e a@0 b")), "a");
    assert_str(udpai_lineage_last(UDPAI_STR("")), "");
    assert_str(udpai_lineage_last(UDPAI_STR("e@1")), ""); /* that is the epoch, whatever it is */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_has_gone_on_is_the_same),
        cmocka_unit_test(its_parts_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
