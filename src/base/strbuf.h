/* SPDX-License-Identifier: Apache-2.0 */
/* Growing byte string. After the first failed allocation every later call does nothing and
 * udpai_strbuf_failed() is true; so a caller checks once, at the end. */
#ifndef UDPAI_STRBUF_H
#define UDPAI_STRBUF_H

#include "base/util.h"

typedef struct udpai_strbuf {
    char *data; /* NUL-terminated once anything was appended */
    size_t len, capacity;
    bool failed;
} udpai_strbuf;

void udpai_strbuf_append(udpai_strbuf *buffer, const void *data, size_t len);
void udpai_strbuf_str(udpai_strbuf *buffer, udpai_str text);
void udpai_strbuf_puts(udpai_strbuf *buffer, const char *text);
void udpai_strbuf_putc(udpai_strbuf *buffer, char c);
void udpai_strbuf_printf(udpai_strbuf *buffer, const char *format, ...) UDPA_PRINTF(2, 3);
/* Room for @p len bytes at the end, to be filled by the caller; NULL without memory. */
void *udpai_strbuf_extend(udpai_strbuf *buffer, size_t len);
bool udpai_strbuf_failed(const udpai_strbuf *buffer);
/* Hands over the NUL-terminated text, to be freed with udpai_free(); NULL if anything failed. */
char *udpai_strbuf_take(udpai_strbuf *buffer);
void udpai_strbuf_done(udpai_strbuf *buffer);

static inline udpai_str
udpai_strbuf_view(const udpai_strbuf *buffer)
{
    return (udpai_str){buffer->data, buffer->len};
}

#endif
