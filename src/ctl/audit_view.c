/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/audit_view.h"

#include "codec/reader.h"
#include "codec/tree.h"

#define BEGIN "{\"records\":["
#define NEXT "],\"next\":"

static const char *const heads[] = {"TIME",    "ACTION",     "ACTOR", "TYPE",   "NAME",
                                    "VERSION", "GENERATION", "RULE",  "REASON", "NODE",
                                    "PEER",    "ADDRESS",    "SEQ"};
static const char *const short_heads[] = {"TIME", "ACTION",  "ACTOR", "TYPE",
                                          "NAME", "VERSION", "RULE",  "REASON"};

/* ---- a page ---- */

static udpai_str
without_comma(udpai_str line)
{
    bool has_comma = line.len && line.data[line.len - 1] == ',';
    return (udpai_str){line.data, line.len - has_comma};
}

/* "],"next":12}" or "]}" */
static bool
read_end(udpai_str line, uint64_t *ret_next)
{
    udpai_str head = UDPAI_STR(NEXT);
    if (udpai_str_eq(line, UDPAI_STR("]}")))
        return true;
    if (!udpai_str_starts(line, head) || line.data[line.len - 1] != '}')
        return false;
    return udpai_str_number((udpai_str){line.data + head.len, line.len - head.len - 1}, ret_next);
}

bool
udpai_ctl_audit_page_read(udpai_str text, udpai_ctl_audit_page *ret_page)
{
    udpai_str line, rest = text;
    *ret_page = (udpai_ctl_audit_page){0};
    if (!udpai_str_cut(&rest, '\n', &line) || !udpai_str_eq(line, UDPAI_STR(BEGIN)))
        return false;
    while (udpai_str_cut(&rest, '\n', &line)) {
        if (line.len && line.data[0] == ']')
            return read_end(line, &ret_page->next) && rest.len == 0;
        if (!line.len || !udpai_vector_push(&ret_page->records, without_comma(line)))
            return false;
    }
    return false;
}

/* ---- a table ---- */

void
udpai_ctl_audit_begin(udpai_cli_table *table, udpai_cli_layout *layout)
{
    bool is_wide = layout->is_wide;
    udpai_cli_table_begin(table, layout, is_wide ? heads : short_heads,
                          is_wide ? UDPAI_ARRAY_LEN(heads) : UDPAI_ARRAY_LEN(short_heads));
}

static udpai_str
behind_last(udpai_str text, char separator)
{
    for (size_t i = text.len; i > 0; i--)
        if (text.data[i - 1] == separator)
            return (udpai_str){text.data + i, text.len - i};
    return text;
}

/* Seconds are enough for people. */
static udpai_str
short_time(udpai_str time)
{
    return time.len > 19 ? (udpai_str){time.data, 19} : time;
}

static void
add_fields(udpai_cli_table *table, const udpai_tree *record, bool is_wide)
{
    udpai_str type = behind_last(udpai_tree_text(record, "type"), '/');
    udpai_str time = udpai_tree_text(record, "at");
    udpai_cli_table_add(table, is_wide ? time : short_time(time));
    udpai_cli_table_add(table, udpai_tree_text(record, "action"));
    udpai_cli_table_add(table, udpai_tree_text(record, "actor"));
    udpai_cli_table_add(table, is_wide ? type : behind_last(type, '.'));
    udpai_cli_table_add(table, udpai_tree_text(record, "name"));
    udpai_cli_table_add_version(table, udpai_tree_text(record, "version"));
    if (is_wide)
        udpai_cli_table_add(table, udpai_tree_text(record, "generation"));
    udpai_cli_table_add(table, udpai_tree_text(record, "rule"));
    udpai_cli_table_add(table, udpai_tree_text(record, "reason"));
    if (!is_wide)
        return;
    udpai_cli_table_add(table, udpai_tree_text(record, "node"));
    udpai_cli_table_add(table, udpai_tree_text(record, "peer"));
    udpai_cli_table_add(table, udpai_tree_text(record, "address"));
    udpai_cli_table_add(table, udpai_tree_text(record, "seq"));
}

void
udpai_ctl_audit_add(udpai_cli_table *table, udpai_str record, bool is_wide)
{
    const udpai_source source = {.name = "/audit", .text = record, .format = UDPAI_FORMAT_JSON};
    udpai_documents *documents = NULL;
    udpa_err err = udpai_documents_read(&documents, &source, NULL);
    const udpai_tree *root =
        err == UDPA_OK && documents->roots.n == 1 ? documents->roots.items[0] : NULL;
    add_fields(table, root, is_wide);
    table->failed |= err == UDPA_ERR_NOMEM;
    udpai_documents_free(documents);
}
