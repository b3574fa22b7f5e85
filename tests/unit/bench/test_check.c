/* SPDX-License-Identifier: Apache-2.0 */
/* Which options go together. */
#include "tests/harness/test.h"
#include "tools/bench/load.h"

static const udpai_load_options usual = {
    .publish_to = "server:1",
    .n_streams = 10,
    .n_connections = 10,
    .n_resources = 100,
    .n_changes = 5,
    .depth = 1,
};

static void
assert_good(const udpai_load_options *options)
{
    assert_ok(udpai_load_check(options, NULL));
}

static void
assert_wrong(const udpai_load_options *options, const char *why)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_load_check(options, &error), UDPA_ERR_INVAL);
    if (!strstr(udpa_error_message(error), why))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), why);
}

#define WITH(...)                                                                                  \
    ({                                                                                             \
        static udpai_load_options options_;                                                        \
        options_ = usual;                                                                          \
        udpai_load_options *with = &options_;                                                      \
        __VA_ARGS__;                                                                               \
        with;                                                                                      \
    })

static void
what_goes_together(void **state)
{
    (void)state;
    assert_good(&usual);
    assert_good(WITH(with->n_connections = 1));
    assert_good(WITH(with->n_names = 100));
    assert_good(WITH(with->n_slow = 9, with->slow_bytes_per_s = 1));
    assert_good(WITH(with->per_second = 5));
    assert_good(WITH(with->depth = 5));
    assert_good(WITH(with->n_of_envoys = 5, with->rest_ms = 5));
    assert_good(WITH(with->is_idle = true, with->n_changes = 0, with->rest_ms = 5));
    assert_good(WITH(with->n_together = 100, with->has_receipts = true));
    assert_good(WITH(with->reconnects = true, with->n_changes = 0));
    assert_good(WITH(with->is_idle = true, with->n_changes = 0));
    assert_good(WITH(with->protocol = UDPAI_LOAD_UDPA, with->n_namespaces = 100));
    assert_good(WITH(with->publish_to = NULL, with->n_changes = 0, with->n_resources = 0));
    assert_good(WITH(with->publish_to = NULL, with->control = "x"));
}

static void
wrong_streams(void **state)
{
    (void)state;
    assert_wrong(WITH(with->n_connections = 0), "more connections than streams, or none");
    assert_wrong(WITH(with->n_connections = 11), "more connections than streams");
    assert_wrong(WITH(with->n_names = 101), "more names than there are resources");
    assert_wrong(WITH(with->n_slow = 10), "some beside them that read");
    assert_wrong(WITH(with->n_slow = 1, with->n_connections = 5), "connections of their own");
    assert_wrong(WITH(with->slow_bytes_per_s = 1), "--slow");
    assert_wrong(WITH(with->n_of_envoys = 5, with->protocol = UDPAI_LOAD_UDPA), "only in delta");
    assert_wrong(WITH(with->n_of_envoys = 5, with->reconnects = true), "over a reconnect");
    assert_wrong(WITH(with->n_of_envoys = 5, with->publish_to = NULL, with->n_changes = 0,
                      with->n_resources = 0),
                 "--resources");
}

static void
wrong_changes(void **state)
{
    (void)state;
    assert_wrong(WITH(with->control = "x"), "not both");
    assert_wrong(WITH(with->n_resources = 0), "must be known");
    assert_wrong(WITH(with->publish_to = NULL), "nobody changes");
    assert_wrong(WITH(with->publish_to = NULL, with->n_changes = 0, with->reconnects = true),
                 "nobody changes");
    assert_wrong(WITH(with->publish_to = NULL, with->n_changes = 0, with->n_resources = 0,
                      with->n_names = 1),
                 "must be known");
    assert_wrong(WITH(with->publish_to = NULL, with->control = "x", with->n_together = 2),
                 "--publish");
    assert_wrong(WITH(with->publish_to = NULL, with->control = "x", with->has_receipts = true),
                 "--publish");
    assert_wrong(WITH(with->n_together = 101), "more resources than there are");
    assert_wrong(WITH(with->is_idle = true), "idle");
    assert_wrong(WITH(with->is_idle = true, with->n_changes = 0, with->reconnects = true), "idle");
    assert_wrong(WITH(with->is_idle = true, with->n_changes = 0, with->n_slow = 1), "idle");
    assert_wrong(WITH(with->per_second = 5, with->depth = 2), "--depth");
    assert_wrong(WITH(with->reconnects = true, with->protocol = UDPAI_LOAD_STATE_OF_THE_WORLD),
                 "nothing is held");
}

static void
wrong_namespaces(void **state)
{
    (void)state;
    assert_wrong(WITH(with->n_namespaces = 2), "--protocol udpa");
    assert_wrong(WITH(with->n_namespaces = 2, with->protocol = UDPAI_LOAD_UDPA, with->n_names = 1),
                 "--names");
    assert_wrong(
        WITH(with->n_namespaces = 2, with->protocol = UDPAI_LOAD_UDPA, with->reconnects = true),
        "--reconnect");
    assert_wrong(WITH(with->n_namespaces = 101, with->protocol = UDPAI_LOAD_UDPA),
                 "more namespaces than resources");
    assert_wrong(
        WITH(with->n_namespaces = 2, with->protocol = UDPAI_LOAD_UDPA, with->n_together = 2),
        "--together");
    assert_wrong(WITH(with->n_of_a_stream = 2), "--namespaces-each");
    assert_wrong(
        WITH(with->n_namespaces = 2, with->protocol = UDPAI_LOAD_UDPA, with->n_of_a_stream = 3),
        "than there are");
    assert_wrong(WITH(with->n_namespaces = 2, with->protocol = UDPAI_LOAD_UDPA,
                      with->publish_to = NULL, with->control = "x"),
                 "UDPA");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_together),
        cmocka_unit_test(wrong_streams),
        cmocka_unit_test(wrong_changes),
        cmocka_unit_test(wrong_namespaces),
    };
    return cmocka_run_group_tests_name("bench/check", tests, NULL, NULL);
}
