/* SPDX-License-Identifier: Apache-2.0 */
/* Any: in a document {"@type": …, its fields}; in a unit type URL and bytes, which are made here,
 * by a unit of their own. */
#include "codec/encoder_internal.h"
#include "codec/json_text.h"
#include "codec/suggest.h"
#include "model/resource.h"
#include "model/type_url.h"

udpa_err
udpai_fail_unknown_type(const udpai_schema *schema,
                        const udpai_place *place,
                        udpai_str type_url,
                        udpa_error **ret_error)
{
    char hint[UDPAI_SUGGESTION_TEXT];
    udpai_suggestion suggestion = udpai_suggest(udpai_type_url_name(type_url));
    for (size_t i = 0; i < udpai_schema_n_types(schema); i++)
        udpai_suggest_offer(&suggestion, udpai_schema_type_name(schema, i));
    return udpai_fail_at(ret_error, UDPA_ERR_NOT_FOUND, place,
                         "message type '%s' is not known: load its descriptors with "
                         "--descriptors FILE%s",
                         UDPAI_QUOTE(udpai_type_url_name(type_url)),
                         udpai_suggestion_text(&suggestion, hint));
}

static udpa_err
find_any_type(udpai_encoder *encoder,
              const udpai_tree *node,
              udpai_str *ret_url,
              const udpai_type **ret_type)
{
    const udpai_entry *entry = udpai_tree_find(node, UDPAI_STR(UDPAI_TYPE_KEY));
    const udpai_place here = udpai_encoder_place(encoder, entry ? entry->value : node);
    if (!entry)
        return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &here,
                             "'@type' is missing: this field can hold any type, and must name it");
    udpai_str url = entry->value->text;
    if (entry->value->kind != UDPAI_TREE_SCALAR || udpai_type_url_name(url).len == url.len)
        return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &here,
                             "'@type' must be a type URL, such as "
                             "type.googleapis.com/google.protobuf.Duration");
    *ret_type = udpai_schema_find(encoder->encoding->schema, url);
    if (!*ret_type)
        return udpai_fail_unknown_type(encoder->encoding->schema, &here, url, encoder->ret_error);
    *ret_url = url;
    return UDPA_OK;
}

/* A type with a JSON form of its own has it under "value". */
static udpa_err
encode_any_value(udpai_encoder *encoder,
                 const udpai_type *type,
                 const udpai_tree *node,
                 udpa_bytes **ret_bytes)
{
    const udpai_entry *value = udpai_tree_find(node, UDPAI_STR("value"));
    for (uint32_t i = 0; i < node->n; i++) {
        udpai_str key = node->entries[i].key->text;
        if (udpai_str_eq(key, UDPAI_STR(UDPAI_TYPE_KEY)) || udpai_str_eq(key, UDPAI_STR("value")))
            continue;
        const udpai_place place = udpai_encoder_place(encoder, node->entries[i].key);
        return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place,
                             "unknown field '%s': %s goes into 'value'", UDPAI_QUOTE(key),
                             udpai_type_name(type));
    }
    if (!value)
        return udpai_fail_code(encoder->ret_error, udpa_bytes_new(ret_bytes, NULL, 0));
    size_t mark = encoder->path.len;
    udpai_strbuf_puts(&encoder->path, encoder->path.len ? ".value" : "value");
    udpa_err err = udpai_encode_unit(encoder, type, value->value, ret_bytes);
    encoder->path.len = mark;
    return err;
}

/* What an Any in a document is made of; *ret_url stays with the document. */
static udpa_err
encode_any_parts(udpai_encoder *encoder,
                 const udpai_tree *node,
                 udpai_str *ret_url,
                 udpa_bytes **ret_bytes)
{
    const udpai_type *type;
    udpa_err err = find_any_type(encoder, node, ret_url, &type);
    if (err != UDPA_OK)
        return err;
    if (udpai_type_well_known(type) == UDPAI_ORDINARY)
        return udpai_encode_unit(encoder, type, node, ret_bytes);
    return encode_any_value(encoder, type, node, ret_bytes);
}

/* Parts of an Any; both are empty for an empty one. */
static udpa_err
encode_any(udpai_encoder *encoder,
           const udpai_tree *node,
           udpai_str *ret_url,
           udpa_bytes **ret_bytes)
{
    *ret_url = UDPAI_STR("");
    if (node->kind != UDPAI_TREE_MAP)
        return udpai_encoder_fail_kind(encoder, node, "a map with '@type'");
    if (node->n == 0)
        return udpai_fail_code(encoder->ret_error, udpa_bytes_new(ret_bytes, NULL, 0));
    return encode_any_parts(encoder, node, ret_url, ret_bytes);
}

/* The Any as libprotobuf gets it; see message.h. */
udpa_err
udpai_put_any(udpai_encoder *encoder, const udpai_tree *node)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_str url;
    udpa_err err = encode_any(encoder, node, &url, &bytes);
    if (err != UDPA_OK)
        return err;
    udpai_strbuf *json = &encoder->unit->json;
    udpai_strbuf_puts(json, "{\"type_url\":");
    udpai_json_put_string(json, url);
    udpai_strbuf_puts(json, ",\"value\":");
    udpai_json_put_base64(json, udpai_bytes_view(bytes));
    udpai_strbuf_putc(json, '}');
    return UDPA_OK;
}

udpa_err
udpai_encode_any_unit(udpai_encoder *encoder, const udpai_tree *node, udpa_bytes **ret_bytes)
{
    udpai_str url;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    udpa_err err = encode_any(encoder, node, &url, &value);
    if (err != UDPA_OK)
        return err;
    udpa_bytes *any = url.len ? udpai_any_make(url, udpai_bytes_view(value))
                              : udpa_bytes_ref(value); /* {} is empty */
    if (!any)
        return udpai_fail_code(encoder->ret_error, UDPA_ERR_NOMEM);
    *ret_bytes = any;
    return UDPA_OK;
}
