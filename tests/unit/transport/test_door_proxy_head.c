/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of the PROXY protocol, byte by byte. */
#include "transport/door/proxy_head.h"

#include "base/strbuf.h"
#include "tests/harness/test.h"
#include "transport/socket_address.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define IPV4 "\300\0\2\1\306\63\144\1\020\222\1\273" /* 192.0.2.1:4242 to 198.51.100.1:443 */
#define IPV6 " \1\r\270\0\0\0\0\0\0\0\0\0\0\0\1 \1\r\270\0\0\0\0\0\0\0\0\0\0\0\2\020\222\1\273"

static char room[UDPAI_PROXY_HEAD_MAX + 16];

/* @p rest: what comes behind the length. */
static udpai_str
put_head(uint8_t command, uint8_t family, udpai_str rest, size_t len)
{
    memcpy(room, SIGNATURE, 12);
    room[12] = (char)command;
    room[13] = (char)family;
    room[14] = (char)(len >> 8);
    room[15] = (char)len;
    if (rest.len)
        memcpy(room + 16, rest.data, rest.len);
    return (udpai_str){room, 16 + rest.len};
}

static udpai_str
head_of(uint8_t command, uint8_t family, udpai_str rest)
{
    return put_head(command, family, rest, rest.len);
}

static void
expect_client(udpai_str head, const char *client)
{
    char text[UDPAI_SOCKET_ADDRESS_TEXT];
    udpai_proxy_head read;
    size_t size;
    for (size_t n = 0; n < UDPAI_PROXY_HEAD_START; n++) {
        assert_ok(udpai_proxy_head_size((udpai_str){head.data, n}, &size, NULL));
        assert_int_equal(size, UDPAI_PROXY_HEAD_START);
    }
    assert_ok(udpai_proxy_head_size(head, &size, NULL));
    assert_int_equal(size, head.len);
    assert_ok(udpai_proxy_head_read(head, &read, NULL));
    assert_int_equal(read.has_client, client != NULL);
    if (client)
        assert_str(udpai_socket_address_text((const struct sockaddr *)&read.client, text), client);
}

static void
expect_refused(udpai_str head, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_proxy_head read;
    assert_int_equal(udpai_proxy_head_read(head, &read, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("%s", udpa_error_message(error));
}

static void
the_client_is_whom_the_head_names(void **state)
{
    (void)state;
    expect_client(head_of(0x21, 0x11, UDPAI_STR(IPV4)), "192.0.2.1:4242");
    expect_client(head_of(0x21, 0x21, UDPAI_STR(IPV6)), "[2001:db8::1]:4242");
}

static void
what_is_behind_the_addresses_is_passed_over(void **state)
{
    (void)state;
    char rest[UDPAI_PROXY_HEAD_MAX - 16] = IPV4;
    expect_client(head_of(0x21, 0x11, UDPAI_STR(IPV4 "\4\0\1x")), "192.0.2.1:4242");
    expect_client(head_of(0x21, 0x11, (udpai_str){rest, sizeof(rest)}), "192.0.2.1:4242");
}

static void
a_connection_of_the_proxy_itself_has_no_client(void **state)
{
    (void)state;
    expect_client(head_of(0x20, 0x00, UDPAI_STR("")), NULL);
    expect_client(head_of(0x20, 0x11, UDPAI_STR(IPV4)), NULL);
    expect_client(head_of(0x20, 0xff, UDPAI_STR("x")), NULL);
}

static void
a_client_without_an_address_has_none(void **state)
{
    (void)state;
    char paths[216] = "/a";
    expect_client(head_of(0x21, 0x00, UDPAI_STR("what there is")), NULL);
    expect_client(head_of(0x21, 0x31, (udpai_str){paths, sizeof(paths)}), NULL);
}

static void
the_first_wrong_byte_is_seen(void **state)
{
    (void)state;
    for (size_t at = 0; at < 12; at++) {
        udpai_str head = head_of(0x21, 0x11, UDPAI_STR(IPV4));
        size_t size;
        room[at] ^= 1;
        assert_ok(udpai_proxy_head_size((udpai_str){head.data, at}, &size, NULL));
        assert_int_equal(udpai_proxy_head_size((udpai_str){head.data, at + 1}, &size, NULL),
                         UDPA_ERR_MALFORMED);
    }
}

static void
others_are_named_in_the_refusal(void **state)
{
    (void)state;
    expect_refused(UDPAI_STR("PROXY TCP4 192.0.2.1 198.51.100.1 4242 443\r\n"),
                   UDPA_ERR_UNIMPLEMENTED, "version 1");
    expect_refused(UDPAI_STR("PRI * HTTP/2.0\r\n"), UDPA_ERR_MALFORMED, "does not begin");
    expect_refused(UDPAI_STR("\x16\3\1"), UDPA_ERR_MALFORMED, "does not begin");
    expect_refused(head_of(0x11, 0x11, UDPAI_STR(IPV4)), UDPA_ERR_UNIMPLEMENTED, "version 1 ");
    expect_refused(head_of(0x22, 0x11, UDPAI_STR(IPV4)), UDPA_ERR_MALFORMED, "command 2");
    expect_refused(head_of(0x21, 0x41, UDPAI_STR(IPV4)), UDPA_ERR_MALFORMED, "0x41");
    expect_refused(head_of(0x21, 0x12, UDPAI_STR(IPV4)), UDPA_ERR_MALFORMED, "0x12");
    expect_refused(head_of(0x21, 0x11, UDPAI_STR("\300\0\2\1")), UDPA_ERR_MALFORMED, "too short");
    expect_refused(head_of(0x21, 0x21, UDPAI_STR(IPV4)), UDPA_ERR_MALFORMED, "too short");
    expect_refused(head_of(0x21, 0x31, UDPAI_STR(IPV6)), UDPA_ERR_MALFORMED, "too short");
}

static void
a_head_is_read_when_all_of_it_is_there(void **state)
{
    (void)state;
    expect_refused(UDPAI_STR("\r\n\r\n"), UDPA_ERR_MALFORMED, "4 bytes of 16");
    expect_refused(put_head(0x21, 0x11, UDPAI_STR("x"), 12), UDPA_ERR_MALFORMED, "17 bytes of 28");
    expect_refused(put_head(0x21, 0x11, UDPAI_STR(IPV4 "x"), 12), UDPA_ERR_MALFORMED, "29 bytes");
}

static void
a_head_has_a_most_size(void **state)
{
    (void)state;
    udpai_str longest = put_head(0x21, 0x11, UDPAI_STR(""), UDPAI_PROXY_HEAD_MAX - 16);
    size_t size;
    assert_ok(udpai_proxy_head_size(longest, &size, NULL));
    assert_int_equal(size, UDPAI_PROXY_HEAD_MAX);
    expect_refused(put_head(0x21, 0x11, UDPAI_STR(""), UDPAI_PROXY_HEAD_MAX - 15), UDPA_ERR_LIMIT,
                   "4097 bytes");
    expect_refused(put_head(0x20, 0x00, UDPAI_STR(""), 0xffff), UDPA_ERR_LIMIT, "65551 bytes");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_is_whom_the_head_names),
        cmocka_unit_test(what_is_behind_the_addresses_is_passed_over),
        cmocka_unit_test(a_connection_of_the_proxy_itself_has_no_client),
        cmocka_unit_test(a_client_without_an_address_has_none),
        cmocka_unit_test(the_first_wrong_byte_is_seen),
        cmocka_unit_test(others_are_named_in_the_refusal),
        cmocka_unit_test(a_head_is_read_when_all_of_it_is_there),
        cmocka_unit_test(a_head_has_a_most_size),
    };
    return cmocka_run_group_tests_name("door_proxy_head", tests, NULL, NULL);
}
