/* SPDX-License-Identifier: Apache-2.0 */
/* One stream, as its bytes arrive: messages of gRPC, of which no more is kept than their ACK needs.
 * Pure. */
#ifndef UDPAI_BENCH_STREAM_H
#define UDPAI_BENCH_STREAM_H

#include "tools/bench/protocol.h"

typedef struct udpai_load_text {
    char text[UDPAI_PARSER_ROOM];
    uint8_t len;
} udpai_load_text;

typedef struct udpai_load_stream udpai_load_stream;

struct udpai_load_stream {
    udpai_load_protocol protocol;
    void (*message)(void *userdata, const udpai_load_stream *stream); /* one is whole */
    void *userdata;
    udpai_load_version *learned; /* borrowed: versions of the first n_learned resources; or NULL */
    size_t n_learned;

    /* Of the message that arrives, or has just arrived. */
    uint32_t n_resources; /* the Node of the server is none */
    bool is_receipt, is_rejected, wants_receipt;
    udpai_load_text nonce, version, type_url;
    udpai_load_text reason; /* of the first refusal that has one */

    uint8_t prefix[5], n_prefix;
    bool is_inside, is_broken;
    bool has_node;   /* of UDPA: the server has sent its Node, which is not a resource */
    size_t resource; /* its index; SIZE_MAX: not known yet */
    udpai_load_text resource_version;
    udpai_parser parser;
};

/* False, now and ever after: it is no gRPC, it is compressed, it is no message of protobuf, or it
 * has a nonce or a version that is too long to be sent back. */
bool udpai_load_stream_read(udpai_load_stream *stream, udpai_str bytes);

static inline udpai_str
udpai_load_text_view(const udpai_load_text *text)
{
    return (udpai_str){text->text, text->len};
}

#endif
