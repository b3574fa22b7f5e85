/* SPDX-License-Identifier: Apache-2.0 */
/* The lines between the conformance suite and the program that makes changes for it. */
#include "tools/conform/hook_words.h"

#include "tests/harness/test.h"

static void
changes_are_lines(void **state)
{
    udpai_strbuf out = {0};
    udpai_edit change = {.kind = UDPAI_CLUSTER, .name = "a", .variant = 7, .payload = {"hi", 2}};
    (void)state;
    udpai_hook_put_change(&out, &change);
    change.ttl_ms = 1500;
    change.alias = "b";
    udpai_hook_put_change(&out, &change);
    change.is_lazy = true;
    udpai_hook_put_change(&out, &change);
    change.is_removal = true;
    udpai_hook_put_change(&out, &change);
    assert_str(udpai_strbuf_view(&out),
               "set type.googleapis.com/envoy.config.cluster.v3.Cluster a 7 aGk=\n"
               "set type.googleapis.com/envoy.config.cluster.v3.Cluster a 7 aGk= ttl_ms=1500 "
               "alias=b\n"
               "set type.googleapis.com/envoy.config.cluster.v3.Cluster a 7 aGk= ttl_ms=1500 "
               "alias=b lazy=1\n"
               "remove type.googleapis.com/envoy.config.cluster.v3.Cluster a\n");
    udpai_strbuf_done(&out);
}

static void
answers_are_read(void **state)
{
    static const struct {
        const char *line, *why;
        udpai_change_result result;
    } cases[] = {
        {"ok\n", "", UDPAI_CHANGE_MADE},
        {"ok ttl alias \r\n", "ttl alias", UDPAI_CHANGE_MADE},
        {"unsupported no  runtime\n", "no  runtime", UDPAI_CHANGE_UNSUPPORTED},
        {"error disk full\n", "disk full", UDPAI_CHANGE_FAILED},
        {"okay", "it answers 'okay', which is none of ok, unsupported, and error",
         UDPAI_CHANGE_FAILED},
        {"", "it answers '', which is none of ok, unsupported, and error", UDPAI_CHANGE_FAILED},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpai_strbuf why = {0};
        assert_int_equal(udpai_hook_read_answer(udpai_str_from(cases[i].line), &why),
                         cases[i].result);
        assert_str(udpai_strbuf_view(&why), cases[i].why);
        udpai_strbuf_done(&why);
    }
}

static void
abilities_are_words(void **state)
{
    (void)state;
    assert_int_equal(udpai_hook_read_abilities(UDPAI_STR("")), 0);
    assert_int_equal(udpai_hook_read_abilities(UDPAI_STR(" ttl  wings atomic\n")),
                     UDPAI_CAN_TTL | UDPAI_CAN_ATOMIC);
    assert_int_equal(udpai_hook_read_abilities(UDPAI_STR("aliases alias")), UDPAI_CAN_ALIAS);
    assert_int_equal(udpai_hook_read_abilities(UDPAI_STR("lazy xdstp glob")),
                     UDPAI_CAN_LAZY | UDPAI_CAN_XDSTP | UDPAI_CAN_GLOB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_lines),
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(abilities_are_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
