/* SPDX-License-Identifier: Apache-2.0 */
#include "model/trace.h"

#define VERSION_END 2
#define ID_AT 3
#define ID_END 35
#define SPAN_AT 36
#define SPAN_END 52
#define FLAGS_AT 53
#define SAMPLED 1

static const char digits[] = "0123456789abcdef";

static bool
read_hex(const char *text, size_t n, uint8_t *bytes)
{
    for (size_t i = 0; i < 2 * n; i++) {
        const char *digit = memchr(digits, text[i], 16);
        if (!digit)
            return false;
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | (digit - digits));
    }
    return true;
}

static char *
write_hex(char *at, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    return at;
}

static bool
is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

bool
udpai_trace_is_set(const udpai_trace *trace)
{
    return !is_zero(trace->id, UDPAI_TRACE_ID);
}

bool
udpai_trace_read(udpai_str text, udpai_trace *ret_trace)
{
    udpai_trace read = {0};
    uint8_t version = 0, flags = 0;
    *ret_trace = read;
    if (text.len != UDPAI_TRACEPARENT_LEN || text.data[VERSION_END] != '-' ||
        text.data[ID_END] != '-' || text.data[SPAN_END] != '-' ||
        !read_hex(text.data, 1, &version) || version == 0xff ||
        !read_hex(text.data + ID_AT, UDPAI_TRACE_ID, read.id) ||
        !read_hex(text.data + SPAN_AT, UDPAI_SPAN_ID, read.span) ||
        !read_hex(text.data + FLAGS_AT, 1, &flags) || is_zero(read.id, UDPAI_TRACE_ID) ||
        is_zero(read.span, UDPAI_SPAN_ID))
        return false;
    read.is_sampled = flags & SAMPLED;
    *ret_trace = read;
    return true;
}

void
udpai_trace_write(const udpai_trace *trace, char room[UDPAI_TRACEPARENT_LEN])
{
    const uint8_t version = 0, flags = trace->is_sampled ? SAMPLED : 0;
    char *at = write_hex(room, &version, 1);
    *at++ = '-';
    at = write_hex(at, trace->id, UDPAI_TRACE_ID);
    *at++ = '-';
    at = write_hex(at, trace->span, UDPAI_SPAN_ID);
    *at++ = '-';
    (void)write_hex(at, &flags, 1);
}
