/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/origins.h"

#include "base/alloc.h"
#include "cli/token.h"
#include "ctl/show.h"
#include "model/resource.h"
#include "model/type_url.h"
#include "session/origins_question.h"

/* So many are asked at a time: a node answers some thousands to all that ask. */
#define BATCH 1000

/* ---- which names ---- */

typedef struct question_list {
    UDPAI_VECTOR(char *) questions;
    char token[UDPAI_CLI_TOKEN_SIZE]; /* of this look */
} question_list;

static udpa_err
add_question(question_list *list, udpai_str type_url, udpai_str name)
{
    const udpai_origins_question question = {
        .token = udpai_str_from(list->token),
        .type_name = udpai_type_url_name(type_url),
        .name = name,
    };
    char *text = NULL;
    udpa_err err = udpai_origins_question_compose(&question, &text);
    if (err == UDPA_OK && udpai_vector_push(&list->questions, text))
        return UDPA_OK;
    if (err == UDPA_ERR_LIMIT) {
        udpai_cli_complain("'%.*s' is too long to be asked about", UDPAI_SHOWN(name));
        return UDPA_OK;
    }
    udpai_free(text);
    return UDPA_ERR_NOMEM;
}

/* What counts of no origin is found by its name alone. */
static udpa_err
add_requested(question_list *list, const udpai_cli_requests *requests, const udpai_cli_found *found)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < requests->n; i++)
        for (size_t k = 0; k < requests->items[i].names.n && err == UDPA_OK; k++) {
            udpai_str type_url = udpai_str_from(requests->items[i].type_url);
            udpai_str name = udpai_str_from(requests->items[i].names.items[k]);
            if (!udpai_cli_found_get(found, type_url, name))
                err = add_question(list, type_url, name);
        }
    return err;
}

static udpa_err
add_found(question_list *list, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    udpa_err err = resources ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; err == UDPA_OK && i < udpai_cli_found_size(found); i++)
        err = add_question(list, udpai_resource_type_url(resources[i]),
                           udpai_resource_name(resources[i]));
    return err;
}

/* ---- asking ---- */

static udpai_cli_exit
ask_batch(udpai_cli *cli, char *const *questions, size_t n, udpai_cli_found *answers)
{
    udpai_cli_requests requests = {0};
    udpai_cli_request *request = udpai_cli_requests_of_type(&requests, UDPAI_ORIGINS_TYPE);
    udpa_err err = request ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = udpai_cli_request_full_name(request, questions[i]);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    if (err == UDPA_OK)
        result = udpai_cli_collect_names(cli, &requests, answers);
    else
        udpai_cli_complain("%s", udpa_err_text(err));
    udpai_cli_requests_done(&requests);
    return result;
}

static udpai_cli_exit
ask(udpai_cli *cli, const question_list *list, udpai_cli_found *answers)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    size_t n_all = list->questions.n;
    for (size_t at = 0; at < n_all && result == UDPAI_CLI_GOOD; at += BATCH) {
        size_t n = n_all - at < BATCH ? n_all - at : BATCH;
        result = ask_batch(cli, list->questions.items + at, n, answers);
    }
    return result;
}

/* ---- showing ---- */

static udpai_cli_exit
show_table(const udpai_ctl_options *options, const udpai_cli_found *answers)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(answers);
    udpai_strbuf out = {.failed = !sorted};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    if (sorted)
        udpai_ctl_put_origins(&out, &layout, sorted, udpai_cli_found_size(answers));
    return udpai_cli_print_tables(&layout, &out);
}

/* Of what was requested by name, and no origin publishes. */
static bool
report_missing(const udpai_cli *cli, const udpai_cli_found *answers)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(answers);
    bool any = false;
    for (size_t i = 0; sorted && i < udpai_cli_found_size(answers); i++) {
        udpai_origins_question question;
        if (udpai_ctl_has_origins(sorted[i]) ||
            !udpai_origins_question_parse(udpai_resource_name(sorted[i]), &question))
            continue;
        any = true;
        udpai_cli_complain("no origin has a contribution to '%.*s' at %s",
                           UDPAI_SHOWN(question.name), udpai_cli_server(cli));
    }
    return any;
}

static udpai_cli_exit
show(const udpai_cli *cli, const udpai_cli_found *answers)
{
    bool is_table = cli->options->format == UDPAI_CLI_TABLE;
    bool is_missing = report_missing(cli, answers);
    udpai_cli_exit result = is_table ? show_table(udpai_ctl_options_of(cli->options), answers)
                                     : udpai_ctl_show(udpai_ctl_options_of(cli->options), answers);
    return is_missing ? UDPAI_CLI_REFUSED : result;
}

udpai_cli_exit
udpai_ctl_find_origins(udpai_cli *cli,
                       const udpai_cli_requests *requests,
                       const udpai_cli_found *found,
                       udpai_cli_found *answers)
{
    question_list list = {0};
    udpai_cli_choose_token(list.token);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    if (add_found(&list, found) != UDPA_OK || add_requested(&list, requests, found) != UDPA_OK)
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    else
        result = ask(cli, &list, answers);
    for (size_t i = 0; i < list.questions.n; i++)
        udpai_free(list.questions.items[i]);
    udpai_vector_done(&list.questions);
    return result;
}

udpai_cli_exit
udpai_ctl_show_origins(udpai_cli *cli,
                       const udpai_cli_requests *requests,
                       const udpai_cli_found *found)
{
    udpai_cli_found answers;
    udpai_cli_found_begin(&answers);
    udpai_cli_exit result = udpai_ctl_find_origins(cli, requests, found, &answers);
    if (result == UDPAI_CLI_GOOD)
        result = show(cli, &answers);
    udpai_cli_found_done(&answers);
    return result;
}
