/* SPDX-License-Identifier: Apache-2.0 */
/* Where the own listener listens, as it is written. */
#include "transport/front/listen_place.h"

#include "tests/harness/test.h"

static void
refused(const char *address, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_listen_place_check(address, &error), UDPA_ERR_INVAL);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("%s", udpa_error_message(error));
}

static void
a_port_is_as_with_the_library(void **state)
{
    (void)state;
    assert_ok(udpai_listen_place_check("127.0.0.1:18000", NULL));
    assert_int_equal(udpai_listen_place_of("127.0.0.1:18000"), UDPAI_LISTEN_PLACE_PORT);
    refused("127.0.0.1", "is no address to listen on: write ADDRESS:PORT");
    refused("unixes:80", "is no address to listen on");
}

static void
a_path_is_absolute_and_short(void **state)
{
    (void)state;
    char longest[120] = "unix:/";
    memset(longest + 6, 'a', 106);
    assert_ok(udpai_listen_place_check("unix:/run/udpa/udpad.sock", NULL));
    assert_ok(udpai_listen_place_check(longest, NULL));
    assert_int_equal(udpai_listen_place_of(longest), UDPAI_LISTEN_PLACE_PATH);
    assert_string_equal(udpai_listen_place_name("unix:/a"), "/a");
    longest[112] = 'a';
    refused(longest, "108 bytes, and the path of a unix socket at most 107");
    refused("unix:", "is no path of a unix socket: write unix:/PATH");
    refused("unix:/", "is no path");
    refused("unix:/run/", "is no path");
    refused("unix:run/x", "is no path");
    refused("unix:@abstract", "is no path");
}

static void
a_passed_socket_has_a_name(void **state)
{
    (void)state;
    assert_ok(udpai_listen_place_check("fd:grpc", NULL));
    assert_int_equal(udpai_listen_place_of("fd:grpc"), UDPAI_LISTEN_PLACE_PASSED);
    assert_string_equal(udpai_listen_place_name("fd:grpc"), "grpc");
    assert_ok(udpai_listen_place_check("fd:udpad-grpc.socket", NULL));
    refused("fd:", "is no name of a socket that is passed: write fd:NAME");
    refused("fd:a:b", "is no name of a socket");
    refused("fd:a b", "is no name of a socket");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_as_with_the_library),
        cmocka_unit_test(a_path_is_absolute_and_short),
        cmocka_unit_test(a_passed_socket_has_a_name),
    };
    return cmocka_run_group_tests_name("front_listen_place", tests, NULL, NULL);
}
