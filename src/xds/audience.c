/* SPDX-License-Identifier: Apache-2.0 */
/* To which audience a client belongs. Its metadata is looked at along the paths that are asked for,
 * and never unpacked: it nests as deep as it likes. */
#include "xds/audience.h"

#include <stdlib.h>

#include "base/pattern.h"
#include "model/metadata.h"

enum { /* field numbers of maps */
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    NODE_PARAMETERS = 12, /* a map of type URLs to ContextParams, which have a map of texts */
    PARAMS_PARAMS = 1,
};

enum { /* field numbers in SessionStatus */
    AUDIENCE = 11,
    NAMESPACES = 16,
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

/* ---- which clients ---- */

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
    double expected = strtod(room, &end);
    return *end == '\0' && expected >= number && expected <= number;
}

static bool
scalar_is(const udpai_proto_field *value, udpai_str text)
{
    if (udpai_metadata_is(value, UDPAI_VALUE_STRING, UDPAI_WIRE_BYTES))
        return udpai_pattern_fits(text, value->bytes);
    if (udpai_metadata_is(value, UDPAI_VALUE_BOOL, UDPAI_WIRE_VARINT))
        return udpai_str_eq(text, value->value ? UDPAI_STR("true") : UDPAI_STR("false"));
    return udpai_metadata_is(value, UDPAI_VALUE_NUMBER, UDPAI_WIRE_FIXED64) &&
           number_is(value->value, text);
}

static bool
list_has(udpai_str list, udpai_str text)
{
    udpai_proto_reader reader = udpai_proto_read(list);
    udpai_proto_field value;
    bool has = false;
    while (udpai_metadata_next(&reader, &value))
        has |= scalar_is(&value, text);
    return has && !reader.failed;
}

static bool
metadata_matches(const udpai_xds_metadata_match *match, udpai_str metadata)
{
    udpai_proto_field value = {
        .number = UDPAI_VALUE_STRUCT, .bytes = metadata, .type = UDPAI_WIRE_BYTES};
    for (size_t i = 0; i < match->n_path; i++) {
        udpai_str entry;
        if (!udpai_metadata_is(&value, UDPAI_VALUE_STRUCT, UDPAI_WIRE_BYTES) ||
            !udpai_metadata_find(value.bytes, match->path[i], &entry) ||
            !udpai_metadata_read(entry, &value))
            return false;
    }
    if (udpai_metadata_is(&value, UDPAI_VALUE_LIST, UDPAI_WIRE_BYTES))
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

/* ---- in the status ---- */

void
udpai_xds_audience_put(udpai_proto_writer *writer, const udpai_xds_audience *audience)
{
    udpai_proto_put_bytes_opt(writer, AUDIENCE, audience->name);
    udpai_proto_put_bytes(writer, NAMESPACES, audience->default_namespace);
    for (size_t i = 0; i < audience->n_namespaces; i++)
        udpai_proto_put_bytes(writer, NAMESPACES, audience->namespaces[i]);
}
