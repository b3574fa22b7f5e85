/* SPDX-License-Identifier: Apache-2.0 */
/* What a client sends in each protocol, and which fields of a response it reads. Pure. */
#ifndef UDPAI_BENCH_PROTOCOL_H
#define UDPAI_BENCH_PROTOCOL_H

#include "base/strbuf.h"
#include "tools/bench/held.h"
#include "tools/bench/message_parser.h"
#include "tools/bench/spaces.h"

#define UDPAI_LOAD_ID_ROOM 256

/* What a field of an answer means. */
typedef enum udpai_load_meaning {
    UDPAI_MEANS_NOTHING,
    UDPAI_MEANS_MORE, /* a message around others of these */
    UDPAI_MEANS_RESOURCE,
    UDPAI_MEANS_RESOURCE_NAME,
    UDPAI_MEANS_RESOURCE_VERSION,
    UDPAI_MEANS_RESOURCE_ANY,  /* the message around its type */
    UDPAI_MEANS_RESOURCE_TYPE, /* read where a resource may be the Node of the server */
    UDPAI_MEANS_NONCE,
    UDPAI_MEANS_TYPE,              /* of all its resources */
    UDPAI_MEANS_VERSION,           /* of the whole state */
    UDPAI_MEANS_RECEIPT_REQUESTED, /* a number */
    UDPAI_MEANS_RECEIPT,           /* a message: what we published was taken … */
    UDPAI_MEANS_RECEIPT_ERROR,     /* … but for this */
    UDPAI_MEANS_REJECTION,         /* a message: the subscription is rejected */
    UDPAI_MEANS_REASON,            /* of one of these two, in words */
} udpai_load_meaning;

#define UDPAI_LOAD_NODE_TYPE "type.googleapis.com/envoy.config.core.v3.Node"

udpai_load_meaning udpai_load_meaning_of(udpai_load_protocol protocol, uint32_t path);

/* "/package.Service/Method". */
const char *udpai_load_path(udpai_load_protocol protocol);

/* What a stream subscribes to at its beginning. */
typedef struct udpai_load_subscription {
    const char *type_url, *name_space;
    const udpai_load_space *spaces;              /* of UDPA, so many from this one on, around; */
    size_t n_spaces, first_space, n_of_a_stream; /* 0: name_space alone */
    const char *node_id; /* what it begins with; the number follows. NULL in delta: it was sent */
    size_t first, n_names, n_resources; /* n_names from this one on, around; 0: all, by wildcard */
    bool is_of_envoy;                   /* in delta: to what an Envoy subscribes to, too */
    const udpai_load_held *held;        /* NULL: none */
    unsigned number;                    /* of the stream */
} udpai_load_subscription;

/* What a message of the server is answered by. Views. */
typedef struct udpai_load_ack {
    udpai_str nonce, version;
    udpai_str type_url; /* in delta: empty: that of the subscription */
} udpai_load_ack;

/* Each appends messages of gRPC, with the five bytes before them. */
void udpai_load_put_subscription(udpai_strbuf *out,
                                 udpai_load_protocol protocol,
                                 const udpai_load_subscription *subscription);
void udpai_load_put_acknowledgement(udpai_strbuf *out,
                                    udpai_load_protocol protocol,
                                    const udpai_load_subscription *subscription,
                                    const udpai_load_ack *answer);
/* Of UDPA: our Node, which is sent first. */
void udpai_load_put_node(udpai_strbuf *out, const char *id);

/* Resources @p first, @p first + @p step, … all with this serial. The nonce is the number after it,
 * in decimal. */
typedef struct udpai_load_publication {
    udpai_contents *contents;
    size_t first, step, n;
    uint64_t serial;
    bool wants_receipt, is_removal;
} udpai_load_publication;

void udpai_load_put_publication(udpai_strbuf *out, const udpai_load_publication *publication);

#endif
