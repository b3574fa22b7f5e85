/* SPDX-License-Identifier: Apache-2.0 */
#include "peers/fleet.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "peers/program.h"

#define TYPE_URL "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
#define NAMESPACE "com.acme/"
#define INDEX_DIGITS 6
#define MARK "udpa.bench:"
#define SERIAL_DIGITS 16
#define PORT 8080
#define HEALTHY 1

/* ---- messages, from the inside out ---- */

static void
put_bytes(udpai_strbuf *to, uint32_t number, udpai_str bytes)
{
    udpai_proto_writer writer = {
        .at = udpai_strbuf_extend(to, udpai_proto_bytes_size(number, bytes.len)),
    };
    if (writer.at)
        udpai_proto_put_bytes(&writer, number, bytes);
}

static void
put_number(udpai_strbuf *to, uint32_t number, uint64_t value)
{
    udpai_proto_writer counter = {0};
    udpai_proto_put_varint(&counter, number, value);
    udpai_proto_writer writer = {.at = udpai_strbuf_extend(to, counter.size)};
    if (writer.at)
        udpai_proto_put_varint(&writer, number, value);
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
put_lb_endpoint(udpai_strbuf *to, unsigned i)
{
    udpai_strbuf socket_address = {0}, address = {0}, endpoint = {0}, lb_endpoint = {0};
    char text[32];
    snprintf(text, sizeof(text), "10.%u.%u.%u", i >> 16 & 255, i >> 8 & 255, i & 255);
    put_bytes(&socket_address, 2, udpai_str_from(text));
    put_number(&socket_address, 3, PORT);
    put_message(&address, 1, &socket_address);
    put_message(&endpoint, 1, &address);
    put_message(&lb_endpoint, 1, &endpoint);
    put_number(&lb_endpoint, 2, HEALTHY);
    put_message(to, 2, &lb_endpoint);
}

static void
put_locality(udpai_strbuf *to, const char *mark)
{
    udpai_strbuf locality = {0};
    put_bytes(&locality, 3, udpai_str_from(mark));
    put_message(to, 1, &locality);
}

/* A ClusterLoadAssignment. */
static void
put_contents(udpai_strbuf *to, const char *name, const char *mark, size_t size)
{
    udpai_strbuf endpoints = {0};
    put_bytes(to, 1, udpai_str_from(name));
    put_locality(&endpoints, mark);
    for (unsigned i = 0; !endpoints.failed; i++) {
        if (i > 0 && to->len + udpai_proto_bytes_size(2, endpoints.len) >= size)
            break;
        put_lb_endpoint(&endpoints, i);
    }
    put_message(to, 2, &endpoints);
}

static void
put_entry(udpai_strbuf *to, const char *name, const char *serial, size_t size)
{
    udpai_strbuf contents = {0}, any = {0}, resource = {0};
    char mark[sizeof(MARK) + SERIAL_DIGITS];
    snprintf(mark, sizeof(mark), MARK "%s", serial);
    put_contents(&contents, name, mark, size);
    put_bytes(&any, 1, UDPAI_STR(TYPE_URL));
    put_message(&any, 2, &contents);
    put_bytes(&resource, 3, udpai_str_from(name));
    put_bytes(&resource, 1, udpai_str_from(serial));
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
    places->in_name = place_behind(fleet, 0, NAMESPACE);
    /* behind the name, its tag and its length */
    places->in_version = places->in_name + INDEX_DIGITS + 2;
    places->in_cluster_name = place_behind(fleet, places->in_version, NAMESPACE);
    places->in_the_mark = place_behind(fleet, places->in_cluster_name, MARK);
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
    udpai_proto_put_bytes(&writer, 4, UDPAI_STR(TYPE_URL));
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
    char name[sizeof(NAMESPACE) + INDEX_DIGITS], serial[SERIAL_DIGITS + 1];
    snprintf(name, sizeof(name), NAMESPACE "%0*d", INDEX_DIGITS, 0);
    snprintf(serial, sizeof(serial), "%0*d", SERIAL_DIGITS, 0);
    udpai_strbuf entry = {0};
    put_entry(&entry, name, serial, size);
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
