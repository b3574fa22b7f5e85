/* SPDX-License-Identifier: Apache-2.0 */
/* What a durable engine has kept, in memory. */
#ifndef UDPAI_FEDERATION_DISK_H
#define UDPAI_FEDERATION_DISK_H

#include "base/vector.h"
#include "store/durable.h"

typedef UDPAI_VECTOR(udpai_durable_op) fed_disk;

/* Carries out one of a batch. */
void fed_disk_do(fed_disk *disk, const udpai_durable_op *op);
void fed_disk_done(fed_disk *disk);
/* Is there a contribution of this name, readable or not? */
bool fed_disk_has(const fed_disk *disk, const char *name);
/* One that has a time to end cannot be read any more. */
void fed_disk_damage(fed_disk *disk, size_t at);

#endif
