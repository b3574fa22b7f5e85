/* SPDX-License-Identifier: Apache-2.0 */
/* client: what one client has, and what it should have. Nothing is computed for it: the node
 * reports it by CSDS, as it does to others, and has the resources themselves. */
#include "base/alloc.h"
#include "cli/caller.h"
#include "cli/collect.h"
#include "cli/names.h"
#include "cli/output.h"
#include "ctl/client_view.h"
#include "ctl/commands.h"
#include "loop/clock.h"
#include "xds/csds.h"

#define RESPONSES_MAX 1024 /* each of half a MiB at most */

typedef struct asking {
    const udpai_cli_options *options;
    udpai_caller *caller;
    udpai_peer peer;
    void *call;
} asking;

/* ---- CSDS ---- */

static udpai_cli_exit
out_of_memory(void)
{
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

/* Of the clients with this node id, without the resources themselves. */
static udpai_cli_exit
send_request(asking *self, const char *node_id)
{
    Envoy__Service__Status__V3__ClientStatusRequest request =
        ENVOY__SERVICE__STATUS__V3__CLIENT_STATUS_REQUEST__INIT;
    Envoy__Type__Matcher__V3__NodeMatcher matcher = ENVOY__TYPE__MATCHER__V3__NODE_MATCHER__INIT;
    Envoy__Type__Matcher__V3__NodeMatcher *matchers[] = {&matcher};
    Envoy__Type__Matcher__V3__StringMatcher id = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__INIT;
    id.match_pattern_case = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__MATCH_PATTERN_EXACT;
    id.exact = (char *)(uintptr_t)node_id;
    matcher.node_id = &id;
    request.n_node_matchers = 1;
    request.node_matchers = matchers;
    request.exclude_resource_contents = true;
    size_t size = envoy__service__status__v3__client_status_request__get_packed_size(&request);
    UDPAI_AUTO_FREE uint8_t *room = udpai_alloc(size);
    self->call = room ? self->peer.open(self->peer.self, UDPAI_CSDS_STREAM) : NULL;
    if (!self->call)
        return out_of_memory();
    (void)envoy__service__status__v3__client_status_request__pack(&request, room);
    self->peer.send(self->call, (udpai_str){(const char *)room, size});
    self->peer.end(self->call);
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
end_of(const asking *self)
{
    udpai_call_status status = self->peer.status(self->call);
    udpa_err err = udpa_err_from_grpc(status.code);
    if (err == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%s: %.*s%s", self->options->server, UDPAI_SHOWN(status.text),
                       err == UDPA_ERR_DENIED ? "; this takes a rule with the action ADMIN" : "");
    return err == UDPA_ERR_UNAVAILABLE ? UDPAI_CLI_NO_CONNECTION : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
receive(asking *self, udpai_ctl_client_state *state)
{
    while (state->responses.n < RESPONSES_MAX) {
        udpai_str message;
        udpai_received received =
            self->peer.receive(self->call, self->options->timeout_ms, &message);
        if (received == UDPAI_RECEIVED_END)
            return end_of(self);
        if (received == UDPAI_RECEIVED_NOTHING) {
            udpai_cli_complain(
                "no answer from %s within %g s; --timeout SECONDS has it wait longer",
                self->options->server, (double)self->options->timeout_ms / 1000);
            return UDPAI_CLI_TIMED_OUT;
        }
        udpa_err err = udpai_ctl_client_take(state, message);
        if (err != UDPA_OK) {
            udpai_cli_complain("the client status from %s cannot be read: %s",
                               self->options->server, udpa_err_text(err));
            return UDPAI_CLI_REFUSED;
        }
    }
    udpai_cli_complain("%s reports more than %d responses: give a TYPE, or a node id that fewer "
                       "clients have",
                       self->options->server, RESPONSES_MAX);
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
ask(const udpai_cli_options *options, udpai_ctl_client_state *state)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    asking self = {.options = options};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (udpai_caller_new(&self.caller, options, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    self.peer = udpai_caller_peer(self.caller);
    if (udpai_caller_connect(self.caller, options->timeout_ms, &error) != UDPA_OK) {
        udpai_cli_complain("%s: %s", options->server, udpa_error_message(error));
        result = UDPAI_CLI_NO_CONNECTION;
    }
    if (result == UDPAI_CLI_GOOD)
        result = send_request(&self, options->arguments.items[0]);
    if (result == UDPAI_CLI_GOOD)
        result = receive(&self, state);
    if (self.call)
        self.peer.close(self.call);
    udpai_caller_free(self.caller);
    return result;
}

/* ---- the resources ---- */

/* Where they are from. What is not certain is left out: a node that waits for a source does not
 * report what it does not have. */
static udpai_cli_exit
look_up(udpai_cli *cli, udpai_ctl_client_state *state)
{
    udpai_cli_requests requests = {0};
    udpa_err err = udpai_ctl_client_request(state, &requests);
    udpai_cli_exit result = err == UDPA_OK ? UDPAI_CLI_GOOD : out_of_memory();
    if (result == UDPAI_CLI_GOOD && requests.n) {
        cli->is_quiet = cli->may_be_denied = true;
        result = udpai_cli_connect(cli);
        if (result == UDPAI_CLI_GOOD)
            (void)udpai_cli_collect(cli, &requests, &state->found);
    }
    udpai_cli_requests_done(&requests);
    return result;
}

static udpai_cli_exit
print(const udpai_cli_options *options, const udpai_ctl_client_state *state)
{
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(options);
    if (options->format == UDPAI_CLI_JSON) {
        udpai_ctl_client_put_json(state, &out);
        return udpai_cli_print_json(options, &out);
    }
    udpai_ctl_client_put(state, &layout, udpai_wall_us(), &out);
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
report_missing(const udpai_cli_options *options)
{
    udpai_cli_complain("%s serves no client with the node id '%s': 'udpactl clients' lists its "
                       "clients, and 'udpactl clients --tree' those of downstream nodes",
                       options->server, options->arguments.items[0]);
    return UDPAI_CLI_REFUSED;
}

udpai_cli_exit
udpai_ctl_client(udpai_cli *cli)
{
    const udpai_cli_options *options = cli->options;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *type_url = NULL;
    if (options->arguments.n < 1 || options->arguments.n > 2) {
        udpai_cli_complain(
            "client takes a node id, and perhaps a type: udpactl client NODE [TYPE]");
        return UDPAI_CLI_MISTAKE;
    }
    if (options->arguments.n == 2 &&
        udpai_cli_type_url(options->arguments.items[1], &type_url, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_ctl_client_state state;
    udpai_ctl_client_begin(&state);
    state.type_url = type_url;
    state.name_space = udpai_cli_namespace(options);
    state.lists_all = udpai_ctl_options_of(options)->lists_all;
    udpai_cli_exit result = ask(options, &state);
    if (result == UDPAI_CLI_GOOD && !udpai_ctl_client_is_known(&state))
        result = report_missing(options);
    if (result == UDPAI_CLI_GOOD)
        result = look_up(cli, &state);
    if (result == UDPAI_CLI_GOOD)
        result = print(options, &state);
    udpai_ctl_client_done(&state);
    return result;
}
