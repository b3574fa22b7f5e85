/* SPDX-License-Identifier: Apache-2.0 */
/* completion: the script by which a shell completes the command line of udpactl. */
#include "cli/output.h"
#include "ctl/commands.h"
#include "ctl/completion_scripts.h"

udpai_cli_exit
udpai_ctl_completion(udpai_cli *cli)
{
    static const struct {
        const char *shell, *script;
    } all[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

    const udpai_cli_options *options = cli->options;
    udpai_strbuf out = {0};
    for (size_t i = 0; options->arguments.n == 1 && i < UDPAI_ARRAY_LEN(all); i++)
        if (strcmp(options->arguments.items[0], all[i].shell) == 0) {
            udpai_strbuf_puts(&out, all[i].script);
            return udpai_cli_print(&out);
        }
    udpai_cli_complain("completion takes the name of a shell: udpactl completion bash|zsh|fish");
    return UDPAI_CLI_MISTAKE;
}
