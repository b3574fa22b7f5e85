/* SPDX-License-Identifier: Apache-2.0 */
/* bench: what a server can carry, this one or any other. */
#include <stdio.h>
#include <sys/resource.h>

#include "cli/caller.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "ctl/bench_progress.h"
#include "ctl/bench_view.h"
#include "ctl/commands.h"
#include "tools/bench/contents.h"
#include "tools/bench/spaces.h"

#define SPARE_FILES 100
#define DEFAULT_NAMESPACE "com.acme"

/* A connection is a file. */
static udpai_cli_exit
raise_files(size_t n)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= n + SPARE_FILES)
        return UDPAI_CLI_GOOD;
    rlim_t wanted = n + SPARE_FILES;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    if (limit.rlim_cur == wanted && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%zu connections take more files than this process may open (%llu): raise "
                       "the hard limit (ulimit -Hn), or give fewer --connections",
                       n, (unsigned long long)limit.rlim_max);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
exit_of(udpa_err err)
{
    switch (err) {
    case UDPA_OK:
        return UDPAI_CLI_GOOD;
    case UDPA_ERR_INVAL:
        return UDPAI_CLI_MISTAKE;
    case UDPA_ERR_UNAVAILABLE:
        return UDPAI_CLI_NO_CONNECTION;
    case UDPA_ERR_DEADLINE:
        return UDPAI_CLI_TIMED_OUT;
    default:
        return UDPAI_CLI_REFUSED;
    }
}

static udpai_cli_exit
show(const udpai_ctl_options *options, const udpai_load_options *load, udpai_load_figures *figures)
{
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    if (options->common.format == UDPAI_CLI_JSON)
        udpai_bench_put_json(&out, load, figures);
    else
        udpai_bench_put_text(&out, &layout, load, figures);
    return options->common.format == UDPAI_CLI_JSON ? udpai_cli_print_json(&options->common, &out)
                                                    : udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
complain(udpa_err err, const udpa_error *error)
{
    udpai_cli_complain_of(error);
    return exit_of(err);
}

static udpai_cli_exit
run(const udpai_ctl_options *options, udpai_load_options *load)
{
    udpai_load_figures figures;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_cli_progress_line_is_wanted())
        load->progress = udpai_bench_progress_show;
    udpa_err err = udpai_load_run(load, &figures, &error);
    udpai_cli_progress_line_clear();
    udpai_cli_exit result = err == UDPA_OK ? show(options, load, &figures) : complain(err, error);
    udpai_load_figures_done(&figures);
    return result;
}

/* The host of HOST:PORT is the name that its certificate must have. */
static const char *
server_name(const udpai_ctl_options *options, char room[256])
{
    const char *colon = strrchr(options->common.server, ':');
    if (options->common.server_name || !colon)
        return options->common.server_name;
    snprintf(room, 256, "%.*s", (int)(colon - options->common.server), options->common.server);
    return room;
}

/* What lies in the node's default namespace, its clients of xDS ask for without one. */
static void
choose_namespace(const udpai_ctl_options *options, udpai_load_options *load)
{
    const char *asked =
        options->common.name_space ? options->common.name_space : options->common.node_namespace;
    load->name_space = asked ? asked : DEFAULT_NAMESPACE;
    if (!options->common.name_space && asked && udpai_load_n_spaces(load) == 1)
        load->has_plain_names = true;
}

udpai_cli_exit
udpai_ctl_bench(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_load_options load = options->bench.load;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *type_url = NULL;
    char room[256];
    if (options->common.arguments.n) {
        udpai_cli_complain("bench takes no arguments");
        return UDPAI_CLI_MISTAKE;
    }
    if (udpai_cli_type_url(options->bench.type ? options->bench.type : "endpoint", &type_url,
                           &error) != UDPA_OK) {
        udpai_cli_complain("%s", udpa_error_message(error));
        return UDPAI_CLI_MISTAKE;
    }
    load.server = options->common.server;
    load.type_url = type_url;
    load.node_id = options->common.node_id;
    load.patience_ms = options->common.timeout_ms;
    choose_namespace(options, &load);
    load.tls = (udpai_load_tls){options->common.ca, options->common.certificate,
                                options->common.key, server_name(options, room)};
    if (options->bench.publishes)
        load.publish_to = options->common.server;
    udpa_err err = udpai_load_check(&load, &error);
    if (err != UDPA_OK)
        return complain(err, error);
    udpai_cli_exit result = raise_files(load.n_connections);
    return result == UDPAI_CLI_GOOD ? run(options, &load) : result;
}
