/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/encode.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"

/* An Envoy shows a number of a struct with so many digits, and no more. */
#define DIGITS_MAX 6

enum { /* field numbers of envoy.service.runtime.v3.Runtime and google/protobuf/struct.proto */
    RUNTIME_NAME = 1,
    RUNTIME_LAYER = 2,
    STRUCT_FIELDS = 1,
    FIELD_KEY = 1,
    FIELD_VALUE = 2,
    VALUE_NUMBER = 2,
    VALUE_STRING = 3,
    VALUE_BOOL = 4,
    VALUE_STRUCT = 5,
};

/* ---- values ---- */

/* Is its text the one that is made of the number, here and by an Envoy? */
static bool
is_plain_number(const udpai_runtime_value *value)
{
    char room[UDPAI_RUNTIME_NUMBER_ROOM];
    unsigned n_digits = 0;
    if (!value->has_number ||
        !udpai_str_eq(value->text, udpai_runtime_number_text(value->number, room)))
        return false;
    for (size_t i = 0; i < value->text.len; i++) {
        char c = value->text.data[i];
        if (c == 'e')
            return false;
        n_digits += c >= (n_digits ? '0' : '1') && c <= '9';
    }
    return n_digits <= DIGITS_MAX;
}

static bool
is_plain_truth(const udpai_runtime_value *value)
{
    return udpai_str_eq(value->text, value->truth ? UDPAI_STR("true") : UDPAI_STR("false"));
}

static void
put_number(udpai_proto_writer *to, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    udpai_proto_put_fixed64(to, VALUE_NUMBER, bits);
}

/* ---- structs ---- */

/* What comes before the Value of a field, which has so many bytes. */
static void
put_key(udpai_proto_writer *to, udpai_str key, size_t value_size)
{
    udpai_proto_put_head(to, STRUCT_FIELDS,
                         udpai_proto_bytes_size(FIELD_KEY, key.len) +
                             udpai_proto_bytes_size(FIELD_VALUE, value_size));
    udpai_proto_put_bytes(to, FIELD_KEY, key);
    udpai_proto_put_head(to, FIELD_VALUE, value_size);
}

static void
put_share(udpai_proto_writer *to, udpai_runtime_share share)
{
    udpai_proto_writer number = {0};
    udpai_str denominator = share.denominator == 100     ? UDPAI_STR("HUNDRED")
                            : share.denominator == 10000 ? UDPAI_STR("TEN_THOUSAND")
                                                         : UDPAI_STR("MILLION");
    put_number(&number, share.numerator);
    put_key(to, UDPAI_STR("numerator"), number.size);
    put_number(to, share.numerator);
    put_key(to, UDPAI_STR("denominator"), udpai_proto_bytes_size(VALUE_STRING, denominator.len));
    udpai_proto_put_bytes(to, VALUE_STRING, denominator);
}

static void
put_value(udpai_proto_writer *to, const udpai_runtime_value *value)
{
    udpai_proto_writer share = {0};
    if (value->has_share) {
        put_share(&share, value->share);
        udpai_proto_put_head(to, VALUE_STRUCT, share.size);
        put_share(to, value->share);
    } else if (value->has_truth && is_plain_truth(value)) {
        udpai_proto_put_varint(to, VALUE_BOOL, value->truth);
    } else if (is_plain_number(value)) {
        put_number(to, value->number);
    } else {
        udpai_proto_put_bytes(to, VALUE_STRING, value->text);
    }
}

static void
put_layer(udpai_proto_writer *to, const udpai_runtime_entry *const *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_proto_writer value = {0};
        put_value(&value, &entries[i]->value);
        put_key(to, udpai_runtime_entry_key(entries[i]), value.size);
        put_value(to, &entries[i]->value);
    }
}

static int
compare_entries(const void *a, const void *b)
{
    const udpai_runtime_entry *one = *(const udpai_runtime_entry *const *)a,
                              *other = *(const udpai_runtime_entry *const *)b;
    return udpai_str_cmp(udpai_runtime_entry_key(one), udpai_runtime_entry_key(other));
}

udpa_bytes *
udpai_runtime_encode(const udpai_runtime_layer *layer, udpai_str name)
{
    const udpai_map *all = udpai_runtime_layer_entries(layer);
    UDPAI_AUTO_FREE const udpai_runtime_entry **entries =
        udpai_alloc_array(all->n, sizeof(const udpai_runtime_entry *));
    size_t at = 0, n = 0;
    const udpai_runtime_entry *entry;
    if (!entries)
        return NULL;
    while ((entry = udpai_map_next(all, &at)))
        entries[n++] = entry;
    if (n)
        qsort(entries, n, sizeof(const udpai_runtime_entry *), compare_entries);
    udpai_proto_writer fields = {0}, writer = {0};
    put_layer(&fields, entries, n);
    udpa_bytes *bytes = udpai_bytes_make(udpai_proto_bytes_size(RUNTIME_NAME, name.len) +
                                             udpai_proto_bytes_size(RUNTIME_LAYER, fields.size),
                                         &writer.at);
    if (!bytes)
        return NULL;
    udpai_proto_put_bytes(&writer, RUNTIME_NAME, name);
    udpai_proto_put_head(&writer, RUNTIME_LAYER, fields.size);
    put_layer(&writer, entries, n);
    return bytes;
}
