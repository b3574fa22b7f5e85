/* SPDX-License-Identifier: Apache-2.0 */
/* explain: why a resource is served, or not, and who has it. Nothing is computed for it: the node
 * is asked what get --all-origins, wait, status and auth can-i ask. With --follow it is asked again
 * each second, and shown whole whenever something of it has changed. */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/time_text.h"
#include "cli/collect.h"
#include "cli/names.h"
#include "cli/node_status.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/explain_view.h"
#include "ctl/origins.h"
#include "ctl/show.h"
#include "ctl/token.h"
#include "ctl/waits.h"
#include "loop/clock.h"
#include "model/resource.h"
#include "model/type_url.h"
#include "session/access_question.h"

static udpai_cli_exit
ask_for_origins(udpai_cli *cli, const udpai_cli_requests *named, udpai_ctl_explained *explained)
{
    udpai_cli_found none, answers;
    udpai_cli_found_begin(&none);
    udpai_cli_found_begin(&answers);
    udpai_cli_exit result = udpai_ctl_find_origins(cli, named, &none, &answers);
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(&answers);
    if (result == UDPAI_CLI_GOOD && sorted && udpai_cli_found_size(&answers)) {
        udpai_str bytes = udpai_resource_value(sorted[0]);
        explained->origins =
            udpa__status__v1__origins_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    }
    udpai_cli_found_done(&answers);
    udpai_cli_found_done(&none);
    return result;
}

static udpai_cli_exit
ask_for_acknowledgements(udpai_cli *cli, udpai_ctl_explained *explained)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_ctl_awaited_list *list = &explained->acknowledgements;
    udpai_ctl_choose_token(list->token);
    list->node_id = cli->options->node_id;
    if (udpai_ctl_awaited_add(list, explained->type_url, explained->name, NULL, &error) !=
        UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    const udpa_resource *answer;
    udpai_cli_exit result = udpai_ctl_ask(cli, UDPAI_CTL_ACKNOWLEDGEMENT_TYPE,
                                          list->items.items[0].question, &found, &answer);
    if (answer && udpai_ctl_awaited_take(list, answer) != UDPA_OK) {
        udpai_cli_complain("the acknowledgement status from %s cannot be read",
                           udpai_cli_server(cli));
        result = UDPAI_CLI_REFUSED;
    }
    udpai_cli_found_done(&found);
    return result;
}

/* Rules know a client by what it is called in its certificate. */
static const char *
identity_of(const udpai_ctl_explained *explained)
{
    const Udpa__Status__V1__SessionAcknowledgement *session =
        udpai_ctl_explained_session(explained);
    return session && *session->peer_identity ? session->peer_identity : explained->client;
}

static udpai_cli_exit
ask_for_access(udpai_cli *cli, udpai_ctl_explained *explained)
{
    char *question = NULL;
    if (!explained->client)
        return UDPAI_CLI_GOOD;
    udpa_err err = udpai_access_question_compose(
        &(udpai_access_question){
            .action = udpai_access_action(UDPAI_STR("subscribe")),
            .type_name = udpai_type_url_name(udpai_str_from(explained->type_url)),
            .peer = udpai_str_from(identity_of(explained)),
            .authority = UDPAI_STR(""),
            .name = udpai_str_from(explained->name),
        },
        &question);
    if (err != UDPA_OK) {
        udpai_cli_complain("%s", err == UDPA_ERR_LIMIT ? "that is too long for one question"
                                                       : udpa_err_text(err));
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    const udpa_resource *answer;
    udpai_cli_exit result = udpai_ctl_ask(cli, UDPAI_ACCESS_TYPE, question, &found, &answer);
    udpai_str bytes = answer ? udpai_resource_value(answer) : (udpai_str){0};
    if (answer)
        explained->access =
            udpa__status__v1__access_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (answer && !explained->access)
        result = UDPAI_CLI_REFUSED;
    udpai_cli_found_done(&found);
    udpai_free(question);
    return result;
}

static void
put_rejecting(udpai_strbuf *out, const udpa_resource *answer)
{
    udpai_str bytes = udpai_resource_value(answer);
    Udpa__Status__V1__SourceStatus *source =
        udpa__status__v1__source_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (source && source->n_refused)
        udpai_strbuf_printf(out, "%s%s (%llu)", out->len ? ", " : "", source->name,
                            (unsigned long long)source->n_refused);
    if (source)
        udpa__status__v1__source_status__free_unpacked(source, NULL);
}

/* What is not there may have been offered: which resources were rejected is in the log alone. */
static char *
find_rejecting(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_strbuf text = {0};
    udpai_cli_found_begin(&found);
    if (udpai_cli_request_status("SourceStatus", &requests) == UDPA_OK)
        (void)udpai_cli_collect(cli, &requests, &found);
    UDPAI_AUTO_FREE udpa_resource **sources = udpai_cli_found_sorted(&found);
    for (size_t i = 0; sources && i < udpai_cli_found_size(&found); i++)
        put_rejecting(&text, sources[i]);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return udpai_strbuf_take(&text);
}

/* Of two ways to read a name the one that is there; else the first. */
static udpai_cli_exit
choose_name(udpai_cli *cli, udpai_cli_requests *requests, udpai_ctl_explained *explained)
{
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_collect(cli, requests, &found);
    udpai_cli_requests_decide(requests, &found);
    if (result == UDPAI_CLI_TIMED_OUT && cli->has_answered)
        result = UDPAI_CLI_GOOD; /* it is not certain whether it is there: the report has that */
    udpai_cli_found_done(&found);
    explained->type_url = requests->items[0].type_url;
    explained->name = requests->items[0].names.items[0];
    return result;
}

static udpai_cli_exit
ask(udpai_cli *cli, udpai_cli_requests *requests, udpai_ctl_explained *explained)
{
    udpai_cli_exit result = choose_name(cli, requests, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_origins(cli, requests, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_acknowledgements(cli, explained);
    if (result == UDPAI_CLI_GOOD)
        result = ask_for_access(cli, explained);
    if (result == UDPAI_CLI_GOOD)
        explained->waits = udpai_ctl_find_waits(cli, requests);
    if (result == UDPAI_CLI_GOOD && !udpai_ctl_explained_is_served(explained))
        explained->rejecting = find_rejecting(cli);
    return result;
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
show(const udpai_cli *cli, const udpai_ctl_explained *explained)
{
    const udpai_cli_options *options = cli->options;
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(options);
    udpai_cli_exit result;
    if (options->format == UDPAI_CLI_JSON) {
        udpai_ctl_put_explained_json(&out, explained);
        if (udpai_ctl_options_of(options)->is_following)
            join_lines(&out);
        result = udpai_cli_print_json(options, &out);
    } else {
        udpai_ctl_put_explained(&out, &layout, explained, udpai_wall_us());
        result = udpai_cli_print_tables(&layout, &out);
    }
    if (result != UDPAI_CLI_GOOD)
        return result;
    return udpai_ctl_explained_is_served(explained) ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
explain_once(udpai_cli *cli, udpai_cli_requests *requests)
{
    udpai_ctl_explained explained = {.client = udpai_ctl_options_of(cli->options)->client};
    udpai_cli_exit result = ask(cli, requests, &explained);
    if (result == UDPAI_CLI_GOOD)
        result = show(cli, &explained);
    udpai_ctl_explained_done(&explained);
    return result;
}

/* ---- following ---- */

#define ASK_AGAIN_S 1

static volatile sig_atomic_t is_interrupted;

static void
on_signal(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* Not while the loop of the connection has handlers of its own. */
static void
wait_a_while(void)
{
    const struct timespec time = {.tv_sec = ASK_AGAIN_S};
    if (!is_interrupted)
        (void)nanosleep(&time, NULL); /* a signal ends it */
}

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
show_if_changed(following *self, const udpai_cli *cli, const udpai_ctl_explained *explained)
{
    udpai_strbuf json = {0};
    udpai_ctl_put_explained_json(&json, explained);
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
    return result == UDPAI_CLI_REFUSED && !udpai_ctl_explained_is_served(explained) ? UDPAI_CLI_GOOD
                                                                                    : result;
}

static udpai_cli_exit
follow(udpai_cli *cli, udpai_cli_requests *requests)
{
    const struct sigaction action = {.sa_handler = on_signal};
    following self = {0};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    while (result == UDPAI_CLI_GOOD && !is_interrupted) {
        udpai_ctl_explained explained = {.client = udpai_ctl_options_of(cli->options)->client};
        result = ask(cli, requests, &explained);
        if (result == UDPAI_CLI_GOOD)
            result = show_if_changed(&self, cli, &explained);
        udpai_ctl_explained_done(&explained);
        if (self.shown && (result == UDPAI_CLI_NO_CONNECTION || result == UDPAI_CLI_TIMED_OUT)) {
            udpai_cli_disconnect(cli); /* that was reported, and the node may come back */
            result = udpai_cli_connect(cli);
        }
        if (result == UDPAI_CLI_GOOD)
            wait_a_while();
    }
    udpai_free(self.shown);
    return is_interrupted ? UDPAI_CLI_GOOD : result;
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
