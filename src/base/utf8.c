/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* Length of the sequence that a lead byte begins, and the bounds of its second byte, which is what
 * excludes overlong forms, surrogates and what lies above U+10FFFF. 0: no lead byte. */
static size_t
sequence(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
    *ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

static bool
multibyte_valid(const unsigned char *bytes, size_t left, size_t *ret_len)
{
    unsigned char low, high;
    size_t len = sequence(bytes[0], &low, &high);
    if (len == 0 || len > left || bytes[1] < low || bytes[1] > high)
        return false;
    for (size_t i = 2; i < len; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
    *ret_len = len;
    return true;
}

#define ONES 0x0101010101010101u
#define HIGH_BITS (ONES * 0x80)

/* Are these 8 bytes ASCII, none of them zero? A zero byte borrows from the one above it, or is the
 * highest: a high bit shows it. */
static inline bool
is_plain(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return !(((word - ONES) | word) & HIGH_BITS);
}

/* How much of the text is plain, found in steps of 8 bytes: nearly always all of it. */
static size_t
plain_front(const unsigned char *bytes, size_t len)
{
    size_t at = 0;
    while (at + 8 <= len && is_plain(bytes + at))
        at += 8;
    bool is_rest = at && at + 8 > len;
    return is_rest && is_plain(bytes + len - 8) ? len : at;
}

bool
udpai_utf8_valid(udpai_str text)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t at = plain_front(bytes, text.len);
    while (at < text.len) {
        size_t len = 1;
        if (bytes[at] == 0)
            return false;
        if (bytes[at] >= 0x80 && !multibyte_valid(bytes + at, text.len - at, &len))
            return false;
        at += len;
    }
    return true;
}

void
udpai_utf8_mend(char *text)
{
    size_t left = strlen(text), len;
    for (; left; text += len, left -= len) {
        len = 1;
        if ((unsigned char)*text >= 0x80 &&
            !multibyte_valid((const unsigned char *)text, left, &len))
            *text = '?';
    }
}

udpai_str
udpai_utf8_cut(udpai_str text, size_t max)
{
    if (text.len <= max)
        return text;
    while (max && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return (udpai_str){text.data, max};
}

size_t
udpai_utf8_decode(udpai_str text, uint32_t *ret_point)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t len = 1;
    if (text.len == 0 || (bytes[0] >= 0x80 && !multibyte_valid(bytes, text.len, &len)))
        return 0;
    *ret_point = len == 1 ? bytes[0] : bytes[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        *ret_point = *ret_point << 6 | (bytes[i] & 0x3f);
    return len;
}

bool
udpai_utf8_is_hidden(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 ||
           (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200e || point == 0x200f || point == 0x61c;
}
