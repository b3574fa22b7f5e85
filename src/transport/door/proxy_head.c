/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/door/proxy_head.h"

#include <netinet/in.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define SIGNATURE_BYTES 12
#define FIRST_VERSION "PROXY "
#define VERSION_2 2
#define COMMAND_LOCAL 0
#define COMMAND_PROXY 1
#define FAMILY_IPV4 1
#define FAMILY_IPV6 2
#define FAMILY_UNIX 3 /* the last one */
#define TRANSPORT_DATAGRAM 2
#define IPV4_BYTES 12 /* of both addresses and both ports */
#define IPV6_BYTES 36
#define UNIX_BYTES 216

/* What of it has come is as this has it. */
static bool
begins(udpai_str begun, udpai_str with)
{
    size_t n = udpai_min_size(begun.len, with.len);
    return n == 0 || memcmp(begun.data, with.data, n) == 0;
}

static udpa_err
check_signature(udpai_str begun, udpa_error **ret_error)
{
    const udpai_str first_version = UDPAI_STR(FIRST_VERSION);
    if (begins(begun, (udpai_str){SIGNATURE, SIGNATURE_BYTES}))
        return UDPA_OK;
    if (!begins(begun, first_version))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "it does not begin with a head of the PROXY protocol: have the proxy "
                          "send version 2, or take it out of proxy_protocol.from");
    if (begun.len < first_version.len)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED,
                      "its head is of version 1 of the PROXY protocol: have the proxy send version "
                      "2 (in HAProxy: send-proxy-v2)");
}

static uint8_t
byte_of(udpai_str bytes, size_t at)
{
    return (uint8_t)bytes.data[at];
}

static udpa_err
check_command(udpai_str head, udpa_error **ret_error)
{
    uint8_t version = byte_of(head, 12) >> 4, command = byte_of(head, 12) & 15;
    uint8_t family = byte_of(head, 13) >> 4, transport = byte_of(head, 13) & 15;
    if (version != VERSION_2)
        return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED,
                          "its head is of version %u of the PROXY protocol, and not of version 2",
                          version);
    if (command != COMMAND_LOCAL && command != COMMAND_PROXY)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "its head has command %u, which the PROXY protocol does not have",
                          command);
    if (command == COMMAND_PROXY && (family > FAMILY_UNIX || transport >= TRANSPORT_DATAGRAM))
        return udpai_fail(
            ret_error, UDPA_ERR_MALFORMED,
            "its head has 0x%02x for a family and a transport: it must be of a stream",
            byte_of(head, 13));
    return UDPA_OK;
}

udpa_err
udpai_proxy_head_size(udpai_str begun, size_t *ret_size, udpa_error **ret_error)
{
    udpa_err err = check_signature(begun, ret_error);
    if (err == UDPA_OK && begun.len >= UDPAI_PROXY_HEAD_START)
        err = check_command(begun, ret_error);
    if (err != UDPA_OK)
        return err;
    size_t size = UDPAI_PROXY_HEAD_START;
    if (begun.len >= UDPAI_PROXY_HEAD_START)
        size += (size_t)byte_of(begun, 14) << 8 | byte_of(begun, 15);
    if (size > UDPAI_PROXY_HEAD_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "its head of the PROXY protocol has %zu bytes, and may have %d", size,
                          UDPAI_PROXY_HEAD_MAX);
    *ret_size = size;
    return UDPA_OK;
}

static void
read_ipv4(const char *addresses, udpai_proxy_head *head)
{
    struct sockaddr_in *client = (struct sockaddr_in *)&head->client;
    client->sin_family = AF_INET;
    memcpy(&client->sin_addr, addresses, 4); /* the client's, the server's, then their ports */
    memcpy(&client->sin_port, addresses + 8, 2);
}

static void
read_ipv6(const char *addresses, udpai_proxy_head *head)
{
    struct sockaddr_in6 *client = (struct sockaddr_in6 *)&head->client;
    client->sin6_family = AF_INET6;
    memcpy(&client->sin6_addr, addresses, 16);
    memcpy(&client->sin6_port, addresses + 32, 2);
}

/* What is behind the addresses (TLVs) is passed over. */
udpa_err
udpai_proxy_head_read(udpai_str head, udpai_proxy_head *ret_head, udpa_error **ret_error)
{
    static const size_t bytes_of[] = {0, IPV4_BYTES, IPV6_BYTES, UNIX_BYTES};
    size_t size = 0;
    udpa_err err = udpai_proxy_head_size(head, &size, ret_error);
    if (err != UDPA_OK)
        return err;
    if (size != head.len)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "its head has %zu bytes of %zu", head.len,
                          size);
    *ret_head = (udpai_proxy_head){0};
    if ((byte_of(head, 12) & 15) == COMMAND_LOCAL)
        return UDPA_OK;
    uint8_t family = byte_of(head, 13) >> 4;
    if (size - UDPAI_PROXY_HEAD_START < bytes_of[family])
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "its head of the PROXY protocol is too short for the addresses");
    ret_head->has_client = family == FAMILY_IPV4 || family == FAMILY_IPV6;
    if (family == FAMILY_IPV4)
        read_ipv4(head.data + UDPAI_PROXY_HEAD_START, ret_head);
    else if (family == FAMILY_IPV6)
        read_ipv6(head.data + UDPAI_PROXY_HEAD_START, ret_head);
    return UDPA_OK;
}
