/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says on one stream, as its bytes come: messages of gRPC, of which no more is kept
 * than what they are answered by. Pure. */
#ifndef UDPAI_LOAD_TALK_H
#define UDPAI_LOAD_TALK_H

#include "load/protocol.h"

typedef struct udpai_load_text {
    char text[UDPAI_CUTTER_ROOM];
    uint8_t len;
} udpai_load_text;

typedef struct udpai_load_talk udpai_load_talk;

struct udpai_load_talk {
    udpai_load_protocol protocol;
    void (*message)(void *userdata, const udpai_load_talk *talk); /* one is whole */
    void *userdata;
    udpai_load_version *learned; /* borrowed: versions of the first n_learned resources; or NULL */
    size_t n_learned;

    /* Of the message that comes, or has just come. */
    uint32_t n_resources;
    bool is_receipt, is_refused, wants_receipt;
    udpai_load_text nonce, version, reason;

    uint8_t prefix[5], n_prefix;
    bool is_inside;
    size_t resource; /* its index; SIZE_MAX: not known yet */
    udpai_load_text resource_version;
    udpai_cutter cutter;
};

/* False: it is no gRPC, it is compressed, or no message of protobuf. */
bool udpai_load_talk_take(udpai_load_talk *talk, udpai_str bytes);

static inline udpai_str
udpai_load_text_view(const udpai_load_text *text)
{
    return (udpai_str){text->text, text->len};
}

#endif
