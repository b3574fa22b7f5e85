/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/default_namespace.h"

#include "base/alloc.h"
#include "cli/collect.h"
#include "cli/node_status.h"

static void
take(udpai_cli_options *options, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_cli_found_sorted(found);
    if (nodes && udpai_cli_found_size(found))
        options->node_namespace = udpai_cli_default_namespace_of(nodes[0]);
}

udpai_cli_exit
udpai_cli_find_namespace(udpai_cli *cli, udpai_cli_options *options)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD && udpai_cli_request_status("NodeStatus", &requests) == UDPA_OK) {
        cli->may_be_denied = cli->is_quiet = true;
        (void)udpai_cli_collect(cli, &requests, &found);
        cli->may_be_denied = cli->is_quiet = false;
    }
    udpai_cli_disconnect(cli);
    take(options, &found);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}
