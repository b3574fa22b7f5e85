/* SPDX-License-Identifier: Apache-2.0 */
/* Small things that every file may use: ownership helpers, string views. Depends on libc alone. */
#ifndef UDPAI_UTIL_H
#define UDPAI_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <udpa/macros.h>

#define UDPAI_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#define UDPAI_CONTAINER_OF(pointer, type, member)                                                  \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Moves ownership out of a variable: `*ret_x = UDPAI_TAKE(x);` */
#define UDPAI_TAKE(pointer)                                                                        \
    ({                                                                                             \
        __typeof__(pointer) *udpai_taken_ = &(pointer);                                            \
        __typeof__(pointer) udpai_value_ = *udpai_taken_;                                          \
        *udpai_taken_ = NULL;                                                                      \
        udpai_value_;                                                                              \
    })

/* A view of characters that somebody else owns; not NUL-terminated. */
typedef struct udpai_str {
    const char *data;
    size_t len;
} udpai_str;

#define UDPAI_STR(literal) ((udpai_str){(literal), sizeof(literal) - 1})

static inline udpai_str
udpai_str_from(const char *text)
{
    return (udpai_str){text, text ? strlen(text) : 0};
}

static inline bool
udpai_str_eq(udpai_str a, udpai_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool
udpai_str_starts(udpai_str text, udpai_str prefix)
{
    return text.len >= prefix.len &&
           (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

static inline int
udpai_str_cmp(udpai_str a, udpai_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Decimal digits alone, and no more than fit; else nothing is written. */
static inline bool
udpai_str_number(udpai_str text, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 9 || number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (text.len)
        *ret_number = number;
    return text.len > 0;
}

/* Takes what is before the next @p separator off the front, and the separator with it. False: there
 * is none. */
static inline bool
udpai_str_cut(udpai_str *rest, char separator, udpai_str *ret_part)
{
    const char *end = rest->len ? (const char *)memchr(rest->data, separator, rest->len) : NULL;
    if (!end)
        return false;
    *ret_part = (udpai_str){rest->data, (size_t)(end - rest->data)};
    *rest = (udpai_str){end + 1, rest->len - ret_part->len - 1};
    return true;
}

static inline size_t
udpai_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t
udpai_max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* -1: it is no hexadecimal digit. */
static inline int
udpai_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A text of a peer's in a message to people, for "%.*s": cut. */
#define UDPAI_SHOWN_MAX 200
#define UDPAI_SHOWN(text)                                                                          \
    (int)udpai_min_size((text).len, UDPAI_SHOWN_MAX), (text).data ? (text).data : ""

/* Copies a text to a place in memory that holds several, one behind the other, and moves the place
 * on behind it. */
static inline udpai_str
udpai_str_put(char **at, udpai_str text)
{
    udpai_str copy = {*at, text.len};
    if (text.len)
        memcpy(*at, text.data, text.len);
    *at += text.len;
    return copy;
}

/* The same in memory that is zeroed, with a NUL behind it. */
static inline udpai_str
udpai_str_put_terminated(char **at, udpai_str text)
{
    udpai_str copy = udpai_str_put(at, text);
    ++*at;
    return copy;
}

#endif
