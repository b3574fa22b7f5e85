/* SPDX-License-Identifier: Apache-2.0 */
/* freeze and thaw: what a node changes no more, until it may again. */
#include <stdio.h>
#include <time.h>

#include "base/percent.h"
#include "cli/output.h"
#include "codec/json_text.h"
#include "ctl/commands.h"
#include "ctl/freeze_view.h"
#include "ctl/http.h"
#include "ctl/page.h"

#define GOOD 200
#define LOOK_MS 100

/* Empty: everything. */
static udpai_str
prefix_of(const udpai_ctl_options *options)
{
    return options->common.arguments.n ? udpai_str_from(options->common.arguments.items[0])
                                       : UDPAI_STR("");
}

/* ---- the pages ---- */

static udpai_cli_exit
fetch(const udpai_ctl_options *options, udpai_str prefix, udpai_ctl_answer *ret_answer)
{
    udpai_strbuf path = {0};
    udpai_strbuf_puts(&path, "/freezes");
    if (prefix.len)
        udpai_strbuf_puts(&path, "?prefix=");
    udpai_percent_encode_segment(&path, prefix);
    udpai_strbuf_putc(&path, '\0');
    udpai_cli_exit result = udpai_strbuf_failed(&path)
                                ? UDPAI_CLI_REFUSED
                                : udpai_ctl_page_fetch(options, path.data, ret_answer);
    udpai_strbuf_done(&path);
    return result;
}

static udpai_cli_exit
look(const udpai_ctl_options *options, udpai_str prefix, udpai_ctl_freezes *ret_freezes)
{
    udpai_ctl_answer answer = {0};
    *ret_freezes = (udpai_ctl_freezes){0};
    udpai_cli_exit result = fetch(options, prefix, &answer);
    if (result == UDPAI_CLI_GOOD &&
        !udpai_ctl_freezes_read(ret_freezes, udpai_strbuf_view(&answer.text))) {
        udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                           options->common.http);
        result = UDPAI_CLI_REFUSED;
    }
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
post(const udpai_ctl_options *options, const char *path, const udpai_strbuf *body)
{
    udpai_ctl_answer answer = {0};
    udpai_cli_exit result = udpai_ctl_http_ask(options, path, body, &answer);
    if (result == UDPAI_CLI_GOOD && answer.status != GOOD)
        result = udpai_ctl_http_refused(options, &answer, "");
    udpai_ctl_answer_done(&answer);
    return result;
}

/* Replicas commit it first. */
static udpai_cli_exit
wait_until(const udpai_ctl_options *options, udpai_str prefix, bool is_frozen)
{
    static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    for (uint64_t ms = 0; ms <= options->common.timeout_ms; ms += LOOK_MS) {
        udpai_ctl_freezes now;
        udpai_cli_exit result = look(options, prefix, &now);
        bool is_so = udpai_ctl_freezes_has(&now, prefix) == is_frozen;
        udpai_ctl_freezes_done(&now);
        if (result != UDPAI_CLI_GOOD || is_so)
            return result;
        nanosleep(&pause, NULL);
    }
    udpai_cli_complain("%s has not %s it within %g s: 'udpactl status' shows whether its replicas "
                       "are current",
                       options->common.http, is_frozen ? "frozen" : "thawed",
                       (double)options->common.timeout_ms / 1000);
    return UDPAI_CLI_TIMED_OUT;
}

/* ---- freeze ---- */

static udpai_cli_exit
freeze(const udpai_ctl_options *options, udpai_str prefix)
{
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, "{\"because\": ");
    udpai_json_put_string(&body, udpai_str_from(options->look.because));
    udpai_strbuf_puts(&body, ", \"prefix\": ");
    udpai_json_put_string(&body, prefix);
    udpai_strbuf_printf(&body, ", \"all\": %s}", options->freezes_all ? "true" : "false");
    udpai_cli_exit result = post(options, "/freeze", &body);
    udpai_strbuf_done(&body);
    if (result == UDPAI_CLI_GOOD)
        result = wait_until(options, prefix, true);
    if (result != UDPAI_CLI_GOOD)
        return result;
    udpai_cli_print_line("%.*s is frozen%s: publications are rejected, and what files and sources "
                         "change waits. 'udpactl thaw' shows what, and ends it.",
                         UDPAI_SHOWN(prefix.len ? prefix : UDPAI_STR("Everything")),
                         options->freezes_all ? ", endpoints and secrets, too"
                                              : ", but for endpoints and secrets");
    return UDPAI_CLI_GOOD;
}

udpai_cli_exit
udpai_ctl_freeze(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    if (options->common.arguments.n <= 1 && options->look.because)
        return freeze(options, prefix_of(options));
    udpai_cli_complain(
        "write 'udpactl freeze [NAMESPACE] --because TEXT': publishers and operators "
        "are shown the text");
    return UDPAI_CLI_MISTAKE;
}

/* ---- thaw ---- */

static udpai_cli_exit
print_changes(const udpai_ctl_options *options, const udpai_ctl_freezes *freezes)
{
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    udpai_strbuf out = {0};
    udpai_ctl_freezes_put(freezes, &layout, &out);
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
print_json(const udpai_ctl_options *options, udpai_str prefix)
{
    udpai_ctl_answer answer = {0};
    udpai_cli_exit result = fetch(options, prefix, &answer);
    if (result == UDPAI_CLI_GOOD) {
        result = udpai_cli_print_json(&options->common, &answer.text);
        answer.text = (udpai_strbuf){0};
    }
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
show(const udpai_ctl_options *options, udpai_str prefix)
{
    udpai_ctl_freezes now;
    udpai_cli_exit result = look(options, prefix, &now);
    size_t n_changes = now.n_changes;
    if (result == UDPAI_CLI_GOOD && n_changes)
        result = print_changes(options, &now);
    udpai_ctl_freezes_done(&now);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("%zu change%s%s", n_changes, n_changes == 1 ? " waits" : "s wait",
                             options->look.is_confirmed ? ""
                                                        : ". Nothing is thawed yet: --yes does it");
    return result;
}

static udpai_cli_exit
thaw(const udpai_ctl_options *options, udpai_str prefix)
{
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, "{\"prefix\": ");
    udpai_json_put_string(&body, prefix);
    udpai_strbuf_puts(&body, "}");
    udpai_cli_exit result = post(options, "/thaw", &body);
    udpai_strbuf_done(&body);
    if (result == UDPAI_CLI_GOOD)
        result = wait_until(options, prefix, false);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("%.*s is thawed",
                             UDPAI_SHOWN(prefix.len ? prefix : UDPAI_STR("Everything")));
    return result;
}

udpai_cli_exit
udpai_ctl_thaw(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_str prefix = prefix_of(options);
    if (options->common.arguments.n > 1) {
        udpai_cli_complain("write 'udpactl thaw [NAMESPACE] [--yes]'");
        return UDPAI_CLI_MISTAKE;
    }
    if (options->common.format == UDPAI_CLI_JSON && !options->look.is_confirmed)
        return print_json(options, prefix);
    udpai_cli_exit result = show(options, prefix);
    return result == UDPAI_CLI_GOOD && options->look.is_confirmed ? thaw(options, prefix) : result;
}
