/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of HDS in one line. An endpoint is written "10.0.0.1:80"; without a port it is the path
 * of a Unix domain socket, "/a". Pieces live until wire_free_all(). */
#ifndef UDPAI_TESTS_HEALTH_TEST_H
#define UDPAI_TESTS_HEALTH_TEST_H

#include "reports/health.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"

/* An Address. */
static inline udpai_str
health_address(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    if (!colon)
        return W_MESSAGE(2, W_TEXT(1, endpoint));
    const udpai_str host = {endpoint, (size_t)(colon - endpoint)};
    return W_MESSAGE(1, wire_bytes(2, host), W_VARINT(3, strtoull(colon + 1, NULL, 10)));
}

/* An Endpoint, as the field of this number. */
static inline udpai_str
health_endpoint(uint32_t number, const char *endpoint)
{
    return W_MESSAGE(number, wire_bytes(1, health_address(endpoint)));
}

/* An EndpointHealth of HDS, as the field of this number. */
static inline udpai_str
health_said(uint32_t number, const char *endpoint, uint64_t status)
{
    return W_MESSAGE(number, health_endpoint(1, endpoint), W_VARINT(2, status));
}

static inline udpai_health_address
health_key(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');
    if (!colon)
        return (udpai_health_address){udpai_str_from(endpoint), 0};
    return (udpai_health_address){{endpoint, (size_t)(colon - endpoint)},
                                  (uint32_t)strtoul(colon + 1, NULL, 10)};
}

/* A CheckedEndpoint, as the field of this number. */
static inline udpai_str
health_checked(uint32_t number, const char *endpoint, uint64_t status)
{
    udpai_health_address key = health_key(endpoint);
    return W_MESSAGE(number, wire_bytes(1, key.text), W_VARINT(2, key.port), W_VARINT(3, status));
}

#endif
