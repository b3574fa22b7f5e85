/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/freeze_view.h"

#include "cli/names.h"
#include "codec/reader.h"

static const char *const heads[] = {"TYPE", "NAME", "CHANGE", "SERVED", "WAITING"};

/* ---- the page ---- */

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
    freezes->freezes = udpai_tree_value(root, UDPAI_STR("freezes"), UDPAI_TREE_LIST);
    freezes->changes = udpai_tree_value(root, UDPAI_STR("changes"), UDPAI_TREE_LIST);
    bool has_number = udpai_str_number(udpai_tree_text(root, "n_changes"), &n);
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
        if (udpai_str_eq(udpai_tree_text(freezes->freezes->items[i], "prefix"), prefix))
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
        udpai_cli_table_add(&table, udpai_cli_type_short(udpai_tree_text(change, "type")));
        udpai_cli_table_add(&table, udpai_tree_text(change, "name"));
        udpai_cli_table_add(&table, udpai_tree_text(change, "change"));
        udpai_cli_table_add_version(&table, udpai_tree_text(change, "served"));
        udpai_cli_table_add_version(&table, udpai_tree_text(change, "waiting"));
    }
    udpai_cli_table_write(&table, out);
    out->failed |= table.failed;
    udpai_cli_table_done(&table);
}
