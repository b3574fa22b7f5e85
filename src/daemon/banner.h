/* SPDX-License-Identifier: Apache-2.0 */
/* What udpad prints when it serves: where it is, what it keeps, and what to try next. */
#ifndef UDPAI_BANNER_H
#define UDPAI_BANNER_H

#include "daemon/options.h"
#include "daemon/plan.h"

/* The address with the port that it really has, and of fd:NAME the one that the socket has:
 * "127.0.0.1:18000"; cut at the room's size. */
void udpai_banner_address(char *room, size_t size, const char *address, int port);

/* Those that the plan's sockets really have. */
typedef struct udpai_ports {
    const int *grpc, *http;
    const int *admin; /* NULL: there are none */
} udpai_ports;

/* To standard output. */
void udpai_banner_print(const udpai_plan *plan,
                        const udpai_schema *schema,
                        const udpai_options *options,
                        const udpai_ports *ports);

#endif
