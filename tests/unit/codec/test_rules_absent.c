/* SPDX-License-Identifier: Apache-2.0 */
/* A program that was built without the rules of protoc-gen-validate: who asks for them is told, and
 * what else payloads can have wrong with them is found as ever. */
#include "codec/validate.h"
#include "codec_test.h"

extern const unsigned char ruled_descriptors[];
extern const unsigned long ruled_descriptors_size;

static udpai_validator *validator;

static int
setup(void **state)
{
    const udpai_str set = {(const char *)ruled_descriptors, ruled_descriptors_size};
    if (setup_schema(state) != 0 ||
        udpai_schema_add_set(test_schema, set, "ruled", NULL) != UDPA_OK)
        return -1;
    return udpai_validator_new(&validator, test_schema, NULL) == UDPA_OK ? 0 : -1;
}

static int
teardown(void **state)
{
    validator = udpai_validator_unref(validator);
    return teardown_schema(state);
}

static udpa_err
check(udpai_str payload, unsigned checks, udpa_error **ret_error)
{
    const udpai_validation validation = {.checks = checks};
    return udpai_validate_first(validator, UDPAI_STR("codec.ruled.Holder"), payload, &validation,
                                ret_error);
}

static void
who_asks_for_rules_is_told(void **state)
{
    (void)state;
    assert_non_null(strstr(udpai_rules_absent(), "-Dvalidation=false"));
    assert_int_equal(check(UDPAI_STR(""), UDPAI_CHECK_UNKNOWN_FIELDS | UDPAI_CHECK_RULES, NULL),
                     UDPA_ERR_UNIMPLEMENTED);
    assert_ok(check(UDPAI_STR(""), UDPAI_CHECK_UNKNOWN_FIELDS, NULL));
}

static void
messages_are_looked_into(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_str payload = UDPAI_STR("\x22\x02\x78\x01"); /* one of children, with number 15 */
    assert_ok(check(payload, UDPAI_CHECK_PARSE, NULL));
    assert_int_equal(check(payload, UDPAI_CHECK_UNKNOWN_FIELDS, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error),
                        "children[0]: field number 15 is unknown to codec.ruled.Holder as this "
                        "program's descriptors have it");
}

static void
what_cannot_be_parsed_is_refused(void **state)
{
    (void)state;
    assert_int_equal(check(UDPAI_STR("\x22\x05\x78"), UDPAI_CHECK_PARSE, NULL), UDPA_ERR_INVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_for_rules_is_told),
        cmocka_unit_test(messages_are_looked_into),
        cmocka_unit_test(what_cannot_be_parsed_is_refused),
    };
    return cmocka_run_group_tests_name("rules absent", tests, setup, teardown);
}
