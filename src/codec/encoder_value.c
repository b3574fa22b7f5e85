/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: what of the document's spellings is let through, and in which form libprotobuf
 * gets it. Whether a value fits its type is libprotobuf's decision; how to report it is decided
 * here. */
#include <inttypes.h>
#include <stdio.h>

#include "codec/encoder_internal.h"
#include "codec/json_text.h"
#include "codec/suggest.h"

/* Is this the value that libprotobuf refused? Only the first that it could be. */
static bool
is_place(udpai_encoder *encoder)
{
    udpai_unit *unit = encoder->unit;
    bool expected = unit->expected &&
                    udpai_str_eq(udpai_strbuf_view(&unit->where), udpai_str_from(unit->expected));
    if (expected)
        unit->expected = NULL;
    return expected;
}

/* Is it a string by the rules of the document? In YAML any scalar can be one. */
static bool
is_string(const udpai_encoder *encoder, const udpai_tree *node)
{
    return node->kind == UDPAI_TREE_SCALAR &&
           !(node->plain && udpai_source_is_strict(encoder->encoding->source));
}

static bool
is_integer(udpai_str text)
{
    return udpai_is_json_number(text) && !memchr(text.data, '.', text.len) &&
           !memchr(text.data, 'e', text.len) && !memchr(text.data, 'E', text.len);
}

static udpa_err
fail_value(udpai_encoder *encoder, const udpai_tree *node, const char *expected)
{
    const udpai_place place = udpai_encoder_place(encoder, node);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place, "'%s' is not %s",
                         UDPAI_QUOTE(node->text), expected);
}

static udpa_err
put_string(udpai_encoder *encoder, const udpai_tree *node)
{
    if (!is_string(encoder, node))
        return udpai_encoder_fail_kind(encoder, node, "a string, in quotes");
    udpai_json_put_string(&encoder->unit->json, node->text);
    return UDPA_OK;
}

static udpa_err
put_bytes(udpai_encoder *encoder, const udpai_tree *node)
{
    if (is_place(encoder))
        return fail_value(encoder, node, "base64");
    return put_string(encoder, node);
}

static udpa_err
put_bool(udpai_encoder *encoder, const udpai_tree *node)
{
    bool value;
    if (!udpai_tree_is_bool(node, &value))
        return udpai_encoder_fail_kind(encoder, node, "true or false");
    udpai_strbuf_puts(&encoder->unit->json, value ? "true" : "false");
    return UDPA_OK;
}

/* Numbers go as strings, which libprotobuf reads exactly; but 1.0 and 1e3 are integers only where
 * they are numbers. */
static udpa_err
put_integer(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    char expected[80];
    snprintf(expected, sizeof(expected), "a valid %.40s", field->kind_name);
    if (node->kind != UDPAI_TREE_SCALAR)
        return udpai_encoder_fail_kind(encoder, node, "a number");
    if (is_place(encoder) || !udpai_is_json_number(node->text) ||
        udpai_json_number_overflows(node->text.data))
        return fail_value(encoder, node, expected);
    if (is_integer(node->text) || !node->plain)
        udpai_json_put_string(&encoder->unit->json, node->text);
    else
        udpai_strbuf_str(&encoder->unit->json, node->text);
    return UDPA_OK;
}

/* The names that JSON has for what is not finite, from those and from YAML's. */
static const char *
not_finite(const udpai_tree *node)
{
    static const struct {
        const char *written, *json;
    } names[] = {
        {"NaN", "NaN"},         {"Infinity", "Infinity"}, {"-Infinity", "-Infinity"},
        {".nan", "NaN"},        {".NaN", "NaN"},          {".NAN", "NaN"},
        {".inf", "Infinity"},   {".Inf", "Infinity"},     {".INF", "Infinity"},
        {"+.inf", "Infinity"},  {"+.Inf", "Infinity"},    {"+.INF", "Infinity"},
        {"-.inf", "-Infinity"}, {"-.Inf", "-Infinity"},   {"-.INF", "-Infinity"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        if ((node->plain || i < 3) && udpai_str_eq(node->text, udpai_str_from(names[i].written)))
            return names[i].json;
    return NULL;
}

static udpa_err
put_float(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    char expected[80];
    snprintf(expected, sizeof(expected), "a valid %.40s", field->kind_name);
    if (node->kind != UDPAI_TREE_SCALAR)
        return udpai_encoder_fail_kind(encoder, node, "a number");
    const char *name = not_finite(node);
    if (is_place(encoder) || (!name && !udpai_is_json_number(node->text)))
        return fail_value(encoder, node, expected);
    udpai_json_put_string(&encoder->unit->json, name ? udpai_str_from(name) : node->text);
    return UDPA_OK;
}

#define ENUM_TEXT 400 /* what does not fit is left out */

/* " (RED, GREEN)" */
static const char *
enum_values(const udpai_field *field, char text[ENUM_TEXT])
{
    static const char more[] = ", …)";
    size_t n = udpai_enum_n_values(field->enumeration), at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *name = udpai_enum_value_name(field->enumeration, i);
        if (at + strlen(name) + sizeof(more) + 2 > ENUM_TEXT) {
            snprintf(text + at, ENUM_TEXT - at, "%s", i ? more : "");
            return text;
        }
        at += (size_t)snprintf(text + at, ENUM_TEXT - at, "%s%s", i ? ", " : " (", name);
    }
    snprintf(text + at, ENUM_TEXT - at, "%s", n ? ")" : "");
    return text;
}

static udpa_err
fail_enum(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    char hint[UDPAI_SUGGESTION_TEXT];
    udpai_suggestion suggestion = udpai_suggest(node->text);
    for (size_t i = 0; i < udpai_enum_n_values(field->enumeration); i++)
        udpai_suggest_offer(&suggestion, udpai_enum_value_name(field->enumeration, i));
    const udpai_place place = udpai_encoder_place(encoder, node);
    char values[ENUM_TEXT];
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place,
                         "'%s' is no value of enum %s%s%s", UDPAI_QUOTE(node->text),
                         field->kind_name, enum_values(field, values),
                         udpai_suggestion_text(&suggestion, hint));
}

static bool
is_name(udpai_str text)
{
    return text.len && text.data[0] != '-' && (text.data[0] < '0' || text.data[0] > '9');
}

static udpa_err
put_enum(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    if (node->kind != UDPAI_TREE_SCALAR)
        return udpai_encoder_fail_kind(encoder, node, "the name of an enum value");
    if (is_place(encoder))
        return fail_enum(encoder, field, node);
    if (node->plain && is_integer(node->text))
        udpai_strbuf_str(&encoder->unit->json, node->text);
    else if (is_string(encoder, node) && is_name(node->text))
        udpai_json_put_string(&encoder->unit->json, node->text);
    else
        return fail_enum(encoder, field, node);
    return UDPA_OK;
}

udpa_err
udpai_put_scalar(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    switch (field->kind) {
    case UDPAI_KIND_STRING:
        return put_string(encoder, node);
    case UDPAI_KIND_BYTES:
        return put_bytes(encoder, node);
    case UDPAI_KIND_BOOL:
        return put_bool(encoder, node);
    case UDPAI_KIND_INTEGER:
        return put_integer(encoder, field, node);
    case UDPAI_KIND_FLOAT:
        return put_float(encoder, field, node);
    case UDPAI_KIND_ENUM:
        return put_enum(encoder, field, node);
    case UDPAI_KIND_MESSAGE:
    case UDPAI_KIND_GROUP:
        break;
    }
    const udpai_place place = udpai_encoder_place(encoder, node);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_UNIMPLEMENTED, &place,
                         "this field is a group, which is not supported");
}

#define SECONDS_TEXT 40
#define UNIT_DIGITS 9 /* so that no unit makes them too many */

/* Whole numbers of other units: "5m" is "300s" in proto3 JSON, which knows seconds alone. */
static bool
in_seconds(udpai_str text, char seconds[SECONDS_TEXT])
{
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

    uint64_t number = 0;
    size_t at = 0;
    for (; at < text.len && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        if (at < UNIT_DIGITS)
            number = number * 10 + (uint64_t)(text.data[at] - '0');
    udpai_str unit = {text.data + at, text.len - at};
    for (size_t i = 0; at && at <= UNIT_DIGITS && i < UDPAI_ARRAY_LEN(units); i++) {
        uint64_t ms = number * units[i].ms;
        if (!udpai_str_eq(unit, udpai_str_from(units[i].name)))
            continue;
        snprintf(seconds, SECONDS_TEXT, "%" PRIu64 ".%03" PRIu64 "s", ms / 1000, ms % 1000);
        return true;
    }
    return false;
}

udpa_err
udpai_put_known(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node)
{
    static const char *const expected[] = {
        [UDPAI_DURATION] = "a duration: write a number and its unit, such as 1.5s, 500ms, 5m or 2h",
        [UDPAI_TIMESTAMP] = "a time: write it as 2024-01-31T12:00:00Z",
        [UDPAI_FIELD_MASK] = "a field mask: write field paths with commas between",
    };
    udpai_well_known known = udpai_type_well_known(type);
    if (!is_string(encoder, node))
        return udpai_encoder_fail_kind(encoder, node, expected[known]);
    if (is_place(encoder))
        return fail_value(encoder, node, expected[known]);
    char seconds[SECONDS_TEXT];
    bool has_unit = known == UDPAI_DURATION && in_seconds(node->text, seconds);
    udpai_json_put_string(&encoder->unit->json, has_unit ? udpai_str_from(seconds) : node->text);
    return UDPA_OK;
}

static udpa_err
put_value_scalar(udpai_encoder *encoder, const udpai_tree *node)
{
    udpai_strbuf *json = &encoder->unit->json;
    bool value;
    if (udpai_tree_is_null(node))
        udpai_strbuf_puts(json, "null");
    else if (udpai_tree_is_bool(node, &value))
        udpai_strbuf_puts(json, value ? "true" : "false");
    else if (!udpai_tree_is_number(node))
        udpai_json_put_string(json, node->text);
    else if (udpai_json_number_overflows(node->text.data))
        return fail_value(encoder, node, "a valid double");
    else if (udpai_str_eq(node->text, UDPAI_STR("-0"))) /* an integer has no such value */
        udpai_strbuf_puts(json, "-0.0");
    else
        udpai_strbuf_str(json, node->text);
    return UDPA_OK;
}

static udpa_err
put_value_list(udpai_encoder *encoder, const udpai_tree *node)
{
    udpa_err err = UDPA_OK;
    udpai_strbuf_putc(&encoder->unit->json, '[');
    for (uint32_t i = 0; i < node->n && err == UDPA_OK; i++) {
        udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
        udpai_encoder_enter_index(encoder, i);
        if (i)
            udpai_strbuf_putc(&encoder->unit->json, ',');
        err = udpai_put_value(encoder, node->items[i]);
        udpai_encoder_leave(encoder, mark);
    }
    udpai_strbuf_putc(&encoder->unit->json, ']');
    return err;
}

static udpa_err
put_value_map(udpai_encoder *encoder, const udpai_tree *node)
{
    udpa_err err = UDPA_OK;
    udpai_strbuf_putc(&encoder->unit->json, '{');
    for (uint32_t i = 0; i < node->n && err == UDPA_OK; i++) {
        udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
        udpai_encoder_enter_field(encoder, UDPAI_QUOTE(node->entries[i].key->text));
        if (i)
            udpai_strbuf_putc(&encoder->unit->json, ',');
        udpai_json_put_string(&encoder->unit->json, node->entries[i].key->text);
        udpai_strbuf_putc(&encoder->unit->json, ':');
        err = udpai_put_value(encoder, node->entries[i].value);
        udpai_encoder_leave(encoder, mark);
    }
    udpai_strbuf_putc(&encoder->unit->json, '}');
    return err;
}

udpa_err
udpai_put_value(udpai_encoder *encoder, const udpai_tree *node)
{
    if (node->kind == UDPAI_TREE_MAP)
        return put_value_map(encoder, node);
    if (node->kind == UDPAI_TREE_LIST)
        return put_value_list(encoder, node);
    return put_value_scalar(encoder, node);
}

static udpa_err
fail_key(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *key)
{
    const udpai_place place = udpai_encoder_place(encoder, key);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place, "key '%s' is not a valid %s",
                         UDPAI_QUOTE(key->text), field->key_kind_name);
}

udpa_err
udpai_put_key(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *key)
{
    bool right = true;
    if (field->key_kind == UDPAI_KIND_BOOL)
        right = udpai_str_eq(key->text, UDPAI_STR("true")) ||
                udpai_str_eq(key->text, UDPAI_STR("false"));
    else if (field->key_kind == UDPAI_KIND_INTEGER)
        right = is_integer(key->text);
    if (!right || is_place(encoder))
        return fail_key(encoder, field, key);
    udpai_json_put_string(&encoder->unit->json, key->text);
    return UDPA_OK;
}
