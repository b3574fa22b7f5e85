/* SPDX-License-Identifier: Apache-2.0 */
/* A value of the runtime: a text, and what it means where a number, a truth or a share is asked
 * for. What a text means is found out once, when it comes; a later reader looks at the result.
 */
#ifndef UDPAI_RUNTIME_VALUE_H
#define UDPAI_RUNTIME_VALUE_H

#include "base/util.h"

/* So many of a hundred, of ten thousand, of a million. */
typedef struct udpai_runtime_share {
    uint32_t numerator;
    uint32_t denominator; /* 100, 10000 or 1000000 */
} udpai_runtime_share;

typedef struct udpai_runtime_value {
    udpai_str text; /* as it was written; borrowed */
    bool has_truth, has_number, has_integer, has_share;
    bool truth;
    double number;
    uint64_t integer; /* the number, rounded down; not of what is below 0 or above 2^64 - 1 */
    udpai_runtime_share share;
} udpai_runtime_value;

/* What a text means; blanks and ends of lines around it do not count. A number is one of decimal
 * digits, with or without a sign, a point and an exponent. A truth is true or false, in letters of
 * either size, or an integer. A share is a FractionalPercent by its JSON, or the same in lines of
 * YAML. Nothing of all that: it is a text. */
udpai_runtime_value udpai_runtime_value_read(udpai_str text);
/* What google.protobuf.Value has as a number or a bool; the text is as it was written. */
udpai_runtime_value udpai_runtime_value_number(udpai_str text, double number);
udpai_runtime_value udpai_runtime_value_truth(bool truth);

/* Room for the text of any number. */
#define UDPAI_RUNTIME_NUMBER_ROOM 32
/* The shortest text that is read as this very number; without an exponent where it has few digits.
 */
udpai_str udpai_runtime_number_text(double number, char room[UDPAI_RUNTIME_NUMBER_ROOM]);

/* Does the draw, a random number, fall into the share? */
bool udpai_runtime_share_has(udpai_runtime_share share, uint64_t draw);

#endif
