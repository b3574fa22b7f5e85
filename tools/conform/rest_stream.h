/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to a server's REST: plain TCP, one thing after the other, as the conformance suite
 * needs it. It is not an HTTP client: it sends and receives bytes. */
#ifndef UDPAI_CONFORM_REST_STREAM_H
#define UDPAI_CONFORM_REST_STREAM_H

#include "tools/conform/peer.h"

/* @p address is HOST:PORT and borrowed. */
udpai_byte_peer udpai_rest_stream_peer(const char *address);

#endif
