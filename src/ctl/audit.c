/* SPDX-License-Identifier: Apache-2.0 */
/* audit: who has changed what at a node, also as it comes; and whether a file of an audit is whole.
 */
#include "base/alloc.h"
#include "base/percent.h"
#include "cli/output.h"
#include "ctl/audit_verify.h"
#include "ctl/audit_view.h"
#include "ctl/commands.h"
#include "ctl/interrupt.h"
#include "ctl/page.h"
#include "loop/clock.h"

#define LIMIT 100
#define PAGE_MAX 1000
#define POLL_S 1
#define BACKOFF_MAX_S 30
/* Of what is followed: time, action, actor, type, name, version. */
#define WIDTHS                                                                                     \
    {                                                                                              \
        19, 7, 12, 12, 28, 13                                                                      \
    }

/* Pages, read back from the newest record, or on from one. All of them are of the node that answers
 * first: another one has another table. */
typedef struct reading {
    udpai_ctl_options options;              /* borrowed, but for what is set here */
    UDPAI_VECTOR(udpai_ctl_answer) answers; /* what the records are views of */
    UDPAI_VECTOR(udpai_str) records;        /* in their order, once all are read */
    uint64_t limit, before;
    char *server; /* that node; owned; NULL: none has answered yet */
    bool is_forward, has_more;
    /* Up to which record of which table all is printed. */
    char table[UDPAI_CTL_AUDIT_TABLE_MAX];
    uint64_t after;
    size_t widths[UDPAI_CTL_AUDIT_COLUMNS_MAX];
    bool has_printed;
} reading;

/* ---- asking ---- */

static void
put_text(udpai_strbuf *path, const char *key, const char *text)
{
    if (!text)
        return;
    udpai_strbuf_printf(path, "&%s=", key);
    udpai_percent_encode_segment(path, udpai_str_from(text));
}

static void
put_path(udpai_strbuf *path, const reading *self)
{
    const udpai_ctl_audit_options *given = &self->options.look.audit;
    uint64_t left = self->is_forward ? PAGE_MAX : self->limit - self->records.n;
    udpai_strbuf_printf(path, "/audit?limit=%llu",
                        (unsigned long long)(left < PAGE_MAX ? left : PAGE_MAX));
    if (self->is_forward) {
        udpai_strbuf_printf(path, "&after=%llu", (unsigned long long)self->after);
        put_text(path, "table", self->table);
    } else if (self->before) {
        udpai_strbuf_printf(path, "&before=%llu", (unsigned long long)self->before);
    }
    if (given->since_s && !self->is_forward) /* what comes is later, by whatever clock */
        udpai_strbuf_printf(path, "&since=%llu",
                            (unsigned long long)(udpai_wall_us() / 1000000) - given->since_s);
    put_text(path, "identity", given->identity);
    put_text(path, "name", given->name);
    udpai_strbuf_putc(path, '\0');
}

/* Of the first page: what is newer comes after that. */
static void
take_place(reading *self, const udpai_ctl_audit_page *page)
{
    if (self->is_forward && strcmp(self->table, page->table) != 0)
        udpai_cli_note("the node has another audit than before: this is its beginning");
    else if (self->is_forward && page->newest < self->after)
        udpai_cli_note("the audit of the node ends at record %llu now, so it was restored: what "
                       "comes after that is new",
                       (unsigned long long)page->newest);
    if (!self->is_forward && *self->table)
        return;
    memcpy(self->table, page->table, sizeof(self->table));
    self->after = page->newest;
}

/* Keeps what its records are views of. */
static udpai_cli_exit
take(reading *self, udpai_ctl_answer *answer)
{
    udpai_ctl_audit_page page;
    bool is_good = udpai_ctl_audit_page_read(udpai_strbuf_view(&answer->text), &page) &&
                   (*page.table || !self->options.is_following);
    for (size_t i = 0; i < page.records.n && is_good; i++)
        is_good = udpai_vector_push(&self->records, page.records.items[i]);
    udpai_vector_done(&page.records);
    if (!self->server)
        self->options.common.http = self->server = UDPAI_TAKE(answer->server);
    if (is_good && udpai_vector_push(&self->answers, *answer)) {
        self->before = page.next;
        self->has_more = page.next && (!self->is_forward || page.newest > self->after);
        take_place(self, &page);
        *answer = (udpai_ctl_answer){0};
        return UDPAI_CLI_GOOD;
    }
    udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                       self->options.common.http);
    return UDPAI_CLI_REFUSED;
}

/* A node that cannot answer now may answer again. */
static udpai_cli_exit
read_page(reading *self)
{
    udpai_strbuf path = {0};
    udpai_ctl_answer answer = {0};
    put_path(&path, self);
    udpai_cli_exit result = udpai_strbuf_failed(&path)
                                ? UDPAI_CLI_REFUSED
                                : udpai_ctl_page_fetch(&self->options, path.data, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = take(self, &answer);
    else if (self->is_forward && answer.status >= UDPAI_CTL_SERVER_ERROR)
        result = UDPAI_CLI_NO_CONNECTION;
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&path);
    return result;
}

static udpai_cli_exit
read_back(reading *self)
{
    udpai_cli_exit result;
    do
        result = read_page(self);
    while (result == UDPAI_CLI_GOOD && self->has_more && self->records.n < self->limit);
    for (size_t i = 0; i < self->records.n / 2; i++) {
        udpai_str *record = &self->records.items[i],
                  *other = &self->records.items[self->records.n - 1 - i], swapped = *record;
        *record = *other;
        *other = swapped;
    }
    return result;
}

static void
forget(reading *self)
{
    for (size_t i = 0; i < self->answers.n; i++)
        udpai_ctl_answer_done(&self->answers.items[i]);
    self->answers.n = self->records.n = 0;
}

/* ---- printing ---- */

/* What comes later has the columns of what was there. */
static udpai_cli_exit
print_table(reading *self)
{
    udpai_cli_layout layout = udpai_cli_layout_of(&self->options.common);
    udpai_cli_table table;
    udpai_strbuf out = {0};
    layout.without_heads |= self->has_printed;
    layout.widths = self->options.is_following ? self->widths : NULL;
    udpai_ctl_audit_begin(&table, &layout);
    for (size_t i = 0; i < self->records.n; i++)
        udpai_ctl_audit_add(&table, self->records.items[i], layout.is_wide);
    udpai_cli_table_write(&table, &out);
    out.failed |= table.failed;
    udpai_cli_table_done(&table);
    self->has_printed = true;
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
print_list(const reading *self)
{
    udpai_strbuf out = {0};
    udpai_strbuf_putc(&out, '[');
    for (size_t i = 0; i < self->records.n; i++) {
        udpai_strbuf_puts(&out, i == 0 ? "\n" : ",\n");
        udpai_strbuf_str(&out, self->records.items[i]);
    }
    udpai_strbuf_puts(&out, self->records.n ? "\n]\n" : "]\n");
    return udpai_cli_print_json(&self->options.common, &out);
}

/* A list that goes on has no end, so each is a document of its own. */
static udpai_cli_exit
print_lines(const reading *self)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < self->records.n && result == UDPAI_CLI_GOOD; i++) {
        udpai_strbuf out = {0};
        udpai_strbuf_str(&out, self->records.items[i]);
        udpai_strbuf_putc(&out, '\n');
        result = udpai_cli_print_json(&self->options.common, &out);
    }
    return result;
}

static udpai_cli_exit
print(reading *self)
{
    if (self->options.common.format != UDPAI_CLI_JSON)
        return print_table(self);
    return self->options.is_following ? print_lines(self) : print_list(self);
}

/* ---- following ---- */

/* False: the node does not answer now. */
static bool
go_on(reading *self, udpai_cli_exit *result)
{
    bool was_lost = self->options.failures == UDPAI_CTL_FAILURES_SILENT;
    *result = read_page(self);
    bool is_lost = *result == UDPAI_CLI_NO_CONNECTION || *result == UDPAI_CLI_TIMED_OUT;
    if (is_lost && !was_lost && !udpai_ctl_is_interrupted())
        udpai_cli_note("it is asked again until it answers; no record is lost");
    else if (was_lost && *result == UDPAI_CLI_GOOD)
        udpai_cli_note("%s answers again", self->server);
    self->options.failures = is_lost ? UDPAI_CTL_FAILURES_SILENT : UDPAI_CTL_FAILURES_ALONE;
    self->has_more &= !is_lost;
    if (is_lost)
        *result = UDPAI_CLI_GOOD;
    return !is_lost;
}

static udpai_cli_exit
follow(reading *self)
{
    size_t wait_s = POLL_S;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    self->is_forward = true;
    self->has_more = false;
    self->options.failures = UDPAI_CTL_FAILURES_ALONE;
    while (result == UDPAI_CLI_GOOD) {
        forget(self);
        if (!self->has_more)
            udpai_ctl_wait_s(wait_s);
        if (udpai_ctl_is_interrupted())
            break;
        bool is_there = go_on(self, &result);
        wait_s = is_there ? POLL_S : udpai_min_size(2 * wait_s, BACKOFF_MAX_S);
        if (result == UDPAI_CLI_GOOD && self->records.n)
            result = print(self);
    }
    return result;
}

/* ---- the command ---- */

static udpai_cli_exit
show(const udpai_ctl_options *options)
{
    const udpai_ctl_audit_options *given = &options->look.audit;
    reading self = {
        .options = *options,
        .limit = given->limit     ? given->limit
                 : given->since_s ? UINT64_MAX
                                  : LIMIT,
        .widths = WIDTHS,
    };
    if (options->is_following)
        udpai_ctl_catch_interrupts();
    udpai_cli_exit result = read_back(&self);
    if (result == UDPAI_CLI_GOOD)
        result = print(&self);
    if (result == UDPAI_CLI_GOOD && options->is_following)
        result = follow(&self);
    forget(&self);
    udpai_vector_done(&self.answers);
    udpai_vector_done(&self.records);
    udpai_free(self.server);
    return udpai_ctl_is_interrupted() ? UDPAI_CLI_GOOD : result;
}

udpai_cli_exit
udpai_ctl_audit(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    const char *const *words = options->common.arguments.items;
    size_t n = options->common.arguments.n;
    if (n == 0)
        return show(options);
    bool is_verify = strcmp(words[0], "verify") == 0;
    if (is_verify && options->is_following) {
        udpai_cli_complain(
            "audit verify checks files as they are: --follow goes with 'udpactl audit'");
        return UDPAI_CLI_MISTAKE;
    }
    if (n > 1 && is_verify)
        return udpai_ctl_audit_verify(words + 1, n - 1);
    udpai_cli_complain("write 'udpactl audit', or 'udpactl audit verify FILE...'");
    return UDPAI_CLI_MISTAKE;
}
