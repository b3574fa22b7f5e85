/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

static unsigned
port_of(const struct sockaddr *address)
{
    return ntohs(address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

udpai_str
udpai_socket_address_text(const struct sockaddr *address, char room[UDPAI_SOCKET_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    bool is_v6 = address->sa_family == AF_INET6;
    if (is_v6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], host, sizeof(host));
        is_v6 = false;
    } else if (is_v6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
    } else {
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
    }
    int len = snprintf(room, UDPAI_SOCKET_ADDRESS_TEXT, is_v6 ? "[%s]:%u" : "%s:%u", host,
                       port_of(address));
    return (udpai_str){room, (size_t)len};
}

int
udpai_socket_port(int file)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof(own);
    if (getsockname(file, (struct sockaddr *)&own, &size) != 0 || own.ss_family == AF_UNIX)
        return 0;
    return (int)port_of((const struct sockaddr *)&own);
}
