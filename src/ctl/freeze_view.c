/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/freeze_view.h"

#include "cli/names.h"
#include "codec/reader.h"

static const char *const heads[] = {"TYPE", "NAME", "CHANGE", "SERVED", "WAITING"};

/* ---- the page ---- */

static const udpai_tree *
find(const udpai_tree *map, const char *key, udpai_tree_kind kind)
{
    const udpai_entry *entry =
        map && map->kind == UDPAI_TREE_MAP ? udpai_tree_find(map, udpai_str_from(key)) : NULL;
    return entry && entry->value->kind == kind ? entry->value : NULL;
}

static udpai_str
text_of(const udpai_tree *map, const char *key)
{
    const udpai_tree *value = find(map, key, UDPAI_TREE_SCALAR);
    return value ? value->text : (udpai_str){0};
}

bool
udpai_ctl_freezes_read(udpai_ctl_freezes *freezes, udpai_str text)
{
    const udpai_source source = {.name = "/freezes", .text = text, .format = UDPAI_FORMAT_JSON};
    *freezes = (udpai_ctl_freezes){0};
    uint64_t n = 0;
    if (udpai_documents_read(&freezes->documents, &source, NULL) != UDPA_OK ||
        freezes->documents->roots.n != 1)
        return false;
    const udpai_tree *root = freezes->documents->roots.items[0];
    freezes->freezes = find(root, "freezes", UDPAI_TREE_LIST);
    freezes->changes = find(root, "changes", UDPAI_TREE_LIST);
    bool has_number = udpai_str_number(text_of(root, "n_changes"), &n);
    freezes->n_changes = (size_t)n;
    return freezes->freezes && freezes->changes && has_number;
}

void
udpai_ctl_freezes_done(udpai_ctl_freezes *freezes)
{
    udpai_documents_free(freezes->documents);
    *freezes = (udpai_ctl_freezes){0};
}

bool
udpai_ctl_freezes_has(const udpai_ctl_freezes *freezes, udpai_str prefix)
{
    for (uint32_t i = 0; freezes->freezes && i < freezes->freezes->n; i++)
        if (udpai_str_eq(text_of(freezes->freezes->items[i], "prefix"), prefix))
            return true;
    return false;
}

/* ---- a table ---- */

void
udpai_ctl_freezes_put(const udpai_ctl_freezes *freezes, udpai_cli_layout *layout, udpai_strbuf *out)
{
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (uint32_t i = 0; i < freezes->changes->n; i++) {
        const udpai_tree *change = freezes->changes->items[i];
        udpai_cli_table_add(&table, udpai_cli_type_short(text_of(change, "type")));
        udpai_cli_table_add(&table, text_of(change, "name"));
        udpai_cli_table_add(&table, text_of(change, "change"));
        udpai_cli_table_add_version(&table, text_of(change, "served"));
        udpai_cli_table_add_version(&table, text_of(change, "waiting"));
    }
    udpai_cli_table_write(&table, out);
    out->failed |= table.failed;
    udpai_cli_table_done(&table);
}
