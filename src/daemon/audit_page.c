/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_page.h"

#include <inttypes.h>

#include "base/pattern.h"
#include "daemon/page_body.h"
#include "endpoint/host.h"
#include "storage/audit_line.h"

#define LIMIT 100
#define LIMIT_MAX 1000
#define TEXT_MAX 1024
/* Records of several replicas are in the order of etcd, not of their clocks. */
#define CLOCKS_DIFFER_US ((int64_t)300 * 1000000)
#define USAGE                                                                                      \
    "usage: /audit?limit=NUMBER&after=SEQ&table=ID or before=SEQ&since=SECONDS&identity=PATTERN&"  \
    "name=PATTERN; limit is at most 1000, after counts in this table (another one: from its "      \
    "first record), since counts from 1970, patterns may have stars, all can be left out"

typedef struct question {
    uint64_t limit, after, before, since;
    bool is_forward;
    udpai_str identity, name; /* empty: any */
    udpai_str table;          /* empty: this one */
    char identity_room[TEXT_MAX], name_room[TEXT_MAX], table_room[TEXT_MAX];
} question;

/* ---- the question ---- */

static bool
take_number(udpai_str part, udpai_str key, uint64_t *number)
{
    return udpai_page_form_number(part, key, number) && *number <= INT64_MAX / 1000000;
}

static bool
take_text(udpai_str part, udpai_str key, char *room, udpai_str *ret_text)
{
    return part.len < key.len + TEXT_MAX && udpai_page_form_text(part, key, &room, ret_text);
}

static bool
take_part(question *asked, udpai_str part)
{
    if (take_number(part, UDPAI_STR("after="), &asked->after))
        asked->is_forward = true;
    else
        return part.len == 0 || take_number(part, UDPAI_STR("limit="), &asked->limit) ||
               take_number(part, UDPAI_STR("before="), &asked->before) ||
               take_number(part, UDPAI_STR("since="), &asked->since) ||
               take_text(part, UDPAI_STR("table="), asked->table_room, &asked->table) ||
               take_text(part, UDPAI_STR("identity="), asked->identity_room, &asked->identity) ||
               take_text(part, UDPAI_STR("name="), asked->name_room, &asked->name);
    return true;
}

static bool
read_question(udpai_str form, question *ret_asked)
{
    udpai_str part;
    bool has_more, is_good = true;
    ret_asked->limit = LIMIT;
    do {
        has_more = udpai_page_form_next(&form, &part);
        is_good &= take_part(ret_asked, part);
    } while (has_more);
    return is_good && ret_asked->limit >= 1 && ret_asked->limit <= LIMIT_MAX &&
           !(ret_asked->is_forward && ret_asked->before) &&
           (ret_asked->is_forward || !ret_asked->table.len);
}

/* ---- the answer ---- */

struct answer {
    const question *asked;
    const char *table;
    udpai_strbuf *text;
    size_t n_looks, n;
    int64_t since_us;
    int64_t last, newest; /* records that were looked at */
    bool has_more;
};

static bool
fits(udpai_str pattern, udpai_str text)
{
    return pattern.len == 0 || udpai_pattern_fits(pattern, text);
}

static bool
take_row(void *userdata, const udpai_audit_row *row)
{
    struct answer *answer = userdata;
    const question *asked = answer->asked;
    if (answer->n == asked->limit || answer->n_looks == UDPAI_AUDIT_PAGE_LOOKS) {
        answer->has_more = true;
        return false;
    }
    answer->n_looks++;
    answer->last = row->seq;
    if (answer->newest < row->seq)
        answer->newest = row->seq;
    if (row->at_us < answer->since_us)
        return asked->is_forward || row->at_us > answer->since_us - CLOCKS_DIFFER_US;
    if (!fits(asked->identity, row->actor) || !fits(asked->name, row->name))
        return true;
    udpai_strbuf_puts(answer->text, answer->n++ ? ",\n" : "\n");
    udpai_audit_line_put(answer->text, answer->table, row, NULL);
    return !udpai_strbuf_failed(answer->text);
}

static udpa_err
open_table(udpai_audit_page *page, udpa_error **ret_error)
{
    const udpai_plan *plan = page->plan;
    if (page->table)
        return UDPA_OK;
    if (!plan->audit.is_on)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          plan->state_directory
                              ? "this node records nothing: audit.off is set"
                              : "this node records nothing: its store is in memory, and it has no "
                                "audit.file");
    if (!plan->state_directory)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "the store is in memory, so all records are in the file %s",
                          plan->audit.file);
    return udpai_audit_table_open(&page->table, plan->state_directory, ret_error);
}

/* From where to go on. There may be less than before, if the database was restored. */
static udpa_err
find_newest(udpai_audit_page *page, struct answer *answer, udpa_error **ret_error)
{
    int64_t last = 0, after = (int64_t)answer->asked->after;
    if (answer->n_looks || !after)
        return UDPA_OK;
    udpa_err err = udpai_audit_table_last(page->table, &last, ret_error);
    answer->newest = last < after ? last : after;
    return err;
}

udpa_err
udpai_audit_page_read(udpai_audit_page *page,
                      udpai_str form,
                      udpai_strbuf *text,
                      udpa_error **ret_error)
{
    question asked = {0};
    if (!read_question(form, &asked))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    udpa_err err = open_table(page, ret_error);
    if (err != UDPA_OK)
        return err;
    struct answer answer = {
        .asked = &asked,
        .table = udpai_audit_table_id(page->table),
        .text = text,
        .since_us = (int64_t)(asked.since * 1000000),
    };
    if (asked.table.len && !udpai_str_eq(asked.table, udpai_str_from(answer.table)))
        asked.after = 0;
    udpai_strbuf_puts(text, "{\"records\":[");
    err = asked.is_forward ? udpai_audit_table_read(page->table, (int64_t)asked.after, take_row,
                                                    &answer, ret_error)
                           : udpai_audit_table_read_back(page->table, (int64_t)asked.before,
                                                         take_row, &answer, ret_error);
    if (err == UDPA_OK)
        err = find_newest(page, &answer, ret_error);
    udpai_strbuf_printf(text, "\n],\"table\":\"%s\",\"newest\":%" PRId64, answer.table,
                        answer.newest);
    if (answer.has_more)
        udpai_strbuf_printf(text, ",\"next\":%" PRId64, answer.last);
    udpai_strbuf_puts(text, "}\n");
    return err;
}

void
udpai_audit_page_done(udpai_audit_page *page)
{
    udpai_audit_table_close(page->table);
    page->table = NULL;
}

/* ---- what is done at pages ---- */

/* "dry_run", "dry_run=true", "look=true" */
static bool
only_looks(udpai_str form)
{
    udpai_str part;
    bool has_more, is_look = false;
    do {
        has_more = udpai_page_form_next(&form, &part);
        is_look |= udpai_str_eq(part, UDPAI_STR("dry_run")) ||
                   udpai_str_eq(part, UDPAI_STR("dry_run=true")) ||
                   udpai_str_eq(part, UDPAI_STR("look=true"));
    } while (has_more);
    return is_look;
}

udpai_str
udpai_audit_page_actor(const udpai_http_reading *reading, bool by_token)
{
    udpai_str name = by_token ? UDPAI_STR("token") : udpai_identity_name(reading->identity);
    return name.len ? name : UDPAI_STR("an administrator");
}

void
udpai_audit_page_note(udpa_endpoint *endpoint, const udpai_http_reading *reading, bool by_token)
{
    udpai_strbuf form = {0}, what = {0};
    if (udpai_page_form_read(reading->query, reading->body, &form, NULL) == UDPA_OK &&
        !only_looks(udpai_strbuf_view(&form))) {
        udpai_strbuf_printf(&what, "%s%s", reading->page->path, form.len ? "?" : "");
        udpai_strbuf_str(&what, udpai_strbuf_view(&form));
        const udpai_audit_record record = {
            .action = UDPAI_STR("admin"),
            .actor = by_token ? UDPAI_STR("token") : udpai_identity_name(reading->identity),
            .is_proven = by_token || udpai_identity_is_proven(reading->identity),
            .reason = udpai_strbuf_view(&what),
        };
        udpai_node_audit(udpai_endpoint_node(endpoint), &record);
        udpai_endpoint_touch(endpoint);
    }
    udpai_strbuf_done(&form);
    udpai_strbuf_done(&what);
}
