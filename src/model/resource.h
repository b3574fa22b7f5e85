/* SPDX-License-Identifier: Apache-2.0 */
/* Resources from the inside: an immutable value around the bytes of the Any that arrived.
 *
 * The data about a resource (its name, origin, path) and its content (the Any) are two objects, so
 * that a refresh, which changes the former only, copies no payload. */
#ifndef UDPAI_RESOURCE_H
#define UDPAI_RESOURCE_H

#include <udpa/resource.h>

#include "base/bytes.h"
#include "base/proto.h"
#include "base/util.h"
#include "model/digest.h"
#include "model/hop_path.h"

#define UDPAI_TYPE_LOCATOR "type.googleapis.com/xds.core.v3.ResourceLocator"

#define UDPAI_HOPS_MAX 16
#define UDPAI_ALIASES_MAX 256
#define UDPAI_VERSION_MAX 512
#define UDPAI_AUTHORITY_MAX 512
#define UDPAI_TYPE_URL_MAX 512
/* A value up to here is part of the resource, and copied with it. */
#define UDPAI_SMALL_MAX 1024
#define UDPAI_ANY_MAX ((size_t)INT32_MAX) /* no protobuf message may be longer */
/* Ten years; what is longer is an error, and would not fit the clocks' arithmetic for ever. */
#define UDPAI_TTL_MAX_MS ((uint64_t)10 * 365 * 24 * 3600 * 1000)

typedef struct udpai_signature {
    uint32_t algorithm; /* 0: none */
    udpai_str key_id;
    int64_t not_before_us, not_after_us;
    udpai_str value;
} udpai_signature;

/* Everything a resource is made of; all borrowed. */
typedef struct udpai_resource_parts {
    udpai_str name;
    udpai_str version;   /* empty: the content hash */
    udpai_str authority; /* empty: nobody yet */
    udpa_bytes *any;     /* google.protobuf.Any as it arrived; a reference is taken */
    udpa_bytes *value;   /* instead: of one in the usual form with this `type`, the value alone */
    udpai_str small;     /* instead of that: a value that the resource gets a copy of */
    udpa_bytes *type;    /* the type URL with a NUL, to be shared by resources; NULL: made */
    udpai_hop_path *hop_path; /* shared if the authority and the hops are the same; NULL: made */
    uint64_t generation;      /* 0: none yet */
    uint64_t ttl_ms;          /* 0: none */
    bool lazy, do_not_cache;
    udpai_signature signature;
    const udpai_hop *hops;
    size_t n_hops;
    const udpai_str *aliases;
    size_t n_aliases;
    udpai_str constraints; /* of a variant of its one alias (model/variant.h); empty: it is none */
    /* Of a redirect, with a ResourceLocator as its Any: the type URL of what it points to, which is
     * the type of the resource. Empty: it is none. */
    udpai_str redirected_type;
} udpai_resource_parts;

/* Checks nothing but that the Any parses: names and sizes are the caller's to check
 * (udpai_resource_parts_check()). */
udpa_err udpai_resource_make(udpa_resource **ret_resource, const udpai_resource_parts *parts);

/* Is this a resource that may exist? Every rule about names, sizes, UTF-8 and counts. Without an
 * Any (no bytes at all) it is a refresh, and the rest is checked. */
udpa_err udpai_resource_parts_check(const udpai_resource_parts *parts, udpa_error **ret_error);

/* The parts of an existing resource, borrowed from it: change some and make another. The arrays are
 * written to the caller's room. */
typedef struct udpai_resource_room {
    udpai_hop hops[UDPAI_HOPS_MAX + 1];
    udpai_str aliases[UDPAI_ALIASES_MAX];
} udpai_resource_room;

udpai_resource_parts udpai_resource_parts_of(const udpa_resource *resource,
                                             udpai_resource_room *room);

/* What arrived as an Any: a copy of it (parts->any), or, if its bytes follow from it and the type
 * that the parts have, of the value alone; of a small value they borrow what arrived. *ret_bytes is
 * what else they borrow, or NULL. */
udpa_err
udpai_resource_parts_set_any(udpai_resource_parts *parts, udpai_str any, udpa_bytes **ret_bytes);

/* Reads the Any of these parts; false if it is malformed. */
bool udpai_resource_parts_read_any(const udpai_resource_parts *parts,
                                   udpai_str *ret_type_url,
                                   udpai_str *ret_value);

/* Writes an Any in the usual form: its type URL, then the value. */
void udpai_any_put(udpai_proto_writer *writer, udpai_str type_url, udpai_str value);
size_t udpai_any_size(udpai_str type_url, udpai_str value);

/* What of that comes before the value. The type URL is no longer than one may be. */
typedef struct udpai_any_room {
    uint8_t bytes[UDPAI_TYPE_URL_MAX + 24];
} udpai_any_room;

udpai_str udpai_any_head(udpai_any_room *room, udpai_str type_url, size_t value_size);
/* The same, made. */
udpa_bytes *udpai_any_make(udpai_str type_url, udpai_str value);
/* Finds type URL and value in an Any; false if it is malformed, or has a field twice. */
bool udpai_any_parse(udpai_str any, udpai_str *ret_type_url, udpai_str *ret_value);

udpai_str udpai_resource_name(const udpa_resource *resource);
udpai_str udpai_resource_type_url(const udpa_resource *resource);
udpai_str udpai_resource_version(const udpa_resource *resource);
udpai_str udpai_resource_authority(const udpa_resource *resource);
udpa_bytes *udpai_resource_type(const udpa_resource *resource); /* borrowed; see parts.type */
udpai_hop_path *
udpai_resource_hop_path(const udpa_resource *resource); /* borrowed; see parts.hop_path */
udpai_str udpai_resource_value(const udpa_resource *resource);
/* The bytes of the Any as they arrived: a head, which may be empty and is written to the room, … */
udpai_str udpai_resource_any_head(const udpa_resource *resource, udpai_any_room *room);
/* … and a body; … */
udpai_str udpai_resource_any_body(const udpa_resource *resource);
/* … of which a reference can be had, unless it is part of the resource: borrowed, or NULL. */
udpa_bytes *udpai_resource_any_shared(const udpa_resource *resource);
/* Of both. */
size_t udpai_resource_any_size(const udpa_resource *resource);
/* Writes it as a field. */
void
udpai_resource_put_any(udpai_proto_writer *writer, uint32_t number, const udpa_resource *resource);
uint64_t udpai_resource_digest(const udpa_resource *resource);
udpai_content_hash udpai_resource_content_hash(const udpa_resource *resource);
/* Its digits. */
void udpai_resource_content_hex(const udpa_resource *resource, char hex[UDPAI_CONTENT_HASH_HEX]);
bool udpai_resource_is_lazy(const udpa_resource *resource);
bool udpai_resource_do_not_cache(const udpa_resource *resource);
const udpai_signature *udpai_resource_signature(const udpa_resource *resource); /* NULL: none */
udpai_str udpai_resource_alias(const udpa_resource *resource, size_t index);
/* Is its value a locator of another resource of its type, and no message of that type? */
bool udpai_resource_is_redirect(const udpa_resource *resource);
/* The type URL of its value. */
udpai_str udpai_resource_value_type(const udpa_resource *resource);
/* Of a variant; empty: it is none. */
udpai_str udpai_resource_constraints(const udpa_resource *resource);
/* How many different keys they name. */
unsigned udpai_resource_n_constraint_keys(const udpa_resource *resource);
/* What clients that are sent one variant of a name ask for it by: of a variant its alias, else its
 * name. */
udpai_str udpai_resource_asked_name(const udpa_resource *resource);
udpai_hop udpai_resource_hop(const udpa_resource *resource, size_t index);
/* Does the path of the resource pass this node? */
bool udpai_resource_passed(const udpa_resource *resource, udpai_str node_id, udpai_str instance);

/* XXH64 over the generation and the first n_hops hops; see Subscribe.initial_ways. */
uint64_t udpai_resource_path_digest(const udpa_resource *resource, size_t n_hops);

/* Same version, Any bytes and constraints: for subscribers, no update. */
bool udpai_resource_same_payload(const udpa_resource *a, const udpa_resource *b);
/* The same ones, in the same order. */
bool udpai_resource_same_aliases(const udpa_resource *a, const udpa_resource *b);
/* Same in what a refresh carries: generation, signature, hops. */
bool udpai_resource_same_origin_info(const udpa_resource *a, const udpa_resource *b);
/* The same in all that travels, but for the times of its hops. */
bool udpai_resource_is_same(const udpa_resource *a, const udpa_resource *b);
/* Bytes of memory it holds, payload and path included, as if it shared them with none; what limits
 * count. */
size_t udpai_resource_footprint(const udpa_resource *resource);

#endif
