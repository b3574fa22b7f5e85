/* SPDX-License-Identifier: Apache-2.0 */
/* auth can-i: what the node's rules allow a peer. */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/names.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "model/type_url.h"
#include "session/access_question.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__AccessStatus answer_message;

static const char usage[] = "write 'udpactl auth can-i PEER publish|subscribe|admin TYPE NAME "
                            "[AUTHORITY]'; PEER is a name in a certificate";

/* The name that asks; NULL: what is wrong was printed. */
static char *
compose(const udpai_cli_options *options, char **ret_type, udpai_cli_exit *ret_result)
{
    const char *const *words = options->arguments.items;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *name = NULL, *full = NULL;
    *ret_result = UDPAI_CLI_MISTAKE;
    if (options->arguments.n < 5 || options->arguments.n > 6 || strcmp(words[0], "can-i") != 0 ||
        !udpai_access_action(udpai_str_from(words[2]))) {
        udpai_cli_complain("%s", usage);
        return NULL;
    }
    if (udpai_cli_type_url(words[3], ret_type, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return NULL;
    }
    full = udpai_cli_full_name(words[4], options->name_space ? options->name_space : "local");
    const udpai_access_question question = {
        .action = udpai_access_action(udpai_str_from(words[2])),
        .type_name = udpai_type_url_name(udpai_str_from(*ret_type)),
        .peer = udpai_str_from(words[1]),
        .authority = udpai_str_from(options->arguments.n == 6 ? words[5] : ""),
        .name = udpai_str_from(full ? full : ""),
    };
    udpa_err err = full ? udpai_access_question_compose(&question, &name) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpai_cli_complain("%s", err == UDPA_ERR_LIMIT ? "that is too long for one question"
                                                       : udpa_err_text(err));
    udpai_free(full);
    return name;
}

static udpai_cli_exit
print_answer(const udpa_resource *answer)
{
    udpai_str bytes = udpai_resource_value(answer);
    answer_message *status =
        udpa__status__v1__access_status__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!status) {
        udpai_cli_complain("the node's answer cannot be read");
        return UDPAI_CLI_REFUSED;
    }
    bool is_allowed = status->allowed;
    if (!status->has_rules)
        udpai_cli_print_line("yes: the node has no rules, so every peer may do everything");
    else if (is_allowed)
        udpai_cli_print_line("yes: rule '%s' allows it", status->rule);
    else
        udpai_cli_print_line("no: %s%s", status->reason,
                             status->dry_run ? "; but this is a dry run, so it is not refused"
                                             : "");
    udpa__status__v1__access_status__free_unpacked(status, NULL);
    return is_allowed ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
ask(udpai_cli *cli, const char *question)
{
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    const udpa_resource *answer;
    udpai_cli_exit result = udpai_ctl_ask(cli, UDPAI_ACCESS_TYPE, question, &found, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = print_answer(answer);
    udpai_cli_found_done(&found);
    return result;
}

udpai_cli_exit
udpai_ctl_auth(udpai_cli *cli)
{
    char *type = NULL;
    udpai_cli_exit result;
    char *question = compose(cli->options, &type, &result);
    if (question)
        result = udpai_cli_connect(cli);
    if (question && result == UDPAI_CLI_GOOD)
        result = ask(cli, question);
    udpai_free(question);
    udpai_free(type);
    return result;
}
