/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl clients: by what the node reports of its sessions, those of its workers included; or,
 * with --tree, by what all nodes report of their clients. Of a replica set by what all replicas
 * report of theirs. */
#include "base/percent.h"
#include "cli/collect.h"
#include "cli/node_status.h"
#include "cli/table.h"
#include "ctl/clients_view.h"
#include "ctl/commands.h"
#include "ctl/own_session.h"
#include "ctl/show.h"
#include "loop/clock.h"
#include "model/replica_id.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"

static udpai_cli_exit
show_table(const udpai_ctl_options *options, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n = resources ? udpai_cli_found_size(found) : 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    udpai_ctl_put_clients(&out, &layout, resources, n, options->with_own_session, udpai_wall_us());
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
find_requests(const udpai_ctl_options *options, udpai_cli_requests *requests)
{
    if (options->common.arguments.n) {
        udpai_cli_complain("clients takes no arguments: udpactl clients, or clients --tree");
        return UDPAI_CLI_MISTAKE;
    }
    const char *kind = options->is_of_tree ? "ClientStatus" : "SessionStatus";
    udpa_err err = udpai_cli_request_status(kind, requests);
    if (err == UDPA_OK && options->is_of_tree)
        requests->items[0].name_space = UDPAI_CLIENTS_NAMESPACE;
    else if (err == UDPA_OK) /* is the node a replica? */
        err = udpai_cli_request_status("ReplicaStatus", requests);
    if (err == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%s", udpa_err_text(err));
    return UDPAI_CLI_REFUSED;
}

/* ---- of all nodes ---- */

typedef struct tree_question {
    udpai_cli *cli;
    udpai_cli_found *found;
    bool is_of_set;      /* only replicas of the node are meant */
    uv_timer_t patience; /* for nodes that have not reported all */
    bool is_closed;
} tree_question;

/* The last node on the way of anything, but for ourselves, is the one that was asked. */
static udpai_str
root_of(const udpai_cli *cli, const udpa_resource *resource)
{
    const char *id = "";
    for (size_t i = udpa_resource_n_hops(resource); i > 0; i--)
        if (udpa_resource_hop(resource, i - 1, &id, NULL, NULL) == UDPA_OK &&
            strcmp(id, cli->options->node_id) != 0)
            break;
    return udpai_str_from(id);
}

/* False: some nodes have still to report, or there is no memory. */
static bool
judge(const udpai_cli *cli, const udpai_cli_found *found, udpai_client_tree *tree)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n = resources ? udpai_cli_found_size(found) : 0;
    bool is_settled = false;
    udpa_err err = UDPA_OK;
    udpai_client_tree_init(tree);
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = udpai_client_tree_add(tree, resources[i]);
    if (err == UDPA_OK && n)
        err = udpai_client_tree_evaluate(tree, root_of(cli, resources[0]), false, &is_settled);
    return err == UDPA_OK && is_settled;
}

static void
on_tree_update(void *userdata, udpa_update *update)
{
    tree_question *self = userdata;
    udpai_client_tree tree;
    bool is_known;
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_resource *resource = udpa_update_resource(update, i);
        if (udpa_update_is_removal(update, i))
            udpai_cli_found_drop(self->found, resource);
        else if (udpai_cli_found_put(self->found, resource, &is_known) != UDPA_OK)
            udpai_cli_finish(self->cli, UDPAI_CLI_REFUSED);
    }
    if (judge(self->cli, self->found, &tree))
        udpai_cli_answered_all(self->cli);
    udpai_client_tree_clear(&tree);
}

static void
on_tree_complete(void *userdata)
{
    udpai_cli_answered(((tree_question *)userdata)->cli);
}

static void
on_tree_patience(uv_timer_t *timer)
{
    tree_question *self = timer->data;
    if (self->cli->has_answered)
        udpai_cli_answered_all(self->cli);
}

static void
on_timer_closed(uv_handle_t *handle)
{
    ((tree_question *)handle->data)->is_closed = true;
}

static udpai_cli_exit
collect_tree(tree_question *self, const udpai_cli_request *request)
{
    udpai_cli *cli = self->cli;
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_subscription *subscription = NULL;
    callbacks.update = on_tree_update;
    callbacks.complete = on_tree_complete;
    callbacks.userdata = self;
    uv_timer_init(&cli->loop, &self->patience);
    self->patience.data = self;
    udpai_cli_exit result = udpai_cli_subscribe(cli, request, &callbacks, &subscription);
    uv_timer_start(&self->patience, on_tree_patience, cli->options->timeout_ms * 3 / 5, 0);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_wait(cli);
    if (subscription)
        udpa_unsubscribe(subscription);
    uv_close((uv_handle_t *)&self->patience, on_timer_closed);
    while (!self->is_closed)
        uv_run(&cli->loop, UV_RUN_ONCE);
    return result;
}

/* What is not there is printed, too. */
static udpai_cli_exit
report_what_is_missing(const udpai_cli *cli, const udpai_cli_found *found)
{
    udpai_client_tree tree;
    bool is_settled = judge(cli, found, &tree);
    char room[160];
    for (size_t i = 0; i < tree.nodes.n; i++) {
        udpai_str id = udpai_bytes_view(tree.nodes.items[i]->id);
        const char *text = udpai_client_node_describe(tree.nodes.items[i], room, sizeof(room));
        if (text)
            udpai_cli_complain("%.*s: %s", UDPAI_SHOWN(id), text);
    }
    if (tree.nodes.n == 0)
        udpai_cli_complain("%s has reported no list of clients, not even an empty one",
                           udpai_cli_server(cli));
    udpai_client_tree_clear(&tree);
    return is_settled ? UDPAI_CLI_GOOD : UDPAI_CLI_TIMED_OUT;
}

/* Has a replica of the same node reported it? */
static bool
is_of_same_node(const udpa_resource *resource, udpai_str root)
{
    udpai_client_name name;
    udpai_strbuf encoded = {0};
    udpai_percent_encode_segment(&encoded, root);
    bool is_it = udpai_client_name_read(udpai_str_from(udpa_resource_name(resource)), &name) &&
                 udpai_str_eq(udpai_replica_id_node(name.node),
                              udpai_replica_id_node(udpai_strbuf_view(&encoded)));
    udpai_strbuf_done(&encoded);
    return is_it;
}

static udpai_cli_exit
show_tree_table(const tree_question *self)
{
    const udpai_cli *cli = self->cli;
    const udpai_cli_found *found = self->found;
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n_all = resources ? udpai_cli_found_size(found) : 0, n = 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_client_tree tree;
    (void)judge(cli, found, &tree);
    for (size_t i = 0; i < n_all; i++)
        if (udpai_client_tree_counts(&tree, resources[i]) &&
            (!self->is_of_set || is_of_same_node(resources[i], root_of(cli, resources[i]))))
            resources[n++] = resources[i];
    udpai_client_tree_clear(&tree);
    udpai_cli_layout layout = udpai_cli_layout_of(cli->options);
    udpai_ctl_put_client_tree(&out, &layout, resources, n, udpai_wall_us());
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
show_tree(udpai_cli *cli,
          const udpai_cli_requests *requests,
          udpai_cli_found *found,
          bool is_of_set)
{
    tree_question self = {.cli = cli, .found = found, .is_of_set = is_of_set};
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = collect_tree(&self, &requests->items[0]);
    if (result == UDPAI_CLI_GOOD)
        result = cli->options->format == UDPAI_CLI_TABLE
                     ? show_tree_table(&self)
                     : udpai_ctl_show(udpai_ctl_options_of(cli->options), found);
    return result == UDPAI_CLI_GOOD ? report_what_is_missing(cli, found) : result;
}

/* ---- of a replica set ---- */

/* Takes what it has of that out of what was found: it is not to be shown. */
static bool
drop_replicas(udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n = resources ? udpai_cli_found_size(found) : 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(udpa_resource_type_url(resources[i]), UDPAI_TYPE_REPLICA_STATUS) == 0)
            any |= udpai_cli_found_drop(found, resources[i]);
    return any;
}

static udpai_cli_exit
show_set(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpa_err err = udpai_cli_request_status("ClientStatus", &requests);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    if (err == UDPA_OK) {
        requests.items[0].name_space = UDPAI_CLIENTS_NAMESPACE;
        result = show_tree(cli, &requests, &found, true);
    } else {
        udpai_cli_complain("%s", udpa_err_text(err));
    }
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}

/* ---- both ---- */

static udpai_cli_exit
show_own(udpai_cli *cli, const udpai_cli_requests *requests, udpai_cli_found *found)
{
    int64_t begun_us = udpai_wall_us();
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, requests, found);
    if (drop_replicas(found) && result == UDPAI_CLI_GOOD)
        return show_set(cli);
    if (!udpai_ctl_options_of(cli->options)->with_own_session)
        (void)udpai_ctl_hide_own_session(found, cli->options->node_id, requests, begun_us);
    if (result == UDPAI_CLI_GOOD)
        result = cli->options->format == UDPAI_CLI_TABLE
                     ? show_table(udpai_ctl_options_of(cli->options), found)
                     : udpai_ctl_show(udpai_ctl_options_of(cli->options), found);
    return result;
}

udpai_cli_exit
udpai_ctl_clients(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = find_requests(udpai_ctl_options_of(cli->options), &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_options_of(cli->options)->is_of_tree
                     ? show_tree(cli, &requests, &found, false)
                     : show_own(cli, &requests, &found);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}
