/* SPDX-License-Identifier: Apache-2.0 */
/* Documents are encoded first, as the type that they name, and then read as the bytes that a binary
 * file would hold: so one set of rules makes the resources of all formats. */
#include "codec/resource_file.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "codec/encoder.h"
#include "codec/reader.h"
#include "codec/resource_entry.h"
#include "codec/text_reader.h"
#include "model/name.h"
#include "model/resource.h"
#include "model/type_url.h"

enum {
    RESPONSE_RESOURCES = 2,
    RESPONSE_TYPE_URL = 4
};

/* A resource that the file has, to find a second one of the same type and name. */
struct known {
    udpai_str key; /* type URL, zero byte, name */
    udpai_place place;
};

struct file_reader {
    const udpai_schema *schema;
    const udpai_resource_file *file;
    udpai_source source;
    udpai_resource_list list;
    udpai_map known;
    udpai_arena arena; /* of what is known */
    udpa_error **ret_error;
};

/* Where the resources of a DiscoveryResponse are. */
struct response_places {
    const char *path;       /* of the response */
    const udpai_tree *list; /* or NULL */
    const uint32_t *lines;  /* or NULL */
};

bool
udpai_resource_file_format(const char *name, udpai_format *ret_format)
{
    static const struct {
        const char *suffix;
        udpai_format format;
    } suffixes[] = {
        {".yaml", UDPAI_FORMAT_YAML},  {".yml", UDPAI_FORMAT_YAML},
        {".json", UDPAI_FORMAT_JSON},  {".textproto", UDPAI_FORMAT_TEXT},
        {".txtpb", UDPAI_FORMAT_TEXT}, {".pb_text", UDPAI_FORMAT_TEXT},
        {".pb", UDPAI_FORMAT_BINARY},  {".bin", UDPAI_FORMAT_BINARY},
    };

    size_t len = strlen(name);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(suffixes); i++) {
        size_t suffix_len = strlen(suffixes[i].suffix);
        if (len > suffix_len && strcmp(name + len - suffix_len, suffixes[i].suffix) == 0) {
            *ret_format = suffixes[i].format;
            return true;
        }
    }
    return false;
}

static udpai_str
known_key(const void *item)
{
    return ((const struct known *)item)->key;
}

static udpa_err
out_of_memory(struct file_reader *reader)
{
    return udpai_fail_code(reader->ret_error, UDPA_ERR_NOMEM);
}

/* A copy that lives as long as the reader; NULL without memory. */
static char *
keep(struct file_reader *reader, udpai_str text)
{
    char *copy = udpai_arena_alloc(&reader->arena, text.len + 1);
    if (copy) {
        if (text.len)
            memcpy(copy, text.data, text.len);
        copy[text.len] = '\0';
    }
    return copy;
}

/* ---- names ---- */

/* What has an authority was printed by a node, where every name is a full one. */
static bool
is_full_name(const struct file_reader *reader, const udpai_resource_entry *entry, udpai_str name)
{
    udpai_str name_space = udpai_name_namespace(name);
    return udpai_name_is_full(name, reader->file->default_namespace) ||
           (entry->authority.len && name_space.len && name_space.len < name.len &&
            udpai_prefix_check(name_space, NULL) == UDPA_OK);
}

static udpa_err
fail_name(struct file_reader *reader, const udpai_place *place, udpai_str name, const char *reason)
{
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, place, "the name '%s' %s",
                         UDPAI_QUOTE(name), reason);
}

/* A name of the form xdstp://…: what it is in UDPA. */
static udpa_err
full_name_of_xdstp(struct file_reader *reader,
                   const udpai_resource_entry *entry,
                   const udpai_place *place,
                   udpai_str *name)
{
    udpai_xdstp xdstp;
    UDPA_AUTO(udpa_error_unref) udpa_error *cause = NULL;
    char room[UDPAI_NAME_MAX];
    udpai_str name_space, full;
    if (udpai_xdstp_parse(*name, &xdstp, &cause) != UDPA_OK)
        return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, place, "%s",
                             udpa_error_message(cause));
    if (!udpai_str_eq(xdstp.type, udpai_type_url_name(udpai_resource_entry_type(entry))))
        return fail_name(reader, place, *name, "is that of a resource of another type");
    if (xdstp.is_glob)
        return fail_name(reader, place, *name,
                         "is that of a collection: give its members names of their own");
    if (!udpai_xdstp_namespace(&reader->file->authorities, xdstp.authority,
                               reader->file->default_namespace, &name_space))
        return fail_name(reader, place, *name,
                         "has an authority that stands for no namespace: list it in the section "
                         "'authorities' of the node's configuration");
    if (udpai_xdstp_full_name(&xdstp, name_space, room, &full, &cause) != UDPA_OK)
        return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, place, "%s",
                             udpa_error_message(cause));
    *name = (udpai_str){keep(reader, full), full.len};
    return name->data ? UDPA_OK : out_of_memory(reader);
}

/* The name, with the namespace in front if it has none. */
static udpai_str
with_namespace(struct file_reader *reader,
               const udpai_resource_entry *entry,
               udpai_str name,
               udpai_str name_space)
{
    udpai_strbuf full = {0};
    if (!is_full_name(reader, entry, name)) {
        udpai_strbuf_str(&full, name_space);
        udpai_strbuf_putc(&full, '/');
    }
    udpai_strbuf_str(&full, name);
    udpai_str kept = udpai_strbuf_view(&full);
    kept.data = udpai_strbuf_failed(&full) ? NULL : keep(reader, kept);
    udpai_strbuf_done(&full);
    return kept;
}

/* ---- one resource ---- */

static udpa_err
fail_double(struct file_reader *reader,
            const struct known *first,
            udpai_str name,
            const udpai_place *place)
{
    char where[UDPAI_PLACE_TEXT];
    bool by_path = first->place.line == 0;
    return udpai_fail_at(reader->ret_error, UDPA_ERR_EXISTS, place,
                         "resource '%s' of this type is already at %s%s%s", UDPAI_QUOTE(name),
                         udpai_place_text(where, &first->place), by_path ? ": " : "",
                         by_path ? UDPAI_QUOTE(first->place.path) : "");
}

static udpa_err
note_known(struct file_reader *reader, udpai_str type, udpai_str name, const udpai_place *place)
{
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, type);
    udpai_strbuf_putc(&key, '\0');
    udpai_strbuf_str(&key, name);
    struct known *known = udpai_arena_alloc(&reader->arena, sizeof(*known));
    char *kept_key = udpai_strbuf_failed(&key) ? NULL : keep(reader, udpai_strbuf_view(&key));
    char *kept_path = keep(reader, place->path);
    size_t key_len = key.len;
    udpai_strbuf_done(&key);
    if (!known || !kept_key || !kept_path)
        return out_of_memory(reader);
    *known = (struct known){{kept_key, key_len}, *place};
    known->place.path.data = kept_path;
    const struct known *first = udpai_map_get(&reader->known, known->key);
    if (first)
        return fail_double(reader, first, name, place);
    return udpai_map_add(&reader->known, known) ? UDPA_OK : out_of_memory(reader);
}

static udpa_err
make_resource(struct file_reader *reader,
              const udpai_resource_parts *parts,
              const udpai_place *place,
              udpa_resource **ret_resource)
{
    udpa_error *cause = NULL;
    udpa_err err = udpai_resource_parts_check(parts, &cause);
    if (err == UDPA_OK)
        return udpai_fail_code(reader->ret_error, udpai_resource_make(ret_resource, parts));
    udpai_fail_at(reader->ret_error, err, place, "%s", udpa_error_message(cause));
    udpa_error_unref(cause);
    return err;
}

static udpa_err
append(struct file_reader *reader, udpa_resource *resource, const udpai_place *place)
{
    const udpai_file_resource item = {resource, place->line, place->column};
    if (udpai_vector_push(&reader->list, item))
        return UDPA_OK;
    udpa_resource_unref(resource);
    return out_of_memory(reader);
}

static udpa_err
complete_name(struct file_reader *reader,
              const udpai_resource_entry *entry,
              const udpai_place *place,
              udpai_str name_space,
              udpai_str *name)
{
    if (udpai_xdstp_is(*name))
        return full_name_of_xdstp(reader, entry, place, name);
    *name = with_namespace(reader, entry, *name, name_space);
    return name->data ? UDPA_OK : out_of_memory(reader);
}

/* Full names instead of the entry's own. */
static udpa_err
complete_names(struct file_reader *reader, udpai_resource_entry *entry, const udpai_place *place)
{
    udpa_err err =
        complete_name(reader, entry, place, reader->file->default_namespace, &entry->name);
    if (err != UDPA_OK)
        return err;
    udpai_str name_space = udpai_name_namespace(entry->name);
    for (size_t i = 0; i < entry->aliases.n && err == UDPA_OK; i++)
        err = complete_name(reader, entry, place, name_space, &entry->aliases.items[i]);
    return err;
}

static udpa_err
add_resource(struct file_reader *reader, udpai_resource_entry *entry, const udpai_place *place)
{
    udpa_err err = complete_names(reader, entry, place);
    if (err != UDPA_OK)
        return err;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = udpai_any_make(entry->type_url, entry->value);
    if (!any)
        return out_of_memory(reader);
    const udpai_resource_parts parts = {
        .name = entry->name,
        .version = entry->version,
        .authority = entry->authority,
        .any = any,
        .ttl_ms = entry->ttl_ms,
        .lazy = entry->lazy,
        .do_not_cache = entry->do_not_cache,
        .aliases = entry->aliases.items,
        .n_aliases = entry->aliases.n,
        .constraints = entry->constraints,
        .redirected_type = entry->redirected_type,
        .generation = entry->generation,
        .signature = entry->signature,
    };
    udpa_resource *resource;
    err = note_known(reader, udpai_resource_entry_type(entry), entry->name, place);
    if (err == UDPA_OK)
        err = make_resource(reader, &parts, place, &resource);
    return err == UDPA_OK ? append(reader, resource, place) : err;
}

/* ---- a DiscoveryResponse ---- */

static udpai_place
place_of_nth(const struct file_reader *reader,
             const struct response_places *places,
             size_t n,
             udpai_strbuf *path)
{
    udpai_place place = {reader->source.name, 0, 0, {NULL, 0}};
    path->len = 0;
    udpai_strbuf_printf(path, "%s%sresources[%zu]", places->path, places->path[0] ? "." : "", n);
    if (!udpai_strbuf_failed(path))
        place.path = udpai_strbuf_view(path);
    if (places->list && n < places->list->n) {
        place.line = places->list->items[n]->line;
        place.column = places->list->items[n]->column;
    } else if (places->lines) {
        place.line = places->lines[n];
        place.column = 1;
    }
    return place;
}

static udpa_err
check_type(struct file_reader *reader,
           udpai_str response_type,
           const udpai_resource_entry *entry,
           const udpai_place *place)
{
    if (!response_type.len ||
        udpai_str_eq(udpai_type_url_name(response_type), udpai_type_url_name(entry->type_url)))
        return UDPA_OK;
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, place,
                         "type '%s' is not the response's type_url '%s'",
                         UDPAI_QUOTE(entry->type_url), UDPAI_QUOTE(response_type));
}

static udpa_err
add_nth(struct file_reader *reader,
        udpai_str any,
        udpai_str response_type,
        const udpai_place *place)
{
    udpai_resource_entry entry = {.kind = reader->file->kind};
    udpa_err err =
        udpai_resource_entry_from_any(&entry, reader->schema, any, place, reader->ret_error);
    if (err == UDPA_OK)
        err = check_type(reader, response_type, &entry, place);
    if (err == UDPA_OK)
        err = add_resource(reader, &entry, place);
    udpai_resource_entry_done(&entry);
    return err;
}

static udpa_err
add_response(struct file_reader *reader, udpai_str response, const struct response_places *places)
{
    udpai_str type_url = udpai_proto_last_bytes(response, RESPONSE_TYPE_URL);
    udpai_proto_reader fields = udpai_proto_read(response);
    udpai_proto_field field;
    udpai_strbuf path = {0};
    udpa_err err = UDPA_OK;
    for (size_t n = 0; err == UDPA_OK && udpai_proto_next(&fields, &field);) {
        if (field.number != RESPONSE_RESOURCES || field.type != UDPAI_WIRE_BYTES)
            continue;
        const udpai_place place = place_of_nth(reader, places, n++, &path);
        err = add_nth(reader, field.bytes, type_url, &place);
    }
    udpai_strbuf_done(&path);
    const udpai_place whole = {reader->source.name, 0, 0, {NULL, 0}};
    if (err == UDPA_OK && fields.failed)
        err = udpai_fail_at(reader->ret_error, UDPA_ERR_MALFORMED, &whole,
                            "this is no " UDPAI_TYPE_DISCOVERY_RESPONSE " in binary form");
    return err;
}

/* ---- documents ---- */

static udpa_err
encode_as(struct file_reader *reader,
          const char *type_name,
          const udpai_tree *node,
          const char *path,
          udpa_bytes **ret_bytes)
{
    const udpai_type *type = udpai_schema_find(reader->schema, udpai_str_from(type_name));
    const udpai_encoding encoding = {reader->schema, &reader->source, path, NULL};
    if (!type)
        return udpai_fail_code(reader->ret_error, UDPA_ERR_INTERNAL);
    return udpai_encode(&encoding, type, node, ret_bytes, reader->ret_error);
}

static udpa_err
add_response_node(struct file_reader *reader, const udpai_tree *node, const char *path)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    const udpai_entry *list = udpai_tree_find(node, UDPAI_STR("resources"));
    const struct response_places places = {
        path, list && list->value->kind == UDPAI_TREE_LIST ? list->value : NULL, NULL};
    udpa_err err = encode_as(reader, UDPAI_TYPE_DISCOVERY_RESPONSE, node, path, &bytes);
    return err == UDPA_OK ? add_response(reader, udpai_bytes_view(bytes), &places) : err;
}

/* Without this, the message would be of a field that the secret does not have. */
static udpa_err
check_redacted(struct file_reader *reader, const udpai_tree *node, const char *path)
{
    const udpai_entry *payload = udpai_tree_find(node, UDPAI_STR("resource"));
    const udpai_entry *mark = payload && payload->value->kind == UDPAI_TREE_MAP
                                  ? udpai_tree_find(payload->value, UDPAI_STR(UDPAI_REDACTED_FIELD))
                                  : NULL;
    if (!mark || mark->value->kind != UDPAI_TREE_SCALAR ||
        !udpai_str_eq(mark->value->text, UDPAI_STR(UDPAI_REDACTED_TEXT)))
        return UDPA_OK;
    const udpai_place place = {reader->source.name, mark->key->line, mark->key->column,
                               udpai_str_from(path)};
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, &place,
                         "what this secret holds was hidden when it was printed: put that in, or "
                         "remove this document, and the secret stays as it is");
}

static udpa_err
add_wrapped_node(struct file_reader *reader, const udpai_tree *node, const udpai_place *place)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpai_resource_entry entry = {.kind = reader->file->kind};
    udpa_err err = check_redacted(reader, node, place->path.data);
    if (err == UDPA_OK)
        err = encode_as(reader, UDPAI_TYPE_UDPA_RESOURCE, node, place->path.data, &bytes);
    if (err == UDPA_OK)
        err = udpai_resource_entry_from_udpa(&entry, reader->schema, udpai_bytes_view(bytes), place,
                                             reader->ret_error);
    if (err == UDPA_OK)
        err = add_resource(reader, &entry, place);
    udpai_resource_entry_done(&entry);
    return err;
}

static udpa_err
add_typed_node(struct file_reader *reader, const udpai_tree *node, const udpai_place *place)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    udpa_err err = encode_as(reader, "google.protobuf.Any", node, place->path.data, &any);
    return err == UDPA_OK ? add_nth(reader, udpai_bytes_view(any), (udpai_str){NULL, 0}, place)
                          : err;
}

static bool
is_response(const udpai_tree *node, const udpai_entry *type)
{
    if (!type)
        return udpai_tree_find(node, UDPAI_STR("resources")) != NULL;
    return type->value->kind == UDPAI_TREE_SCALAR &&
           udpai_str_eq(udpai_type_url_name(type->value->text),
                        UDPAI_STR(UDPAI_TYPE_DISCOVERY_RESPONSE));
}

static udpa_err
add_node(struct file_reader *reader, const udpai_tree *node, const char *path)
{
    const udpai_place place = {reader->source.name, node->line, node->column, udpai_str_from(path)};
    const udpai_entry *type = udpai_tree_find(node, UDPAI_STR("@type"));
    if (node->kind != UDPAI_TREE_MAP)
        return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, &place,
                             "this is %s, but must be a resource", udpai_tree_kind_text(node));
    if (is_response(node, type))
        return add_response_node(reader, node, path);
    if (type)
        return add_typed_node(reader, node, &place);
    if (udpai_tree_find(node, UDPAI_STR("resource")))
        return add_wrapped_node(reader, node, &place);
    return udpai_fail_at(reader->ret_error, UDPA_ERR_INVAL, &place,
                         "this is no resource: it needs '@type' and its fields, or 'name' and "
                         "'resource', or a list 'resources'");
}

static udpa_err
add_document(struct file_reader *reader, const udpai_tree *root)
{
    char path[32];
    udpa_err err = UDPA_OK;
    if (udpai_tree_is_null(root))
        return UDPA_OK; /* nothing between two lines of '---' */
    if (root->kind != UDPAI_TREE_LIST)
        return add_node(reader, root, "");
    for (uint32_t i = 0; i < root->n && err == UDPA_OK; i++) {
        snprintf(path, sizeof(path), "[%u]", i);
        err = add_node(reader, root->items[i], path);
    }
    return err;
}

/* ---- files ---- */

static udpa_err
read_tree_file(struct file_reader *reader)
{
    __attribute__((cleanup(udpai_documents_free_p))) udpai_documents *documents = NULL;
    udpa_err err = udpai_documents_read(&documents, &reader->source, reader->ret_error);
    for (size_t i = 0; err == UDPA_OK && i < documents->roots.n; i++)
        err = add_document(reader, documents->roots.items[i]);
    return err;
}

static udpa_err
read_text_file(struct file_reader *reader)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    const udpai_type *type =
        udpai_schema_find(reader->schema, UDPAI_STR(UDPAI_TYPE_DISCOVERY_RESPONSE));
    udpai_text_notes notes = {.locate = "resources"};
    if (!type)
        return udpai_fail_code(reader->ret_error, UDPA_ERR_INTERNAL);
    udpa_err err =
        udpai_text_read(reader->schema, type, &reader->source, &bytes, &notes, reader->ret_error);
    const struct response_places places = {"", NULL, notes.lines};
    if (err == UDPA_OK)
        err = add_response(reader, udpai_bytes_view(bytes), &places);
    udpai_free(notes.lines);
    return err;
}

static udpa_err
read_binary_file(struct file_reader *reader)
{
    const struct response_places places = {"", NULL, NULL};
    size_t max = udpai_source_max_size(&reader->source);
    if (reader->source.text.len > max)
        return udpai_fail(reader->ret_error, UDPA_ERR_LIMIT,
                          "%s: %zu bytes are more than the %zu that are allowed",
                          reader->source.name, reader->source.text.len, max);
    return add_response(reader, reader->source.text, &places);
}

static udpa_err
read_file(struct file_reader *reader)
{
    switch (reader->source.format) {
    case UDPAI_FORMAT_TEXT:
        return read_text_file(reader);
    case UDPAI_FORMAT_BINARY:
        return read_binary_file(reader);
    case UDPAI_FORMAT_JSON:
    case UDPAI_FORMAT_JSON_PRETTY:
    case UDPAI_FORMAT_YAML:
        break;
    }
    return read_tree_file(reader);
}

udpa_err
udpai_resource_file_read(const udpai_schema *schema,
                         const udpai_resource_file *file,
                         udpai_resource_list *ret_list,
                         udpa_error **ret_error)
{
    udpai_format format;
    if (!udpai_resource_file_format(file->name, &format))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: what format is this? Name it .yaml, .json, .textproto or .pb",
                          file->name);
    struct file_reader reader = {
        .schema = schema,
        .file = file,
        .source = {.name = file->name,
                   .text = file->contents,
                   .format = format,
                   .max_size = file->max_size},
        .ret_error = ret_error,
    };
    udpai_map_init(&reader.known, known_key);
    udpai_arena_init(&reader.arena);
    udpa_err err = read_file(&reader);
    udpai_map_done(&reader.known);
    udpai_arena_done(&reader.arena);
    if (err == UDPA_OK)
        *ret_list = reader.list;
    else
        udpai_resource_list_done(&reader.list);
    return err;
}

void
udpai_resource_list_done(udpai_resource_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        udpa_resource_unref(list->items[i].resource);
    udpai_vector_done(list);
}
