/* SPDX-License-Identifier: Apache-2.0 */
/* UdpaMessage: bytes from a peer to values. Every message is scanned before it is unpacked. */
#ifndef UDPAI_MESSAGE_H
#define UDPAI_MESSAGE_H

#include "model/node_info.h"
#include "model/publication.h"
#include "wire/arena.h"
#include "wire/scan.h"

#define UDPAI_TYPE_NODE "type.googleapis.com/envoy.config.core.v3.Node"

typedef enum udpai_message_kind {
    UDPAI_MESSAGE_NONE = 0, /* empty, or a kind that is not known: to be ignored */
    UDPAI_MESSAGE_SUBSCRIBE,
    UDPAI_MESSAGE_UNSUBSCRIBE,
    UDPAI_MESSAGE_PUBLISH,
    UDPAI_MESSAGE_RECEIPT,
    UDPAI_MESSAGE_SUBSCRIPTION_ERROR,
    UDPAI_MESSAGE_KINDS,
} udpai_message_kind;

/* A nonce goes back as it came; a longer one cannot. */
#define UDPAI_NONCE_MAX 1024

/* What a subscriber states that it holds. */
typedef struct udpai_held_version {
    udpai_str name, version;
} udpai_held_version;

typedef struct udpai_held_digest {
    udpai_str name;
    uint64_t digest;
} udpai_held_digest;

/* Subscribe, Unsubscribe and SubscriptionError share most fields. */
typedef struct udpai_subscription_message {
    udpai_str type_url, name_space;
    const udpai_str *names;
    size_t n_names;
    const udpai_held_version *versions;
    size_t n_versions;
    const udpai_held_digest *digests;
    size_t n_digests;
    const udpai_held_digest *paths; /* initial_ways */
    size_t n_paths;
    uint32_t distance;   /* of a Subscribe for what clients report */
    bool recovers;       /* of a Subscribe: what came from the subscriber is offered to it, too */
    int32_t status_code; /* of a SubscriptionError, with the text */
    udpai_str status_text;
} udpai_subscription_message;

typedef struct udpai_status_message {
    int32_t code; /* google.rpc.Code; 0: applied */
    udpai_str text;
} udpai_status_message;

typedef struct udpai_effect_message {
    udpai_effect_kind kind;
    udpai_str effective;
} udpai_effect_message;

typedef struct udpai_receipt_message {
    udpai_str nonce;
    const udpai_status_message *statuses;
    size_t n_statuses;
    const udpai_effect_message *effects; /* of a trial */
    size_t n_effects;
} udpai_receipt_message;

typedef struct udpai_message {
    udpai_message_kind kind;
    udpai_subscription_message subscription;
    udpai_receipt_message receipt;
    udpai_publication *publication; /* owned by the message until taken */
} udpai_message;

/* Working memory of a decoder; one per thread that decodes. */
typedef struct udpai_decoder {
    udpai_arena arena;
    udpai_spans anys;
    udpai_scan_faults faults;      /* resources that are refused by themselves */
    udpa_bytes *last_type;         /* so that resources of one type share its text */
    udpai_hop_path *last_hop_path; /* the same of those that came one path */
} udpai_decoder;

void udpai_decoder_init(udpai_decoder *decoder);
void udpai_decoder_done(udpai_decoder *decoder);
/* What is made next with parts.hop_path = last_hop_path shares the path of this one, if it came the
 * same. */
void udpai_decoder_share_path(udpai_decoder *decoder, const udpa_resource *resource);

/* Decodes one message. Views in *ret_message are valid until the next call with this decoder, and
 * as long as @p bytes; a publication is a value of its own.
 *
 * Resources that may not be (bad names, sizes, malformed ones) do not fail the message: their
 * entries carry the error. What fails it is what is malformed around them, or a limit. @p extended:
 * the peer announced our extensions, so that an Any without a value may be a payload: it is one
 * without a ttl, and where the version is the hash of just that content (docs/design/wire.md).
 * To be followed by udpai_message_done(). */
udpa_err udpai_message_decode(udpai_decoder *decoder,
                              udpai_str bytes,
                              bool extended,
                              udpai_message *ret_message,
                              udpa_error **ret_error);
void udpai_message_done(udpai_message *message);

/* One stored or sent Resource message by itself. */
udpa_err udpai_resource_decode(udpai_decoder *decoder,
                               udpai_str bytes,
                               udpa_resource **ret_resource,
                               udpa_error **ret_error);

/* The Node in the payload of a resource. */
udpa_err udpai_node_info_decode(udpai_decoder *decoder,
                                udpai_str bytes,
                                udpai_node_info **ret_info,
                                udpa_error **ret_error);

#endif
