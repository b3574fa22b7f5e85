/* SPDX-License-Identifier: Apache-2.0 */
/* How peers are tried, and how much they may send at a time. */
#include "tests/unit/daemon/bootstrap_test.h"

#include "daemon/keepalive.h"

static void
peers_are_not_tried_too_often(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test,
                        "sockets:\n"
                        "  - {address: '127.0.0.1:1', keepalive: {interval: 1.999s}}\n"
                        "  - {address: '127.0.0.1:2', keepalive: {interval: 2s, timeout: 0.1s}}\n"
                        "dial:\n"
                        "  - {name: d, address: 'localhost:9', keepalive: {timeout: 0.099s}}\n"
                        "http:\n"
                        "  sockets: [{address: '127.0.0.1:3', keepalive: {}}]\n");
    bootstrap_test_assert_mistakes(
        test, "test.yaml:2:52: sockets[0].keepalive.interval: must lie between 2 s and 86400 s\n"
              "test.yaml:5:60: dial[0].keepalive.timeout: must lie between 0.1 s and 3600 s\n"
              "test.yaml:7:49: http.sockets[0].keepalive: is of sockets of gRPC\n");
}

static void
sockets_have_room_for_messages(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, "sockets:\n"
                              "  - {address: '127.0.0.1:1', max_message_bytes: 4095}\n"
                              "  - {address: '127.0.0.1:2', max_message_bytes: 4096}\n"
                              "http:\n"
                              "  sockets: [{address: '127.0.0.1:3', max_message_bytes: 4096}]\n");
    bootstrap_test_assert_mistakes(
        test,
        "test.yaml:2:49: sockets[0].max_message_bytes: 4095 is too small: hardly a message could "
        "come in; it must be at least 4096\n"
        "test.yaml:5:57: http.sockets[0].max_message_bytes: is of sockets of gRPC: set "
        "http.max_body_bytes\n");
}

/* What comes by a resource was not checked. */
static void
what_is_out_of_bounds_is_the_bound(void **state)
{
    (void)state;
    Google__Protobuf__Duration interval = GOOGLE__PROTOBUF__DURATION__INIT;
    Google__Protobuf__Duration timeout = GOOGLE__PROTOBUF__DURATION__INIT;
    Udpa__Config__V1__Keepalive from = UDPA__CONFIG__V1__KEEPALIVE__INIT;
    udpai_keepalive keepalive = udpai_keepalive_of(NULL, UDPAI_KEEPALIVE_OF_NODES);
    assert_int_equal(keepalive.interval_ms, 5000);
    assert_int_equal(keepalive.timeout_ms, 5000);
    from.interval = &interval;
    keepalive = udpai_keepalive_of(&from, UDPAI_KEEPALIVE_OF_XDS);
    assert_int_equal(keepalive.interval_ms, 2000);
    assert_int_equal(keepalive.timeout_ms, 20000);
    interval.seconds = INT64_MAX;
    timeout.nanos = 250000000;
    from.timeout = &timeout;
    keepalive = udpai_keepalive_of(&from, UDPAI_KEEPALIVE_OF_XDS);
    assert_int_equal(keepalive.interval_ms, 24 * 3600 * 1000);
    assert_int_equal(keepalive.timeout_ms, 250);
}

#define daemon_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        daemon_test(peers_are_not_tried_too_often),
        daemon_test(sockets_have_room_for_messages),
        cmocka_unit_test(what_is_out_of_bounds_is_the_bound),
    };
    return cmocka_run_group_tests_name("keepalive", tests, NULL, NULL);
}
