/* SPDX-License-Identifier: Apache-2.0 */
/* sources accept: what a source does not name any more, and its node holds, is meant to be removed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "codec/json_text.h"
#include "ctl/commands.h"
#include "ctl/http.h"

#define GOOD 200

static udpai_cli_exit
print_answer(const udpai_ctl_options *options, const char *name, const udpai_ctl_answer *answer)
{
    udpai_strbuf words = {0};
    if (answer->status != GOOD)
        return udpai_ctl_http_refused(options, answer, "");
    udpai_ctl_answer_words(answer, &words);
    if (options->as_source)
        udpai_cli_print_line(
            "%s: what it does not have was removed; downstream nodes that hold it are notified",
            name);
    else
        udpai_cli_print_line("%s: %s removals accepted", name, words.len ? words.data : "no");
    udpai_strbuf_done(&words);
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
accept_absences(const udpai_ctl_options *options, const char *name)
{
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    udpai_strbuf_puts(&body, "{\"name\": ");
    udpai_json_put_string(&body, udpai_str_from(name));
    udpai_strbuf_puts(&body, options->as_source ? ", \"as_source\": true}" : "}");
    udpai_cli_exit result = udpai_strbuf_failed(&body)
                                ? UDPAI_CLI_REFUSED
                                : udpai_ctl_http_ask(options, "/sources_accept", &body, &answer);
    if (udpai_strbuf_failed(&body))
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    else if (result == UDPAI_CLI_GOOD)
        result = print_answer(options, name, &answer);
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result;
}

udpai_cli_exit
udpai_ctl_sources_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (options->common.arguments.n < 2 ||
        strcmp(options->common.arguments.items[0], "accept") != 0) {
        udpai_cli_complain("write 'udpactl sources accept NAME...'; 'udpactl status sources' shows "
                           "what is held of which");
        return UDPAI_CLI_MISTAKE;
    }
    for (size_t i = 1; i < options->common.arguments.n && result == UDPAI_CLI_GOOD; i++)
        result = accept_absences(options, options->common.arguments.items[i]);
    return result;
}
