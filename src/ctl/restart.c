/* SPDX-License-Identifier: Apache-2.0 */
/* restart: another process of the node takes the place of the one that serves. Waits until it does.
 */
#include <inttypes.h>
#include <time.h>

#include "cli/output.h"
#include "codec/reader.h"
#include "ctl/commands.h"
#include "ctl/http.h"
#include "ctl/interrupt.h"

#define GOOD 200
#define LOOK_MS 100

typedef struct restarting {
    udpai_ctl_options options;
    char *server;                /* that has answered first; owned; NULL: none has */
    uint64_t process, successor; /* as it answered first */
} restarting;

typedef struct state {
    uint64_t process, successor;
    udpai_strbuf failure;
} state;

static udpai_cli_exit
fail_to_read(const restarting *self)
{
    udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                       self->options.common.http);
    return UDPAI_CLI_REFUSED;
}

static bool
read_state(const udpai_ctl_answer *answer, state *ret_state)
{
    udpai_documents *documents = NULL;
    const udpai_source source = {
        .name = "/process", .text = udpai_strbuf_view(&answer->text), .format = UDPAI_FORMAT_JSON};
    bool is_good =
        udpai_documents_read(&documents, &source, NULL) == UDPA_OK && documents->roots.n == 1;
    const udpai_tree *root = is_good ? documents->roots.items[0] : NULL;
    is_good = root && udpai_str_number(udpai_tree_text(root, "process"), &ret_state->process) &&
              udpai_str_number(udpai_tree_text(root, "successor"), &ret_state->successor);
    if (is_good)
        udpai_strbuf_str(&ret_state->failure, udpai_tree_text(root, "failure"));
    udpai_documents_free(documents);
    return is_good;
}

/* With a body it begins. */
static udpai_cli_exit
ask(restarting *self, const char *page, const udpai_strbuf *body, state *ret_state)
{
    udpai_ctl_answer answer = {0};
    *ret_state = (state){0};
    udpai_cli_exit result = udpai_ctl_http_ask(&self->options, page, body, &answer);
    if (result == UDPAI_CLI_GOOD && answer.status != GOOD)
        result = udpai_ctl_http_refused(&self->options, &answer, "");
    else if (result == UDPAI_CLI_GOOD && !read_state(&answer, ret_state))
        result = fail_to_read(self);
    if (!self->server && answer.server) { /* the others are other nodes */
        self->server = UDPAI_TAKE(answer.server);
        self->options.common.http = self->server;
    }
    udpai_ctl_answer_done(&answer);
    return result;
}

static udpai_cli_exit
end_early(const restarting *self)
{
    udpai_cli_complain("interrupted: process %" PRIu64 " goes on to take over; its log has what "
                       "comes of it",
                       self->successor);
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
fail_with(const restarting *self, const state *now)
{
    udpai_strbuf words = {0};
    udpai_cli_put_text(&words, udpai_strbuf_view(&now->failure));
    udpai_strbuf_putc(&words, '\0');
    udpai_cli_complain(
        "process %" PRIu64 " does not take over, and process %" PRIu64 " goes on: %s",
        self->successor, self->process, udpai_strbuf_failed(&words) ? "out of memory" : words.data);
    udpai_strbuf_done(&words);
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
tell(const restarting *self)
{
    udpai_strbuf out = {0};
    udpai_strbuf_printf(
        &out, "Process %" PRIu64 " serves; process %" PRIu64 " ends when its clients have moved\n",
        self->successor, self->process);
    return udpai_cli_print(&out);
}

static udpai_cli_exit
wait_for_successor(restarting *self)
{
    static const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    bool goes_on = true;
    while (goes_on) {
        state now;
        if (udpai_ctl_is_interrupted())
            return end_early(self);
        nanosleep(&pause, NULL);
        result = ask(self, "/process", NULL, &now);
        goes_on = result == UDPAI_CLI_GOOD && now.process == self->process && now.successor;
        if (result == UDPAI_CLI_GOOD && !goes_on)
            result = now.process == self->process ? fail_with(self, &now) : tell(self);
        udpai_strbuf_done(&now.failure);
    }
    return result;
}

udpai_cli_exit
udpai_ctl_restart(udpai_cli *cli)
{
    restarting self = {.options = *udpai_ctl_options_of(cli->options)};
    udpai_strbuf body = {0};
    state first;
    if (self.options.common.arguments.n) {
        udpai_cli_complain("restart takes no arguments: udpactl restart");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_ctl_catch_interrupts();
    udpai_strbuf_puts(&body, "{}");
    udpai_cli_exit result = ask(&self, "/restart", &body, &first);
    self.process = first.process;
    self.successor = first.successor;
    udpai_strbuf_done(&first.failure);
    if (result == UDPAI_CLI_GOOD)
        result = wait_for_successor(&self);
    udpai_strbuf_done(&body);
    udpai_free(self.server);
    return result;
}
