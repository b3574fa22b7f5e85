/* SPDX-License-Identifier: Apache-2.0 */
/* The two hashes that travel, both defined in docs/design/wire.md, and some that do not. */
#ifndef UDPAI_DIGEST_H
#define UDPAI_DIGEST_H

#include "base/util.h"

#define UDPAI_CONTENT_HASH_HEX 32

typedef struct udpai_content_hash {
    uint64_t high, low;
} udpai_content_hash;

/* XXH64, seed 0, over authority, a zero byte, and the received bytes of the Any. */
uint64_t udpai_digest(udpai_str authority, udpai_str any);
/* Of an Any in two pieces. */
uint64_t udpai_digest_of_two(udpai_str authority, udpai_str head, udpai_str body);

/* Of a variant: XXH64, seed 0, over the 8 bytes of that, most significant first, and the
 * constraints. */
uint64_t udpai_digest_of_variant(uint64_t digest, udpai_str constraints);

/* Of what has aliases, or flags: XXH64, seed 0, over the 8 bytes of what it would be without, each
 * alias with a zero byte behind it, and the flags as one byte. */
enum {
    UDPAI_DIGEST_LAZY = 1,
    UDPAI_DIGEST_DO_NOT_CACHE = 2,
    UDPAI_DIGEST_ENDS = 4, /* it has a ttl, of whatever length */
};

uint64_t
udpai_digest_of_flags(uint64_t digest, const udpai_str *aliases, size_t n_aliases, unsigned flags);

/* XXH64 of a text behind others: @p before is what it was for those, 0 for none. It stays here. */
uint64_t udpai_digest_behind(uint64_t before, udpai_str text);

/* XXH64, seed 0, over a generation and the nodes passed, ids and instances; see
 * Subscribe.initial_ways. */
typedef struct udpai_hop_path_digest {
    _Alignas(8) unsigned char state[128];
} udpai_hop_path_digest;

void udpai_hop_path_digest_begin(udpai_hop_path_digest *digest, uint64_t generation);
void udpai_hop_path_digest_add(udpai_hop_path_digest *digest, udpai_str text);
uint64_t udpai_hop_path_digest_end(const udpai_hop_path_digest *digest);

/* XXH3-128 over type URL, a zero byte, and the Any's value. */
udpai_content_hash udpai_content_hash_of(udpai_str type_url, udpai_str value);
/* Of a variant: XXH3-128 over the 32 hex digits of that, and the constraints. */
udpai_content_hash udpai_content_hash_of_variant(udpai_content_hash hash, udpai_str constraints);
/* 32 lower-case hex digits, without NUL. */
void udpai_content_hash_hex(udpai_content_hash hash, char hex[UDPAI_CONTENT_HASH_HEX]);
/* The hash of these digits, which are such. */
udpai_content_hash udpai_content_hash_from(const char hex[UDPAI_CONTENT_HASH_HEX]);

/* Order-independent sum of (name, content) pairs: what is added can be taken away again. */
typedef struct udpai_set_hash {
    uint64_t high, low;
} udpai_set_hash;

void udpai_set_hash_add(udpai_set_hash *set, udpai_str name, udpai_content_hash content);

/* Two that have no pair in common. */
static inline void
udpai_set_hash_join(udpai_set_hash *set, udpai_set_hash other)
{
    set->high += other.high;
    set->low += other.low;
}

/* Takes away what was joined. */
static inline void
udpai_set_hash_leave(udpai_set_hash *set, udpai_set_hash other)
{
    set->high -= other.high;
    set->low -= other.low;
}

void udpai_set_hash_subtract(udpai_set_hash *set, udpai_str name, udpai_content_hash content);

#endif
