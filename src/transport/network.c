/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define TEXT_MAX (INET6_ADDRSTRLEN + 4)
#define BITS 128
#define BITS_BEFORE_IPV4 96

static const uint8_t before_ipv4[12] = {[10] = 0xff, 0xff};

static void
put_ipv4(uint8_t room[16], const struct in_addr *address)
{
    memcpy(room, before_ipv4, sizeof(before_ipv4));
    memcpy(room + sizeof(before_ipv4), address, 4);
}

/* False: it is no number, or too large. */
static bool
read_bits(const char *text, unsigned most, unsigned *ret_bits)
{
    unsigned bits = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 3 || text[n])
        return false;
    for (size_t i = 0; i < n; i++)
        bits = bits * 10 + (unsigned)(text[i] - '0');
    *ret_bits = bits;
    return bits <= most;
}

static bool
parse(const char *text, udpai_network *network)
{
    char host[TEXT_MAX];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    struct in_addr v4;
    if (len >= sizeof(host))
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    unsigned before = 0;
    if (inet_pton(AF_INET, host, &v4) == 1) {
        put_ipv4(network->address, &v4);
        before = BITS_BEFORE_IPV4;
    } else if (inet_pton(AF_INET6, host, network->address) != 1) {
        return false;
    }
    unsigned bits = BITS - before;
    if (slash && !read_bits(slash + 1, bits, &bits))
        return false;
    network->n_bits = before + bits;
    return true;
}

static bool
has_bit(const uint8_t address[16], unsigned bit)
{
    return address[bit / 8] >> (7 - bit % 8) & 1;
}

static bool
is_masked(const udpai_network *network)
{
    for (unsigned bit = network->n_bits; bit < BITS; bit++)
        if (has_bit(network->address, bit))
            return false;
    return true;
}

udpa_err
udpai_network_parse(const char *text, udpai_network *ret_network, udpa_error **ret_error)
{
    udpai_network network;
    if (!parse(text, &network))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' is no network: write ADDRESS/BITS, such as 10.0.0.0/8, "
                          "2001:db8::/32 or 192.0.2.1",
                          text);
    if (!is_masked(&network))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' has bits behind those of its network: write them as 0, or leave "
                          "out the '/' for a single address",
                          text);
    *ret_network = network;
    return UDPA_OK;
}

static bool
put_address(uint8_t room[16], const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        put_ipv4(room, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(room, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    return address->sa_family == AF_INET || address->sa_family == AF_INET6;
}

static bool
has(const udpai_network *network, const uint8_t address[16])
{
    size_t n = network->n_bits / 8;
    unsigned rest = network->n_bits % 8;
    if (memcmp(network->address, address, n) != 0)
        return false;
    return rest == 0 || (network->address[n] ^ address[n]) >> (8 - rest) == 0;
}

bool
udpai_networks_have(const udpai_network *networks, size_t n, const struct sockaddr *address)
{
    uint8_t bytes[16];
    if (n == 0 || !put_address(bytes, address))
        return false;
    bool is_ipv4 = memcmp(bytes, before_ipv4, sizeof(before_ipv4)) == 0;
    for (size_t i = 0; i < n; i++)
        if ((!is_ipv4 || networks[i].n_bits >= BITS_BEFORE_IPV4) && has(&networks[i], bytes))
            return true;
    return false;
}
