/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/contexts.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "codec/json_text.h"
#include "codec/reader.h"
#include "codec/suggest.h"

#define FILE_MAX ((size_t)1 << 20)
#define CONTEXTS_MAX 1000

static void
context_done(udpai_cli_context *context)
{
    udpai_free(context->name);
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++)
        udpai_free(context->values[i]);
}

void
udpai_cli_contexts_done(udpai_cli_contexts *contexts)
{
    for (size_t i = 0; i < contexts->items.n; i++)
        context_done(&contexts->items.items[i]);
    udpai_vector_done(&contexts->items);
    udpai_free(contexts->current);
    *contexts = (udpai_cli_contexts){0};
}

udpai_cli_context *
udpai_cli_contexts_find(const udpai_cli_contexts *contexts, udpai_str name)
{
    for (size_t i = 0; i < contexts->items.n; i++)
        if (udpai_str_eq(udpai_str_from(contexts->items.items[i].name), name))
            return &contexts->items.items[i];
    return NULL;
}

udpai_cli_context *
udpai_cli_contexts_get(udpai_cli_contexts *contexts, udpai_str name)
{
    udpai_cli_context *found = udpai_cli_contexts_find(contexts, name);
    udpai_cli_context made = {.name = found ? NULL : udpai_strndup(name.data, name.len)};
    if (found)
        return found;
    if (made.name && udpai_vector_push(&contexts->items, made))
        return &contexts->items.items[contexts->items.n - 1];
    udpai_free(made.name);
    return NULL;
}

void
udpai_cli_contexts_remove(udpai_cli_contexts *contexts, udpai_cli_context *context)
{
    size_t at = (size_t)(context - contexts->items.items);
    if (contexts->current && strcmp(contexts->current, context->name) == 0) {
        udpai_free(contexts->current);
        contexts->current = NULL;
    }
    context_done(context);
    memmove(context, context + 1, (contexts->items.n - at - 1) * sizeof(*context));
    contexts->items.n--;
}

bool
udpai_cli_context_name_is_good(udpai_str name)
{
    if (name.len == 0 || name.len > UDPAI_CLI_CONTEXT_NAME_MAX ||
        !isalpha((unsigned char)name.data[0]))
        return false;
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.data[i]) && !memchr("-_.", name.data[i], 3))
            return false;
    return true;
}

udpa_err
udpai_cli_context_set(udpai_cli_context *context, udpai_cli_setting setting, udpai_str to)
{
    char *copy = to.len ? udpai_strndup(to.data, to.len) : NULL;
    if (to.len && !copy)
        return UDPA_ERR_NOMEM;
    udpai_free(context->values[setting]);
    context->values[setting] = copy;
    return UDPA_OK;
}

const char *
udpai_cli_contexts_suggest(const udpai_cli_contexts *contexts,
                           const char *name,
                           char *room,
                           size_t size)
{
    char text[UDPAI_CHOICE_TEXT];
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(name));
    for (size_t i = 0; i < contexts->items.n; i++)
        udpai_suggest_offer(&suggestion, contexts->items.items[i].name);
    snprintf(room, size, "%s", udpai_suggestion_or_list(&suggestion, text));
    return room;
}

/* ---- reading ---- */

typedef struct reading {
    udpai_cli_contexts *contexts;
    const char *path;
    udpa_error **ret_error;
} reading;

#define FAIL(reading, node, ...)                                                                   \
    udpai_fail_at(                                                                                 \
        (reading)->ret_error, UDPA_ERR_INVAL,                                                      \
        &(udpai_place){.source = (reading)->path, .line = (node)->line, .column = (node)->column}, \
        __VA_ARGS__)

/* Of a name of a file: in the folder of the file that has it. */
static udpa_err
set_file(const reading *self, udpai_cli_context *context, udpai_cli_setting setting, udpai_str text)
{
    udpai_strbuf whole = {0};
    const char *slash = strrchr(self->path, '/');
    if (slash && text.data[0] != '/')
        udpai_strbuf_append(&whole, self->path, (size_t)(slash + 1 - self->path));
    udpai_strbuf_str(&whole, text);
    udpa_err err = udpai_strbuf_failed(&whole)
                       ? UDPA_ERR_NOMEM
                       : udpai_cli_context_set(context, setting, udpai_strbuf_view(&whole));
    udpai_strbuf_done(&whole);
    return err;
}

static udpa_err
read_field(const reading *self, udpai_cli_context *context, const udpai_entry *entry)
{
    char text[UDPAI_SUGGESTION_TEXT];
    udpai_str field = entry->key->text;
    udpai_cli_setting setting = udpai_cli_setting_find(field);
    const udpai_tree *value = entry->value;
    if (setting == UDPAI_CLI_SETTINGS) {
        udpai_suggestion suggestion = udpai_suggest(field);
        for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++)
            udpai_suggest_offer(&suggestion,
                                udpai_cli_setting_info_of((udpai_cli_setting)i)->field);
        return FAIL(self, entry->key, "a context has no field '%s'%s", udpai_quote(field).text,
                    udpai_suggestion_text(&suggestion, text));
    }
    if (value->kind != UDPAI_TREE_SCALAR || udpai_tree_is_null(value) || value->text.len == 0 ||
        memchr(value->text.data, 0, value->text.len))
        return FAIL(self, value, "field '%s' must be a text", udpai_quote(field).text);
    return udpai_cli_setting_info_of(setting)->is_file
               ? set_file(self, context, setting, value->text)
               : udpai_cli_context_set(context, setting, value->text);
}

static udpa_err
read_context(const reading *self, const udpai_entry *entry)
{
    udpai_str name = entry->key->text;
    if (!udpai_cli_context_name_is_good(name))
        return FAIL(
            self, entry->key,
            "'%s' cannot be the name of a context: write a letter, then at most %d letters, "
            "digits, '-', '_' and '.'",
            udpai_quote(name).text, UDPAI_CLI_CONTEXT_NAME_MAX - 1);
    if (entry->value->kind != UDPAI_TREE_MAP)
        return FAIL(self, entry->value, "context '%.*s' must be a map", UDPAI_SHOWN(name));
    if (self->contexts->items.n == CONTEXTS_MAX)
        return FAIL(self, entry->key, "there are more than %d contexts", CONTEXTS_MAX);
    udpai_cli_context *context = udpai_cli_contexts_get(self->contexts, name);
    udpa_err err = context ? UDPA_OK : UDPA_ERR_NOMEM;
    for (uint32_t i = 0; i < entry->value->n && err == UDPA_OK; i++)
        err = read_field(self, context, &entry->value->entries[i]);
    return err;
}

static udpa_err
read_all(const reading *self, const udpai_tree *contexts)
{
    udpa_err err = UDPA_OK;
    if (contexts->kind != UDPAI_TREE_MAP)
        return FAIL(self, contexts, "'contexts' must be a map");
    for (uint32_t i = 0; i < contexts->n && err == UDPA_OK; i++)
        err = read_context(self, &contexts->entries[i]);
    return err;
}

static udpa_err
read_current(const reading *self, const udpai_tree *current)
{
    if (current->kind != UDPAI_TREE_SCALAR || !udpai_cli_context_name_is_good(current->text))
        return FAIL(self, current, "'current' must be the name of a context");
    self->contexts->current = udpai_strndup(current->text.data, current->text.len);
    return self->contexts->current ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
read_entry(const reading *self, const udpai_entry *entry)
{
    udpai_str key = entry->key->text;
    if (udpai_str_eq(key, UDPAI_STR("contexts")))
        return read_all(self, entry->value);
    if (udpai_str_eq(key, UDPAI_STR("current")))
        return read_current(self, entry->value);
    return FAIL(self, entry->key, "there is no field '%s': the fields are 'contexts' and 'current'",
                udpai_quote(key).text);
}

static udpa_err
read_root(const reading *self, const udpai_tree *root)
{
    udpa_err err = UDPA_OK;
    if (root->kind != UDPAI_TREE_MAP)
        return udpai_tree_is_null(root) ? UDPA_OK : FAIL(self, root, "this must be a map");
    for (uint32_t i = 0; i < root->n && err == UDPA_OK; i++)
        err = read_entry(self, &root->entries[i]);
    return err;
}

udpa_err
udpai_cli_contexts_read(udpai_cli_contexts *contexts,
                        udpai_str text,
                        const char *path,
                        udpa_error **ret_error)
{
    const reading self = {contexts, path, ret_error};
    udpai_documents *documents = NULL;
    const udpai_source source = {
        .name = path, .text = text, .format = UDPAI_FORMAT_YAML, .max_size = FILE_MAX};
    udpa_err err = udpai_documents_read(&documents, &source, ret_error);
    if (err == UDPA_OK && documents->roots.n > 1)
        err = FAIL(&self, documents->roots.items[1], "there is more than one document");
    if (err == UDPA_OK && documents->roots.n == 1)
        err = read_root(&self, documents->roots.items[0]);
    udpai_documents_free(documents);
    if (err != UDPA_OK)
        udpai_cli_contexts_done(contexts);
    return err == UDPA_ERR_NOMEM ? udpai_fail_code(ret_error, err) : err;
}

/* ---- writing ---- */

/* May it stand without quotes? */
static bool
is_plain(const char *text)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    if (!isalnum((unsigned char)*text) && *text != '/')
        return false;
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_./,:", *at))
            return false;
    return text[strlen(text) - 1] != ':';
}

static void
put_value(const char *text, udpai_strbuf *out)
{
    if (is_plain(text))
        udpai_strbuf_puts(out, text);
    else
        udpai_json_put_string(out, udpai_str_from(text));
    udpai_strbuf_putc(out, '\n');
}

void
udpai_cli_context_put(const udpai_cli_context *context, const char *indent, udpai_strbuf *out)
{
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++) {
        if (!context->values[i])
            continue;
        udpai_strbuf_printf(out, "%s%s: ", indent,
                            udpai_cli_setting_info_of((udpai_cli_setting)i)->field);
        put_value(context->values[i], out);
    }
}

static bool
is_empty(const udpai_cli_context *context)
{
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++)
        if (context->values[i])
            return false;
    return true;
}

void
udpai_cli_contexts_put(const udpai_cli_contexts *contexts, udpai_strbuf *out)
{
    udpai_strbuf_puts(out, "# Contexts of udpactl; see udpactl(1), CONTEXTS.\n");
    if (contexts->current)
        udpai_strbuf_printf(out, "current: %s\n", contexts->current);
    if (contexts->items.n)
        udpai_strbuf_puts(out, "contexts:\n");
    for (size_t i = 0; i < contexts->items.n; i++) {
        const udpai_cli_context *one = &contexts->items.items[i];
        udpai_strbuf_printf(out, "  %s:%s\n", one->name, is_empty(one) ? " {}" : "");
        udpai_cli_context_put(one, "    ", out);
    }
}
