/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, lists and messages of a document; see encoder_internal.h for how the work is cut. */
#include "codec/encoder.h"

#include "base/alloc.h"
#include "base/vector.h"
#include "codec/encoder_internal.h"
#include "codec/message.h"
#include "codec/suggest.h"
#include "model/type_url.h"

/* A field that the message being read has already. */
struct seen {
    uint32_t number;
    const char *oneof;
    const udpai_tree *key;
};

/* The message being read. */
struct message {
    const udpai_type *type;
    const udpai_tree *node;
    UDPAI_VECTOR(struct seen) seen;
};

static udpa_err put_message(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node);
static udpa_err
put_field_message(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node);

udpai_encoder_mark
udpai_encoder_mark_here(const udpai_encoder *encoder)
{
    return (udpai_encoder_mark){encoder->path.len, encoder->unit->where.len};
}

void
udpai_encoder_enter_field(udpai_encoder *encoder, const char *name)
{
    udpai_strbuf_printf(&encoder->path, "%s%s", encoder->path.len ? "." : "", name);
    udpai_strbuf_printf(&encoder->unit->where, "%s%s", encoder->unit->where.len ? "." : "", name);
}

/* @p n_written: how many of the list libprotobuf gets before this one. */
static void
enter_item(udpai_encoder *encoder, size_t index, size_t n_written)
{
    udpai_strbuf_printf(&encoder->path, "[%zu]", index);
    udpai_strbuf_printf(&encoder->unit->where, "[%zu]", n_written);
}

void
udpai_encoder_enter_index(udpai_encoder *encoder, size_t index)
{
    enter_item(encoder, index, index);
}

static void
enter_entry(udpai_encoder *encoder, udpai_str key, size_t n_written)
{
    udpai_strbuf_printf(&encoder->path, "[\"%s\"]", UDPAI_QUOTE(key));
    udpai_strbuf_printf(&encoder->unit->where, "[%zu]", n_written);
}

void
udpai_encoder_leave(udpai_encoder *encoder, udpai_encoder_mark mark)
{
    encoder->path.len = mark.path;
    encoder->unit->where.len = mark.where;
}

udpai_place
udpai_encoder_place(udpai_encoder *encoder, const udpai_tree *node)
{
    encoder->blamed = node;
    return (udpai_place){encoder->encoding->source->name, node->line, node->column,
                         udpai_strbuf_view(&encoder->path)};
}

udpa_err
udpai_encoder_fail_kind(udpai_encoder *encoder, const udpai_tree *node, const char *expected)
{
    const udpai_place place = udpai_encoder_place(encoder, node);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place, "this is %s, but must be %s",
                         udpai_tree_kind_text(node), expected);
}

static udpa_err
out_of_memory(udpai_encoder *encoder)
{
    return udpai_fail_code(encoder->ret_error, UDPA_ERR_NOMEM);
}

/* ---- going on after an error ---- */

/* Is this part passed over, because of an error that is known? */
static bool
is_refused(const udpai_encoder *encoder, const udpai_tree *node)
{
    const udpai_text_errors *errors = encoder->encoding->errors;
    return errors && udpai_text_errors_has(errors, node);
}

/* The result of a part of the document. Where all errors are requested, one is noted, what the part
 * has written is taken back, and the work goes on. */
static udpa_err
settle(udpai_encoder *encoder, udpa_err err, const udpai_tree *part, size_t json_len)
{
    udpai_text_errors *errors = encoder->encoding->errors;
    bool is_text_error =
        err == UDPA_ERR_INVAL || err == UDPA_ERR_NOT_FOUND || err == UDPA_ERR_UNIMPLEMENTED;
    if (!is_text_error || !errors || !encoder->ret_error || !encoder->blamed)
        return err;
    const udpai_text_error error = {encoder->blamed->line, encoder->blamed->column,
                                    *encoder->ret_error};
    if (!udpai_text_errors_add(errors, &error, part))
        return err;
    *encoder->ret_error = NULL;
    encoder->unit->json.len = json_len;
    return UDPA_OK;
}

/* Between the parts of a map or list. */
static void
put_comma(udpai_encoder *encoder)
{
    const udpai_strbuf *json = &encoder->unit->json;
    char last = json->len ? json->data[json->len - 1] : '{';
    if (last != '{' && last != '[')
        udpai_strbuf_putc(&encoder->unit->json, ',');
}

/* ---- fields ---- */

static udpa_err
put_wrapper(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node)
{
    udpai_field value;
    if (node->kind == UDPAI_TREE_MAP)
        return put_message(encoder, type, node);
    if (!udpai_type_field(type, UDPAI_STR("value"), &value))
        return udpai_fail_code(encoder->ret_error, UDPA_ERR_INTERNAL);
    udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
    udpai_encoder_enter_field(encoder, "value");
    encoder->path.len = mark.path; /* the document does not name it */
    udpa_err err = udpai_put_scalar(encoder, &value, node);
    udpai_encoder_leave(encoder, mark);
    return err;
}

static udpa_err
put_container(udpai_encoder *encoder, const udpai_tree *node, udpai_tree_kind kind)
{
    if (node->kind != kind)
        return udpai_encoder_fail_kind(encoder, node, kind == UDPAI_TREE_MAP ? "a map" : "a list");
    return udpai_put_value(encoder, node);
}

static udpa_err
put_field_message(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node)
{
    switch (udpai_type_well_known(type)) {
    case UDPAI_ANY:
        return udpai_put_any(encoder, node);
    case UDPAI_WRAPPER:
        return put_wrapper(encoder, type, node);
    case UDPAI_STRUCT:
        return put_container(encoder, node, UDPAI_TREE_MAP);
    case UDPAI_LIST_VALUE:
        return put_container(encoder, node, UDPAI_TREE_LIST);
    case UDPAI_VALUE:
        return udpai_put_value(encoder, node);
    case UDPAI_DURATION:
    case UDPAI_TIMESTAMP:
    case UDPAI_FIELD_MASK:
        if (node->kind != UDPAI_TREE_MAP)
            return udpai_put_known(encoder, type, node);
        break;
    case UDPAI_EMPTY:
    case UDPAI_ORDINARY:
        break;
    }
    return put_message(encoder, type, node);
}

static bool
takes_null(const udpai_field *field)
{
    return field->kind == UDPAI_KIND_MESSAGE && !field->repeated && !field->map &&
           udpai_type_well_known(field->message) == UDPAI_VALUE;
}

/* One value of a field: the field's own, an item of its list, a value of its map. */
static udpa_err
put_single(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    bool is_message = field->kind == UDPAI_KIND_MESSAGE;
    if (udpai_tree_is_null(node) &&
        !(is_message && udpai_type_well_known(field->message) == UDPAI_VALUE))
        return udpai_encoder_fail_kind(encoder, node, "a value");
    if (is_message)
        return put_field_message(encoder, field->message, node);
    return udpai_put_scalar(encoder, field, node);
}

static udpa_err
put_item(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *item)
{
    put_comma(encoder);
    return put_single(encoder, field, item);
}

static udpa_err
put_list(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    udpa_err err = UDPA_OK;
    size_t n_written = 0;
    if (node->kind != UDPAI_TREE_LIST)
        return udpai_encoder_fail_kind(encoder, node, "a list");
    udpai_strbuf_putc(&encoder->unit->json, '[');
    for (uint32_t i = 0; i < node->n && err == UDPA_OK; i++) {
        if (is_refused(encoder, node->items[i]))
            continue;
        udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
        size_t json_len = encoder->unit->json.len;
        enter_item(encoder, i, n_written);
        err = put_item(encoder, field, node->items[i]);
        err = settle(encoder, err, node->items[i], json_len);
        n_written += encoder->unit->json.len > json_len;
        udpai_encoder_leave(encoder, mark);
    }
    udpai_strbuf_putc(&encoder->unit->json, ']');
    return err;
}

/* libprotobuf sees a map as a list of messages with the fields key and value. */
static udpa_err
put_entry(udpai_encoder *encoder, const udpai_field *field, const udpai_entry *entry)
{
    size_t where = encoder->unit->where.len;
    put_comma(encoder);
    udpai_strbuf_puts(&encoder->unit->where, ".key");
    udpa_err err = udpai_put_key(encoder, field, entry->key);
    encoder->unit->where.len = where;
    udpai_strbuf_putc(&encoder->unit->json, ':');
    udpai_strbuf_puts(&encoder->unit->where, ".value");
    if (err == UDPA_OK)
        err = put_single(encoder, field, entry->value);
    encoder->unit->where.len = where;
    return err;
}

static udpa_err
put_map(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    udpa_err err = UDPA_OK;
    size_t n_written = 0;
    if (node->kind != UDPAI_TREE_MAP)
        return udpai_encoder_fail_kind(encoder, node, "a map");
    udpai_strbuf_putc(&encoder->unit->json, '{');
    for (uint32_t i = 0; i < node->n && err == UDPA_OK; i++) {
        const udpai_entry *entry = &node->entries[i];
        if (is_refused(encoder, entry->key))
            continue;
        udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
        size_t json_len = encoder->unit->json.len;
        enter_entry(encoder, entry->key->text, n_written);
        err = settle(encoder, put_entry(encoder, field, entry), entry->key, json_len);
        n_written += encoder->unit->json.len > json_len;
        udpai_encoder_leave(encoder, mark);
    }
    udpai_strbuf_putc(&encoder->unit->json, '}');
    return err;
}

static udpa_err
put_field(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node)
{
    udpai_encoder_mark mark = udpai_encoder_mark_here(encoder);
    udpai_encoder_enter_field(encoder, field->name);
    udpa_err err;
    if (field->map)
        err = put_map(encoder, field, node);
    else if (field->repeated)
        err = put_list(encoder, field, node);
    else
        err = put_single(encoder, field, node);
    udpai_encoder_leave(encoder, mark);
    return err;
}

/* ---- messages ---- */

/* The last field before the key that has it in its message, or in an item of that: the key is
 * indented by too little. NULL: none. */
static const udpai_tree *
find_owner(const struct message *message, const udpai_tree *key, bool *ret_is_list)
{
    const udpai_tree *owner = NULL;
    for (uint32_t i = 0; i < message->node->n && message->node->entries[i].key != key; i++) {
        const udpai_tree *before = message->node->entries[i].key;
        udpai_field field, inner;
        if (udpai_type_field(message->type, before->text, &field) && field.message && !field.map &&
            udpai_type_well_known(field.message) == UDPAI_ORDINARY &&
            udpai_type_field(field.message, key->text, &inner)) {
            owner = before;
            *ret_is_list = field.repeated;
        }
    }
    return owner;
}

static udpa_err
fail_unknown_field(udpai_encoder *encoder, const struct message *message, const udpai_tree *key)
{
    char hint[UDPAI_SUGGESTION_TEXT];
    bool is_list = false;
    const udpai_tree *owner = find_owner(message, key, &is_list);
    udpai_suggestion suggestion = udpai_suggest(key->text);
    for (size_t i = 0; i < udpai_type_n_fields(message->type); i++)
        udpai_suggest_offer(&suggestion, udpai_type_field_name(message->type, i));
    const udpai_place place = udpai_encoder_place(encoder, key);
    if (owner)
        return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place,
                             "unknown field '%s'; %s'%s' in line %u has one: does it belong there?",
                             UDPAI_QUOTE(key->text), is_list ? "an item of " : "",
                             UDPAI_QUOTE(owner->text), owner->line);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place, "unknown field '%s'%s",
                         UDPAI_QUOTE(key->text), udpai_suggestion_text(&suggestion, hint));
}

static udpa_err
fail_second(udpai_encoder *encoder,
            const struct seen *first,
            const udpai_field *field,
            const udpai_tree *key)
{
    char where[UDPAI_PLACE_TEXT];
    const udpai_place there = udpai_encoder_place(encoder, first->key);
    const udpai_place here = udpai_encoder_place(encoder, key); /* last: it is to blame */
    if (first->number == field->number)
        return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &here,
                             "field '%s' is already at %s", field->name,
                             udpai_place_text(where, &there));
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &here,
                         "of '%s' only one can be given, and '%s' is at %s", field->oneof,
                         UDPAI_QUOTE(first->key->text), udpai_place_text(where, &there));
}

/* Notes that the message has this field; fails if it has it, or another of its oneof, already. */
static udpa_err
note_field(udpai_encoder *encoder,
           struct message *message,
           const udpai_field *field,
           const udpai_tree *key)
{
    for (size_t i = 0; i < message->seen.n; i++) {
        const struct seen *seen = &message->seen.items[i];
        if (seen->number == field->number || (field->oneof && seen->oneof == field->oneof))
            return fail_second(encoder, seen, field, key);
    }
    const struct seen seen = {field->number, field->oneof, key};
    return udpai_vector_push(&message->seen, seen) ? UDPA_OK : out_of_memory(encoder);
}

static udpa_err
put_member(udpai_encoder *encoder, struct message *message, const udpai_entry *entry)
{
    udpai_field field;
    if (!udpai_type_field(message->type, entry->key->text, &field))
        return encoder->encoding->source->skips_unknown
                   ? UDPA_OK
                   : fail_unknown_field(encoder, message, entry->key);
    if (udpai_tree_is_null(entry->value) && !takes_null(&field))
        return UDPA_OK;
    udpa_err err = note_field(encoder, message, &field, entry->key);
    if (err != UDPA_OK)
        return err;
    put_comma(encoder);
    udpai_strbuf_printf(&encoder->unit->json, "\"%s\":", field.name);
    return put_field(encoder, &field, entry->value);
}

static udpa_err
put_members(udpai_encoder *encoder,
            const udpai_type *type,
            const udpai_tree *node,
            bool skip_type_key)
{
    struct message message = {.type = type, .node = node};
    udpa_err err = UDPA_OK;
    udpai_strbuf_putc(&encoder->unit->json, '{');
    for (uint32_t i = 0; i < node->n && err == UDPA_OK; i++) {
        bool is_type_key = udpai_str_eq(node->entries[i].key->text, UDPAI_STR(UDPAI_TYPE_KEY));
        if ((skip_type_key && is_type_key) || is_refused(encoder, node->entries[i].key))
            continue;
        size_t json_len = encoder->unit->json.len;
        err = put_member(encoder, &message, &node->entries[i]);
        err = settle(encoder, err, node->entries[i].key, json_len);
    }
    udpai_strbuf_putc(&encoder->unit->json, '}');
    udpai_vector_done(&message.seen);
    return err;
}

static udpa_err
put_message(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node)
{
    if (node->kind != UDPAI_TREE_MAP)
        return udpai_encoder_fail_kind(encoder, node, "a map of fields");
    return put_members(encoder, type, node, false);
}

/* ---- units ---- */

/* The unit's node is a message of the type. In an Any it has the key "@type" besides; a document
 * may have it too. */
static udpa_err
put_unit(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node)
{
    encoder->unit->json.len = encoder->unit->where.len = 0;
    const udpai_entry *stated = udpai_tree_find(node, UDPAI_STR(UDPAI_TYPE_KEY));
    if (!stated || udpai_type_well_known(type) != UDPAI_ORDINARY)
        return put_field_message(encoder, type, node);
    if (udpai_str_eq(udpai_type_url_name(stated->value->text),
                     udpai_str_from(udpai_type_name(type))))
        return put_members(encoder, type, node, true);
    const udpai_place place = udpai_encoder_place(encoder, stated->value);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place,
                         "'@type' is '%s', but this must be %s", UDPAI_QUOTE(stated->value->text),
                         udpai_type_name(type));
}

static size_t
n_errors(const udpai_encoder *encoder)
{
    return encoder->encoding->errors ? encoder->encoding->errors->found.n : 0;
}

/* Finds where the value is that libprotobuf refused, and why in our words if it is found. UDPA_OK:
 * it was noted, and the unit is worth another try without it. */
static udpa_err
explain(udpai_encoder *encoder,
        const udpai_type *type,
        const udpai_tree *node,
        const char *where,
        const udpa_error *cause)
{
    size_t n_before = n_errors(encoder);
    encoder->unit->expected = where ? where : "";
    udpa_err err = put_unit(encoder, type, node);
    encoder->unit->expected = NULL;
    if (err != UDPA_OK || n_errors(encoder) > n_before)
        return err;
    const udpai_place place = udpai_encoder_place(encoder, node);
    return udpai_fail_at(encoder->ret_error, UDPA_ERR_INVAL, &place, "%s",
                         udpa_error_message(cause));
}

/* *ret_bytes stays NULL with UDPA_OK if the unit is worth another try. */
static udpa_err
try_unit(udpai_encoder *encoder,
         const udpai_type *type,
         const udpai_tree *node,
         udpa_bytes **ret_bytes)
{
    UDPAI_AUTO_FREE char *where = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *cause = NULL;
    udpa_err err = put_unit(encoder, type, node);
    if (err != UDPA_OK)
        return err;
    if (udpai_strbuf_failed(&encoder->unit->json) || udpai_strbuf_failed(&encoder->unit->where) ||
        udpai_strbuf_failed(&encoder->path))
        return out_of_memory(encoder);
    err =
        udpai_message_from_json(encoder->encoding->schema, type,
                                udpai_strbuf_view(&encoder->unit->json), ret_bytes, &where, &cause);
    if (err == UDPA_ERR_INVAL)
        return explain(encoder, type, node, where, cause);
    if (encoder->ret_error)
        *encoder->ret_error = UDPAI_TAKE(cause);
    return err;
}

udpa_err
udpai_encode_unit(udpai_encoder *encoder,
                  const udpai_type *type,
                  const udpai_tree *node,
                  udpa_bytes **ret_bytes)
{
    if (udpai_type_well_known(type) == UDPAI_ANY)
        return udpai_encode_any_unit(encoder, node, ret_bytes);
    udpai_unit *outer = encoder->unit, unit = {{0}, {0}, NULL};
    encoder->unit = &unit;
    udpa_bytes *bytes = NULL;
    udpa_err err;
    do {
        err = try_unit(encoder, type, node, &bytes);
    } while (err == UDPA_OK && !bytes); /* each time there is one error more, of a bounded number */
    udpai_strbuf_done(&unit.json);
    udpai_strbuf_done(&unit.where);
    encoder->unit = outer;
    if (err == UDPA_OK)
        *ret_bytes = bytes;
    return err;
}

/* The result where all errors were collected: that of the first. */
static udpa_err
conclude(udpai_encoder *encoder, udpa_err err, const udpai_tree *root)
{
    udpai_unit unit = {{0}, {0}, NULL};
    encoder->unit = &unit;
    err = settle(encoder, err, root, 0);
    udpai_text_errors *errors = encoder->encoding->errors;
    if (errors->found.n == 0)
        return err;
    udpai_text_errors_sort(errors);
    udpa_error *first = errors->found.items[0].error;
    if (encoder->ret_error) {
        udpa_error_unref(*encoder->ret_error); /* one more than are counted */
        *encoder->ret_error = udpa_error_ref(first);
    }
    return udpa_error_code(first);
}

udpa_err
udpai_encode(const udpai_encoding *encoding,
             const udpai_type *type,
             const udpai_tree *node,
             udpa_bytes **ret_bytes,
             udpa_error **ret_error)
{
    udpai_encoder encoder = {.encoding = encoding, .ret_error = ret_error};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    if (encoding->path)
        udpai_strbuf_puts(&encoder.path, encoding->path);
    udpa_err err = udpai_encode_unit(&encoder, type, node, &bytes);
    if (encoding->errors)
        err = conclude(&encoder, err, node);
    udpai_strbuf_done(&encoder.path);
    if (err == UDPA_OK || encoding->errors)
        *ret_bytes = UDPAI_TAKE(bytes);
    return err;
}
