/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of numbers, in order: another one, if one of them is another. */
#ifndef UDPAI_FEDERATION_DIGEST_H
#define UDPAI_FEDERATION_DIGEST_H

#include <stdint.h>

#define UDPAI_DIGEST_BEGIN UINT64_C(14695981039346656037)

static inline void
udpai_digest_mix(uint64_t *digest, uint64_t value)
{
    *digest = (*digest ^ value) * UINT64_C(1099511628211);
}

#endif
