/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/awaited.h"

#include <stdlib.h>

#include "model/digest.h"

void
udpai_xds_awaited_add(udpai_xds_awaited *awaited, udpai_str name)
{
    if (awaited->has_all)
        return;
    awaited->is_sorted = false;
    awaited->has_all = awaited->hashes.n >= UDPAI_XDS_AWAITED_MAX ||
                       !udpai_vector_push(&awaited->hashes, udpai_digest_behind(0, name));
    if (awaited->has_all)
        udpai_vector_done(&awaited->hashes);
}

static int
compare(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

bool
udpai_xds_awaited_has(udpai_xds_awaited *awaited, udpai_str name)
{
    if (awaited->has_all || awaited->hashes.n == 0)
        return awaited->has_all;
    uint64_t hash = udpai_digest_behind(0, name);
    if (!awaited->is_sorted)
        qsort(awaited->hashes.items, awaited->hashes.n, sizeof(hash), compare);
    awaited->is_sorted = true;
    return bsearch(&hash, awaited->hashes.items, awaited->hashes.n, sizeof(hash), compare) != NULL;
}

void
udpai_xds_awaited_done(udpai_xds_awaited *awaited)
{
    udpai_vector_done(&awaited->hashes);
    awaited->is_sorted = awaited->has_all = false;
}
