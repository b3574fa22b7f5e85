/* SPDX-License-Identifier: Apache-2.0 */
/* store: an etcd that has another state than a replica, and which of the two is right; and secrets
 * there, which are encrypted with the first key; and the next start with another engine. The node
 * does it all. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/display.h"
#include "cli/progress_line.h"
#include "ctl/commands.h"
#include "ctl/http.h"

#define GOOD 200
#define LOOK_MS 200

/* ---- an etcd that has another state ---- */

/* Line by line, as it may go to a terminal. */
static void
print_page(udpai_str text)
{
    while (text.len) {
        udpai_str line = text;
        udpai_strbuf shown = {0};
        if (!udpai_str_cut(&text, '\n', &line))
            text.len = 0;
        udpai_cli_put_text(&shown, line);
        if (!udpai_strbuf_failed(&shown))
            udpai_cli_print_line("%.*s", (int)shown.len, shown.len ? shown.data : "");
        udpai_strbuf_done(&shown);
    }
}

/* @p last: what to print behind the page; NULL: nothing. */
static udpai_cli_exit
print_store(const udpai_ctl_options *options,
            const char *path,
            const udpai_strbuf *body,
            const char *last)
{
    udpai_ctl_answer answer = {0};
    udpai_cli_exit result = udpai_ctl_http_ask(options, path, body, &answer);
    if (result == UDPAI_CLI_GOOD && answer.status != GOOD) {
        result = udpai_ctl_http_refused(options, &answer, "");
    } else if (result == UDPAI_CLI_GOOD) {
        print_page(udpai_strbuf_view(&answer.text));
        if (last)
            udpai_cli_print_line("%s", last);
    }
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
decide(const udpai_ctl_options *options, const char *path, const char *last)
{
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, options->is_dry_run ? "{\"dry_run\": true}" : "{}");
    udpai_cli_exit result = print_store(options, path, &body, options->is_dry_run ? NULL : last);
    udpai_strbuf_done(&body);
    return result;
}

/* ---- secrets ---- */

typedef struct progress {
    char state[16];
    unsigned long long n_secrets, n_sealed, n_changed, n_left;
    char error[256];
} progress;

static bool
read_progress(const udpai_ctl_answer *answer, progress *ret_progress)
{
    udpai_strbuf words = {0};
    udpai_ctl_answer_words(answer, &words);
    bool is_read = words.len && sscanf(words.data,
                                       "%15s secrets %llu sealed %llu changed %llu left %llu "
                                       "%255[^\n]",
                                       ret_progress->state, &ret_progress->n_secrets,
                                       &ret_progress->n_sealed, &ret_progress->n_changed,
                                       &ret_progress->n_left, ret_progress->error) >= 5;
    udpai_strbuf_done(&words);
    return is_read;
}

static udpai_cli_exit
ask(const udpai_ctl_options *options, const char *body, progress *ret_progress)
{
    udpai_ctl_answer answer = {0};
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, body);
    udpai_cli_exit result = udpai_ctl_http_ask(options, "/store_reseal", &text, &answer);
    if (result == UDPAI_CLI_GOOD && answer.status != GOOD) {
        result = udpai_ctl_http_refused(options, &answer, "");
    } else if (result == UDPAI_CLI_GOOD && !read_progress(&answer, ret_progress)) {
        udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                           options->common.http);
        result = UDPAI_CLI_REFUSED;
    }
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&text);
    return result;
}

static void
show(const progress *now)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%llu secrets, %llu encrypted anew", now->n_secrets, now->n_sealed);
    if (!udpai_strbuf_failed(&text))
        udpai_cli_progress_line_show(udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

static udpai_cli_exit
print_end(const progress *end)
{
    udpai_cli_print_line("%llu secrets: %llu encrypted anew, %llu cannot be decrypted",
                         end->n_secrets, end->n_sealed, end->n_left);
    if (end->error[0]) {
        udpai_cli_complain("it has ended early, start it again: %s", end->error);
        return UDPAI_CLI_REFUSED;
    }
    if (!end->n_left)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("keep all keys until nothing is left that cannot be decrypted: the log of "
                       "the replicas, and 'udpactl status replicas', have the ids of the keys that "
                       "are missing");
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
reseal(const udpai_ctl_options *options)
{
    static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    progress now = {0};
    udpai_cli_exit result = ask(options, "{}", &now);
    while (result == UDPAI_CLI_GOOD && strcmp(now.state, "running") == 0) {
        show(&now);
        nanosleep(&pause, NULL);
        result = ask(options, "{\"look\": true}", &now);
    }
    udpai_cli_progress_line_clear();
    return result == UDPAI_CLI_GOOD ? print_end(&now) : result;
}

/* ---- another engine ---- */

static udpai_cli_exit
migrate(const udpai_ctl_options *options)
{
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, "{}");
    udpai_cli_exit result = print_store(options, "/store_migrate", &body, NULL);
    udpai_strbuf_done(&body);
    return result;
}

/* ---- the command ---- */

udpai_cli_exit
udpai_ctl_store_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    const char *word = options->common.arguments.n == 1 ? options->common.arguments.items[0] : "";
    bool is_accept = strcmp(word, "accept") == 0, is_push = strcmp(word, "push") == 0;
    if (options->is_dry_run && !is_accept && !is_push) {
        udpai_cli_complain("--dry-run goes with store accept and store push");
        return UDPAI_CLI_MISTAKE;
    }
    if (strcmp(word, "status") == 0)
        return print_store(options, "/store", NULL, NULL);
    if (is_accept)
        return decide(options, "/store_accept",
                      "accepting: this replica takes what etcd has, and leaves its hold");
    if (is_push)
        return decide(options, "/store_push",
                      "pushing: this replica writes what etcd lacks, and leaves its hold");
    if (strcmp(word, "reseal") == 0)
        return reseal(options);
    if (strcmp(word, "migrate") == 0)
        return migrate(options);
    udpai_cli_complain("write 'udpactl store status', 'udpactl store accept', 'udpactl store "
                       "push', 'udpactl store reseal' or 'udpactl store migrate'");
    return UDPAI_CLI_MISTAKE;
}
