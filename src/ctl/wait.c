/* SPDX-License-Identifier: Apache-2.0 */
/* Each resource is a question to the node, asked by subscribing to its name; answers come as long
 * as it is subscribed to, until all are as they should be. */
#include "ctl/wait.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/collect.h"
#include "cli/names.h"
#include "cli/progress_line.h"
#include "cli/token.h"
#include "ctl/awaited_view.h"
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/show.h"
#include "loop/clock.h"
#include "session/acknowledgement.h"

typedef struct waiting {
    udpai_cli *cli;
    udpai_cli_awaited_list list;
    bool needs_subscribers; /* to be good */
} waiting;

static void
begin(waiting *self, udpai_cli *cli)
{
    *self = (waiting){.cli = cli};
    udpai_cli_choose_token(self->list.token);
    self->list.node_id = cli->options->node_id;
    self->list.at_least = udpai_ctl_options_of(cli->options)->at_least;
}

static void
done(waiting *self)
{
    udpai_cli_awaited_done(&self->list);
}

/* ---- what to wait for ---- */

static udpai_cli_exit
add(waiting *self, const char *type_url, const char *name, const char *version)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_cli_awaited_add(&self->list, type_url, name, version, &error) == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain_of(error);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
add_resources(waiting *self, udpa_resource *const *resources, size_t n, bool with_version)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < n && result == UDPAI_CLI_GOOD; i++)
        result = add(self, udpa_resource_type_url(resources[i]), udpa_resource_name(resources[i]),
                     with_version ? udpa_resource_version(resources[i]) : NULL);
    return result;
}

static udpai_cli_exit
add_files(waiting *self)
{
    udpai_ctl_input input;
    udpai_cli_exit result = udpai_ctl_input_read(&input, udpai_ctl_options_of(self->cli->options));
    if (result == UDPAI_CLI_GOOD)
        result = add_resources(self, input.resources.items, input.resources.n,
                               !udpai_ctl_options_of(self->cli->options)->is_removed);
    udpai_ctl_input_done(&input);
    return result;
}

static bool
is_second(const udpai_cli_request *request, size_t index)
{
    for (size_t i = 0; i < request->seconds.n; i++)
        if (request->seconds.items[i] == index)
            return true;
    return false;
}

static udpai_cli_exit
add_arguments(waiting *self)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(self->cli->options);
    udpai_cli_requests requests = {0};
    udpai_cli_exit result = udpai_cli_request_of_arguments(&options->common, &requests);
    for (size_t i = 0; i < requests.n; i++) {
        const udpai_cli_request *request = &requests.items[i];
        for (size_t k = 0; k < request->names.n && result == UDPAI_CLI_GOOD; k++) {
            result =
                add(self, request->type_url, request->names.items[k], options->resource_version);
            if (result == UDPAI_CLI_GOOD)
                self->list.items.items[self->list.items.n - 1].is_second = is_second(request, k);
        }
    }
    udpai_cli_requests_done(&requests);
    return result;
}

static udpai_cli_exit
find_awaited(waiting *self)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(self->cli->options);
    bool by_files = options->files.n && !options->common.arguments.n,
         by_names = !options->files.n && options->common.arguments.n >= 2,
         is_version = options->resource_version != NULL;
    if (is_version &&
        (options->common.arguments.n != 2 || options->files.n || options->is_removed)) {
        udpai_cli_complain("--resource-version goes with one name: udpactl wait TYPE NAME "
                           "--resource-version=VERSION");
        return UDPAI_CLI_MISTAKE;
    }
    if (by_files)
        return add_files(self);
    if (by_names)
        return add_arguments(self);
    udpai_cli_complain(
        "wait takes a type and names, or files: udpactl wait TYPE NAME..., or udpactl "
        "wait -f FILE");
    return UDPAI_CLI_MISTAKE;
}

static void
mark_removed(waiting *self)
{
    for (size_t i = 0; i < self->list.items.n; i++)
        self->list.items.items[i].is_removal = true;
}

/* ---- waiting ---- */

/* apply --wait must not succeed if no client received the resource. */
static void
end_acknowledged(waiting *self)
{
    bool in_vain = self->needs_subscribers && udpai_cli_awaited_lacks_subscribers(&self->list);
    if (in_vain)
        udpai_cli_complain(
            "no client subscribes to what was applied: is its name, or its namespace, the one that "
            "the clients subscribe to ('udpactl clients')? --at-least=0 succeeds without "
            "subscribers");
    udpai_cli_finish(self->cli, in_vain ? UDPAI_CLI_TIMED_OUT : UDPAI_CLI_GOOD);
}

/* For people at a terminal. */
static void
show_progress(const waiting *self)
{
    udpai_strbuf text = {0};
    if (!udpai_cli_progress_line_is_enabled())
        return;
    udpai_ctl_put_awaited_progress(&text, &self->list);
    udpai_cli_progress_line_show(udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

/* Waiting goes on if it may. */
static void
look(waiting *self)
{
    bool despite_refusals = udpai_ctl_options_of(self->cli->options)->despite_refusals;
    show_progress(self);
    switch (udpai_cli_awaited_overall(&self->list)) {
    case UDPAI_CLI_ACKNOWLEDGED:
        end_acknowledged(self);
        break;
    case UDPAI_CLI_REPLACED:
        udpai_cli_finish(self->cli, UDPAI_CLI_SUPERSEDED);
        break;
    case UDPAI_CLI_REFUSED_BY:
        if (!despite_refusals)
            udpai_cli_finish(self->cli, UDPAI_CLI_REFUSED);
        break;
    default:
        break;
    }
}

static void
on_update(void *userdata, udpa_update *update)
{
    waiting *self = userdata;
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update); i++)
        if (!udpa_update_is_removal(update, i) &&
            udpai_cli_awaited_take(&self->list, udpa_update_resource(update, i)) != UDPA_OK) {
            udpai_cli_complain("the acknowledgement status from %s cannot be read",
                               udpai_cli_server(self->cli));
            udpai_cli_finish(self->cli, UDPAI_CLI_REFUSED);
        }
    look(self);
}

/* A node that knows these questions never reports that this is all. */
static void
on_complete(void *userdata)
{
    waiting *self = userdata;
    udpai_cli_complain(
        "%s does not report acknowledgements: it is older than this udpactl, or no udpad",
        udpai_cli_server(self->cli));
    udpai_cli_finish(self->cli, UDPAI_CLI_REFUSED);
}

/* After a rejection there is nothing better to report at the end. */
static void
on_end(uv_timer_t *timer)
{
    waiting *self = timer->data;
    bool is_refused = udpai_cli_awaited_overall(&self->list) == UDPAI_CLI_REFUSED_BY;
    udpai_cli_finish(self->cli, is_refused ? UDPAI_CLI_REFUSED : UDPAI_CLI_TIMED_OUT);
}

static udpai_cli_exit
subscribe(waiting *self)
{
    udpai_cli_requests requests = {0};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_subscription *subscription; /* ends with the endpoint */
    callbacks.update = on_update;
    callbacks.complete = on_complete;
    callbacks.userdata = self;
    udpai_cli_request *request = udpai_cli_requests_of_type(&requests, UDPAI_ACKNOWLEDGEMENT_TYPE);
    udpa_err err = request ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < self->list.items.n && err == UDPA_OK; i++)
        err = udpai_cli_request_full_name(request, self->list.items.items[i].question);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    if (err == UDPA_OK)
        result = udpai_cli_subscribe(self->cli, request, &callbacks, &subscription);
    else
        udpai_cli_complain("%s", udpa_err_text(err));
    udpai_cli_requests_done(&requests);
    return result;
}

static udpai_cli_exit
show(const waiting *self)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(self->cli->options);
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    if (options->common.format == UDPAI_CLI_JSON) {
        udpai_cli_put_awaited_json(&out, &self->list);
        return udpai_cli_print_json(&options->common, &out);
    }
    udpai_ctl_put_awaited(&out, &layout, &self->list, udpai_wall_us());
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
wait_for_all(waiting *self)
{
    udpai_cli *cli = self->cli;
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = subscribe(self);
    if (result != UDPAI_CLI_GOOD)
        return result;
    cli->patience.data = self;
    uv_timer_start(&cli->patience, on_end, udpai_ctl_options_of(cli->options)->wait_ms, 0);
    show_progress(self);
    result = udpai_cli_wait_until(cli);
    udpai_cli_progress_line_clear();
    uv_timer_stop(&cli->patience);
    udpai_cli_disconnect(cli);
    if (cli->has_answered || result == UDPAI_CLI_GOOD) {
        udpai_cli_exit printed = show(self);
        return result == UDPAI_CLI_GOOD ? printed : result;
    }
    return result;
}

/* ---- the commands ---- */

udpai_cli_exit
udpai_ctl_wait_command(udpai_cli *cli)
{
    waiting self;
    begin(&self, cli);
    udpai_cli_exit result = find_awaited(&self);
    if (udpai_ctl_options_of(cli->options)->is_removed)
        mark_removed(&self);
    if (result == UDPAI_CLI_GOOD)
        result = wait_for_all(&self);
    done(&self);
    return result;
}

/* It was looked already that it is there. */
udpai_cli_exit
udpai_ctl_wait_for_applied(udpai_cli *cli, udpa_resource *const *resources, size_t n_resources)
{
    waiting self;
    begin(&self, cli);
    udpai_cli_exit result = add_resources(&self, resources, n_resources, true);
    self.needs_subscribers = !udpai_ctl_options_of(cli->options)->at_least_text;
    for (size_t i = 0; i < self.list.items.n; i++)
        self.list.items.items[i].was_there = true;
    if (result == UDPAI_CLI_GOOD)
        result = wait_for_all(&self);
    done(&self);
    return result;
}

udpai_cli_exit
udpai_ctl_wait_for_deleted(udpai_cli *cli, const udpai_cli_found *deleted)
{
    waiting self;
    begin(&self, cli);
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(deleted);
    udpai_cli_exit result =
        resources ? add_resources(&self, resources, udpai_cli_found_size(deleted), false)
                  : UDPAI_CLI_REFUSED;
    mark_removed(&self);
    if (result == UDPAI_CLI_GOOD)
        result = wait_for_all(&self);
    done(&self);
    return result;
}
