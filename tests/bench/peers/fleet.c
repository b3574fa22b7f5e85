/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/fleet.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "peers/program.h"
#include "tools/bench/contents.h"

#define NAMESPACE "com.acme"
#define INDEX_DIGITS 6
#define SERIAL_DIGITS 16
#define NO_SERIAL "0000000000000000"

/* ---- the first one ---- */

static void
put_bytes(udpai_strbuf *to, uint32_t number, udpai_str bytes)
{
    udpai_proto_writer writer = {
        .at = udpai_strbuf_extend(to, udpai_proto_bytes_size(number, bytes.len)),
    };
    if (writer.at)
        udpai_proto_put_bytes(&writer, number, bytes);
}

/* As field of an outer message. */
static void
put_message(udpai_strbuf *to, uint32_t number, udpai_strbuf *inner)
{
    put_bytes(to, number, udpai_strbuf_view(inner));
    to->failed = to->failed || udpai_strbuf_failed(inner);
    udpai_strbuf_done(inner);
}

static void
put_entry(udpai_strbuf *to, const udpai_contents *contents)
{
    udpai_strbuf any = {0}, resource = {0};
    put_bytes(&any, 1, UDPAI_STR(UDPAI_TYPE_ENDPOINTS));
    put_bytes(&any, 2, contents->bytes);
    put_bytes(&resource, 3, contents->name);
    put_bytes(&resource, 1, UDPAI_STR(NO_SERIAL));
    put_message(&resource, 2, &any);
    put_message(to, 2, &resource);
}

/* ---- stamping ---- */

static void
put_digits(uint8_t *at, uint64_t value, unsigned base, size_t n)
{
    for (; n > 0; n--, value /= base)
        at[n - 1] = (uint8_t) "0123456789abcdef"[value % base];
}

/* The place of the digits behind this text, at or after a place. */
static size_t
place_behind(const peer_fleet *fleet, size_t begin, const char *text)
{
    const uint8_t *found =
        memmem(fleet->entry + begin, fleet->entry_size - begin, text, strlen(text));
    if (!found)
        peer_fail("there is no '%s' in a resource", text);
    return (size_t)(found - fleet->entry) + strlen(text);
}

static void
find_places(peer_fleet *fleet)
{
    peer_places *places = &fleet->places;
    places->in_name = place_behind(fleet, 0, NAMESPACE "/");
    /* behind the name, its tag and its length */
    places->in_version = places->in_name + INDEX_DIGITS + 2;
    places->in_cluster_name = place_behind(fleet, places->in_version, NAMESPACE "/");
    places->in_the_mark = place_behind(fleet, places->in_cluster_name, UDPAI_MARK);
}

uint8_t *
peer_put_entries(uint8_t *at, const peer_fleet *fleet, size_t begin, size_t n)
{
    const peer_places *places = &fleet->places;
    for (size_t i = begin; i < begin + n; i++, at += fleet->entry_size) {
        memcpy(at, fleet->entry, fleet->entry_size);
        put_digits(at + places->in_name, i, 10, INDEX_DIGITS);
        put_digits(at + places->in_cluster_name, i, 10, INDEX_DIGITS);
        put_digits(at + places->in_version, fleet->serials[i], 16, SERIAL_DIGITS);
        put_digits(at + places->in_the_mark, fleet->serials[i], 16, SERIAL_DIGITS);
    }
    return at;
}

static size_t
put_head(uint8_t *at, uint64_t nonce)
{
    char text[SERIAL_DIGITS];
    put_digits((uint8_t *)text, nonce, 16, sizeof(text));
    udpai_proto_writer writer = {.at = at};
    udpai_proto_put_bytes(&writer, 4, UDPAI_STR(UDPAI_TYPE_ENDPOINTS));
    udpai_proto_put_bytes(&writer, 5, (udpai_str){text, sizeof(text)});
    return writer.size;
}

uint8_t *
peer_put_head(uint8_t *at, const peer_fleet *fleet, uint64_t nonce)
{
    put_head(at, nonce);
    return at + fleet->head_size;
}

/* ---- */

size_t
peer_fleet_most(const peer_fleet *fleet)
{
    return udpai_max_size(1, (PEER_MESSAGE_MAX - fleet->head_size) / fleet->entry_size);
}

void
peer_fleet_init(peer_fleet *fleet, size_t n, size_t size)
{
    udpai_contents contents;
    udpai_strbuf entry = {0};
    if (!udpai_contents_make(&contents, NAMESPACE, size))
        peer_fail("no memory for a resource");
    put_entry(&entry, &contents);
    udpai_contents_done(&contents);
    *fleet = (peer_fleet){
        .n = n,
        .serials = udpai_alloc_array(n, sizeof(*fleet->serials)),
        .head_size = put_head(NULL, 0),
        .entry_size = entry.len,
        .entry = (uint8_t *)udpai_strbuf_take(&entry),
    };
    if (!fleet->serials || !fleet->entry)
        peer_fail("no memory for %zu resources", n);
    find_places(fleet);
}

void
peer_fleet_done(peer_fleet *fleet)
{
    udpai_free(fleet->serials);
    udpai_free(fleet->entry);
}
