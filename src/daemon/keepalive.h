/* SPDX-License-Identifier: Apache-2.0 */
/* How often peers are tried, of a bootstrap file or of a ConfigSource that comes by a resource. */
#ifndef UDPAI_KEEPALIVE_H
#define UDPAI_KEEPALIVE_H

#include "transport/grpc/stream_thread.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Nodes among each other. */
#define UDPAI_KEEPALIVE_OF_NODES                                                                   \
    (udpai_keepalive)                                                                              \
    {                                                                                              \
        UDPAI_NODE_KEEPALIVE_MS, UDPAI_NODE_KEEPALIVE_TIMEOUT_MS                                   \
    }
/* Of servers of xDS. */
#define UDPAI_KEEPALIVE_OF_XDS                                                                     \
    (udpai_keepalive)                                                                              \
    {                                                                                              \
        UDPAI_XDS_KEEPALIVE_MS, UDPAI_KEEPALIVE_TIMEOUT_MS                                         \
    }

/* @p from may be NULL. What is not given is as otherwise. What lies out of its bounds, in what
 * nobody has checked, is the bound. */
udpai_keepalive udpai_keepalive_of(const Udpa__Config__V1__Keepalive *from,
                                   udpai_keepalive otherwise);

#endif
