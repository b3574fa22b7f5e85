/* SPDX-License-Identifier: Apache-2.0 */
/* What an endpoint says of its load by ORCA: set by any thread, read by the stream thread. */
#ifndef UDPAI_ENDPOINT_ORCA_H
#define UDPAI_ENDPOINT_ORCA_H

#include "transport/grpc/stream_thread.h"

#define UDPAI_ORCA_METHODS 2

typedef struct udpai_orca_board udpai_orca_board;

udpai_orca_board *udpai_orca_board_new(void); /* NULL without memory */
/* After the stream thread has ended. */
udpai_orca_board *udpai_orca_board_free(udpai_orca_board *board);
/* The methods by which it is served. They refer to it. */
void udpai_orca_board_methods(udpai_orca_board *board,
                              udpai_grpc_method ret_methods[UDPAI_ORCA_METHODS]);

#endif
