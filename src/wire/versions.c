/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/versions.h"

#include "base/proto.h"
#include "base/utf8.h"
#include "wire/scan.h"

enum { /* field numbers of a map's entry */
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
};

/* How much there is of what. */
struct count {
    size_t n, rest_bytes, fields;
};

static bool
is_entry(const udpai_proto_field *field, uint32_t number)
{
    return field->number == number && field->type == UDPAI_WIRE_BYTES;
}

static bool
count_fields(udpai_str message, uint32_t number, struct count *count)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    const uint8_t *start = reader.at;
    udpai_proto_field field;
    for (; udpai_proto_next(&reader, &field); start = reader.at, count->fields++) {
        if (is_entry(&field, number))
            count->n++;
        else
            count->rest_bytes += (size_t)(reader.at - start);
    }
    return !reader.failed;
}

/* A text of less than 128 bytes behind its tag; NULL: it is not. */
static const uint8_t *
read_short(const uint8_t *at, const uint8_t *end, unsigned number, udpai_str *ret_text)
{
    if (end - at < 2 || at[0] != (number << 3 | UDPAI_WIRE_BYTES) || at[1] > 127 ||
        end - at - 2 < at[1])
        return NULL;
    *ret_text = (udpai_str){(const char *)at + 2, at[1]};
    return at + 2 + at[1];
}

/* An entry as nearly all are written: first the name, then the version, both short. */
static bool
read_plain_entry(udpai_str entry, udpai_held_version *version)
{
    const uint8_t *at = (const uint8_t *)entry.data, *end = at + entry.len;
    at = read_short(at, end, ENTRY_KEY, &version->name);
    at = at ? read_short(at, end, ENTRY_VALUE, &version->version) : NULL;
    return at && at == end && udpai_utf8_valid(version->name) && udpai_utf8_valid(version->version);
}

/* As in every message, the last one of a field counts, and what is not known is skipped. */
static bool
read_entry(udpai_str entry, udpai_held_version *ret_version, size_t *fields)
{
    if (read_plain_entry(entry, ret_version)) {
        *fields += 2;
        return true;
    }
    udpai_proto_reader reader = udpai_proto_read(entry);
    udpai_held_version version = {UDPAI_STR(""), UDPAI_STR("")};
    udpai_proto_field field;
    for (; udpai_proto_next(&reader, &field); ++*fields) {
        if (field.number != ENTRY_KEY && field.number != ENTRY_VALUE)
            continue;
        if (field.type != UDPAI_WIRE_BYTES || !udpai_utf8_valid(field.bytes))
            return false;
        *(field.number == ENTRY_KEY ? &version.name : &version.version) = field.bytes;
    }
    *ret_version = version;
    return !reader.failed;
}

static bool
divide(udpai_str message,
       uint32_t number,
       udpai_held_version *versions,
       char *rest,
       struct count *count)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    const uint8_t *start = reader.at;
    udpai_proto_field field;
    bool is_good = true;
    for (; is_good && udpai_proto_next(&reader, &field); start = reader.at) {
        if (is_entry(&field, number))
            is_good = read_entry(field.bytes, versions++, &count->fields);
        else
            udpai_str_put(&rest, (udpai_str){(const char *)start, (size_t)(reader.at - start)});
    }
    return is_good;
}

udpa_err
udpai_versions_take(udpai_arena *arena,
                    udpai_str message,
                    uint32_t number,
                    udpai_versions *ret_versions)
{
    struct count count = {0};
    size_t fields_max = udpai_scan_fields_max(message);
    if (!count_fields(message, number, &count) || count.fields > fields_max)
        return UDPA_ERR_MALFORMED;
    if (count.n == 0) {
        *ret_versions = (udpai_versions){.rest = message};
        return UDPA_OK;
    }
    udpai_held_version *versions = udpai_arena_alloc(arena, count.n * sizeof(*versions));
    char *rest = udpai_arena_alloc(arena, count.rest_bytes);
    if (!versions || !rest)
        return UDPA_ERR_NOMEM;
    if (!divide(message, number, versions, rest, &count) || count.fields > fields_max)
        return UDPA_ERR_MALFORMED;
    *ret_versions = (udpai_versions){versions, count.n, {rest, count.rest_bytes}};
    return UDPA_OK;
}
