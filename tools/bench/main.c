/* SPDX-License-Identifier: Apache-2.0 */
/* udpa-bench: what a server can carry, a node of UDPA or any other. */
#include <stdio.h>
#include <sys/resource.h>

#include "cli/default_namespace.h"
#include "cli/messages.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/tool.h"
#include "tools/bench/contents.h"
#include "tools/bench/options.h"
#include "tools/bench/progress_line.h"
#include "tools/bench/spaces.h"
#include "tools/bench/view.h"

#define SPARE_FILES 100
#define DEFAULT_NAMESPACE "com.acme"

/* A connection is a file. */
static udpai_cli_exit
raise_files(size_t n)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= n + SPARE_FILES)
        return UDPAI_CLI_GOOD;
    rlim_t requested = n + SPARE_FILES;
    limit.rlim_cur = requested < limit.rlim_max ? requested : limit.rlim_max;
    if (limit.rlim_cur == requested && setrlimit(RLIMIT_NOFILE, &limit) == 0)
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
show(const udpai_cli_options *options, const udpai_load_options *load, udpai_load_figures *figures)
{
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(options);
    if (options->format == UDPAI_CLI_JSON)
        udpai_bench_put_json(&out, load, figures);
    else
        udpai_bench_put_text(&out, &layout, load, figures);
    return options->format == UDPAI_CLI_JSON ? udpai_cli_print_json(options, &out)
                                             : udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
complain(udpa_err err, const udpa_error *error)
{
    udpai_cli_complain_of(error);
    return exit_of(err);
}

static udpai_cli_exit
run(const udpai_cli_options *options, udpai_load_options *load)
{
    udpai_load_figures figures;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_cli_progress_line_is_enabled())
        load->progress = udpai_bench_progress_show;
    udpa_err err = udpai_load_run(load, &figures, &error);
    udpai_cli_progress_line_clear();
    udpai_cli_exit result = err == UDPA_OK ? show(options, load, &figures) : complain(err, error);
    udpai_load_figures_done(&figures);
    return result;
}

/* The host of HOST:PORT is the name that its certificate must have. */
static const char *
server_name(const udpai_cli_options *options, char room[256])
{
    const char *colon = strrchr(options->server, ':');
    if (options->server_name || !colon)
        return options->server_name;
    snprintf(room, 256, "%.*s", (int)(colon - options->server), options->server);
    return room;
}

/* What lies in the node's default namespace, its clients of xDS ask for without one. */
static void
choose_namespace(const udpai_cli_options *options, udpai_load_options *load)
{
    const char *asked = options->name_space ? options->name_space : options->node_namespace;
    load->name_space = asked ? asked : DEFAULT_NAMESPACE;
    if (!options->name_space && asked && udpai_load_n_spaces(load) == 1)
        load->has_plain_names = true;
}

/* Where a node itself has the names without a namespace, it is asked. */
static udpai_cli_exit
find_namespace(udpai_bench_options *options)
{
    udpai_cli cli;
    if (options->common.name_space ||
        !(options->publishes || options->load.protocol == UDPAI_LOAD_UDPA))
        return UDPAI_CLI_GOOD;
    udpai_cli_exit result = udpai_cli_begin(&cli, &options->common);
    if (result != UDPAI_CLI_GOOD)
        return result;
    result = udpai_cli_find_namespace(&cli, &options->common);
    udpai_cli_end(&cli);
    return result;
}

/* What is given with the load, of what is common. */
static void
fill_load(const udpai_bench_options *given, udpai_load_options *load, char room[256])
{
    const udpai_cli_options *options = &given->common;
    load->server = options->server;
    load->node_id = options->node_id;
    load->patience_ms = options->timeout_ms;
    choose_namespace(options, load);
    load->tls = (udpai_load_tls){options->ca, options->certificate, options->key,
                                 server_name(options, room)};
    if (given->publishes)
        load->publish_to = options->server;
}

static udpai_cli_exit
bench(udpai_bench_options *options)
{
    udpai_load_options load = options->load;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *type_url = NULL;
    char room[256];
    udpai_cli_exit result = find_namespace(options);
    if (result != UDPAI_CLI_GOOD)
        return result;
    if (options->common.arguments.n) {
        udpai_cli_complain("bench takes no arguments");
        return UDPAI_CLI_MISTAKE;
    }
    if (udpai_cli_type_url(options->type ? options->type : "endpoint", &type_url, &error) !=
        UDPA_OK) {
        udpai_cli_complain("%s", udpa_error_message(error));
        return UDPAI_CLI_MISTAKE;
    }
    fill_load(options, &load, room);
    load.type_url = type_url;
    udpa_err err = udpai_load_check(&load, &error);
    if (err != UDPA_OK)
        return complain(err, error);
    result = raise_files(load.n_connections);
    return result == UDPAI_CLI_GOOD ? run(&options->common, &load) : result;
}

int
main(int argc, char **argv)
{
    udpai_bench_options options;
    if (!udpai_cli_program_begin())
        return UDPAI_CLI_REFUSED; /* and there may be nowhere to print it */
    udpai_bench_options_parse(&options, argc, argv);
    udpai_cli_exit result = bench(&options);
    udpai_cli_options_done(&options.common);
    return result;
}
