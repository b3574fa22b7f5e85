/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl get: the resources of a node, as a table or as text. */
#include "base/alloc.h"
#include "cli/collect.h"
#include "cli/names.h"
#include "cli/node_status.h"
#include "ctl/commands.h"
#include "ctl/origins.h"
#include "ctl/show.h"
#include "ctl/waits.h"

static udpai_cli_exit
find_requests(udpai_cli *cli, udpai_cli_requests *requests)
{
    return cli->options->arguments.n ? udpai_cli_request_of_arguments(cli->options, requests)
                                     : udpai_cli_request_all_types(cli, requests);
}

/* An empty table has nothing; this goes where it disturbs no program that reads the output. */
static void
report_nothing(udpai_cli *cli, const udpai_cli_requests *requests)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_str kind = UDPAI_STR("resource");
    const char *name_space = options->common.name_space;
    UDPAI_AUTO_FREE char *waits = udpai_ctl_find_waits(cli, requests);
    if (options->common.arguments.n)
        kind = udpai_str_from(options->common.arguments.items[0]);
    if (waits && *waits)
        udpai_cli_complain("%s has no %.*s%s%s, but it waits for %s itself, so there may be one: "
                           "ask again when 'udpactl status' shows nothing pending",
                           options->common.server, (int)kind.len, kind.data,
                           name_space ? " in namespace " : "", name_space ? name_space : "", waits);
    else
        udpai_cli_complain("there is no %.*s at %s%s%s", (int)kind.len, kind.data,
                           options->common.server, name_space ? " in namespace " : "",
                           name_space ? name_space : "");
}

/* Of those that have not come in time. */
static void
report_unknown(const udpai_cli *cli,
               const udpai_cli_requests *requests,
               const udpai_cli_found *found)
{
    for (size_t i = 0; i < requests->n; i++) {
        const udpai_cli_request *request = &requests->items[i];
        udpai_str type_url = udpai_str_from(request->type_url);
        udpai_str kind = udpai_cli_type_short(type_url);
        for (size_t k = 0; k < request->names.n; k++)
            if (!udpai_cli_found_get(found, type_url, udpai_str_from(request->names.items[k])))
                udpai_cli_complain("whether there is a %.*s '%s' is not known at %s",
                                   UDPAI_SHOWN(kind), request->names.items[k],
                                   udpai_cli_server(cli));
    }
}

/* ---- what is in another namespace ---- */

#define ELSEWHERE_MAX 3

/* The id of a name in the namespace that was meant; empty: it was given another. */
static udpai_str
id_of(const char *name, const char *name_space)
{
    udpai_str before, rest = udpai_str_from(name);
    bool is_in =
        udpai_str_cut(&rest, '/', &before) && udpai_str_eq(before, udpai_str_from(name_space));
    return is_in ? rest : (udpai_str){0};
}

static void
report_elsewhere(const udpai_cli_found *all, udpai_str id)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(all);
    size_t n_listed = 0;
    for (size_t i = 0; sorted && i < udpai_cli_found_size(all) && n_listed < ELSEWHERE_MAX; i++) {
        udpai_str type = udpai_cli_type_short(udpai_str_from(udpa_resource_type_url(sorted[i])));
        if (!udpai_cli_has_id(sorted[i], id))
            continue;
        n_listed++;
        udpai_cli_complain("there is the %.*s '%s': write its whole name, or its namespace (-n)",
                           UDPAI_SHOWN(type), udpa_resource_name(sorted[i]));
    }
}

/* Asks for the type in all namespaces, if a name was written without one and is not there. */
static void
look_elsewhere(udpai_cli *cli, const udpai_cli_request *request, const udpai_cli_found *found)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_str type_url = udpai_str_from(request->type_url);
    udpai_cli_requests requests = {0};
    udpai_cli_found all;
    bool has_looked = false;
    udpai_cli_found_begin(&all);
    for (size_t i = 0; i < request->names.n; i++) {
        const char *name = request->names.items[i];
        udpai_str id = id_of(name, udpai_cli_namespace(&options->common));
        if (id.len == 0 || udpai_cli_found_get(found, type_url, udpai_str_from(name)))
            continue;
        if (!has_looked && (!udpai_cli_requests_add(&requests, udpai_strdup(request->type_url)) ||
                            udpai_cli_collect(cli, &requests, &all) != UDPAI_CLI_GOOD))
            break;
        has_looked = true;
        report_elsewhere(&all, id);
    }
    udpai_cli_found_done(&all);
    udpai_cli_requests_done(&requests);
}

static udpai_cli_exit
show(udpai_cli *cli, const udpai_cli_requests *requests, const udpai_cli_found *found)
{
    bool is_empty = udpai_cli_found_size(found) == 0;
    bool is_missing = udpai_cli_report_missing(cli, requests, found);
    for (size_t i = 0; is_missing && !cli->options->is_xds && i < requests->n; i++)
        if (!cli->options->name_space && !udpai_cli_is_status(requests->items[i].type_url))
            look_elsewhere(cli, &requests->items[i], found);
    bool is_text = cli->options->format == UDPAI_CLI_TABLE;
    if (is_empty && !is_missing)
        report_nothing(cli, requests);
    udpai_cli_exit result = is_empty && is_text
                                ? UDPAI_CLI_GOOD
                                : udpai_ctl_show(udpai_ctl_options_of(cli->options), found);
    return is_missing ? UDPAI_CLI_REFUSED : result;
}

udpai_cli_exit
udpai_ctl_get(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = find_requests(cli, &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, &requests, &found);
    udpai_cli_requests_decide(&requests, &found);
    if (result == UDPAI_CLI_TIMED_OUT && cli->has_answered)
        report_unknown(cli, &requests, &found);
    if (result == UDPAI_CLI_GOOD && udpai_ctl_options_of(cli->options)->all_origins)
        result = udpai_ctl_show_origins(cli, &requests, &found);
    else if (result == UDPAI_CLI_GOOD)
        result = show(cli, &requests, &found);
    else if (result == UDPAI_CLI_TIMED_OUT && udpai_cli_found_size(&found)) {
        udpai_cli_exit result_of_all = udpai_ctl_show(udpai_ctl_options_of(cli->options), &found);
        if (udpai_ctl_options_of(cli->options)
                ->is_all) { /* a node that holds something is not synchronized */
            udpai_cli_complain("this is what %s serves now", udpai_cli_server(cli));
            result = result_of_all;
        } /* else: what has come is better than nothing */
    }
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}
