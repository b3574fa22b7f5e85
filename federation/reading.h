/* SPDX-License-Identifier: Apache-2.0 */
/* What was read of a directory, kept until it counts, and a digest of it. */
#ifndef UDPAI_FEDERATION_READING_H
#define UDPAI_FEDERATION_READING_H

#include "federation/node.h"

typedef struct udpai_reading udpai_reading;

/* Copies it; the resources by reference. */
udpa_err udpai_reading_new(udpai_reading **ret_reading, const udpai_directory *directory);
/* NULL does nothing. Returns NULL. */
udpai_reading *udpai_reading_free(udpai_reading *reading);
/* As long as the reading. */
const udpai_directory *udpai_reading_directory(const udpai_reading *reading);

/* The same on all nodes that have read the same, in whatever order. Of secrets their names count,
 * not what they are: it is sent to others, which must not guess them by it. */
uint64_t udpai_reading_digest(const udpai_directory *directory);

#endif
