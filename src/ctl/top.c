/* SPDX-License-Identifier: Apache-2.0 */
/* top: rates, times, streams, sources, and the clients that are most behind, again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/collect.h"
#include "cli/node_status.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "ctl/commands.h"
#include "ctl/interrupt.h"
#include "ctl/page.h"
#include "ctl/top_view.h"
#include "loop/clock.h"

#define GOOD 200
#define NOT_FOUND 404

typedef struct fetched {
    udpai_ctl_answer answer;
    udpai_cli_page page;
} fetched;

typedef struct watching {
    udpai_cli *cli;
    const udpai_ctl_options *options;
    fetched newest;
    udpai_cli_top_counts now, before;
    udpai_cli_top_clients clients;
    uint64_t clients_ms; /* when they were read; 0: never */
    bool is_redrawn;     /* the terminal is; else each block is behind the one before */
    bool was_drawn;
} watching;

/* ---- asking ---- */

static void
drop_page(fetched *page)
{
    udpai_cli_page_done(&page->page);
    udpai_ctl_answer_done(&page->answer);
    *page = (fetched){.answer = {0}};
}

/* A page that is as old as the one before is passed over: the node makes one a second. */
static udpai_cli_exit
fetch(watching *self)
{
    fetched page;
    udpai_cli_exit result = udpai_ctl_page_fetch_metrics(self->options, &page.page, &page.answer);
    const udpai_cli_top_counts counts = udpai_cli_top_counts_of(&page.page);
    bool is_first = !self->newest.page.series.n;
    if (result != UDPAI_CLI_GOOD ||
        (!is_first && udpai_cli_top_seconds(&counts, &self->now) == 0)) {
        drop_page(&page);
        return result;
    }
    self->before = is_first ? counts : self->now;
    self->now = counts;
    drop_page(&self->newest);
    self->newest = page;
    return result;
}

static void
read_clients(watching *self)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    udpai_cli_found_begin(&found);
    self->cli->is_quiet = self->cli->may_be_denied = true;
    if (udpai_cli_request_status("SessionStatus", &requests) == UDPA_OK &&
        (self->cli->endpoint || udpai_cli_connect(self->cli) == UDPAI_CLI_GOOD))
        result = udpai_cli_collect(self->cli, &requests, &found);
    UDPAI_AUTO_FREE udpa_resource **resources =
        result == UDPAI_CLI_GOOD ? udpai_cli_found_sorted(&found) : NULL;
    size_t n = resources ? udpai_cli_found_size(&found) : 0;
    udpai_cli_top_clients_done(&self->clients);
    self->clients.is_known = n; /* we are one of them: a node that denies it has none */
    for (size_t i = 0; i < n; i++)
        udpai_cli_top_clients_add(&self->clients, resources[i]);
    if (!n)
        udpai_cli_disconnect(self->cli);
    self->clients_ms = udpai_monotonic_ms();
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
}

static bool
are_clients_due(const watching *self)
{
    bool is_big =
        udpai_cli_page_sum(&self->newest.page, "udpa_sessions") > UDPAI_CLI_TOP_MANY_STREAMS;
    return self->clients_ms == 0 || !is_big ||
           udpai_monotonic_ms() - self->clients_ms >= UDPAI_CLI_TOP_CLIENTS_AGE_MS;
}

/* ---- showing ---- */

/* From the top of the screen, over what was there, and no more lines than it has. */
static void
redraw(watching *self, udpai_strbuf *block, udpai_strbuf *out)
{
    udpai_str rest = udpai_strbuf_view(block), line;
    size_t n_rows = udpai_cli_terminal_rows(STDOUT_FILENO);
    udpai_strbuf_puts(out, self->was_drawn ? "\x1b[H" : "\x1b[2J\x1b[H");
    for (size_t n = 0; udpai_str_cut(&rest, '\n', &line) && (n_rows == 0 || n + 1 < n_rows); n++) {
        udpai_strbuf_str(out, line);
        udpai_strbuf_puts(out, "\x1b[K\n");
    }
    udpai_strbuf_puts(out, "\x1b[J");
    self->was_drawn = true;
    out->failed |= udpai_strbuf_failed(block);
}

static udpai_cli_exit
show(watching *self)
{
    udpai_strbuf block = {0}, out = {0};
    const udpai_cli_top top = {
        .page = &self->newest.page,
        .now = &self->now,
        .before = &self->before,
        .clients = &self->clients,
        .node = self->options->common.http,
        .max_clients = UDPAI_CLI_TOP_CLIENTS,
        .is_complete = self->clients.is_known,
    };
    if (self->options->common.format == UDPAI_CLI_JSON) {
        udpai_cli_top_put_json(&top, &block);
        return udpai_cli_print_json(&self->options->common, &block);
    }
    udpai_cli_layout layout = udpai_cli_layout_of(&self->options->common);
    udpai_ctl_top_put(&top, &layout, &block);
    udpai_cli_layout_done(&layout);
    if (self->is_redrawn)
        redraw(self, &block, &out);
    else if (self->was_drawn)
        udpai_strbuf_putc(&out, '\n');
    if (!self->is_redrawn)
        udpai_strbuf_str(&out, udpai_strbuf_view(&block));
    self->was_drawn = true;
    udpai_strbuf_done(&block);
    return udpai_cli_print(&out);
}

static bool
is_terminal(const udpai_ctl_options *options)
{
    return !options->look.is_once && udpai_cli_terminal_obeys(STDOUT_FILENO);
}

/* Blocks of what is put together here. */
static udpai_cli_exit
watch(watching *self)
{
    udpai_cli_exit result = fetch(self);
    bool is_last = false;
    while (result == UDPAI_CLI_GOOD && !is_last) {
        udpai_ctl_wait_s(self->options->look.interval_s);
        if (udpai_ctl_is_interrupted())
            break;
        result = fetch(self);
        if (result == UDPAI_CLI_GOOD && are_clients_due(self))
            read_clients(self);
        if (result == UDPAI_CLI_GOOD)
            result = show(self);
        is_last = self->options->look.is_once;
    }
    return result;
}

/* ---- as the node has put it together ---- */

/* Its page /top, which is not on sockets of HTTP: then *ret_is_there is false. */
static udpai_cli_exit
show_page(const watching *self, bool *ret_is_there)
{
    udpai_ctl_answer answer;
    udpai_cli_exit result = udpai_ctl_http_ask(self->options, "/top", NULL, &answer);
    *ret_is_there = result == UDPAI_CLI_GOOD && answer.status != NOT_FOUND;
    if (*ret_is_there)
        result = answer.status == GOOD ? udpai_cli_print_json(&self->options->common, &answer.text)
                                       : udpai_ctl_http_refused(self->options, &answer, "");
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
watch_page(watching *self)
{
    bool is_there;
    udpai_cli_exit result = show_page(self, &is_there);
    if (result == UDPAI_CLI_GOOD && !is_there)
        return watch(self);
    while (result == UDPAI_CLI_GOOD && !self->options->look.is_once &&
           !udpai_ctl_is_interrupted()) {
        udpai_ctl_wait_s(self->options->look.interval_s);
        if (!udpai_ctl_is_interrupted())
            result = show_page(self, &is_there);
    }
    return result;
}

udpai_cli_exit
udpai_ctl_top_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    watching self = {.cli = cli, .options = options, .is_redrawn = is_terminal(options)};
    if (options->common.arguments.n) {
        udpai_cli_complain("top takes no arguments: udpactl top, or udpactl top --once");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_ctl_catch_interrupts();
    bool is_json = options->common.format == UDPAI_CLI_JSON;
    udpai_cli_exit result = is_json ? watch_page(&self) : watch(&self);
    drop_page(&self.newest);
    udpai_cli_top_clients_done(&self.clients);
    return udpai_ctl_is_interrupted() ? UDPAI_CLI_GOOD : result;
}
