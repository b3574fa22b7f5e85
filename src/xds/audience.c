/* SPDX-License-Identifier: Apache-2.0 */
/* To which audience a client belongs. Its metadata is looked at along the paths that are asked for,
 * and never unpacked: it nests as deep as it likes. */
#include "xds/audience.h"

#include <stdlib.h>

#include "base/pattern.h"
#include "base/proto.h"

enum { /* field numbers of Struct, its entries, Value and ListValue */
    STRUCT_FIELDS = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    VALUE_NUMBER = 2,
    VALUE_STRING = 3,
    VALUE_BOOL = 4,
    VALUE_STRUCT = 5,
    VALUE_LIST = 6,
    LIST_VALUES = 1,
    NODE_PARAMETERS = 12, /* a map of type URLs to ContextParams, which have a map of texts */
    PARAMS_PARAMS = 1,
};

/* ---- patterns ---- */

static bool
fits_one_or_any(udpai_xds_patterns patterns, udpai_str text)
{
    return patterns.n == 0 || udpai_patterns_fit(patterns.items, patterns.n, text);
}

static bool
fits_or_any(udpai_str pattern, udpai_str text)
{
    return pattern.len == 0 || udpai_pattern_fits(pattern, text);
}

/* ---- who ---- */

static bool
identity_matches(udpai_xds_patterns patterns, const udpai_identity *identity)
{
    if (patterns.n == 0)
        return true;
    return udpai_identity_fits(identity, patterns.items, patterns.n);
}

static bool
has_features(udpai_xds_patterns patterns, const udpai_node_parts *node)
{
    for (size_t i = 0; i < patterns.n; i++) {
        bool has = false;
        for (size_t j = 0; j < node->n_features && !has; j++)
            has = udpai_pattern_fits(patterns.items[i], node->features[j]);
        if (!has)
            return false;
    }
    return true;
}

/* ---- metadata ---- */

/* Of a field that is given more than once, the last one counts. */
static bool
find_entry(udpai_str structure, udpai_str key, udpai_str *ret_value)
{
    bool found = false;
    udpai_proto_reader reader = udpai_proto_read(structure);
    udpai_proto_field field, part;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number != STRUCT_FIELDS || field.type != UDPAI_WIRE_BYTES)
            continue;
        udpai_str name = {0}, value = {0};
        udpai_proto_reader entry = udpai_proto_read(field.bytes);
        while (udpai_proto_next(&entry, &part)) {
            if (part.number == ENTRY_KEY && part.type == UDPAI_WIRE_BYTES)
                name = part.bytes;
            else if (part.number == ENTRY_VALUE && part.type == UDPAI_WIRE_BYTES)
                value = part.bytes;
        }
        if (entry.failed || !udpai_str_eq(name, key))
            continue;
        *ret_value = value;
        found = true;
    }
    return found && !reader.failed;
}

/* What a Value holds: its last field. */
static bool
read_value(udpai_str value, udpai_proto_field *ret_field)
{
    bool any = false;
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        *ret_field = field;
        any = true;
    }
    return any && !reader.failed;
}

static bool
number_is(uint64_t bits, udpai_str text)
{
    char room[64], *end;
    double number;
    if (text.len == 0 || text.len >= sizeof(room))
        return false;
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
    memcpy(&number, &bits, sizeof(number));
    double wanted = strtod(room, &end);
    return *end == '\0' && wanted >= number && wanted <= number;
}

static bool
scalar_is(const udpai_proto_field *value, udpai_str text)
{
    if (value->number == VALUE_STRING && value->type == UDPAI_WIRE_BYTES)
        return udpai_pattern_fits(text, value->bytes);
    if (value->number == VALUE_BOOL && value->type == UDPAI_WIRE_VARINT)
        return udpai_str_eq(text, value->value ? UDPAI_STR("true") : UDPAI_STR("false"));
    return value->number == VALUE_NUMBER && value->type == UDPAI_WIRE_FIXED64 &&
           number_is(value->value, text);
}

static bool
list_has(udpai_str list, udpai_str text)
{
    udpai_proto_reader reader = udpai_proto_read(list);
    udpai_proto_field field, value;
    bool has = false;
    while (udpai_proto_next(&reader, &field))
        has |= field.number == LIST_VALUES && field.type == UDPAI_WIRE_BYTES &&
               read_value(field.bytes, &value) && scalar_is(&value, text);
    return has && !reader.failed;
}

static bool
metadata_matches(const udpai_xds_metadata_match *match, udpai_str metadata)
{
    udpai_proto_field value = {.number = VALUE_STRUCT, .bytes = metadata, .type = UDPAI_WIRE_BYTES};
    for (size_t i = 0; i < match->n_path; i++) {
        udpai_str entry;
        if (value.number != VALUE_STRUCT || value.type != UDPAI_WIRE_BYTES ||
            !find_entry(value.bytes, match->path[i], &entry) || !read_value(entry, &value))
            return false;
    }
    if (value.number == VALUE_LIST && value.type == UDPAI_WIRE_BYTES)
        return list_has(value.bytes, match->value);
    return scalar_is(&value, match->value);
}

/* ---- dynamic parameters ---- */

/* An entry of a map with texts as keys. */
static bool
read_entry(udpai_str bytes, udpai_str *ret_key, udpai_str *ret_value)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    *ret_key = *ret_value = (udpai_str){0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == ENTRY_KEY && field.type == UDPAI_WIRE_BYTES)
            *ret_key = field.bytes;
        else if (field.number == ENTRY_VALUE && field.type == UDPAI_WIRE_BYTES)
            *ret_value = field.bytes;
    }
    return !reader.failed;
}

static bool
params_match(const udpai_xds_parameter_match *match, udpai_str params)
{
    udpai_proto_reader reader = udpai_proto_read(params);
    udpai_proto_field field;
    udpai_str key, value;
    bool found = false;
    while (udpai_proto_next(&reader, &field))
        found |= field.number == PARAMS_PARAMS && field.type == UDPAI_WIRE_BYTES &&
                 read_entry(field.bytes, &key, &value) && udpai_str_eq(key, match->key) &&
                 udpai_pattern_fits(match->value, value);
    return found && !reader.failed;
}

static bool
parameter_matches(const udpai_xds_parameter_match *match, udpai_str parameters)
{
    udpai_proto_reader reader = udpai_proto_read(parameters);
    udpai_proto_field field;
    udpai_str type_url, params;
    bool found = false;
    while (udpai_proto_next(&reader, &field))
        found |= field.number == NODE_PARAMETERS && field.type == UDPAI_WIRE_BYTES &&
                 read_entry(field.bytes, &type_url, &params) &&
                 (match->type_url.len == 0 || udpai_str_eq(match->type_url, type_url)) &&
                 params_match(match, params);
    return found && !reader.failed;
}

/* ---- the whole ---- */

static bool
node_matches(const udpai_xds_match *match, const udpai_node_parts *node)
{
    for (size_t i = 0; i < match->n_metadata; i++)
        if (!metadata_matches(&match->metadata[i], node->metadata))
            return false;
    for (size_t i = 0; i < match->n_parameters; i++)
        if (!parameter_matches(&match->parameters[i], node->parameters))
            return false;
    return fits_one_or_any(match->node_ids, node->id) &&
           fits_one_or_any(match->clusters, node->cluster) &&
           fits_or_any(match->region, node->region) && fits_or_any(match->zone, node->zone) &&
           fits_or_any(match->sub_zone, node->sub_zone) &&
           has_features(match->client_features, node);
}

udpai_xds_audience *
udpai_xds_audience_choose(udpai_xds_audience *audiences,
                          size_t n_audiences,
                          const udpai_identity *identity,
                          const udpai_node_info *node)
{
    static const udpai_node_parts nobody = {0};
    const udpai_node_parts *parts = node ? udpai_node_info_parts(node) : &nobody;
    for (size_t i = 0; i < n_audiences; i++)
        if (identity_matches(audiences[i].match.identities, identity) &&
            node_matches(&audiences[i].match, parts))
            return &audiences[i];
    return NULL;
}
