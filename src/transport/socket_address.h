/* SPDX-License-Identifier: Apache-2.0 */
/* What sockets are called. Any thread. */
#ifndef UDPAI_SOCKET_ADDRESS_H
#define UDPAI_SOCKET_ADDRESS_H

#include <netinet/in.h>

#include "base/util.h"

#define UDPAI_SOCKET_ADDRESS_TEXT (INET6_ADDRSTRLEN + 16)

/* 192.0.2.1:4242, [2001:db8::1]:4242; an IPv4 address within IPv6 as the former. Of IPv4 or IPv6;
 * in @p room. */
udpai_str udpai_socket_address_text(const struct sockaddr *address,
                                    char room[UDPAI_SOCKET_ADDRESS_TEXT]);
/* That it is bound to; 0: that is not known, or it is of no address that has ports. */
int udpai_socket_port(int file);

#endif
