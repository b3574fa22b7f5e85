/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that the sender of a response cannot write: in its resource_errors. */
#ifndef UDPAI_XDS_LEFT_OUT_H
#define UDPAI_XDS_LEFT_OUT_H

#include "base/proto.h"

#define UDPAI_XDS_RESPONSE_RESOURCES 2 /* field numbers of DiscoveryResponse */
#define UDPAI_XDS_RESPONSE_ERRORS 7

/* The contents of a ResourceError, INTERNAL, about an element of DiscoveryResponse.resources (an
 * Any): by the name that it gives itself, as far as it can be read. */
void udpai_xds_put_left_out(udpai_proto_writer *writer, udpai_str resource, udpai_str reason);

#endif
