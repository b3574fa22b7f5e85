/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as values of a runtime. Whatever is found in one is what it can be; blanks around it change
 * nothing; a number is the same once it was written and read again. */
#include <math.h>

#include "base/alloc.h"
#include "runtime/value.h"
#include "tests/fuzz/fuzz.h"

static bool
is_same(const udpai_runtime_value *a, const udpai_runtime_value *b)
{
    return a->has_truth == b->has_truth && a->has_number == b->has_number &&
           a->has_integer == b->has_integer && a->has_share == b->has_share &&
           a->truth == b->truth && a->number == b->number && a->integer == b->integer &&
           a->share.numerator == b->share.numerator && a->share.denominator == b->share.denominator;
}

static void
check_number(const udpai_runtime_value *value)
{
    char room[UDPAI_RUNTIME_NUMBER_ROOM];
    FUZZ_CHECK(isfinite(value->number));
    udpai_str text = udpai_runtime_number_text(value->number, room);
    FUZZ_CHECK(text.len < sizeof(room));
    udpai_runtime_value again = udpai_runtime_value_read(text);
    FUZZ_CHECK(again.has_number && again.number == value->number);
    udpai_runtime_value as_number = udpai_runtime_value_number(text, value->number);
    FUZZ_CHECK(as_number.has_integer == again.has_integer);
}

static void
check_share(udpai_runtime_share share)
{
    FUZZ_CHECK(share.denominator == 100 || share.denominator == 10000 ||
               share.denominator == 1000000);
    FUZZ_CHECK(udpai_runtime_share_has(share, 0) == (share.numerator > 0));
    FUZZ_CHECK(udpai_runtime_share_has(share, share.denominator - 1) ==
               (share.numerator >= share.denominator));
}

static void
check(const udpai_runtime_value *value)
{
    FUZZ_CHECK(!value->has_share || (!value->has_number && !value->has_truth));
    FUZZ_CHECK(!value->has_truth || !value->has_number || value->truth == (value->integer != 0));
    FUZZ_CHECK(value->has_integer || value->integer == 0);
    if (value->has_number)
        check_number(value);
    if (value->has_share)
        check_share(value->share);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_runtime_value value = udpai_runtime_value_read(input);
    FUZZ_CHECK(value.text.data == input.data && value.text.len == input.len);
    check(&value);
    char *padded = udpai_alloc(size + 3);
    FUZZ_CHECK(padded);
    if (size)
        memcpy(padded + 1, data, size);
    padded[0] = ' ';
    padded[size + 1] = '\r';
    padded[size + 2] = '\n';
    udpai_runtime_value again = udpai_runtime_value_read((udpai_str){padded, size + 3});
    FUZZ_CHECK(is_same(&value, &again));
    udpai_free(padded);
    return 0;
}
