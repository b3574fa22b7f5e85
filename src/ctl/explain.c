/* SPDX-License-Identifier: Apache-2.0 */
/* explain: why a resource is served, or not, and who has it. Nothing is computed for it: the node
 * is asked what get --all-origins, wait, status and auth can-i ask. With --follow it is asked again
 * each second, and shown whole whenever something of it has changed. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/time_text.h"
#include "cli/collect.h"
#include "cli/node_status.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/explain_view.h"
#include "ctl/interrupt.h"
#include "ctl/show.h"
#include "loop/clock.h"
#include "model/resource.h"
#include "session/access_question.h"
#include "session/acknowledgement.h"
#include "session/origins_question.h"

/* Takes the question; NULL: what is wrong with it is in the error. */
static udpai_cli_exit
ask_for(udpai_cli *cli,
        const char *type_url,
        char *question,
        const udpa_error *error,
        udpai_cli_explanation *explained)
{
    const udpa_resource *answer;
    udpai_cli_found found;
    if (!question) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_ctl_ask(cli, type_url, question, &found, &answer);
    if (answer && udpai_cli_explanation_take(explained, answer) != UDPA_OK) {
        udpai_cli_complain("an answer from %s cannot be read", udpai_cli_server(cli));
        result = UDPAI_CLI_REFUSED;
    }
    udpai_cli_found_done(&found);
    udpai_free(question);
    return result;
}

static udpai_cli_exit
ask_for_origins(udpai_cli *cli, udpai_cli_explanation *explained)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *question = NULL;
    (void)udpai_cli_explanation_ask_origins(explained, &question, &error);
    return ask_for(cli, UDPAI_ORIGINS_TYPE, question, error, explained);
}

static udpai_cli_exit
ask_for_acknowledgements(udpai_cli *cli, udpai_cli_explanation *explained)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *question = udpai_cli_explanation_begin(explained, &error) == UDPA_OK
                         ? udpai_strdup(explained->acknowledgements.items.items[0].question)
                         : NULL;
    return ask_for(cli, UDPAI_ACKNOWLEDGEMENT_TYPE, question, error, explained);
}

static udpai_cli_exit
ask_for_access(udpai_cli *cli, udpai_cli_explanation *explained)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *question = NULL;
    if (!explained->client)
        return UDPAI_CLI_GOOD;
    (void)udpai_cli_explanation_ask_access(explained, &question, &error);
    return ask_for(cli, UDPAI_ACCESS_TYPE, question, error, explained);
}

static udpa_err
request_status(const udpai_cli_explanation *explained, udpai_cli_requests *requests)
{
    udpa_err err = udpai_cli_request_status("NodeStatus", requests);
    if (err == UDPA_OK)
        err = udpai_cli_request_status("ReplicaStatus", requests);
    if (err == UDPA_OK && !udpai_cli_explanation_is_served(explained))
        err = udpai_cli_request_status("SourceStatus", requests);
    if (err == UDPA_OK && explained->client)
        err = udpai_cli_request_status("SessionStatus", requests);
    return err;
}

/* What of it is not known is left out. */
static void
ask_for_status(udpai_cli *cli, udpai_cli_explanation *explained)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    if (request_status(explained, &requests) == UDPA_OK)
        (void)udpai_cli_collect(cli, &requests, &found);
    UDPAI_AUTO_FREE udpa_resource **all = udpai_cli_found_sorted(&found);
    for (size_t i = 0; all && i < udpai_cli_found_size(&found); i++)
        (void)udpai_cli_explanation_take(explained, all[i]);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
}

/* Of two ways to read a name the one that is there; else the first. */
static udpai_cli_exit
choose_name(udpai_cli *cli, udpai_cli_requests *requests, udpai_cli_explanation *explained)
{
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_collect(cli, requests, &found);
    udpai_cli_requests_decide(requests, &found);
    if (result == UDPAI_CLI_TIMED_OUT && cli->has_answered)
        result = UDPAI_CLI_GOOD; /* it is not certain whether it is there: the report has that */
    udpai_cli_found_done(&found);
    udpai_cli_choose_token(explained->acknowledgements.token);
    explained->acknowledgements.node_id = cli->options->node_id;
    explained->type_url = requests->items[0].type_url;
    explained->name = requests->items[0].names.items[0];
    return result;
}

static udpai_cli_exit
ask(udpai_cli *cli, udpai_cli_requests *requests, udpai_cli_explanation *explained)
{
    udpai_cli_exit result = choose_name(cli, requests, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_acknowledgements(cli, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_origins(cli, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_access(cli, explained);
    if (result == UDPAI_CLI_GOOD && !cli->options->is_xds)
        ask_for_status(cli, explained);
    return result;
}

static void
put_json(udpai_strbuf *out, const udpai_cli_explanation *explained)
{
    udpai_strbuf_putc(out, '{');
    udpai_cli_put_explanation_json(out, explained);
    udpai_strbuf_puts(out, "}\n");
}

/* Line ends in JSON stand between its values alone. */
static void
join_lines(udpai_strbuf *json)
{
    for (size_t i = 0; i + 1 < json->len; i++)
        if (json->data[i] == '\n')
            json->data[i] = ' ';
}

static udpai_cli_exit
show(const udpai_cli *cli, const udpai_cli_explanation *explained)
{
    const udpai_cli_options *options = cli->options;
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(options);
    udpai_cli_exit result;
    if (options->format == UDPAI_CLI_JSON) {
        put_json(&out, explained);
        if (udpai_ctl_options_of(options)->is_following)
            join_lines(&out);
        result = udpai_cli_print_json(options, &out);
    } else {
        udpai_ctl_put_explained(&out, &layout, explained, udpai_wall_us());
        result = udpai_cli_print_tables(&layout, &out);
    }
    if (result != UDPAI_CLI_GOOD)
        return result;
    return udpai_cli_explanation_is_served(explained) ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
explain_once(udpai_cli *cli, udpai_cli_requests *requests)
{
    udpai_cli_explanation explained = {.client = udpai_ctl_options_of(cli->options)->client};
    udpai_cli_exit result = ask(cli, requests, &explained);
    if (result == UDPAI_CLI_GOOD)
        result = show(cli, &explained);
    udpai_cli_explanation_done(&explained);
    return result;
}

/* ---- following ---- */

#define ASK_AGAIN_S 1

typedef struct following {
    char *shown; /* as JSON, which has no ages; NULL: nothing was */
} following;

static void
put_head(const udpai_cli_options *options, bool is_first)
{
    char text[UDPAI_TIME_TEXT_SIZE];
    if (options->format == UDPAI_CLI_JSON)
        return;
    udpai_time_text(text, udpai_wall_us());
    udpai_cli_print_line("%s%s", is_first ? "" : "\n", text);
}

static udpai_cli_exit
show_if_changed(following *self, const udpai_cli *cli, const udpai_cli_explanation *explained)
{
    udpai_strbuf json = {0};
    put_json(&json, explained);
    char *now = udpai_strbuf_take(&json);
    if (!now)
        return UDPAI_CLI_REFUSED;
    if (self->shown && strcmp(self->shown, now) == 0) {
        udpai_free(now);
        return UDPAI_CLI_GOOD;
    }
    put_head(cli->options, !self->shown);
    udpai_free(self->shown);
    self->shown = now;
    udpai_cli_exit result = show(cli, explained);
    if (fflush(stdout) != 0)
        return UDPAI_CLI_REFUSED; /* nobody reads it any more */
    /* Whether it is served is what is followed. */
    return result == UDPAI_CLI_REFUSED && !udpai_cli_explanation_is_served(explained)
               ? UDPAI_CLI_GOOD
               : result;
}

static udpai_cli_exit
follow(udpai_cli *cli, udpai_cli_requests *requests)
{
    following self = {0};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    udpai_ctl_catch_interrupts();
    while (result == UDPAI_CLI_GOOD && !udpai_ctl_is_interrupted()) {
        udpai_cli_explanation explained = {.client = udpai_ctl_options_of(cli->options)->client};
        result = ask(cli, requests, &explained);
        if (result == UDPAI_CLI_GOOD)
            result = show_if_changed(&self, cli, &explained);
        udpai_cli_explanation_done(&explained);
        if (self.shown && (result == UDPAI_CLI_NO_CONNECTION || result == UDPAI_CLI_TIMED_OUT)) {
            udpai_cli_disconnect(cli); /* that was reported, and the node may come back */
            result = udpai_cli_connect(cli);
        }
        if (result == UDPAI_CLI_GOOD)
            udpai_ctl_wait_s(ASK_AGAIN_S);
    }
    udpai_free(self.shown);
    return udpai_ctl_is_interrupted() ? UDPAI_CLI_GOOD : result;
}

udpai_cli_exit
udpai_ctl_explain(udpai_cli *cli)
{
    if (cli->options->arguments.n != 2) {
        udpai_cli_complain("explain takes a type and a name: udpactl explain TYPE NAME "
                           "[--for CLIENT] [--follow]");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_requests requests = {0};
    udpai_cli_exit result = udpai_cli_request_of_arguments(cli->options, &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_options_of(cli->options)->is_following ? follow(cli, &requests)
                                                                  : explain_once(cli, &requests);
    udpai_cli_requests_done(&requests);
    return result;
}
