/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl status: a node, its sources, its replicas and its sessions. */
#include <stdio.h>

#include "cli/collect.h"
#include "cli/node_status.h"
#include "ctl/commands.h"
#include "ctl/own_session.h"
#include "ctl/show.h"
#include "ctl/status_view.h"
#include "loop/clock.h"

static udpai_cli_exit
find_requests(const udpai_ctl_options *options, udpai_cli_requests *requests)
{
    static const struct {
        const char *word, *kind;
    } parts[] = {{NULL, "NodeStatus"},
                 {"sources", "SourceStatus"},
                 {"replicas", "ReplicaStatus"},
                 {"sessions", "SessionStatus"}};

    const char *word = options->common.arguments.n == 1 ? options->common.arguments.items[0] : NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts) && err == UDPA_OK; i++)
        if (options->common.arguments.n == 0 ||
            (word && parts[i].word && !strcmp(word, parts[i].word)))
            err = udpai_cli_request_status(parts[i].kind, requests);
    if (err != UDPA_OK) {
        udpai_cli_complain("%s", udpa_err_text(err));
        return UDPAI_CLI_REFUSED;
    }
    if (requests->n)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain(
        "status takes 'sources', 'replicas' or 'sessions', or nothing: udpactl status sources");
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
show_tables(const udpai_ctl_options *options, const udpai_cli_found *found, size_t n_hidden)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n = resources ? udpai_cli_found_size(found) : 0;
    udpai_strbuf out = {.failed = !resources};
    int64_t now_us = udpai_wall_us();
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    udpai_ctl_put_nodes(&out, &layout, resources, n, n_hidden, now_us);
    udpai_ctl_put_sources(&out, &layout, resources, n, now_us);
    udpai_ctl_put_replicas(&out, &layout, resources, n, now_us);
    udpai_ctl_put_sessions(&out, &layout, resources, n, now_us);
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
show(const udpai_ctl_options *options,
     const udpai_cli_requests *asked,
     udpai_cli_found *found,
     int64_t begun_us)
{
    size_t n_hidden = 0;
    if (!options->with_own_session)
        n_hidden = udpai_ctl_hide_own_session(found, options->common.node_id, asked, begun_us);
    return options->common.format == UDPAI_CLI_TABLE ? show_tables(options, found, n_hidden)
                                                     : udpai_ctl_show(options, found);
}

udpai_cli_exit
udpai_ctl_status(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    int64_t begun_us = udpai_wall_us();
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = find_requests(udpai_ctl_options_of(cli->options), &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, &requests, &found);
    if (result == UDPAI_CLI_GOOD)
        result = show(udpai_ctl_options_of(cli->options), &requests, &found, begun_us);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}
