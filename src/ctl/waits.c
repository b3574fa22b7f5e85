/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/waits.h"

#include "base/alloc.h"
#include "cli/node_status.h"

char *
udpai_ctl_find_waits(udpai_cli *cli, const udpai_cli_requests *requests)
{
    udpai_cli_requests status = {0};
    udpai_cli_found found;
    udpai_strbuf text = {0};
    udpai_cli_found_begin(&found);
    if (!cli->options->is_xds && udpai_cli_request_status("NodeStatus", &status) == UDPA_OK)
        (void)udpai_cli_collect(cli, &status, &found);
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_cli_found_sorted(&found);
    for (size_t i = 0; nodes && i < udpai_cli_found_size(&found); i++)
        udpai_cli_put_waits_for(&text, nodes[i], requests);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&status);
    return udpai_strbuf_take(&text);
}
