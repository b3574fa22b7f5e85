/* SPDX-License-Identifier: Apache-2.0 */
/* apply: files are read whole before anything is published. */
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/publish.h"
#include "ctl/validate.h"
#include "ctl/wait.h"
#include "model/resource.h"

/* A signature is of contents, and so is a version that is their hash: of what keeps its version.
 * Nodes would report no more than that the signature is wrong. */
static bool
is_changed(const udpa_resource *resource)
{
    char hash[UDPAI_CONTENT_HASH_HEX];
    udpai_str version = udpai_resource_version(resource);
    if (udpa_resource_generation(resource) == 0 || version.len != sizeof(hash))
        return false;
    udpai_resource_content_hex(resource, hash);
    return memcmp(version.data, hash, sizeof(hash)) != 0;
}

static udpai_cli_exit
check_signed(const udpai_ctl_input *input)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *resource = input->resources.items[i];
        if (!is_changed(resource))
            continue;
        bool is_signed = udpai_resource_signature(resource) != NULL;
        udpai_cli_complain("%s: '%s' is not what %s version, and in origin_info generation%s",
                           input->places.items[i], udpa_resource_name(resource),
                           is_signed ? "was signed: sign it again ('udpactl sign'), or remove"
                                     : "has this version: remove",
                           is_signed ? " and signature" : "");
        result = UDPAI_CLI_MISTAKE;
    }
    return result;
}

udpai_cli_exit
udpai_ctl_apply(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    if (options->common.arguments.n || !options->files.n) {
        udpai_cli_complain("apply takes files: udpactl apply -f FILE (- is standard input)");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_ctl_input input;
    udpai_cli_exit result = udpai_ctl_input_read(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = check_signed(&input);
    if (result == UDPAI_CLI_GOOD && options->validates)
        result = udpai_ctl_validate_input(&input);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_publish(cli, input.resources.items, input.resources.n);
    if (result == UDPAI_CLI_GOOD && options->is_waiting)
        result = udpai_ctl_wait_for_applied(cli, input.resources.items, input.resources.n);
    udpai_ctl_input_done(&input);
    return result;
}
