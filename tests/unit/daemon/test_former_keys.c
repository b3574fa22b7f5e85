/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the bootstrap that had another name in the release before. */
#include "bootstrap_test.h"

static void
former_keys_are_read_with_a_warning(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "static_resources:\n"
                              "  config_sources:\n"
                              "  - {name: a, udpa_listen: {peer: p}, stand_in: {types: [a.B]}}\n"
                              "  - {name: b, udpa_listen: {peer: q}, standIn: {types: [a.B]}}\n"
                              "timing: {hand_back_delay: 3s}\n");
    bootstrap_test_assert_mistakes(
        test,
        "warning: test.yaml:3:49: static_resources.config_sources[0].standby_for: 'stand_in' is "
        "called 'standby_for' now: the next release does not read the former name any more\n"
        "warning: test.yaml:4:48: static_resources.config_sources[1].standby_for: 'standIn' is "
        "called 'standby_for' now: the next release does not read the former name any more\n"
        "warning: test.yaml:5:27: timing.fail_back_delay: 'hand_back_delay' is called "
        "'fail_back_delay' now: the next release does not read the former name any more\n");
    const Udpa__Config__V1__Bootstrap *message = test->bootstrap.message;
    assert_int_equal(message->timing->fail_back_delay->seconds, 3);
    assert_string_equal(message->static_resources->config_sources[1]->standby_for->types[0], "a.B");
}

/* proto3 JSON has every field under two names. */
static void
former_keys_are_read_in_json(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "{\"staticResources\": {\"configSources\": [\n"
                              "  {\"name\": \"a\", \"udpaListen\": {\"peer\": \"p\"}, \"standIn\": "
                              "{\"types\": [\"a.B\"]}}]}}\n");
    bootstrap_test_tell(test);
    assert_non_null(strstr(test->mistakes.data, "config_sources[0].standby_for: 'standIn' is "
                                                "called 'standby_for' now"));
    const Udpa__Config__V1__Bootstrap *message = test->bootstrap.message;
    assert_string_equal(message->static_resources->config_sources[0]->standby_for->types[0], "a.B");
}

static void
a_key_and_its_former_name_do_not_go_together(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "timing: {hand_back_delay: 3s, fail_back_delay: 4s}\n");
    bootstrap_test_tell(test);
    assert_non_null(strstr(test->mistakes.data,
                           "timing.fail_back_delay: 'hand_back_delay' is the former name "
                           "of it: take that out"));
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(former_keys_are_read_with_a_warning),
        CASE(former_keys_are_read_in_json),
        CASE(a_key_and_its_former_name_do_not_go_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
