/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/audit_view.h"

#include <stdio.h>

#include "codec/reader.h"
#include "codec/tree.h"

#define BEGIN "{\"records\":["

static const char *const heads[UDPAI_CTL_AUDIT_COLUMNS_MAX] = {
    "TIME", "ACTION", "ACTOR", "TYPE", "NAME",    "VERSION", "GENERATION",
    "RULE", "REASON", "NODE",  "PEER", "ADDRESS", "SEQ"};
static const char *const short_heads[] = {"TIME", "ACTION",  "ACTOR", "TYPE",
                                          "NAME", "VERSION", "RULE",  "REASON"};

/* ---- a page ---- */

static udpai_str
without_comma(udpai_str line)
{
    bool has_comma = line.len && line.data[line.len - 1] == ',';
    return (udpai_str){line.data, line.len - has_comma};
}

/* NULL: it is no object, or there is no memory, which *ret_err tells. */
static const udpai_tree *
read_object(udpai_str text, udpai_documents **ret_documents, udpa_err *ret_err)
{
    const udpai_source source = {.name = "/audit", .text = text, .format = UDPAI_FORMAT_JSON};
    *ret_err = udpai_documents_read(ret_documents, &source, NULL);
    return *ret_err == UDPA_OK && (*ret_documents)->roots.n == 1 ? (*ret_documents)->roots.items[0]
                                                                 : NULL;
}

static bool
take_number(const udpai_tree *end, const char *key, uint64_t *ret_number)
{
    udpai_str text = udpai_tree_text(end, key);
    return text.len == 0 || udpai_str_number(text, ret_number);
}

/* "],"table":"a1","newest":20,"next":12}" or less */
static bool
read_end(udpai_str line, udpai_ctl_audit_page *page)
{
    udpai_strbuf object = {0};
    udpai_documents *documents = NULL;
    udpa_err err;
    size_t n_skipped = line.len > 1 && line.data[1] == ',' ? 2 : 1;
    udpai_strbuf_putc(&object, '{');
    udpai_strbuf_str(&object, (udpai_str){line.data + n_skipped, line.len - n_skipped});
    const udpai_tree *end = read_object(udpai_strbuf_view(&object), &documents, &err);
    udpai_str table = udpai_tree_text(end, "table");
    bool is_good = end && table.len < sizeof(page->table) &&
                   take_number(end, "next", &page->next) &&
                   take_number(end, "newest", &page->newest);
    if (is_good)
        (void)snprintf(page->table, sizeof(page->table), "%.*s", (int)table.len, table.data);
    udpai_documents_free(documents);
    udpai_strbuf_done(&object);
    return is_good;
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
            return read_end(line, ret_page) && rest.len == 0;
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
    udpai_documents *documents = NULL;
    udpa_err err;
    add_fields(table, read_object(record, &documents, &err), is_wide);
    table->failed |= err == UDPA_ERR_NOMEM;
    udpai_documents_free(documents);
}
