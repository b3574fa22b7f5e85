/* SPDX-License-Identifier: Apache-2.0 */
/* Networks, and the addresses in them. */
#include "transport/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/harness/test.h"

static bool
has(const char *network, const char *address)
{
    udpai_network parsed;
    struct sockaddr_storage room = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&room;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&room;
    assert_ok(udpai_network_parse(network, &parsed, NULL));
    room.ss_family = strchr(address, ':') ? AF_INET6 : AF_INET;
    assert_int_equal(
        inet_pton(room.ss_family, address,
                  room.ss_family == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr),
        1);
    return udpai_networks_have(&parsed, 1, (const struct sockaddr *)&room);
}

static void
a_network_has_addresses_that_begin_like_it(void **state)
{
    (void)state;
    assert_true(has("10.0.0.0/8", "10.255.0.1"));
    assert_false(has("10.0.0.0/8", "11.0.0.0"));
    assert_true(has("192.0.2.128/25", "192.0.2.255"));
    assert_false(has("192.0.2.128/25", "192.0.2.127"));
    assert_true(has("192.0.2.1", "192.0.2.1"));
    assert_false(has("192.0.2.1", "192.0.2.0"));
    assert_true(has("0.0.0.0/0", "203.0.113.9"));
    assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
    assert_true(has("::1", "::1"));
    assert_true(has("::/0", "2001:db8::1"));
}

static void
an_ipv4_address_within_ipv6_is_one_of_ipv4(void **state)
{
    (void)state;
    assert_true(has("10.0.0.0/8", "::ffff:10.1.2.3"));
    assert_false(has("10.0.0.0/8", "::ffff:11.1.2.3"));
    assert_false(has("::/0", "::ffff:10.1.2.3"));
    assert_false(has("::/0", "10.1.2.3"));
    assert_false(has("0.0.0.0/0", "::1"));
}

static void
no_network_has_what_has_no_address(void **state)
{
    (void)state;
    udpai_network all[2];
    const struct sockaddr_storage local = {.ss_family = AF_UNIX};
    assert_ok(udpai_network_parse("0.0.0.0/0", &all[0], NULL));
    assert_ok(udpai_network_parse("::/0", &all[1], NULL));
    assert_false(udpai_networks_have(all, 2, (const struct sockaddr *)&local));
}

/* The same for the definition: bit by bit. */
static void
any_network_has_what_its_bits_have(void **state)
{
    (void)state;
    uint64_t seed = 23;
    for (int i = 0; i < 20000; i++) {
        struct sockaddr_in6 address = {.sin6_family = AF_INET6};
        udpai_network network = {.n_bits = (unsigned)(test_random(&seed) % 129)};
        unsigned other = (unsigned)(test_random(&seed) % 128);
        for (size_t at = 0; at < 16; at++)
            network.address[at] = address.sin6_addr.s6_addr[at] = (uint8_t)test_random(&seed);
        network.address[0] = address.sin6_addr.s6_addr[0] = 0x20; /* none of IPv4 */
        address.sin6_addr.s6_addr[other / 8] ^= (uint8_t)(0x80 >> other % 8);
        assert_int_equal(udpai_networks_have(&network, 1, (const struct sockaddr *)&address),
                         other >= network.n_bits);
    }
}

static void
refused(const char *text, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_network network;
    assert_int_equal(udpai_network_parse(text, &network, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), words));
}

static void
what_is_no_network_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",        "/8",         "10.0.0.0/",   "10.0.0.0/33", "10.0.0/8", "10.0.0.0/8/8",
        "::/129",  "::/-1",      "10.0.0.0/+8", "proxy.acme",  "[::1]",    "10.0.0.1:80",
        "::/0000", "10.0.0.0/ 8"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++)
        refused(texts[i], "is no network: write ADDRESS/BITS");
    refused("10.0.0.1/8", "bits behind those of its network");
    refused("2001:db8::1/64", "bits behind those of its network");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_has_addresses_that_begin_like_it),
        cmocka_unit_test(an_ipv4_address_within_ipv6_is_one_of_ipv4),
        cmocka_unit_test(no_network_has_what_has_no_address),
        cmocka_unit_test(any_network_has_what_its_bits_have),
        cmocka_unit_test(what_is_no_network_is_refused),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
