/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/runtime_page.h"

#include <stdlib.h>

#include "base/error.h"
#include "cli/table.h"
#include "codec/json_text.h"
#include "ctl/tar.h"

#define OF_NODES "udpa."
#define PAGE_MAX ((size_t)256 << 20)
#define CELL_MAX 60 /* characters, or about so, of a value among others */

/* ---- reading ---- */

static const udpai_tree *
find(const udpai_tree *map, udpai_str key)
{
    const udpai_entry *entry = udpai_tree_find(map, key);
    return entry ? entry->value : NULL;
}

static bool
are_all(const udpai_tree *list, udpai_tree_kind kind)
{
    if (!list || list->kind != UDPAI_TREE_LIST)
        return false;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i]->kind != kind)
            return false;
    return true;
}

static bool
is_entry(const udpai_tree *entry, uint32_t n_layers)
{
    const udpai_tree *final = find(entry, UDPAI_STR("final_value")),
                     *values = find(entry, UDPAI_STR("layer_values"));
    return final && final->kind == UDPAI_TREE_SCALAR && are_all(values, UDPAI_TREE_SCALAR) &&
           values->n == n_layers;
}

static bool
is_page(const udpai_ctl_runtime *runtime)
{
    if (!are_all(runtime->layers, UDPAI_TREE_SCALAR) || !runtime->entries ||
        runtime->entries->kind != UDPAI_TREE_MAP)
        return false;
    for (uint32_t i = 0; i < runtime->entries->n; i++)
        if (!is_entry(runtime->entries->entries[i].value, runtime->layers->n))
            return false;
    return !runtime->configured || are_all(runtime->configured, UDPAI_TREE_MAP);
}

udpa_err
udpai_ctl_runtime_read(udpai_ctl_runtime *runtime, udpai_str text, udpa_error **ret_error)
{
    const udpai_source source = {
        .name = "/runtime",
        .text = text,
        .format = UDPAI_FORMAT_JSON,
        .max_size = PAGE_MAX,
    };
    *runtime = (udpai_ctl_runtime){0};
    udpa_err err = udpai_documents_read(&runtime->documents, &source, ret_error);
    if (err)
        return err;
    if (runtime->documents->roots.n == 1) {
        const udpai_tree *root = runtime->documents->roots.items[0];
        runtime->layers = find(root, UDPAI_STR("layers"));
        runtime->entries = find(root, UDPAI_STR("entries"));
        runtime->errors = find(root, UDPAI_STR("errors"));
        runtime->configured = find(root, UDPAI_STR("configured"));
        runtime->ignored = find(root, UDPAI_STR("ignored"));
    }
    return is_page(runtime)
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_MALFORMED, "/runtime does not contain a runtime");
}

void
udpai_ctl_runtime_done(udpai_ctl_runtime *runtime)
{
    udpai_documents_free(runtime->documents);
}

/* ---- answers ---- */

static udpai_str
text_of(const udpai_tree *map, udpai_str key)
{
    const udpai_tree *value = find(map, key);
    return value && value->kind == UDPAI_TREE_SCALAR ? value->text : (udpai_str){0};
}

bool
udpai_ctl_runtime_value(const udpai_ctl_runtime *runtime, udpai_str key, udpai_str *ret_value)
{
    const udpai_tree *entry = find(runtime->entries, key);
    if (entry)
        *ret_value = text_of(entry, UDPAI_STR("final_value"));
    return entry != NULL;
}

udpai_str
udpai_ctl_runtime_layer_of(const udpai_ctl_runtime *runtime, udpai_str key)
{
    const udpai_tree *entry = find(runtime->entries, key);
    const udpai_tree *values = entry ? find(entry, UDPAI_STR("layer_values")) : NULL;
    for (uint32_t i = values ? values->n : 0; i > 0; i--)
        if (values->items[i - 1]->text.len)
            return runtime->layers->items[i - 1]->text;
    return (udpai_str){0};
}

udpai_str
udpai_ctl_runtime_ignored(const udpai_ctl_runtime *runtime, udpai_str key)
{
    return runtime->ignored && runtime->ignored->kind == UDPAI_TREE_MAP
               ? text_of(runtime->ignored, key)
               : (udpai_str){0};
}

bool
udpai_ctl_runtime_is_admin(const udpai_ctl_runtime *runtime, udpai_str layer)
{
    const udpai_tree *all = runtime->configured;
    for (uint32_t i = 0; all && i < all->n; i++)
        if (udpai_str_eq(text_of(all->items[i], UDPAI_STR("name")), layer))
            return udpai_str_eq(text_of(all->items[i], UDPAI_STR("kind")),
                                UDPAI_STR("admin_layer"));
    return false;
}

/* ---- values ---- */

typedef struct listing {
    udpai_cli_table table;
    udpai_strbuf *json; /* NULL: it is a table */
    size_t n;
} listing;

/* Numbers are sorted as such. */
static void
add_value(udpai_cli_table *table, udpai_str value)
{
    char room[40];
    if (!udpai_is_json_number(value) || value.len >= sizeof(room)) {
        udpai_cli_table_add(table, value);
        return;
    }
    memcpy(room, value.data, value.len);
    room[value.len] = '\0';
    udpai_cli_table_add_quantity(table, strtod(room, NULL), value);
}

static void
list_value(listing *self, udpai_str key, udpai_str value)
{
    if (!self->json) {
        udpai_cli_table_add(&self->table, key);
        add_value(&self->table, value);
        return;
    }
    udpai_strbuf_puts(self->json, self->n++ ? ",\n " : "\n ");
    udpai_json_put_string(self->json, key);
    udpai_strbuf_puts(self->json, ": ");
    udpai_json_put_string(self->json, value);
}

void
udpai_ctl_runtime_put_values(const udpai_ctl_runtime *runtime,
                             const char *const *keys,
                             size_t n,
                             udpai_cli_layout *layout,
                             udpai_strbuf *out)
{
    static const char *const heads[] = {"KEY", "VALUE"};
    udpai_cli_layout unused = {0};
    bool is_json = layout == NULL;
    listing self = {.json = is_json ? out : NULL};
    udpai_str value;
    udpai_cli_table_begin(&self.table, layout ? layout : &unused, heads, UDPAI_ARRAY_LEN(heads));
    self.table.sorted_by = n ? NULL : heads[0];
    udpai_strbuf_puts(out, is_json ? "{" : "");
    for (size_t i = 0; i < n; i++)
        if (udpai_ctl_runtime_value(runtime, udpai_str_from(keys[i]), &value))
            list_value(&self, udpai_str_from(keys[i]), value);
    for (uint32_t i = 0; n == 0 && i < runtime->entries->n; i++) {
        const udpai_entry *entry = &runtime->entries->entries[i];
        list_value(&self, entry->key->text, text_of(entry->value, UDPAI_STR("final_value")));
    }
    udpai_strbuf_puts(out, !is_json ? "" : self.n ? "\n}\n" : "}\n");
    if (udpai_cli_table_n_rows(&self.table) || self.table.failed)
        udpai_cli_table_write(&self.table, out);
    udpai_cli_table_done(&self.table);
}

/* ---- layers ---- */

/* "disk_layer" */
static udpai_str
short_kind(udpai_str kind)
{
    static const char end[] = "_layer";
    size_t len = sizeof(end) - 1;
    bool has_end = kind.len > len && memcmp(kind.data + kind.len - len, end, len) == 0;
    return (udpai_str){kind.data, kind.len - (has_end ? len : 0)};
}

static void
add_layer(const udpai_ctl_runtime *runtime, const udpai_tree *layer, udpai_cli_table *table)
{
    udpai_str name = text_of(layer, UDPAI_STR("name"));
    udpai_str why = runtime->errors ? text_of(runtime->errors, name) : (udpai_str){0};
    const udpai_tree *in_use = find(layer, UDPAI_STR("in_use"));
    uint64_t n_keys;
    bool counts = in_use && udpai_tree_is_bool(in_use, &counts) && counts;
    udpai_strbuf state = {0};
    udpai_strbuf_puts(&state, why.len ? "ignored: " : counts ? "effective" : "not found");
    udpai_strbuf_str(&state, why);
    udpai_cli_table_add(table, name);
    udpai_cli_table_add(table, short_kind(text_of(layer, UDPAI_STR("kind"))));
    if (udpai_str_number(text_of(layer, UDPAI_STR("keys")), &n_keys))
        udpai_cli_table_add_number(table, n_keys);
    else
        udpai_cli_table_add(table, text_of(layer, UDPAI_STR("keys")));
    udpai_cli_table_add(table, udpai_strbuf_view(&state));
    table->failed |= udpai_strbuf_failed(&state);
    udpai_strbuf_done(&state);
}

static void
put_configured(const udpai_ctl_runtime *runtime, udpai_cli_layout *layout, udpai_strbuf *out)
{
    static const char *const heads[] = {"LAYER", "KIND", "KEYS", "STATE"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (uint32_t i = 0; i < runtime->configured->n; i++)
        add_layer(runtime, runtime->configured->items[i], &table);
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

/* A long one would push the others from the screen; get shows it whole. */
static void
add_cut(udpai_cli_table *table, udpai_str value)
{
    char room[CELL_MAX + 8];
    size_t n = CELL_MAX;
    if (value.len <= CELL_MAX || table->layout->is_wide) {
        udpai_cli_table_add(table, value);
        return;
    }
    while (n && ((unsigned char)value.data[n] & 0xc0) == 0x80) /* within a character */
        n--;
    memcpy(room, value.data, n);
    memcpy(room + n, "...", 3);
    udpai_cli_table_add(table, (udpai_str){room, n + 3});
}

static void
put_keys(const udpai_ctl_runtime *runtime, udpai_cli_layout *layout, udpai_strbuf *out)
{
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, NULL, runtime->layers->n + 2);
    table.sorted_by = "KEY";
    udpai_cli_table_add_text(&table, "KEY");
    for (uint32_t i = 0; i < runtime->layers->n; i++)
        add_cut(&table, runtime->layers->items[i]->text);
    udpai_cli_table_add_text(&table, "FINAL");
    for (uint32_t i = 0; i < runtime->entries->n; i++) {
        const udpai_entry *entry = &runtime->entries->entries[i];
        const udpai_tree *values = find(entry->value, UDPAI_STR("layer_values"));
        udpai_cli_table_add(&table, entry->key->text);
        for (uint32_t k = 0; k < values->n; k++)
            add_cut(&table, values->items[k]->text);
        add_cut(&table, text_of(entry->value, UDPAI_STR("final_value")));
    }
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

void
udpai_ctl_runtime_put_layers(const udpai_ctl_runtime *runtime,
                             udpai_cli_layout *layout,
                             udpai_strbuf *out)
{
    if (runtime->configured)
        put_configured(runtime, layout, out);
    if (runtime->entries->n == 0)
        return;
    udpai_strbuf_puts(out, runtime->configured ? "\n" : "");
    put_keys(runtime, layout, out);
}

/* ---- for others ---- */

static void
put_json(udpai_strbuf *out, const udpai_tree *node, bool is_hidden)
{
    bool is_map = node->kind == UDPAI_TREE_MAP;
    if (node->kind == UDPAI_TREE_SCALAR && is_hidden && node->text.len) {
        udpai_strbuf_puts(out, "\"" UDPAI_CTL_REDACTED "\"");
    } else if (node->kind == UDPAI_TREE_SCALAR && node->plain) {
        udpai_strbuf_str(out, node->text);
    } else if (node->kind == UDPAI_TREE_SCALAR) {
        udpai_json_put_string(out, node->text);
    } else {
        udpai_strbuf_puts(out, is_map ? "{" : "[");
        for (uint32_t i = 0; i < node->n; i++) {
            udpai_strbuf_puts(out, i ? ", " : "");
            if (is_map) {
                udpai_json_put_string(out, node->entries[i].key->text);
                udpai_strbuf_puts(out, ": ");
            }
            put_json(out, is_map ? node->entries[i].value : node->items[i], is_hidden);
        }
        udpai_strbuf_puts(out, is_map ? "}" : "]");
    }
}

static void
put_lines(udpai_strbuf *out, const udpai_tree *map, const udpai_tree *entries)
{
    bool is_root = map != entries;
    udpai_strbuf_puts(out, "{");
    for (uint32_t i = 0; i < map->n; i++) {
        udpai_str key = map->entries[i].key->text;
        const udpai_tree *value = map->entries[i].value;
        udpai_strbuf_puts(out, i ? ",\n " : "\n ");
        udpai_strbuf_puts(out, is_root ? "" : " ");
        udpai_json_put_string(out, key);
        udpai_strbuf_puts(out, ": ");
        if (value == entries)
            put_lines(out, value, entries);
        else
            put_json(out, value, !is_root && !udpai_str_starts(key, UDPAI_STR(OF_NODES)));
    }
    udpai_strbuf_puts(out, "\n}");
}

void
udpai_ctl_runtime_put_redacted(const udpai_ctl_runtime *runtime, udpai_strbuf *out)
{
    put_lines(out, runtime->documents->roots.items[0], runtime->entries);
    udpai_strbuf_puts(out, "\n");
}
