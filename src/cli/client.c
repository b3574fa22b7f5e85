/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, waiting, and giving up. A connection that fails at first ends the program at once,
 * because its caller needs to know; what is lost later is tried again until the timeout. */
#include "cli/client.h"

#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "endpoint/host.h"
#include "federation/node.h"
#include "model/server_list.h"
#include "model/types.h"

#define LOOK_MS 20

/* ---- waiting ---- */

void
udpai_cli_finish(udpai_cli *cli, udpai_cli_exit result)
{
    if (cli->is_finished)
        return;
    cli->is_finished = true;
    cli->result = result;
    uv_stop(&cli->loop);
}

/* Of servers that have failed while others are tried. */
static const udpa_error *
fault(const udpai_cli *cli)
{
    return cli->endpoint ? udpai_node_source_fault(udpai_endpoint_node(cli->endpoint),
                                                   udpai_str_from(UDPAI_CLI_SOURCE))
                         : NULL;
}

static void
note_fault(udpai_cli *cli)
{
    const udpa_error *error = fault(cli);
    if (error && error != cli->last_fault && cli->options->is_verbose)
        udpai_cli_note("%s", udpa_error_message(error));
    cli->last_fault = error;
}

/* A command may have several connections: the next one begins where the last one was. */
static void
note_server(udpai_cli *cli)
{
    const char *server =
        cli->endpoint ? udpa_endpoint_source_server(cli->endpoint, UDPAI_CLI_SOURCE) : NULL;
    note_fault(cli);
    cli->was_reached |= server != NULL;
    if (!server || (cli->server && strcmp(server, cli->server) == 0))
        return;
    udpai_free(cli->server);
    cli->server = udpai_strdup(server);
    if (cli->options->is_verbose)
        udpai_cli_note("connected to %s", server);
}

const char *
udpai_cli_server(const udpai_cli *cli)
{
    return cli->server ? cli->server : cli->options->server;
}

void
udpai_cli_answered(udpai_cli *cli)
{
    note_server(cli);
    cli->has_answered = true;
    if (cli->is_lasting)
        uv_timer_stop(&cli->deadline);
}

static const udpa_error *
source_error(const udpai_cli *cli)
{
    return cli->endpoint ? udpa_endpoint_source_error(cli->endpoint, UDPAI_CLI_SOURCE) : NULL;
}

/* That it may not know why it waits is no failure of what was asked for. A denial names the type.
 */
static bool
is_of_why(const udpai_cli *cli, const udpa_error *error)
{
    return error && cli->is_asked_why && udpa_error_code(error) == UDPA_ERR_DENIED &&
           strstr(udpa_error_message(error), UDPAI_TYPE_NAME(UDPAI_TYPE_NODE_STATUS));
}

/* It has asked to connect again, where another process, or another node, may be by now. */
static bool
is_of_drain(const udpa_error *error)
{
    return udpa_error_code(error) == UDPA_ERR_UNAVAILABLE &&
           strstr(udpa_error_message(error), "draining: connect again");
}

static const udpa_error *
failure(const udpai_cli *cli)
{
    const udpa_error *error = source_error(cli);
    return is_of_why(cli, error) ? NULL : error;
}

static void
complain_of_connection(const udpai_cli_options *options, const udpa_error *error)
{
    udpai_cli_complain_of(error);
    udpai_cli_note("The node's address is given by --server HOST:PORT[,HOST:PORT...], the "
                   "environment variable UDPACTL_SERVER, or a context%s.",
                   options->ca ? "" : "; --ca FILE makes it TLS");
    udpai_cli_note_origins(options, 1u << UDPAI_CLI_SERVER | 1u << UDPAI_CLI_CA);
}

static void
fail_to_connect(udpai_cli *cli, const udpa_error *error)
{
    if (!cli->is_quiet)
        complain_of_connection(cli->options, error);
    udpai_cli_finish(cli, UDPAI_CLI_NO_CONNECTION);
}

/* There is no use in waiting for what is not for us. */
static void
end_denied(udpai_cli *cli, const udpa_error *error)
{
    if (!cli->may_be_denied)
        udpai_cli_complain("%s: %s", udpai_cli_server(cli), udpa_error_message(error));
    udpai_cli_finish(cli, cli->may_be_denied ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED);
}

void
udpai_cli_answered_all(udpai_cli *cli)
{
    const udpa_error *error = failure(cli);
    if (error && error != cli->last_error && udpa_error_code(error) == UDPA_ERR_DENIED)
        end_denied(cli, error);
    else
        udpai_cli_finish(cli, UDPAI_CLI_GOOD);
}

void
udpai_cli_complain_of_silence(const udpai_cli *cli)
{
    const udpa_error *error = source_error(cli);
    udpai_cli_complain("%s: %s", udpai_cli_server(cli),
                       error ? udpa_error_message(error) : "it does not answer this");
}

/* A publication whose receipt did not come is published again, unless nobody can be reached: then
 * nothing better can come. */
static bool
is_tried_again(udpai_cli *cli)
{
    bool was_reached = cli->was_reached;
    cli->was_reached = false;
    return cli->is_lasting ? cli->has_answered : cli->is_publishing && was_reached;
}

static void
on_look(uv_timer_t *timer)
{
    udpai_cli *cli = timer->data;
    const udpa_error *error = failure(cli);
    note_server(cli);
    cli->has_answered |= is_of_why(cli, source_error(cli));
    if (!error || error == cli->last_error)
        return;
    cli->last_error = error;
    if (udpa_error_code(error) == UDPA_ERR_DENIED)
        end_denied(cli, error);
    else if (is_tried_again(cli))
        udpai_cli_complain("%s (trying again)", udpa_error_message(error));
    else if (!cli->has_answered && !is_of_drain(error))
        fail_to_connect(cli, error);
}

static void
complain_of_deadline(const udpai_cli *cli, const udpa_error *error)
{
    double seconds = (double)cli->waits_ms / 1000;
    if (cli->has_answered && !error)
        udpai_cli_complain("%s has not synchronized within %g s: it waits for %s itself ('udpactl "
                           "status' shows more); --timeout SECONDS waits longer",
                           udpai_cli_server(cli), seconds,
                           cli->waits_for ? cli->waits_for : "others");
    else
        udpai_cli_complain("no answer from %s within %g s%s%s", udpai_cli_server(cli), seconds,
                           error ? ": " : "; --timeout SECONDS has it wait longer",
                           error ? udpa_error_message(error) : "");
}

static void
on_deadline(uv_timer_t *timer)
{
    udpai_cli *cli = timer->data;
    const udpa_error *error = failure(cli);
    if (!error && !udpa_endpoint_source_server(cli->endpoint, UDPAI_CLI_SOURCE))
        error = fault(cli);
    if (!cli->is_quiet)
        complain_of_deadline(cli, error);
    udpai_cli_finish(cli, error ? UDPAI_CLI_NO_CONNECTION : UDPAI_CLI_TIMED_OUT);
}

static udpai_cli_exit
wait_for(udpai_cli *cli, uint64_t ms)
{
    cli->waits_ms = ms;
    uv_timer_start(&cli->deadline, on_deadline, ms, 0);
    while (!cli->is_finished)
        uv_run(&cli->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&cli->deadline);
    cli->is_finished = false;
    return cli->result;
}

udpai_cli_exit
udpai_cli_wait(udpai_cli *cli)
{
    return wait_for(cli, cli->options->timeout_ms);
}

udpai_cli_exit
udpai_cli_wait_receipt(udpai_cli *cli)
{
    cli->is_publishing = true;
    udpai_cli_exit result = wait_for(cli, cli->options->receipt_timeout_ms);
    cli->is_publishing = false;
    return result;
}

static void
on_signal(uv_signal_t *handle, int number)
{
    udpai_cli *cli = handle->data;
    (void)number;
    udpai_cli_finish(cli, cli->on_signal);
}

static udpai_cli_exit
wait_lasting(udpai_cli *cli, udpai_cli_exit on_signals)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    cli->is_lasting = true;
    cli->on_signal = on_signals;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        uv_signal_start(&cli->signals[i], on_signal, numbers[i]);
    udpai_cli_exit result = udpai_cli_wait(cli);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        uv_signal_stop(&cli->signals[i]);
    cli->is_lasting = false;
    return result;
}

udpai_cli_exit
udpai_cli_wait_long(udpai_cli *cli)
{
    return wait_lasting(cli, UDPAI_CLI_GOOD);
}

udpai_cli_exit
udpai_cli_wait_until(udpai_cli *cli)
{
    return wait_lasting(cli, UDPAI_CLI_TIMED_OUT);
}

/* ---- beginning and ending ---- */

udpai_cli_exit
udpai_cli_begin(udpai_cli *cli, const udpai_cli_options *options)
{
    *cli = (udpai_cli){.options = options};
    int number = uv_loop_init(&cli->loop);
    if (number != 0) {
        udpai_cli_complain("cannot make an event loop: %s", uv_strerror(number));
        return UDPAI_CLI_NO_CONNECTION;
    }
    uv_timer_init(&cli->loop, &cli->look);
    uv_timer_init(&cli->loop, &cli->deadline);
    uv_timer_init(&cli->loop, &cli->patience);
    cli->look.data = cli->deadline.data = cli;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cli->signals); i++) {
        uv_signal_init(&cli->loop, &cli->signals[i]);
        cli->signals[i].data = cli;
    }
    return UDPAI_CLI_GOOD;
}

static void
on_closed(void *userdata)
{
    udpai_cli *cli = userdata;
    cli->endpoint = NULL;
    uv_stop(&cli->loop);
}

void
udpai_cli_disconnect(udpai_cli *cli)
{
    uv_timer_stop(&cli->look);
    if (!cli->endpoint)
        return;
    note_server(cli);
    udpa_endpoint_close(cli->endpoint, on_closed, cli);
    while (cli->endpoint) /* until on_closed: other handles may stop the loop too */
        uv_run(&cli->loop, UV_RUN_DEFAULT);
}

/* Those that were given, from the one that was connected last. NULL without memory. */
static char *
order_servers(const udpai_cli *cli)
{
    udpai_str list = udpai_str_from(cli->options->server);
    size_t n = udpai_server_list_size(list), first = 0;
    udpai_strbuf text = {0};
    for (size_t i = 0; cli->server && i < n; i++)
        if (udpai_str_eq(udpai_server_list_at(list, i), udpai_str_from(cli->server)))
            first = i;
    udpai_strbuf_str(&text, udpai_server_list_at(list, first));
    for (size_t i = 1; i < n; i++) {
        udpai_strbuf_putc(&text, ',');
        udpai_strbuf_str(&text, udpai_server_list_at(list, (first + i) % n));
    }
    return udpai_strbuf_take(&text);
}

udpai_cli_exit
udpai_cli_connect(udpai_cli *cli)
{
    const udpai_cli_options *options = cli->options;
    udpa_tls tls = UDPA_TLS_INIT;
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options endpoint = UDPA_ENDPOINT_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_disconnect(cli);
    UDPAI_AUTO_FREE char *servers = order_servers(cli);
    tls.ca_file = options->ca;
    tls.certificate_file = options->certificate;
    tls.private_key_file = options->key;
    tls.server_name = options->server_name;
    udpa_xds_server xds = UDPA_XDS_SERVER_INIT;
    xds.authority = options->server;
    xds.name_space = udpai_cli_namespace(options);
    xds.is_state_of_the_world = options->is_state_of_the_world;
    source.xds = options->is_xds && !cli->rest ? &xds : NULL;
    source.rest = cli->rest;
    source.name = UDPAI_CLI_SOURCE;
    source.address = servers ? servers : options->server;
    source.tls = options->ca ? &tls : NULL;
    endpoint.node_id = options->node_id;
    endpoint.secrets = options->secrets;
    endpoint.sources = &source;
    endpoint.n_sources = 1;
    if (udpa_endpoint_new(&cli->endpoint, &cli->loop, &endpoint, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        udpai_cli_note_origins(options, UDPAI_CLI_ALL_SETTINGS);
        return UDPAI_CLI_MISTAKE;
    }
    cli->has_answered = cli->was_reached = false;
    cli->last_error = cli->last_fault = NULL;
    uv_timer_start(&cli->look, on_look, LOOK_MS, LOOK_MS);
    return UDPAI_CLI_GOOD;
}

void
udpai_cli_end(udpai_cli *cli)
{
    udpai_cli_disconnect(cli);
    udpai_free(cli->server);
    uv_close((uv_handle_t *)&cli->look, NULL);
    uv_close((uv_handle_t *)&cli->deadline, NULL);
    uv_close((uv_handle_t *)&cli->patience, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cli->signals); i++)
        uv_close((uv_handle_t *)&cli->signals[i], NULL);
    uv_run(&cli->loop, UV_RUN_DEFAULT);
    uv_loop_close(&cli->loop);
}
