/* SPDX-License-Identifier: Apache-2.0 */
/* What a node publishes of itself, as resources of udpa.status.v1. On the loop. */
#ifndef UDPAI_ENDPOINT_STATUS_H
#define UDPAI_ENDPOINT_STATUS_H

#include "endpoint/endpoint.h"

udpa_err udpai_own_status_new(udpai_service **ret_status,
                              udpa_endpoint *endpoint,
                              const udpai_endpoint_settings *settings);

/* What the node publishes under this name; NULL without memory, or if it cannot be a name. */
udpa_resource *udpai_own_resource(const char *type_url, udpai_str name, udpa_bytes *body);

#endif
