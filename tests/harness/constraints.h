/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic parameter constraints in one line: `C_AND(C_IS("env", "prod"), C_NOT(C_HAS("version")))`.
 * They live until wire_free_all(). */
#ifndef UDPAI_TESTS_CONSTRAINTS_H
#define UDPAI_TESTS_CONSTRAINTS_H

#include "tests/harness/wire.h"

static inline udpai_str
constraints_list(uint32_t number, const udpai_str *items, size_t n)
{
    udpai_str list = W_NOTHING;
    for (size_t i = 0; i < n; i++)
        list = W_JOIN(list, wire_bytes(1, items[i]));
    return wire_bytes(number, list);
}

#define C_IS(key, value) W_MESSAGE(1, W_TEXT(1, key), W_TEXT(2, value))
#define C_HAS(key) W_MESSAGE(1, W_TEXT(1, key), W_EMPTY(3))
#define C_OR(...)                                                                                  \
    constraints_list(2, (const udpai_str[]){__VA_ARGS__},                                          \
                     UDPAI_ARRAY_LEN(((const udpai_str[]){__VA_ARGS__})))
#define C_AND(...)                                                                                 \
    constraints_list(3, (const udpai_str[]){__VA_ARGS__},                                          \
                     UDPAI_ARRAY_LEN(((const udpai_str[]){__VA_ARGS__})))
#define C_NOT(constraints) wire_bytes(4, constraints)

#endif
