/* SPDX-License-Identifier: Apache-2.0 */
/* One resource of a file: bare or wrapped, to its parts. */
#ifndef UDPAI_RESOURCE_ENTRY_H
#define UDPAI_RESOURCE_ENTRY_H

#include "base/vector.h"
#include "codec/descriptor.h"
#include "codec/place.h"
#include "model/resource.h"

#define UDPAI_TYPE_UDPA_RESOURCE "udpa.service.discovery.v1.Resource"
#define UDPAI_TYPE_ENVOY_RESOURCE "envoy.service.discovery.v3.Resource"
#define UDPAI_TYPE_DISCOVERY_RESPONSE "envoy.service.discovery.v3.DiscoveryResponse"

/* Where a file comes from. */
typedef enum udpai_file_kind {
    UDPAI_FILE_WRITTEN,
    /* What a node has printed is welcome too: of how a resource came there (hops, and without a
     * signature its generation) nothing is taken over, since a node that takes it in writes that
     * anew. */
    UDPAI_FILE_PRINTED,
    /* The same, and generations are taken as they are: what was printed is taken literally. */
    UDPAI_FILE_RESTORED,
} udpai_file_kind;

/* Views into the bytes that were read. */
typedef struct udpai_resource_entry {
    udpai_file_kind kind; /* set before it is read */
    udpai_str name;       /* as written */
    udpai_str version, authority;
    udpai_str type_url, value;
    UDPAI_VECTOR(udpai_str) aliases;
    uint64_t ttl_ms;
    bool lazy, do_not_cache;
    udpai_str constraints, redirected_type; /* as in udpai_resource_parts */
    udpai_signature signature;              /* algorithm 0: none */
    uint64_t generation;                    /* of what is signed; else 0 */
} udpai_resource_entry;

/* Reads the bytes of an Any: a wrapper of one of the two types above, or the payload itself. The
 * name is taken from the payload if no wrapper gives one. @p place is where errors are. */
udpa_err udpai_resource_entry_from_any(udpai_resource_entry *entry,
                                       const udpai_schema *schema,
                                       udpai_str any,
                                       const udpai_place *place,
                                       udpa_error **ret_error);
/* Reads the bytes of a udpa.service.discovery.v1.Resource. */
udpa_err udpai_resource_entry_from_udpa(udpai_resource_entry *entry,
                                        const udpai_schema *schema,
                                        udpai_str message,
                                        const udpai_place *place,
                                        udpa_error **ret_error);
/* The type URL of the resource: of what a redirect points to, else of the payload. */
udpai_str udpai_resource_entry_type(const udpai_resource_entry *entry);
void udpai_resource_entry_done(udpai_resource_entry *entry);

#endif
