/* SPDX-License-Identifier: Apache-2.0 */
/* Writing tallies, for the files that do it. */
#ifndef UDPAI_TALLY_INTERNAL_H
#define UDPAI_TALLY_INTERNAL_H

#include "reports/tally.h"

typedef void (*udpai_tally_put_fn)(udpai_proto_writer *writer, const void *what);

/* A message in a message. */
void udpai_tally_put_nested(udpai_proto_writer *writer,
                            uint32_t number,
                            udpai_tally_put_fn put,
                            const void *what);
/* uint64_t: the fields of a google.protobuf.Duration. */
void udpai_tally_put_nanoseconds(udpai_proto_writer *writer, const void *what);
/* udpai_tally_drop: as both protocols have it. */
void udpai_tally_put_drop(udpai_proto_writer *writer, const void *what);

#endif
