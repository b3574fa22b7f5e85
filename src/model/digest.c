/* SPDX-License-Identifier: Apache-2.0 */
#include "model/digest.h"

/* Not inlined: the compiler would follow a constant of one byte through all of the hash and warn of
 * reads behind it that never happen. */
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

static void
feed_64(XXH64_state_t *state, udpai_str bytes)
{
    if (bytes.len)
        XXH64_update(state, bytes.data, bytes.len);
}

static void
feed_128(XXH3_state_t *state, udpai_str bytes)
{
    if (bytes.len)
        XXH3_128bits_update(state, bytes.data, bytes.len);
}

uint64_t
udpai_digest_of_two(udpai_str authority, udpai_str head, udpai_str body)
{
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    feed_64(&state, authority);
    feed_64(&state, UDPAI_STR("\0"));
    feed_64(&state, head);
    feed_64(&state, body);
    return XXH64_digest(&state);
}

uint64_t
udpai_digest(udpai_str authority, udpai_str any)
{
    return udpai_digest_of_two(authority, (udpai_str){0}, any);
}

static void
put_big_endian(uint64_t value, unsigned char bytes[8])
{
    for (int i = 7; i >= 0; i--, value >>= 8)
        bytes[i] = (unsigned char)value;
}

static void
begin_behind(XXH64_state_t *state, uint64_t digest)
{
    unsigned char bytes[8];
    put_big_endian(digest, bytes);
    XXH64_reset(state, 0);
    XXH64_update(state, bytes, sizeof(bytes));
}

uint64_t
udpai_digest_of_variant(uint64_t digest, udpai_str constraints)
{
    XXH64_state_t state;
    begin_behind(&state, digest);
    feed_64(&state, constraints);
    return XXH64_digest(&state);
}

uint64_t
udpai_digest_of_flags(uint64_t digest, const udpai_str *aliases, size_t n_aliases, unsigned flags)
{
    const char byte = (char)flags;
    XXH64_state_t state;
    begin_behind(&state, digest);
    for (size_t i = 0; i < n_aliases; i++) {
        feed_64(&state, aliases[i]);
        feed_64(&state, UDPAI_STR("\0"));
    }
    feed_64(&state, (udpai_str){&byte, 1});
    return XXH64_digest(&state);
}

_Static_assert(sizeof(XXH64_state_t) <= sizeof(((udpai_hop_path_digest *)0)->state),
               "the state of XXH64 has grown");

void
udpai_hop_path_digest_begin(udpai_hop_path_digest *digest, uint64_t generation)
{
    unsigned char bytes[8];
    put_big_endian(generation, bytes);
    XXH64_state_t *state = (XXH64_state_t *)(void *)digest->state;
    XXH64_reset(state, 0);
    XXH64_update(state, bytes, sizeof(bytes));
}

void
udpai_hop_path_digest_add(udpai_hop_path_digest *digest, udpai_str text)
{
    XXH64_state_t *state = (XXH64_state_t *)(void *)digest->state;
    XXH64_update(state, text.data ? text.data : "", text.len);
    XXH64_update(state, "", 1);
}

uint64_t
udpai_hop_path_digest_end(const udpai_hop_path_digest *digest)
{
    return XXH64_digest((const XXH64_state_t *)(const void *)digest->state);
}

udpai_content_hash
udpai_content_hash_of(udpai_str type_url, udpai_str value)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    feed_128(&state, type_url);
    feed_128(&state, UDPAI_STR("\0"));
    feed_128(&state, value);
    XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return (udpai_content_hash){hash.high64, hash.low64};
}

/* Eight digits at a time: a nibble in each byte, the first digit's the lowest; those above 9 get
 * what lies between '9' and 'a', too. */
static void
put_hex_half(uint64_t value, char *hex)
{
    uint64_t spread = value & 0xffffffffu;
    spread = (spread & 0xffff) << 32 | spread >> 16;
    spread = (spread & 0x000000ff000000ffu) << 16 | (spread >> 8 & 0x000000ff000000ffu);
    spread = (spread & 0x000f000f000f000fu) << 8 | (spread >> 4 & 0x000f000f000f000fu);
    uint64_t letters = (spread + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
    spread += 0x3030303030303030u + letters * ('a' - '9' - 1);
    for (size_t i = 0; i < sizeof(spread); i++, spread >>= 8)
        hex[i] = (char)(spread & 0xff);
}

static void
put_hex(uint64_t value, char *hex)
{
    put_hex_half(value >> 32, hex);
    put_hex_half(value, hex + 8);
}

void
udpai_content_hash_hex(udpai_content_hash hash, char hex[UDPAI_CONTENT_HASH_HEX])
{
    put_hex(hash.high, hex);
    put_hex(hash.low, hex + 16);
}

static uint64_t
read_hex(const char *hex)
{
    uint64_t value = 0;
    for (int i = 0; i < 16; i++)
        value = value << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    return value;
}

udpai_content_hash
udpai_content_hash_from(const char hex[UDPAI_CONTENT_HASH_HEX])
{
    return (udpai_content_hash){read_hex(hex), read_hex(hex + 16)};
}

udpai_content_hash
udpai_content_hash_of_variant(udpai_content_hash hash, udpai_str constraints)
{
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(hash, hex);
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    feed_128(&state, (udpai_str){hex, sizeof(hex)});
    feed_128(&state, constraints);
    XXH128_hash_t mixed = XXH3_128bits_digest(&state);
    return (udpai_content_hash){mixed.high64, mixed.low64};
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

uint64_t
udpai_digest_behind(uint64_t before, udpai_str text)
{
    return XXH64(text.len ? text.data : "", text.len, before + 1);
}
