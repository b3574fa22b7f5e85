/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/transport/frames.h"

#include <string.h>

void
frames_put(udpai_strbuf *to, uint8_t type, uint8_t flags, uint32_t id, udpai_str payload)
{
    const uint8_t head[9] = {(uint8_t)(payload.len >> 16),
                             (uint8_t)(payload.len >> 8),
                             (uint8_t)payload.len,
                             type,
                             flags,
                             (uint8_t)(id >> 24),
                             (uint8_t)(id >> 16),
                             (uint8_t)(id >> 8),
                             (uint8_t)id};
    udpai_strbuf_append(to, head, sizeof(head));
    udpai_strbuf_str(to, payload);
}

void
frames_put_begin(udpai_strbuf *to)
{
    udpai_strbuf_puts(to, FRAMES_PREFACE);
    frames_put(to, NGHTTP2_SETTINGS, 0, 0, (udpai_str){0});
}

void
frames_put_field(udpai_strbuf *head, const char *name, const char *value)
{
    udpai_strbuf_putc(head, 0);
    udpai_strbuf_putc(head, (char)strlen(name));
    udpai_strbuf_puts(head, name);
    udpai_strbuf_putc(head, (char)strlen(value));
    udpai_strbuf_puts(head, value);
}

void
frames_put_message(udpai_strbuf *to, uint32_t id, udpai_str message, uint32_t size)
{
    udpai_strbuf payload = {0};
    const char prefix[5] = {0, (char)(size >> 24), (char)(size >> 16), (char)(size >> 8),
                            (char)size};
    udpai_strbuf_append(&payload, prefix, sizeof(prefix));
    udpai_strbuf_str(&payload, message);
    frames_put(to, NGHTTP2_DATA, 0, id, udpai_strbuf_view(&payload));
    udpai_strbuf_done(&payload);
}

bool
frames_next(udpai_str *at, frame *ret_frame)
{
    const uint8_t *head = (const uint8_t *)at->data;
    if (at->len < 9)
        return false;
    size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    if (at->len - 9 < len)
        return false;
    ret_frame->type = head[3];
    ret_frame->flags = head[4];
    ret_frame->id = (uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 |
                    (uint32_t)head[7] << 8 | head[8];
    ret_frame->payload = (udpai_str){at->data + 9, len};
    *at = (udpai_str){at->data + 9 + len, at->len - 9 - len};
    return true;
}
