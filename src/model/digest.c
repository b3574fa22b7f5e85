/* SPDX-License-Identifier: Apache-2.0 */
#include "model/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
udpai_digest(udpai_str authority, udpai_str any)
{
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    XXH64_update(&state, authority.data ? authority.data : "", authority.len);
    XXH64_update(&state, "", 1);
    XXH64_update(&state, any.data ? any.data : "", any.len);
    return XXH64_digest(&state);
}

udpai_content_hash
udpai_content_hash_of(udpai_str type_url, udpai_str value)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, type_url.data ? type_url.data : "", type_url.len);
    XXH3_128bits_update(&state, "", 1);
    XXH3_128bits_update(&state, value.data ? value.data : "", value.len);
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return (udpai_content_hash){hash.high64, hash.low64};
}

static void
put_hex(uint64_t value, char *hex)
{
    for (int i = 15; i >= 0; i--, value >>= 4)
        hex[i] = "0123456789abcdef"[value & 15];
}

void
udpai_content_hash_hex(udpai_content_hash hash, char hex[UDPAI_CONTENT_HASH_HEX])
{
    put_hex(hash.high, hex);
    put_hex(hash.low, hex + 16);
}

/* The pair's hash is seeded by its content, so that (a, x)+(b, y) differs from (a, y)+(b, x). */
static XXH128_hash_t
pair_hash(udpai_str name, udpai_content_hash content)
{
    return XXH3_128bits_withSeed(name.data, name.len,
                                 content.low ^ (content.high * 0x9e3779b97f4a7c15u));
}

void
udpai_set_hash_add(udpai_set_hash *set, udpai_str name, udpai_content_hash content)
{
    XXH128_hash_t hash = pair_hash(name, content);
    set->high += hash.high64;
    set->low += hash.low64;
}

void
udpai_set_hash_subtract(udpai_set_hash *set, udpai_str name, udpai_content_hash content)
{
    XXH128_hash_t hash = pair_hash(name, content);
    set->high -= hash.high64;
    set->low -= hash.low64;
}
