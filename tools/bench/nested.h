/* SPDX-License-Identifier: Apache-2.0 */
/* Messages within messages, written without a copy. */
#ifndef UDPAI_BENCH_NESTED_H
#define UDPAI_BENCH_NESTED_H

#include "base/proto.h"

typedef void (*udpai_load_put_fn)(udpai_proto_writer *writer, const void *from);

/* A message within another: the function puts its fields, once to count them, and once behind their
 * size. */
void udpai_load_put_nested(udpai_proto_writer *writer,
                           uint32_t number,
                           udpai_load_put_fn put,
                           const void *from);

#endif
