/* SPDX-License-Identifier: Apache-2.0 */
/* config: the configuration that a node runs with, as its page /config has it. */
#include "cli/display.h"
#include "cli/output.h"
#include "ctl/commands.h"
#include "ctl/page.h"

udpai_cli_exit
udpai_ctl_config(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_answer answer;
    udpai_strbuf out = {0};
    bool is_json = options->common.format == UDPAI_CLI_JSON;
    if (options->common.arguments.n) {
        udpai_cli_complain("config takes no arguments but the words of context: udpactl config [-o "
                           "json], config use "
                           "NAME");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result =
        udpai_ctl_page_fetch(options, is_json ? "/config?format=json" : "/config", &answer);
    if (result == UDPAI_CLI_GOOD) {
        udpai_cli_put_lines(&out, udpai_strbuf_view(&answer.text));
        out.failed |= udpai_strbuf_failed(&answer.text);
        result = is_json ? udpai_cli_print_json(&options->common, &out) : udpai_cli_print(&out);
    }
    udpai_ctl_answer_done(&answer);
    return result;
}
