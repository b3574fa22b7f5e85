/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl clients: by what the node says of its sessions, those of its workers included; or, with
 * --tree, by what all nodes tell of their clients. */
#include "ctl/clients_view.h"
#include "ctl/collect.h"
#include "ctl/commands.h"
#include "ctl/node_status.h"
#include "ctl/own_session.h"
#include "ctl/show.h"
#include "ctl/table.h"
#include "loop/clock.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"

static udpai_ctl_exit
show_table(const udpai_ctl_options *options, const udpai_ctl_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_ctl_found_sorted(found);
    size_t n = resources ? udpai_ctl_found_size(found) : 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_ctl_layout layout = udpai_ctl_layout_of(&options->common);
    udpai_ctl_put_clients(&out, &layout, resources, n, options->with_own_session, udpai_wall_us());
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_ctl_print_tables(&layout, &out);
}

static udpai_ctl_exit
find_wishes(const udpai_ctl_options *options, udpai_ctl_wishes *wishes)
{
    if (options->common.arguments.n) {
        udpai_ctl_complain("clients takes no arguments: udpactl clients, or clients --tree");
        return UDPAI_CTL_MISTAKE;
    }
    const char *kind = options->is_of_tree ? "ClientStatus" : "SessionStatus";
    udpa_err err = udpai_ctl_wish_for_status(kind, wishes);
    if (err == UDPA_OK && options->is_of_tree)
        wishes->items[0].name_space = UDPAI_CLIENTS_NAMESPACE;
    if (err == UDPA_OK)
        return UDPAI_CTL_GOOD;
    udpai_ctl_complain("%s", udpa_err_text(err));
    return UDPAI_CTL_REFUSED;
}

/* ---- of all nodes ---- */

typedef struct tree_question {
    udpai_ctl *ctl;
    udpai_ctl_found *found;
    uv_timer_t patience; /* for nodes that have not told all */
    bool is_closed;
} tree_question;

/* The last node on the way of anything, but for ourselves, is the one that was asked. */
static udpai_str
root_of(const udpai_ctl *ctl, const udpa_resource *resource)
{
    const char *id = "";
    for (size_t i = udpa_resource_n_hops(resource); i > 0; i--)
        if (udpa_resource_hop(resource, i - 1, &id, NULL, NULL) == UDPA_OK &&
            strcmp(id, ctl->options->node_id) != 0)
            break;
    return udpai_str_from(id);
}

/* False: some nodes have still to tell, or there is no memory. */
static bool
judge(const udpai_ctl *ctl, const udpai_ctl_found *found, udpai_client_tree *tree)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_ctl_found_sorted(found);
    size_t n = resources ? udpai_ctl_found_size(found) : 0;
    bool is_settled = false;
    udpa_err err = UDPA_OK;
    udpai_client_tree_init(tree);
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = udpai_client_tree_add(tree, resources[i]);
    if (err == UDPA_OK && n)
        err = udpai_client_tree_judge(tree, root_of(ctl, resources[0]), false, &is_settled);
    return err == UDPA_OK && is_settled;
}

static void
on_tree_update(void *userdata, udpa_update *update)
{
    tree_question *self = userdata;
    udpai_client_tree tree;
    bool is_known;
    udpai_ctl_heard(self->ctl);
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_resource *resource = udpa_update_resource(update, i);
        if (udpa_update_is_removal(update, i))
            udpai_ctl_found_drop(self->found, resource);
        else if (udpai_ctl_found_put(self->found, resource, &is_known) != UDPA_OK)
            udpai_ctl_finish(self->ctl, UDPAI_CTL_REFUSED);
    }
    if (judge(self->ctl, self->found, &tree))
        udpai_ctl_heard_all(self->ctl);
    udpai_client_tree_clear(&tree);
}

static void
on_tree_complete(void *userdata)
{
    udpai_ctl_heard(((tree_question *)userdata)->ctl);
}

static void
on_tree_patience(uv_timer_t *timer)
{
    tree_question *self = timer->data;
    if (self->ctl->is_heard)
        udpai_ctl_heard_all(self->ctl);
}

static void
on_timer_closed(uv_handle_t *handle)
{
    ((tree_question *)handle->data)->is_closed = true;
}

static udpai_ctl_exit
collect_tree(tree_question *self, const udpai_ctl_wish *wish)
{
    udpai_ctl *ctl = self->ctl;
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_subscription *subscription = NULL;
    callbacks.update = on_tree_update;
    callbacks.complete = on_tree_complete;
    callbacks.userdata = self;
    uv_timer_init(&ctl->loop, &self->patience);
    self->patience.data = self;
    udpai_ctl_exit result = udpai_ctl_subscribe(ctl, wish, &callbacks, &subscription);
    uv_timer_start(&self->patience, on_tree_patience, ctl->options->timeout_ms * 3 / 5, 0);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_wait(ctl);
    if (subscription)
        udpa_unsubscribe(subscription);
    uv_close((uv_handle_t *)&self->patience, on_timer_closed);
    while (!self->is_closed)
        uv_run(&ctl->loop, UV_RUN_ONCE);
    return result;
}

/* What is not there is said, too. */
static udpai_ctl_exit
tell_what_is_missing(const udpai_ctl *ctl, const udpai_ctl_found *found)
{
    udpai_client_tree tree;
    bool is_settled = judge(ctl, found, &tree);
    char room[160];
    for (size_t i = 0; i < tree.nodes.n; i++) {
        udpai_str id = udpai_bytes_view(tree.nodes.items[i]->id);
        const char *text = udpai_client_node_say(tree.nodes.items[i], room, sizeof(room));
        if (text)
            udpai_ctl_complain("%.*s: %s", UDPAI_SHOWN(id), text);
    }
    if (tree.nodes.n == 0)
        udpai_ctl_complain("%s has not told of any clients, not even that there are none",
                           ctl->options->server);
    udpai_client_tree_clear(&tree);
    return is_settled ? UDPAI_CTL_GOOD : UDPAI_CTL_TIMED_OUT;
}

static udpai_ctl_exit
show_tree_table(const udpai_ctl *ctl, const udpai_ctl_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_ctl_found_sorted(found);
    size_t n_all = resources ? udpai_ctl_found_size(found) : 0, n = 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_client_tree tree;
    (void)judge(ctl, found, &tree);
    for (size_t i = 0; i < n_all; i++)
        if (udpai_client_tree_counts(&tree, resources[i]))
            resources[n++] = resources[i];
    udpai_client_tree_clear(&tree);
    udpai_ctl_layout layout = udpai_ctl_layout_of(ctl->options);
    udpai_ctl_put_client_tree(&out, &layout, resources, n, udpai_wall_us());
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_ctl_print_tables(&layout, &out);
}

static udpai_ctl_exit
show_tree(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    tree_question self = {.ctl = ctl, .found = found};
    udpai_ctl_exit result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD)
        result = collect_tree(&self, &wishes->items[0]);
    if (result == UDPAI_CTL_GOOD)
        result = ctl->options->format == UDPAI_CTL_TABLE
                     ? show_tree_table(ctl, found)
                     : udpai_ctl_show(udpai_ctl_options_of(ctl->options), found);
    return result == UDPAI_CTL_GOOD ? tell_what_is_missing(ctl, found) : result;
}

/* ---- both ---- */

static udpai_ctl_exit
show_own(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    int64_t begun_us = udpai_wall_us();
    udpai_ctl_exit result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_collect(ctl, wishes, found);
    if (!udpai_ctl_options_of(ctl->options)->with_own_session)
        (void)udpai_ctl_hide_own_session(found, ctl->options->node_id, wishes, begun_us);
    if (result == UDPAI_CTL_GOOD)
        result = ctl->options->format == UDPAI_CTL_TABLE
                     ? show_table(udpai_ctl_options_of(ctl->options), found)
                     : udpai_ctl_show(udpai_ctl_options_of(ctl->options), found);
    return result;
}

udpai_ctl_exit
udpai_ctl_clients(udpai_ctl *ctl)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
    udpai_ctl_found_begin(&found);
    udpai_ctl_exit result = find_wishes(udpai_ctl_options_of(ctl->options), &wishes);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_options_of(ctl->options)->is_of_tree ? show_tree(ctl, &wishes, &found)
                                                                : show_own(ctl, &wishes, &found);
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
