/* SPDX-License-Identifier: Apache-2.0 */
/* The Node message that protobuf-c unpacked, to a value. Used here and by xDS requests. */
#ifndef UDPAI_NODE_DECODE_H
#define UDPAI_NODE_DECODE_H

#include "envoy/config/core/v3/base.pb-c.h"
#include "model/node_info.h"

udpa_err udpai_node_info_from_message(const Envoy__Config__Core__V3__Node *message,
                                      udpai_node_info **ret_info);

#endif
