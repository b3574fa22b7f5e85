/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/exposure.h"

#include <arpa/inet.h>
#include <stdio.h>

bool
udpai_exposure_is_loopback(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0)
        return true;
    const char *colon = strrchr(address, ':');
    char host[INET6_ADDRSTRLEN + 2];
    size_t len = colon ? (size_t)(colon - address) : strlen(address);
    if (len >= sizeof(host))
        return false;
    memcpy(host, address, len);
    host[len] = '\0';
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return strcmp(host, "[::1]") == 0 || strcmp(host, "localhost") == 0;
}

udpa_err
udpai_exposure_check(const char *address, udpa_error **ret_error)
{
    if (udpai_exposure_is_loopback(address))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "%s is beyond loopback, and without TLS every peer could connect: configure "
                      "certificates, or listen on 127.0.0.1",
                      address);
}
