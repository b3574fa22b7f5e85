/* SPDX-License-Identifier: Apache-2.0 */
/* The types of the conformance suite, and their contents, which carry name and variant. */
#include "tools/conform/kind.h"

#include "tests/harness/test.h"
#include "xds/peek.h"

static void
contents_say_their_name_and_variant(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < UDPAI_KINDS; kind++) {
        udpa_bytes *payload = udpai_kind_payload((udpai_kind)kind, "x-a", 4711);
        assert_non_null(payload);
        assert_str(udpai_kind_name((udpai_kind)kind, udpai_bytes_view(payload)),
                   udpai_kind_is((udpai_kind)kind, UDPAI_NAMED_BY_URL) ? "" : "x-a");
        assert_int_equal(udpai_kind_variant(udpai_bytes_view(payload)), 4711);
        udpa_bytes_unref(payload);
    }
}

static void
a_cluster_has_endpoints_of_its_name(void **state)
{
    (void)state;
    udpa_bytes *payload = udpai_kind_payload(UDPAI_CLUSTER, "x-a", 1);
    udpai_str name;
    assert_true(udpai_xds_peek_endpoints_name(udpai_bytes_view(payload), &name));
    assert_str(name, "x-a");
    udpa_bytes_unref(payload);
}

static void
what_is_not_ours_has_no_variant(void **state)
{
    static const char *const texts[] = {"", "conform-v", "conform-v12", "conform-vx.",
                                        "conform-v99999999999999."};
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        assert_int_equal(udpai_kind_variant(udpai_str_from(texts[i])), 0);
    assert_int_equal(udpai_kind_variant(UDPAI_STR("..conform-v12..")), 12);
    assert_int_equal(udpai_kind_name(UDPAI_CLUSTER, UDPAI_STR("\x0a\x7f")).len, 0);
}

static void
kinds_are_found_by_url_and_word(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < UDPAI_KINDS; kind++) {
        assert_int_equal(udpai_kind_of_url(udpai_kind_url((udpai_kind)kind)), kind);
        assert_int_equal(udpai_kind_of_word(udpai_str_from(udpai_kind_word((udpai_kind)kind))),
                         kind);
    }
    assert_int_equal(udpai_kind_of_url(UDPAI_STR("x")), UDPAI_KINDS);
    assert_int_equal(udpai_kind_of_word(UDPAI_STR("")), UDPAI_KINDS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_say_their_name_and_variant),
        cmocka_unit_test(a_cluster_has_endpoints_of_its_name),
        cmocka_unit_test(what_is_not_ours_has_no_variant),
        cmocka_unit_test(kinds_are_found_by_url_and_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
