/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions behind the front door (transport/door): what a stream thread may listen by, beside
 * gRPC's library. */
#ifndef UDPAI_FRONT_H
#define UDPAI_FRONT_H

#include "transport/grpc/stream_thread.h"

/* For udpai_stream_thread_options. */
extern const udpai_acceptance udpai_front_acceptance;

#endif
