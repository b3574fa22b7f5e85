/* SPDX-License-Identifier: Apache-2.0 */
/* A layer as the bytes of an envoy.service.runtime.v3.Runtime, which an Envoy reads to the values
 * that it would have read from the layer's directory.
 *
 * Keys are written whole, with their dots, so that one of them may be the beginning of another. A
 * fraction is a struct, since an Envoy takes no text for one here. A number, true and false are
 * what they are if they are written as an Envoy shows them. Everything else is a text, which means
 * the same there as in a file. */
#ifndef UDPAI_RUNTIME_ENCODE_H
#define UDPAI_RUNTIME_ENCODE_H

#include "base/bytes.h"
#include "model/types.h"
#include "runtime/layer.h"

/* By this name. The same layer is always the same bytes. NULL without memory. */
udpa_bytes *udpai_runtime_encode(const udpai_runtime_layer *layer, udpai_str name);

#endif
