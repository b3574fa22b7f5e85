/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/value.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX 64 /* characters of what may be a number */
#define TWO_TO_64 18446744073709551616.0
#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to here are themselves */

static udpai_str
strip(udpai_str text)
{
    while (text.len && isspace((unsigned char)text.data[0]))
        text = (udpai_str){text.data + 1, text.len - 1};
    while (text.len && isspace((unsigned char)text.data[text.len - 1]))
        text.len--;
    return text;
}

/* In letters of either size; the words have small ones. */
static bool
is_word(udpai_str text, const char *word)
{
    for (size_t i = 0; i < text.len; i++)
        if (!word[i] || tolower((unsigned char)text.data[i]) != word[i])
            return false;
    return word[text.len] == '\0';
}

/* ---- numbers ---- */

static bool
is_digit(udpai_str text, size_t at)
{
    return at < text.len && text.data[at] >= '0' && text.data[at] <= '9';
}

static size_t
skip_digits(udpai_str text, size_t at)
{
    while (is_digit(text, at))
        at++;
    return at;
}

static size_t
skip_sign(udpai_str text, size_t at)
{
    return at < text.len && (text.data[at] == '+' || text.data[at] == '-') ? at + 1 : at;
}

/* Decimal digits alone: what else strtod() takes, such as 0x10 and nan, is a text here. */
static bool
is_number(udpai_str text)
{
    size_t begin = skip_sign(text, 0), at = skip_digits(text, begin), n_digits = at - begin;
    if (at < text.len && text.data[at] == '.') {
        size_t end = skip_digits(text, at + 1);
        n_digits += end - at - 1;
        at = end;
    }
    if (n_digits == 0)
        return false;
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        begin = skip_sign(text, at + 1);
        at = skip_digits(text, begin);
        if (at == begin)
            return false;
    }
    return at == text.len;
}

/* strtod() expects the point of the program's locale, which is not ours to choose. */
static double
read_number(udpai_str text)
{
    char room[NUMBER_MAX + 8];
    size_t len = 0;
    const char *point = localeconv()->decimal_point;
    size_t point_len = udpai_min_size(strlen(point), 7);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '.') {
            memcpy(room + len, point, point_len);
            len += point_len;
        } else {
            room[len++] = text.data[i];
        }
    }
    room[len] = '\0';
    return strtod(room, NULL);
}

/* Digits alone, so that integers above 2^53 stay what they are. */
static bool
read_integer(udpai_str text, uint64_t *ret_integer)
{
    size_t at = text.len && text.data[0] == '+';
    uint64_t integer = 0;
    if (at == text.len || skip_digits(text, at) != text.len)
        return false;
    for (; at < text.len; at++) {
        unsigned digit = (unsigned)(text.data[at] - '0');
        if (integer > (UINT64_MAX - digit) / 10)
            return false;
        integer = integer * 10 + digit;
    }
    *ret_integer = integer;
    return true;
}

static void
take_number(udpai_runtime_value *value, double number)
{
    value->has_number = isfinite(number);
    value->number = value->has_number ? number : 0;
    value->has_integer = value->has_number && number >= 0 && number < TWO_TO_64;
    value->integer = value->has_integer ? (uint64_t)number : 0;
}

/* ---- shares ---- */

static bool
read_denominator(udpai_str text, uint32_t *ret_denominator)
{
    static const struct {
        const char *name, *number;
        uint32_t value;
    } all[] = {{"hundred", "0", 100}, {"ten_thousand", "1", 10000}, {"million", "2", 1000000}};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        if (is_word(text, all[i].name) || is_word(text, all[i].number)) {
            *ret_denominator = all[i].value;
            return true;
        }
    }
    return false;
}

static udpai_str
unquote(udpai_str text)
{
    text = strip(text);
    bool is_quoted = text.len >= 2 && (text.data[0] == '"' || text.data[0] == '\'') &&
                     text.data[text.len - 1] == text.data[0];
    return is_quoted ? (udpai_str){text.data + 1, text.len - 2} : text;
}

/* One of "numerator: 5" and "denominator: MILLION". */
static bool
read_part(udpai_str part, udpai_runtime_share *share, bool *has_numerator)
{
    udpai_str key;
    uint64_t number;
    if (!udpai_str_cut(&part, ':', &key))
        return false;
    key = unquote(key);
    part = unquote(part);
    if (udpai_str_eq(key, UDPAI_STR("denominator")))
        return read_denominator(part, &share->denominator);
    if (!udpai_str_eq(key, UDPAI_STR("numerator")) || !read_integer(part, &number) ||
        number > UINT32_MAX)
        return false;
    share->numerator = (uint32_t)number;
    *has_numerator = true;
    return true;
}

static bool
read_share(udpai_str text, udpai_runtime_share *ret_share)
{
    bool is_json = text.len >= 2 && text.data[0] == '{' && text.data[text.len - 1] == '}';
    char separator = is_json ? ',' : '\n';
    udpai_str rest = is_json ? (udpai_str){text.data + 1, text.len - 2} : text, part;
    udpai_runtime_share share = {.denominator = 100};
    bool has_numerator = false, is_last;
    unsigned n_parts = 0;
    do {
        is_last = !udpai_str_cut(&rest, separator, &part);
        if (is_last)
            part = rest;
        if (++n_parts > 2 || !read_part(part, &share, &has_numerator))
            return false;
    } while (!is_last);
    *ret_share = share;
    return has_numerator || share.denominator != 100;
}

/* ---- values ---- */

udpai_runtime_value
udpai_runtime_value_read(udpai_str text)
{
    udpai_runtime_value value = {.text = text};
    udpai_str stripped = strip(text);
    if (is_word(stripped, "true") || is_word(stripped, "false")) {
        value.has_truth = true;
        value.truth = is_word(stripped, "true");
    } else if (stripped.len <= NUMBER_MAX && is_number(stripped)) {
        uint64_t integer;
        take_number(&value, read_number(stripped));
        if (read_integer(stripped, &integer)) {
            value.has_integer = value.has_truth = true;
            value.integer = integer;
            value.truth = integer != 0;
        }
    } else {
        value.has_share = read_share(stripped, &value.share);
    }
    return value;
}

udpai_runtime_value
udpai_runtime_value_number(udpai_str text, double number)
{
    udpai_runtime_value value = {.text = text};
    take_number(&value, number);
    value.has_truth = value.has_integer && number == (double)value.integer;
    value.truth = value.integer != 0;
    return value;
}

udpai_runtime_value
udpai_runtime_value_truth(bool truth)
{
    return (udpai_runtime_value){
        .text = truth ? UDPAI_STR("true") : UDPAI_STR("false"), .has_truth = true, .truth = truth};
}

udpai_str
udpai_runtime_number_text(double number, char room[UDPAI_RUNTIME_NUMBER_ROOM])
{
    int len = 0;
    if (fabs(number) <= EXACT_MAX && number == trunc(number)) {
        len = snprintf(room, UDPAI_RUNTIME_NUMBER_ROOM, "%lld", (long long)number);
        return (udpai_str){room, (size_t)len};
    }
    for (int digits = 15; digits <= 17; digits++) {
        len = snprintf(room, UDPAI_RUNTIME_NUMBER_ROOM, "%.*g", digits, number);
        if (strtod(room, NULL) == number)
            break;
    }
    char *point = strchr(room, localeconv()->decimal_point[0]);
    if (point && localeconv()->decimal_point[0])
        *point = '.';
    return (udpai_str){room, (size_t)len};
}

bool
udpai_runtime_share_has(udpai_runtime_share share, uint64_t draw)
{
    return draw % share.denominator < share.numerator;
}
