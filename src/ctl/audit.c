/* SPDX-License-Identifier: Apache-2.0 */
/* audit: who has changed what at a node; and whether a file of an audit is whole. */
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "cli/output.h"
#include "ctl/audit_verify.h"
#include "ctl/audit_view.h"
#include "ctl/commands.h"
#include "ctl/page.h"
#include "loop/clock.h"

#define LIMIT 100
#define PAGE_MAX 1000

/* Pages of the newest records, the last one first. */
typedef struct reading {
    const udpai_ctl_options *options;
    UDPAI_VECTOR(udpai_ctl_answer) answers; /* what the records are views of */
    UDPAI_VECTOR(udpai_str) records;
    uint64_t limit, before;
} reading;

static void
put_pattern(udpai_strbuf *path, const char *key, const char *pattern)
{
    if (!pattern)
        return;
    udpai_strbuf_printf(path, "&%s=", key);
    udpai_percent_encode_segment(path, udpai_str_from(pattern));
}

static void
put_path(udpai_strbuf *path, const reading *self)
{
    const udpai_ctl_audit_options *given = &self->options->look.audit;
    uint64_t left = self->limit - self->records.n;
    udpai_strbuf_printf(path, "/audit?limit=%llu",
                        (unsigned long long)(left < PAGE_MAX ? left : PAGE_MAX));
    if (self->before)
        udpai_strbuf_printf(path, "&before=%llu", (unsigned long long)self->before);
    if (given->since_s)
        udpai_strbuf_printf(path, "&since=%llu",
                            (unsigned long long)(udpai_wall_us() / 1000000) - given->since_s);
    put_pattern(path, "identity", given->identity);
    put_pattern(path, "name", given->name);
    udpai_strbuf_putc(path, '\0');
}

/* Keeps what its records are views of. */
static udpai_cli_exit
take(reading *self, udpai_ctl_answer *answer)
{
    udpai_ctl_audit_page page;
    bool is_good = udpai_ctl_audit_page_read(udpai_strbuf_view(&answer->text), &page);
    for (size_t i = 0; i < page.records.n && is_good; i++)
        is_good = udpai_vector_push(&self->records, page.records.items[i]);
    self->before = page.next;
    udpai_vector_done(&page.records);
    if (is_good && udpai_vector_push(&self->answers, *answer)) {
        *answer = (udpai_ctl_answer){0};
        return UDPAI_CLI_GOOD;
    }
    udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                       self->options->common.http);
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
read_page(reading *self)
{
    udpai_strbuf path = {0};
    udpai_ctl_answer answer = {0};
    put_path(&path, self);
    udpai_cli_exit result = udpai_strbuf_failed(&path)
                                ? UDPAI_CLI_REFUSED
                                : udpai_ctl_page_fetch(self->options, path.data, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = take(self, &answer);
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&path);
    return result;
}

static udpai_cli_exit
read_all(reading *self)
{
    udpai_cli_exit result;
    do
        result = read_page(self);
    while (result == UDPAI_CLI_GOOD && self->before && self->records.n < self->limit);
    return result;
}

/* ---- printing ---- */

static udpai_cli_exit
print_table(const reading *self)
{
    udpai_cli_layout layout = udpai_cli_layout_of(&self->options->common);
    udpai_cli_table table;
    udpai_strbuf out = {0};
    udpai_ctl_audit_begin(&table, &layout);
    for (size_t i = self->records.n; i > 0; i--)
        udpai_ctl_audit_add(&table, self->records.items[i - 1], layout.is_wide);
    udpai_cli_table_write(&table, &out);
    out.failed |= table.failed;
    udpai_cli_table_done(&table);
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
print_json(const reading *self)
{
    udpai_strbuf out = {0};
    udpai_strbuf_putc(&out, '[');
    for (size_t i = self->records.n; i > 0; i--) {
        udpai_strbuf_puts(&out, i == self->records.n ? "\n" : ",\n");
        udpai_strbuf_str(&out, self->records.items[i - 1]);
    }
    udpai_strbuf_puts(&out, self->records.n ? "\n]\n" : "]\n");
    return udpai_cli_print_json(&self->options->common, &out);
}

static udpai_cli_exit
show(const udpai_ctl_options *options)
{
    const udpai_ctl_audit_options *given = &options->look.audit;
    reading self = {
        .options = options,
        .limit = given->limit     ? given->limit
                 : given->since_s ? UINT64_MAX
                                  : LIMIT,
    };
    udpai_cli_exit result = read_all(&self);
    if (result == UDPAI_CLI_GOOD)
        result = options->common.format == UDPAI_CLI_JSON ? print_json(&self) : print_table(&self);
    for (size_t i = 0; i < self.answers.n; i++)
        udpai_ctl_answer_done(&self.answers.items[i]);
    udpai_vector_done(&self.answers);
    udpai_vector_done(&self.records);
    return result;
}

udpai_cli_exit
udpai_ctl_audit(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    const char *const *words = options->common.arguments.items;
    size_t n = options->common.arguments.n;
    if (n == 0)
        return show(options);
    if (n > 1 && strcmp(words[0], "verify") == 0)
        return udpai_ctl_audit_verify(words + 1, n - 1);
    udpai_cli_complain("write 'udpactl audit', or 'udpactl audit verify FILE...'");
    return UDPAI_CLI_MISTAKE;
}
