/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of HTTP/2 that are written, and read, by hand. */
#ifndef UDPAI_TESTS_FRAMES_H
#define UDPAI_TESTS_FRAMES_H

#include <nghttp2/nghttp2.h>

#include "base/strbuf.h"

#define FRAMES_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

typedef struct frame {
    uint8_t type, flags;
    uint32_t id;
    udpai_str payload;
} frame;

void frames_put(udpai_strbuf *to, uint8_t type, uint8_t flags, uint32_t id, udpai_str payload);
/* The preface, and SETTINGS without any. */
void frames_put_begin(udpai_strbuf *to);
/* A field of a head, which no table has. */
void frames_put_field(udpai_strbuf *head, const char *name, const char *value);
/* DATA with a message of gRPC, or the beginning of one. */
void frames_put_message(udpai_strbuf *to, uint32_t id, udpai_str message, uint32_t size);
/* The next one of @p at, which is moved behind it; false: there is none that is complete. */
bool frames_next(udpai_str *at, frame *ret_frame);

#endif
