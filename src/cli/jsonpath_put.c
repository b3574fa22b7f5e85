/* SPDX-License-Identifier: Apache-2.0 */
/* What an expression of jsonpath selects, as text. */
#include "cli/jsonpath_internal.h"
#include "codec/json_text.h"
#include "codec/reader.h"

typedef UDPAI_VECTOR(const udpai_tree *) value_list;

typedef struct writer {
    const udpai_cli_jsonpath *path;
    const udpai_tree *root;
    udpai_strbuf *out;
    udpa_error **ret_error;
} writer;

static udpa_err
no_memory(const writer *self)
{
    return udpai_fail_code(self->ret_error, UDPA_ERR_NOMEM);
}

/* ---- values ---- */

/* On one line. */
static void
put_json(udpai_strbuf *out, const udpai_tree *value)
{
    bool is_map = value->kind == UDPAI_TREE_MAP;
    if (value->kind == UDPAI_TREE_SCALAR) {
        if (value->plain)
            udpai_strbuf_str(out, value->text);
        else
            udpai_json_put_string(out, value->text);
        return;
    }
    udpai_strbuf_putc(out, is_map ? '{' : '[');
    for (uint32_t i = 0; i < value->n; i++) {
        udpai_strbuf_puts(out, i ? "," : "");
        if (is_map) {
            udpai_json_put_string(out, value->entries[i].key->text);
            udpai_strbuf_putc(out, ':');
        }
        put_json(out, is_map ? value->entries[i].value : value->items[i]);
    }
    udpai_strbuf_putc(out, is_map ? '}' : ']');
}

static void
put_value(udpai_strbuf *out, const udpai_tree *value)
{
    if (value->kind == UDPAI_TREE_SCALAR)
        udpai_strbuf_str(out, value->text);
    else
        put_json(out, value);
}

/* ---- paths ---- */

static udpa_err
fail(const writer *self, const udpai_cli_step *step, const char *why)
{
    return udpai_fail(self->ret_error, UDPA_ERR_INVAL, "character %zu: %s", step->place, why);
}

/* From behind if it is negative; never beyond the list. */
static uint32_t
bounded(long index, uint32_t n)
{
    long at = index < 0 ? index + (long)n : index;
    return at < 0 ? 0 : at > (long)n ? n : (uint32_t)at;
}

static bool
add_items(value_list *values, const udpai_tree *list, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++)
        if (!udpai_vector_push(values, list->items[i]))
            return false;
    return true;
}

static udpa_err
step_to_field(const writer *self,
              const udpai_cli_step *step,
              const udpai_tree *value,
              value_list *to)
{
    if (value->kind == UDPAI_TREE_LIST)
        return fail(self, step, "this is a field, and there is a list: write [*] before it");
    const udpai_entry *entry =
        value->kind == UDPAI_TREE_MAP ? udpai_tree_find(value, udpai_str_from(step->name)) : NULL;
    return !entry || udpai_vector_push(to, entry->value) ? UDPA_OK : no_memory(self);
}

static udpa_err
step_to_items(const writer *self,
              const udpai_cli_step *step,
              const udpai_tree *value,
              value_list *to)
{
    if (value->kind == UDPAI_TREE_MAP)
        return fail(self, step, "this is an item of a list, and there is a map");
    if (value->kind != UDPAI_TREE_LIST)
        return UDPA_OK;
    uint32_t first = bounded(step->first, value->n), end = value->n;
    if (step->kind == UDPAI_CLI_STEP_SLICE && step->has_end)
        end = bounded(step->end, value->n);
    if (step->kind == UDPAI_CLI_STEP_ITEM) {
        bool is_there = step->first < (long)value->n && step->first >= -(long)value->n;
        end = is_there ? first + 1 : first;
    }
    return add_items(to, value, first, end) ? UDPA_OK : no_memory(self);
}

static udpa_err
step_to_each(const writer *self, const udpai_tree *value, value_list *to)
{
    bool is_added = value->kind != UDPAI_TREE_LIST || add_items(to, value, 0, value->n);
    for (uint32_t i = 0; is_added && value->kind == UDPAI_TREE_MAP && i < value->n; i++)
        is_added = udpai_vector_push(to, value->entries[i].value);
    return is_added ? UDPA_OK : no_memory(self);
}

static udpa_err
take_step(const writer *self, const udpai_cli_step *step, value_list *values)
{
    value_list to = {0};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < values->n && err == UDPA_OK; i++) {
        const udpai_tree *value = values->items[i];
        if (step->kind == UDPAI_CLI_STEP_FIELD)
            err = step_to_field(self, step, value, &to);
        else if (step->kind == UDPAI_CLI_STEP_EACH)
            err = step_to_each(self, value, &to);
        else
            err = step_to_items(self, step, value, &to);
    }
    udpai_vector_done(values);
    *values = to;
    return err;
}

/* The values must be freed in any case. */
static udpa_err
follow(const writer *self,
       const udpai_cli_part *part,
       const udpai_tree *value,
       value_list *ret_values)
{
    udpa_err err = UDPA_OK;
    if (!udpai_vector_push(ret_values, part->is_of_root ? self->root : value))
        return no_memory(self);
    for (size_t i = 0; i < part->steps.n && err == UDPA_OK; i++)
        err = take_step(self, &part->steps.items[i], ret_values);
    return err;
}

/* ---- parts ---- */

static udpa_err put_parts(const writer *self, size_t first, size_t end, const udpai_tree *value);

static udpa_err
put_part(const writer *self, size_t index, const udpai_tree *value)
{
    const udpai_cli_part *part = &self->path->parts.items[index];
    value_list values = {0};
    udpa_err err = follow(self, part, value, &values);
    for (size_t i = 0; i < values.n && err == UDPA_OK; i++) {
        if (part->kind == UDPAI_CLI_PART_RANGE) {
            err = put_parts(self, index + 1, part->end, values.items[i]);
            continue;
        }
        udpai_strbuf_puts(self->out, i ? " " : "");
        put_value(self->out, values.items[i]);
    }
    udpai_vector_done(&values);
    return err;
}

static udpa_err
put_parts(const writer *self, size_t first, size_t end, const udpai_tree *value)
{
    udpa_err err = UDPA_OK;
    for (size_t i = first; i < end && err == UDPA_OK; i++) {
        const udpai_cli_part *part = &self->path->parts.items[i];
        if (part->kind == UDPAI_CLI_PART_TEXT)
            udpai_strbuf_puts(self->out, part->text);
        else if (part->kind != UDPAI_CLI_PART_END)
            err = put_part(self, i, value);
        if (part->kind == UDPAI_CLI_PART_RANGE)
            i = part->end;
    }
    return err;
}

udpa_err
udpai_cli_jsonpath_put(udpai_strbuf *out,
                       const udpai_cli_jsonpath *path,
                       udpai_str json,
                       udpa_error **ret_error)
{
    const udpai_source source = {
        .name = "the document",
        .text = json,
        .format = UDPAI_FORMAT_JSON,
        .max_size = UDPAI_DOCUMENT_SIZE_MAX,
        .max_depth = UDPAI_SOURCE_DEPTH_MAX,
    };
    udpai_documents *documents = NULL;
    udpa_err err = udpai_documents_read(&documents, &source, ret_error);
    for (size_t i = 0; err == UDPA_OK && i < documents->roots.n; i++) {
        const udpai_tree *root = documents->roots.items[i];
        const writer self = {path, root, out, ret_error};
        err = put_parts(&self, 0, path->parts.n, root);
    }
    udpai_documents_free(documents);
    if (err == UDPA_OK && udpai_strbuf_failed(out))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}
