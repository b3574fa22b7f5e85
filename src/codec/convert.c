/* SPDX-License-Identifier: Apache-2.0 */
/* Formats to the one that does the work: trees for JSON and YAML, libprotobuf for text. YAML is
 * written by way of JSON, of which the tree is printed in block style. */
#include "codec/convert.h"

#include "codec/encoder.h"
#include "codec/message.h"
#include "codec/reader.h"
#include "codec/text_reader.h"
#include "codec/yaml_writer.h"

/* Depth of what libprotobuf writes: deeper than documents may be, because it prints peers'
 * messages. */
#define WRITTEN_DEPTH UDPAI_SOURCE_DEPTH_MAX

static udpa_err
find_type(const udpai_schema *schema,
          udpai_str name,
          const char *source_name,
          const udpai_type **ret_type,
          udpa_error **ret_error)
{
    const udpai_place place = {source_name, 0, 0, {NULL, 0}};
    *ret_type = udpai_schema_find(schema, name);
    if (!*ret_type)
        return udpai_fail_unknown_type(schema, &place, name, ret_error);
    return UDPA_OK;
}

static udpa_err
tree_to_binary(const udpai_encoding *encoding,
               const udpai_type *type,
               udpa_bytes **ret_bytes,
               udpa_error **ret_error)
{
    const udpai_source *source = encoding->source;
    __attribute__((cleanup(udpai_documents_free_p))) udpai_documents *documents = NULL;
    udpa_err err = udpai_documents_read(&documents, source, ret_error);
    if (err != UDPA_OK)
        return err;
    if (documents->roots.n != 1) {
        const udpai_place place = {source->name, 0, 0, {NULL, 0}};
        return udpai_fail_at(ret_error, UDPA_ERR_INVAL, &place,
                             "%zu documents, where one %s is expected", documents->roots.n,
                             udpai_type_name(type));
    }
    return udpai_encode(encoding, type, documents->roots.items[0], ret_bytes, ret_error);
}

udpa_err
udpai_convert_to_binary(const udpai_schema *schema,
                        udpai_str type_name,
                        const udpai_source *source,
                        udpa_bytes **ret_bytes,
                        udpa_error **ret_error)
{
    const udpai_type *type;
    const udpai_encoding encoding = {schema, source, NULL, NULL};
    udpa_err err = find_type(schema, type_name, source->name, &type, ret_error);
    if (err != UDPA_OK)
        return err;
    switch (source->format) {
    case UDPAI_FORMAT_JSON:
    case UDPAI_FORMAT_JSON_PRETTY:
    case UDPAI_FORMAT_YAML:
        return tree_to_binary(&encoding, type, ret_bytes, ret_error);
    case UDPAI_FORMAT_TEXT:
        return udpai_text_read(schema, type, source, ret_bytes, NULL, ret_error);
    case UDPAI_FORMAT_BINARY:
        break;
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: not a text format",
                      source->name ? source->name : "input");
}

udpa_err
udpai_convert_tree(const udpai_schema *schema,
                   udpai_str type_name,
                   const udpai_source *source,
                   const udpai_tree *document,
                   udpai_text_errors *errors,
                   udpa_bytes **ret_bytes)
{
    const udpai_encoding encoding = {schema, source, NULL, errors};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_type *type;
    *ret_bytes = NULL;
    udpa_err err = find_type(schema, type_name, source->name, &type, &error);
    if (err == UDPA_OK)
        err = udpai_encode(&encoding, type, document, ret_bytes, &error);
    const udpai_text_error alone = {document->line, document->column, error};
    if (err != UDPA_OK && errors->found.n == 0 && udpai_text_errors_add(errors, &alone, document))
        error = NULL;
    return err;
}

static udpa_err
json_to_yaml(udpai_str json, char **ret_text, udpa_error **ret_error)
{
    __attribute__((cleanup(udpai_documents_free_p))) udpai_documents *documents = NULL;
    const udpai_source source = {
        .name = "JSON",
        .text = json,
        .format = UDPAI_FORMAT_JSON,
        .max_size = UDPAI_DOCUMENT_SIZE_MAX,
        .max_depth = WRITTEN_DEPTH,
    };
    udpa_err err = udpai_documents_read(&documents, &source, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_strbuf out = {0};
    for (size_t i = 0; i < documents->roots.n; i++)
        udpai_yaml_write(&out, documents->roots.items[i]);
    char *text = udpai_strbuf_take(&out);
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_text = text;
    return UDPA_OK;
}

static udpa_err
to_yaml(const udpai_schema *schema,
        const udpai_type *type,
        udpai_str bytes,
        char **ret_text,
        udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *json = NULL;
    udpa_err err =
        udpai_message_to_json(schema, type, bytes, UDPAI_JSON_ORIGINAL_NAMES, &json, ret_error);
    return err == UDPA_OK ? json_to_yaml(udpai_str_from(json), ret_text, ret_error) : err;
}

udpa_err
udpai_convert_from_binary(const udpai_schema *schema,
                          udpai_str type_name,
                          udpai_str bytes,
                          udpai_format format,
                          char **ret_text,
                          udpa_error **ret_error)
{
    const udpai_type *type;
    udpa_err err = find_type(schema, type_name, NULL, &type, ret_error);
    if (err != UDPA_OK)
        return err;
    switch (format) {
    case UDPAI_FORMAT_JSON:
        return udpai_message_to_json(schema, type, bytes, UDPAI_JSON_COMPACT, ret_text, ret_error);
    case UDPAI_FORMAT_JSON_PRETTY:
        return udpai_message_to_json(schema, type, bytes, UDPAI_JSON_INDENTED, ret_text, ret_error);
    case UDPAI_FORMAT_YAML:
        return to_yaml(schema, type, bytes, ret_text, ret_error);
    case UDPAI_FORMAT_TEXT:
        return udpai_message_to_text(schema, type, bytes, ret_text, ret_error);
    case UDPAI_FORMAT_BINARY:
        break;
    }
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "not a text format");
}

udpa_err
udpai_convert_to_complete_json(const udpai_schema *schema,
                               udpai_str type_name,
                               udpai_str bytes,
                               char **ret_text,
                               udpa_error **ret_error)
{
    const udpai_type *type;
    udpa_err err = find_type(schema, type_name, NULL, &type, ret_error);
    return err == UDPA_OK ? udpai_message_to_json(schema, type, bytes, UDPAI_JSON_COMPLETE,
                                                  ret_text, ret_error)
                          : err;
}
