/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint reports of its load by ORCA: set by any thread, read by the stream thread. */
#ifndef UDPAI_ENDPOINT_ORCA_H
#define UDPAI_ENDPOINT_ORCA_H

#include "endpoint/host.h"

#define UDPAI_ORCA_METHODS 2

/* As a service; freed after the stream thread has ended. NULL without memory. */
udpai_service *udpai_orca_board_new(void);
/* The methods by which it is served. They refer to it. */
void udpai_orca_board_methods(udpai_service *board,
                              udpai_grpc_method ret_methods[UDPAI_ORCA_METHODS]);

#endif
