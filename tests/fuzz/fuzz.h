/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets share. A target gets any bytes and must neither crash nor break an invariant,
 * which it states with FUZZ_CHECK(); that stays on in every build. */
#ifndef UDPAI_TESTS_FUZZ_H
#define UDPAI_TESTS_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The entry point of every target; always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts up to @p max bytes from the front of the input. */
static inline udpai_str
fuzz_take(udpai_str *input, size_t max)
{
    udpai_str piece = {input->data, udpai_min_size(max, input->len)};
    *input = (udpai_str){input->len ? input->data + piece.len : NULL, input->len - piece.len};
    return piece;
}

/* Cuts one byte from the front, 0 at the end. */
static inline uint8_t
fuzz_take_byte(udpai_str *input)
{
    udpai_str piece = fuzz_take(input, 1);
    return piece.len ? (uint8_t)*piece.data : 0;
}

/* Cuts a text whose length is the byte before it. */
static inline udpai_str
fuzz_take_text(udpai_str *input)
{
    size_t len = fuzz_take_byte(input);
    return fuzz_take(input, len);
}

/* Cuts what lies before the next end of line, which is dropped; the rest if there is none. */
static inline udpai_str
fuzz_take_line(udpai_str *input)
{
    const char *end = input->len ? memchr(input->data, '\n', input->len) : NULL;
    udpai_str line = fuzz_take(input, end ? (size_t)(end - input->data) : input->len);
    if (end)
        fuzz_take(input, 1);
    return line;
}

#endif
