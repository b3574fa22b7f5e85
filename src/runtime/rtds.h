/* SPDX-License-Identifier: Apache-2.0 */
/* A layer by RTDS: the contents of a resource of type envoy.service.runtime.v3.Runtime, as it came
 * from a peer. Which layer asks for it, and when it is effective, is not decided here. */
#ifndef UDPAI_RUNTIME_RTDS_H
#define UDPAI_RUNTIME_RTDS_H

#include "model/types.h"
#include "runtime/layer.h"

/* Reads the payload of such a resource into a layer of this name. The name that the payload has is
 * not looked at: it was found by the name of the resource, which may be longer (a udpa:// URL).
 * Without a layer in it, it is an empty one. UDPA_ERR_MALFORMED: it is no such message;
 * UDPA_ERR_INVAL, UDPA_ERR_LIMIT: a key or value that may not be, or too much of them, as in
 * udpai_runtime_layer_put_struct(); UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_layer_of_rtds(udpai_runtime_layer **ret_layer,
                                     udpai_str name,
                                     udpai_str message,
                                     udpa_error **ret_error);

#endif
