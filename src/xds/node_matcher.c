/* SPDX-License-Identifier: Apache-2.0 */
/* The matchers stay as they were decoded: one walk checks them and compiles their regular
 * expressions, another asks them. What nests does so no deeper than the check allows. */
#include "xds/node_matcher.h"

#include <strings.h>

#include "model/metadata.h"

#define STRING(which) ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__MATCH_PATTERN_##which
#define VALUE(which) ENVOY__TYPE__MATCHER__V3__VALUE_MATCHER__MATCH_PATTERN_##which
#define NUMBER(which) ENVOY__TYPE__MATCHER__V3__DOUBLE_MATCHER__MATCH_PATTERN_##which

typedef Envoy__Type__Matcher__V3__NodeMatcher node_matcher;
typedef Envoy__Type__Matcher__V3__StringMatcher string_matcher;
typedef Envoy__Type__Matcher__V3__StructMatcher struct_matcher;
typedef Envoy__Type__Matcher__V3__ValueMatcher value_matcher;
typedef Envoy__Type__Matcher__V3__DoubleMatcher double_matcher;

/* ---- checking ---- */

static udpa_err
count_piece(udpai_node_matchers *matchers, udpa_error **ret_error)
{
    if (++matchers->n_pieces <= UDPAI_NODE_MATCHER_PIECES_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "node_matchers have more than %d matchers of texts and values, which is the "
                      "limit: ask about fewer clients at a time",
                      UDPAI_NODE_MATCHER_PIECES_MAX);
}

static udpa_err
check_text(const char *text, const char *field, udpa_error **ret_error)
{
    size_t len = strlen(text);
    if (len > 0 && len <= UDPAI_NODE_MATCHER_TEXT_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, len ? UDPA_ERR_LIMIT : UDPA_ERR_INVAL,
                      len ? "node_matchers: a text of '%s' has more than %d bytes"
                          : "node_matchers: '%s' is empty (and may have %d bytes)",
                      field, UDPAI_NODE_MATCHER_TEXT_MAX);
}

static udpa_err
check_regex(udpai_node_matchers *matchers, const string_matcher *matcher, udpa_error **ret_error)
{
    struct udpai_matcher_regex made = {.matcher = matcher};
    const char *pattern = matcher->safe_regex->regex;
    udpa_err err = check_text(pattern, "safe_regex", ret_error);
    if (err != UDPA_OK)
        return err;
    if (!matchers->ops)
        return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED,
                          "node_matchers: there is no safe_regex here; exact, prefix, suffix and "
                          "contains there are");
    if (matchers->regexes.n == UDPAI_NODE_MATCHER_REGEX_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "node_matchers have more than %d regular expressions, which is the limit",
                          UDPAI_NODE_MATCHER_REGEX_MAX);
    if (!udpai_vector_reserve(&matchers->regexes, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    err = matchers->ops->compile(&made.regex, udpai_str_from(pattern), ret_error);
    if (err == UDPA_OK)
        matchers->regexes.items[matchers->regexes.n++] = made;
    return err;
}

static udpa_err
check_string(udpai_node_matchers *matchers, const string_matcher *matcher, udpa_error **ret_error)
{
    udpa_err err = count_piece(matchers, ret_error);
    if (err != UDPA_OK)
        return err;
    switch (matcher->match_pattern_case) {
    case STRING(EXACT): /* may be empty: a client without an id */
        return strlen(matcher->exact) ? check_text(matcher->exact, "exact", ret_error) : UDPA_OK;
    case STRING(PREFIX):
        return check_text(matcher->prefix, "prefix", ret_error);
    case STRING(SUFFIX):
        return check_text(matcher->suffix, "suffix", ret_error);
    case STRING(CONTAINS):
        return check_text(matcher->contains, "contains", ret_error);
    case STRING(SAFE_REGEX):
        return check_regex(matchers, matcher, ret_error);
    default:
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "node_matchers: a StringMatcher has none of exact, prefix, suffix, "
                          "contains and safe_regex, which are what this node knows");
    }
}

static udpa_err check_value(udpai_node_matchers *matchers,
                            const value_matcher *matcher,
                            unsigned depth,
                            udpa_error **ret_error);

static udpa_err
check_or(udpai_node_matchers *matchers,
         const Envoy__Type__Matcher__V3__OrMatcher *matcher,
         unsigned depth,
         udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < matcher->n_value_matchers && err == UDPA_OK; i++)
        err = check_value(matchers, matcher->value_matchers[i], depth, ret_error);
    if (matcher->n_value_matchers >= 2 || err != UDPA_OK)
        return err;
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "node_matchers: an or_match needs two or more");
}

static udpa_err
check_value(udpai_node_matchers *matchers,
            const value_matcher *matcher,
            unsigned depth,
            udpa_error **ret_error)
{
    udpa_err err = count_piece(matchers, ret_error);
    if (err != UDPA_OK)
        return err;
    if (depth > UDPAI_NODE_MATCHER_DEPTH_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "node_matchers: value matchers nest deeper than %d, which is the limit",
                          UDPAI_NODE_MATCHER_DEPTH_MAX);
    switch (matcher->match_pattern_case) {
    case VALUE(NULL_MATCH):
    case VALUE(BOOL_MATCH):
    case VALUE(PRESENT_MATCH):
        return UDPA_OK;
    case VALUE(DOUBLE_MATCH):
        if (matcher->double_match->match_pattern_case != NUMBER(_NOT_SET))
            return UDPA_OK;
        break;
    case VALUE(STRING_MATCH):
        return check_string(matchers, matcher->string_match, ret_error);
    case VALUE(LIST_MATCH):
        if (matcher->list_match->one_of)
            return check_value(matchers, matcher->list_match->one_of, depth + 1, ret_error);
        break;
    case VALUE(OR_MATCH):
        return check_or(matchers, matcher->or_match, depth + 1, ret_error);
    default:
        break;
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "node_matchers: a ValueMatcher contains nothing that this node knows");
}

static udpa_err
check_struct(udpai_node_matchers *matchers, const struct_matcher *matcher, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (matcher->n_path == 0 || !matcher->value)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "node_matchers: one of node_metadatas needs a path and a value");
    if (++matchers->n_structs > UDPAI_NODE_MATCHER_STRUCTS_MAX ||
        matcher->n_path > UDPAI_NODE_MATCHER_STRUCTS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "node_matchers have more than %d node_metadatas, or as many steps in a "
                          "path, which is the limit",
                          UDPAI_NODE_MATCHER_STRUCTS_MAX);
    for (size_t i = 0; i < matcher->n_path && err == UDPA_OK; i++)
        err = matcher->path[i]->key ? check_text(matcher->path[i]->key, "key", ret_error)
                                    : udpai_fail(ret_error, UDPA_ERR_INVAL,
                                                 "node_matchers: a step of a path has no key");
    return err == UDPA_OK ? check_value(matchers, matcher->value, 1, ret_error) : err;
}

static udpa_err
check_item(udpai_node_matchers *matchers, const node_matcher *matcher, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (matcher->node_id)
        err = check_string(matchers, matcher->node_id, ret_error);
    for (size_t i = 0; i < matcher->n_node_metadatas && err == UDPA_OK; i++)
        err = check_struct(matchers, matcher->node_metadatas[i], ret_error);
    return err;
}

udpa_err
udpai_node_matchers_init(udpai_node_matchers *matchers,
                         Envoy__Type__Matcher__V3__NodeMatcher *const *items,
                         size_t n_items,
                         const udpai_regex_ops *ops,
                         udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    *matchers = (udpai_node_matchers){.ops = ops, .items = items, .n_items = n_items};
    if (n_items > UDPAI_NODE_MATCHERS_MAX)
        err =
            udpai_fail(ret_error, UDPA_ERR_LIMIT,
                       "there are more than %d node_matchers, which is the limit: ask about fewer "
                       "clients at a time",
                       UDPAI_NODE_MATCHERS_MAX);
    for (size_t i = 0; i < n_items && err == UDPA_OK; i++)
        err = check_item(matchers, items[i], ret_error);
    return err;
}

void
udpai_node_matchers_done(udpai_node_matchers *matchers)
{
    for (size_t i = 0; i < matchers->regexes.n; i++)
        matchers->ops->free(matchers->regexes.items[i].regex);
    udpai_vector_done(&matchers->regexes);
    *matchers = (udpai_node_matchers){0};
}

/* ---- asking ---- */

static bool
same(const char *a, const char *b, size_t len, bool ignore_case)
{
    return ignore_case ? strncasecmp(a, b, len) == 0 : memcmp(a, b, len) == 0;
}

#define WINDOW 4096

static void
lower(char *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] | 0x20) : from[i];
}

/* In time linear in the text, as with case: piece by piece, each with the end of the one before. */
static bool
holds_in_any_case(udpai_str text, udpai_str part)
{
    char room[WINDOW], expected[UDPAI_NODE_MATCHER_TEXT_MAX];
    lower(expected, part.data, part.len);
    for (size_t at = 0; at + part.len <= text.len; at += WINDOW - part.len + 1) {
        size_t len = udpai_min_size(text.len - at, WINDOW);
        lower(room, text.data + at, len);
        if (memmem(room, len, expected, part.len))
            return true;
    }
    return false;
}

static bool
holds(udpai_str text, udpai_str part, bool ignore_case)
{
    return ignore_case ? holds_in_any_case(text, part)
                       : memmem(text.data, text.len, part.data, part.len) != NULL;
}

static bool
regex_fits(const udpai_node_matchers *matchers, const string_matcher *matcher, udpai_str text)
{
    for (size_t i = 0; i < matchers->regexes.n; i++)
        if (matchers->regexes.items[i].matcher == matcher)
            return matchers->ops->matches(matchers->regexes.items[i].regex, text);
    return false;
}

static bool
string_fits(const udpai_node_matchers *matchers, const string_matcher *matcher, udpai_str text)
{
    bool ignore_case = matcher->ignore_case;
    if (matcher->match_pattern_case == STRING(SAFE_REGEX))
        return regex_fits(matchers, matcher, text);
    udpai_str part = udpai_str_from(matcher->exact); /* whichever it is */
    if (text.len < part.len)
        return false;
    if (part.len == 0)
        return text.len == 0;
    switch (matcher->match_pattern_case) {
    case STRING(EXACT):
        return text.len == part.len && same(text.data, part.data, part.len, ignore_case);
    case STRING(PREFIX):
        return same(text.data, part.data, part.len, ignore_case);
    case STRING(SUFFIX):
        return same(text.data + text.len - part.len, part.data, part.len, ignore_case);
    default:
        return holds(text, part, ignore_case);
    }
}

static bool
number_fits(const double_matcher *matcher, uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    if (matcher->match_pattern_case == NUMBER(EXACT))
        return number >= matcher->exact && number <= matcher->exact;
    return number >= matcher->range->start && number < matcher->range->end;
}

static bool value_fits(const udpai_node_matchers *matchers,
                       const value_matcher *matcher,
                       const udpai_proto_field *value);

static bool
list_fits(const udpai_node_matchers *matchers, const value_matcher *one_of, udpai_str list)
{
    udpai_proto_reader reader = udpai_proto_read(list);
    udpai_proto_field value;
    bool fits = false;
    while (!fits && udpai_metadata_next(&reader, &value))
        fits = value_fits(matchers, one_of, &value);
    return fits;
}

static bool
one_fits(const udpai_node_matchers *matchers,
         const Envoy__Type__Matcher__V3__OrMatcher *matcher,
         const udpai_proto_field *value)
{
    bool fits = false;
    for (size_t i = 0; i < matcher->n_value_matchers && !fits; i++)
        fits = value_fits(matchers, matcher->value_matchers[i], value);
    return fits;
}

/* A matcher for something not present matches nothing that there could be. */
static bool
value_fits(const udpai_node_matchers *matchers,
           const value_matcher *matcher,
           const udpai_proto_field *value)
{
    switch (matcher->match_pattern_case) {
    case VALUE(NULL_MATCH):
        return udpai_metadata_is(value, UDPAI_VALUE_NULL, UDPAI_WIRE_VARINT);
    case VALUE(DOUBLE_MATCH):
        return udpai_metadata_is(value, UDPAI_VALUE_NUMBER, UDPAI_WIRE_FIXED64) &&
               number_fits(matcher->double_match, value->value);
    case VALUE(STRING_MATCH):
        return udpai_metadata_is(value, UDPAI_VALUE_STRING, UDPAI_WIRE_BYTES) &&
               string_fits(matchers, matcher->string_match, value->bytes);
    case VALUE(BOOL_MATCH):
        return udpai_metadata_is(value, UDPAI_VALUE_BOOL, UDPAI_WIRE_VARINT) &&
               !value->value == !matcher->bool_match;
    case VALUE(PRESENT_MATCH):
        return matcher->present_match;
    case VALUE(LIST_MATCH):
        return udpai_metadata_is(value, UDPAI_VALUE_LIST, UDPAI_WIRE_BYTES) &&
               list_fits(matchers, matcher->list_match->one_of, value->bytes);
    default:
        return one_fits(matchers, matcher->or_match, value);
    }
}

static bool
struct_fits(const udpai_node_matchers *matchers, const struct_matcher *matcher, udpai_str metadata)
{
    udpai_proto_field value = {
        .number = UDPAI_VALUE_STRUCT, .bytes = metadata, .type = UDPAI_WIRE_BYTES};
    if (metadata.len > UDPAI_NODE_MATCHER_METADATA_MAX)
        return false;
    for (size_t i = 0; i < matcher->n_path; i++) {
        udpai_str entry;
        if (!udpai_metadata_is(&value, UDPAI_VALUE_STRUCT, UDPAI_WIRE_BYTES) ||
            !udpai_metadata_find(value.bytes, udpai_str_from(matcher->path[i]->key), &entry) ||
            !udpai_metadata_read(entry, &value))
            return false;
    }
    return value_fits(matchers, matcher->value, &value);
}

static bool
item_fits(const udpai_node_matchers *matchers,
          const node_matcher *matcher,
          const udpai_node_parts *node)
{
    bool fits = !matcher->node_id || string_fits(matchers, matcher->node_id, node->id);
    for (size_t i = 0; i < matcher->n_node_metadatas && fits; i++)
        fits = struct_fits(matchers, matcher->node_metadatas[i], node->metadata);
    return fits;
}

bool
udpai_node_matchers_fit(const udpai_node_matchers *matchers, const udpai_node_info *node)
{
    bool fits = matchers->n_items == 0;
    for (size_t i = 0; i < matchers->n_items && node && !fits; i++)
        fits = item_fits(matchers, matchers->items[i], udpai_node_info_parts(node));
    return fits;
}

size_t
udpai_node_matchers_cost(const udpai_node_matchers *matchers, const udpai_node_info *node)
{
    if (!node || matchers->n_items == 0)
        return 0;
    const udpai_node_parts *parts = udpai_node_info_parts(node);
    bool is_looked_into = parts->metadata.len <= UDPAI_NODE_MATCHER_METADATA_MAX;
    return matchers->n_pieces * parts->id.len +
           (is_looked_into ? (matchers->n_structs + matchers->n_pieces) * parts->metadata.len : 0);
}
