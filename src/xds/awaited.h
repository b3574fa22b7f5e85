/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a client will wait for once it asks for their type. One that connects again may have
 * been sent a changed cluster before it says which endpoints it holds: they must be sent all the
 * same (docs/design/xds.md). */
#ifndef UDPAI_XDS_AWAITED_H
#define UDPAI_XDS_AWAITED_H

#include "base/util.h"
#include "base/vector.h"

/* Beyond that, all names count as awaited. */
#define UDPAI_XDS_AWAITED_MAX 4096

/* Zero-initialised is empty. Names are kept as hashes: two that have one are awaited together. */
typedef struct udpai_xds_awaited {
    UDPAI_VECTOR(uint64_t) hashes;
    bool is_sorted;
    bool has_all; /* too many, or no memory */
} udpai_xds_awaited;

static inline bool
udpai_xds_awaited_any(const udpai_xds_awaited *awaited)
{
    return awaited->has_all || awaited->hashes.n;
}

void udpai_xds_awaited_add(udpai_xds_awaited *awaited, udpai_str name);
bool udpai_xds_awaited_has(udpai_xds_awaited *awaited, udpai_str name);
/* Empty again. */
void udpai_xds_awaited_done(udpai_xds_awaited *awaited);

#endif
