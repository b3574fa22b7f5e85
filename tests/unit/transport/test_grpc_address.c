/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to listen on: valid, invalid, and in use. */
#include "tests/harness/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/grpc/grpc_internal.h"

static void
expect(const char *address, udpa_err expected, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_address_probe(address, false, &error);
    if (err != expected)
        fail_msg("'%s': %s instead of %s", address, udpa_err_name(err), udpa_err_name(expected));
    if (words && !strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
test_good_addresses(void **state)
{
    (void)state;
    expect("127.0.0.1:0", UDPA_OK, NULL);
    expect("0.0.0.0:0", UDPA_OK, NULL);
    expect("127.255.0.9:0", UDPA_OK, NULL);
}

static void
test_malformed_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        ":80",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[]:80",
        "[::1:80",
        "::1]:80",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1: 1",
        "localhost:80",
        "256.0.0.1:1",
        "127.0.0.1:00000080",
        "unix:/tmp/x",
        "[127.0.0.1]x:1",
        "1.2.3.4:1:2",
        "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000:1",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        expect(bad[i], UDPA_ERR_INVAL, "write ADDRESS:PORT");
}

/* Whether this machine speaks IPv6 or not: it is understood. */
static void
test_ipv6(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_address_probe("[::1]:0", false, &error);
    if (err != UDPA_OK) {
        assert_int_equal(err, UDPA_ERR_IO);
        assert_non_null(strstr(udpa_error_message(error), "cannot listen on [::1]:0: "));
    }
}

static void
test_address_of_another_machine(void **state)
{
    (void)state;
    expect("192.0.2.1:0", UDPA_ERR_IO,
           "cannot listen on 192.0.2.1:0: Cannot assign requested address; this machine does not "
           "have that address");
}

static int
listen_somewhere(char *address, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(address, size, "127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void
test_port_in_use(void **state)
{
    (void)state;
    char address[32];
    int fd = listen_somewhere(address, sizeof(address));
    expect(address, UDPA_ERR_IO, "Address already in use; is another udpad running there?");
    close(fd);
    expect(address, UDPA_OK, NULL);
}

/* The trial leaves the port alone. */
static void
test_port_is_free_afterwards(void **state)
{
    (void)state;
    char address[32];
    close(listen_somewhere(address, sizeof(address)));
    for (int i = 0; i < 3; i++)
        expect(address, UDPA_OK, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_addresses), cmocka_unit_test(test_malformed_addresses),
        cmocka_unit_test(test_ipv6),           cmocka_unit_test(test_address_of_another_machine),
        cmocka_unit_test(test_port_in_use),    cmocka_unit_test(test_port_is_free_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
