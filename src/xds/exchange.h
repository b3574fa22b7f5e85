/* SPDX-License-Identifier: Apache-2.0 */
/* xDS as a client speaks it: requests composed, responses decoded, in one shape for the delta and
 * the state of the world protocol. Every response is scanned before anything of it is read. */
#ifndef UDPAI_XDS_EXCHANGE_H
#define UDPAI_XDS_EXCHANGE_H

#include "wire/message.h"

#define UDPAI_XDS_TYPE_RESOURCE "type.googleapis.com/envoy.service.discovery.v3.Resource"

/* What a request has; what is empty is left out. */
typedef struct udpai_xds_ask {
    udpai_str node; /* serialised, see udpai_node_encode() */
    udpai_str type_url, nonce;
    udpai_str version;      /* version_info; not in the delta protocol */
    const udpai_str *names; /* resource_names, or resource_names_subscribe */
    size_t n_names;
    const udpai_str *unsubscribed; /* the delta protocol alone, as are the versions */
    size_t n_unsubscribed;
    const udpai_held_version *versions;
    size_t n_versions;
    int32_t error_code; /* google.rpc.Code; not 0: a refusal */
    udpai_str error_text;
} udpai_xds_ask;

/* A whole DiscoveryRequest, or DeltaDiscoveryRequest; NULL without memory. */
udpa_bytes *udpai_xds_ask_compose(const udpai_xds_ask *ask, bool is_delta);

/* A resource of a response. */
typedef struct udpai_xds_received {
    udpai_str name;    /* SotW, not wrapped: what the payload has as its name; may be empty */
    udpai_str version; /* SotW, not wrapped: empty */
    udpai_str any;     /* the bytes of its Any */
    bool has_any;      /* without: a heartbeat, or an answer that there is none of these aliases */
    bool is_wrapped;   /* it came in a Resource */
    bool do_not_cache;
    bool has_ttl;
    uint64_t ttl_ms; /* 0: of a ttl that cannot be, zero, negative, or above UDPAI_TTL_MAX_MS */
    const udpai_str *aliases;
    size_t n_aliases;
} udpai_xds_received;

typedef struct udpai_xds_answer {
    udpai_str type_url, nonce;
    udpai_str version; /* version_info, or system_version_info */
    udpai_str control_plane;
    bool is_canary;
    const udpai_xds_received *resources;
    size_t n_resources;
    const udpai_str *removed; /* the delta protocol alone */
    size_t n_removed;
} udpai_xds_answer;

/* Decodes a DiscoveryResponse, or a DeltaDiscoveryResponse. Views are valid until the next call
 * with this decoder, and as long as @p bytes. */
udpa_err udpai_xds_answer_decode(udpai_decoder *decoder,
                                 udpai_str bytes,
                                 bool is_delta,
                                 udpai_xds_answer *ret_answer,
                                 udpa_error **ret_error);

#endif
