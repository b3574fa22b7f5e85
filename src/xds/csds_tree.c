/* SPDX-License-Identifier: Apache-2.0 */
/* What others report of their clients is among the resources that this stream side has, if there is
 * a subscription to it: so each client has one, from which nothing is ever sent. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"
#include "session/access.h"
#include "udpa/status/v1/status.pb-c.h"
#include "wire/scan.h"
#include "xds/client_registry.h"
#include "xds/csds_internal.h"

/* How often it is looked whether all have reported; more seldom each time. */
#define LOOK_MS 10
#define LOOK_MAX_MS 200
/* A node's report of a client is never larger. */
#define STATUS_MAX (2 * UDPAI_CENSUS_MAX_BYTES)
#define VISIT_BYTES ((size_t)64)

enum {
    CONFIG = 8, /* of ClientStatus */
    N_RESOURCES = 9,
    N_LEFT_OUT = 12,
    NODE = 1, /* of ClientConfig */
    SCOPE = 4,
};

struct udpai_csds_tree {
    udpai_session *session;
    const udpai_csds *csds;
    udpai_subscriber subscriber;
    udpai_subscription *subscription;
    udpai_strbuf own; /* the id of this node, as in names */
    udpai_client_tree nodes;
    uint64_t deadline_ms, pause_ms;
    udpai_set_hash seen; /* when the nodes were looked at */
    bool has_looked, is_settled;
    udpai_taken_place place;
    bool has_visited_all;
    size_t node; /* the node for which what is missing is reported next */
};

static udpai_str
own_id(const udpai_csds_tree *tree)
{
    return udpai_node_info_reporter(udpai_hub_settings(tree->session->hub)->info);
}

/* ---- the subscription ---- */

static void
wake(udpai_subscriber *subscriber)
{
    (void)subscriber; /* nothing is sent */
}

static const udpai_subscriber_ops subscriber_ops = {.wake = wake};
static const udpai_renderer renderer;

/* Of all nodes, or of this one: others report nothing then. */
static udpa_err
subscribe(udpai_csds_tree *tree, udpa_error **ret_error)
{
    udpai_strbuf prefix = {0};
    udpa_err err =
        udpai_session_init_subscriber(tree->session, &tree->subscriber, &subscriber_ops, &renderer);
    if (tree->csds->asks_tree)
        udpai_strbuf_puts(&prefix, UDPAI_CLIENTS_NAMESPACE);
    else
        udpai_client_names_put_prefix(&prefix, own_id(tree));
    if (err == UDPA_OK)
        tree->subscription = udpai_subscriber_get(
            &tree->subscriber, UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), UDPAI_MODE_DELTA);
    if (!tree->subscription || udpai_strbuf_failed(&prefix))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_subscribe_wildcard(tree->subscription, udpai_strbuf_view(&prefix), ret_error);
    udpai_strbuf_done(&prefix);
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_csds_tree_new(udpai_csds_tree **ret_tree,
                    udpai_session *session,
                    const udpai_csds *csds,
                    udpa_error **ret_error)
{
    udpai_csds_tree *tree = udpai_alloc(sizeof(*tree));
    if (!tree)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    tree->session = session;
    tree->csds = csds;
    udpai_client_tree_init(&tree->nodes);
    udpai_percent_encode_segment(&tree->own, own_id(tree));
    udpa_err err = subscribe(tree, ret_error);
    if (err == UDPA_OK && udpai_strbuf_failed(&tree->own))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        *ret_tree = tree;
    else
        udpai_csds_tree_free(tree);
    return err;
}

void
udpai_csds_tree_free(udpai_csds_tree *tree)
{
    if (!tree)
        return;
    udpai_subscriber_done(&tree->subscriber);
    udpai_client_tree_clear(&tree->nodes);
    udpai_strbuf_done(&tree->own);
    udpai_free(tree);
}

/* ---- waiting ---- */

void
udpai_csds_tree_begin(udpai_csds_tree *tree)
{
    tree->deadline_ms = udpai_hub_wheel(tree->session->hub)->now_ms + tree->csds->wait_ms;
    tree->pause_ms = LOOK_MS;
    tree->has_looked = false;
    tree->place = (udpai_taken_place){0};
    tree->has_visited_all = false;
    tree->node = 0;
}

struct look {
    udpai_client_tree *nodes;
    udpa_err err;
};

static bool
on_look(void *userdata, const udpai_taken *taken)
{
    struct look *self = userdata;
    if (taken->ack.resource)
        self->err = udpai_client_tree_add(self->nodes, taken->ack.resource);
    return self->err == UDPA_OK;
}

/* There may be many: not again before something has changed. */
static udpa_err
look(udpai_csds_tree *tree)
{
    udpai_taken_place place = {0};
    struct look self = {&tree->nodes, UDPA_OK};
    udpai_set_hash now = udpai_subscription_set_hash(tree->subscription);
    if (tree->has_looked && memcmp(&now, &tree->seen, sizeof(now)) == 0)
        return UDPA_OK;
    udpai_client_tree_clear(&tree->nodes);
    (void)udpai_subscription_visit_taken(tree->subscription, &place, on_look, &self);
    if (self.err == UDPA_OK)
        self.err = udpai_client_tree_evaluate(&tree->nodes, own_id(tree), !tree->csds->asks_tree,
                                              &tree->is_settled);
    tree->seen = now;
    tree->has_looked = self.err == UDPA_OK;
    return self.err;
}

udpa_err
udpai_csds_tree_look(udpai_csds_tree *tree, bool *ret_settled, uint64_t *ret_again_ms)
{
    uint64_t now_ms = udpai_hub_wheel(tree->session->hub)->now_ms;
    udpa_err err = look(tree);
    if (err != UDPA_OK)
        return err;
    *ret_settled = tree->is_settled || now_ms >= tree->deadline_ms;
    *ret_again_ms = tree->pause_ms;
    if (tree->pause_ms < LOOK_MAX_MS)
        tree->pause_ms *= 2;
    return UDPA_OK;
}

/* ---- putting the reports ---- */

static bool
put_field(udpai_strbuf *out, uint32_t number, udpai_str text)
{
    udpai_proto_writer size = {0};
    udpai_proto_put_bytes(&size, number, text);
    udpai_proto_writer writer = {udpai_strbuf_extend(out, size.size), 0};
    if (writer.at)
        udpai_proto_put_bytes(&writer, number, text);
    return writer.at != NULL;
}

bool
udpai_csds_put_scope(udpai_strbuf *out, const udpai_csds_tree *tree)
{
    return put_field(out, SCOPE, udpai_strbuf_view(&tree->own));
}

static bool
is_own(const udpai_csds_tree *tree, const udpai_client_name *name)
{
    return udpai_str_eq(name->node, udpai_strbuf_view(&tree->own));
}

/* Clients of this stream side are reported by their sessions. */
static bool
is_of_this_side(const udpai_csds_tree *tree, const udpai_client_name *name)
{
    const udpai_hub_options *options = udpai_hub_settings(tree->session->hub);
    uint64_t step = options->session_step ? options->session_step : 1;
    return is_own(tree, name) && name->number % step == options->first_session % step;
}

/* Reports of other nodes need the same permission as those of this node's clients. */
static bool
may_see(const udpai_csds_tree *tree,
        const udpai_csds_viewer *viewer,
        const udpai_client_name *name,
        udpai_str full_name)
{
    return is_own(tree, name) ||
           udpai_access_may_see_name(viewer->access, viewer->visibility,
                                     UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), full_name);
}

/* Its ClientConfig, if that is one, and without bodies. */
static udpa_err
take_config(udpai_str value, udpai_str *ret_config)
{
    udpai_spans bodies = {0};
    udpa_err err =
        value.len <= STATUS_MAX
            ? udpai_scan(&udpa__status__v1__client_status__descriptor, value, &bodies, NULL)
            : UDPA_ERR_LIMIT;
    if (err == UDPA_OK && bodies.n)
        err = UDPA_ERR_MALFORMED;
    udpai_vector_done(&bodies);
    *ret_config = udpai_proto_last_bytes(value, CONFIG);
    return err == UDPA_OK && ret_config->len == 0 ? UDPA_ERR_MALFORMED : err;
}

static udpa_err
match_node(udpai_csds_walk *walk, udpai_str config, bool *ret_matches)
{
    const udpai_node_matchers *matchers = &walk->request->matchers;
    udpai_decoder *decoder = udpai_hub_decoder(walk->hub);
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    *ret_matches = true;
    if (matchers->n_items == 0)
        return UDPA_OK;
    udpa_err err =
        udpai_node_info_decode(decoder, udpai_proto_last_bytes(config, NODE), &info, NULL);
    udpai_arena_reset(&decoder->arena);
    if (err != UDPA_OK)
        return err;
    udpai_csds_walk_spend(walk, udpai_node_matchers_cost(matchers, info));
    *ret_matches = udpai_node_matchers_fit(matchers, info);
    return UDPA_OK;
}

/* From this node to the one that serves it. */
static void
put_path(udpai_strbuf *out, const udpa_resource *resource, udpai_str node)
{
    size_t n = udpa_resource_n_hops(resource);
    bool is_there = false;
    for (size_t i = n; i > 0; i--) {
        size_t before = out->len;
        udpai_percent_encode_segment(out, udpai_resource_hop(resource, i - 1).node_id);
        if (udpai_strbuf_failed(out))
            return;
        is_there = udpai_str_eq((udpai_str){out->data + before, out->len - before}, node);
        if (i > 1)
            udpai_strbuf_putc(out, '/');
    }
    if (is_there)
        return;
    udpai_strbuf_putc(out, '/');
    udpai_strbuf_str(out, node);
}

static void
put(udpai_csds_walk *walk, udpai_str config, udpai_str scope)
{
    udpai_strbuf whole = {0};
    udpai_strbuf_str(&whole, config);
    if (put_field(&whole, SCOPE, scope) && !udpai_strbuf_failed(&whole))
        udpai_csds_walk_put(walk, udpai_strbuf_view(&whole));
    else
        walk->failed = true;
    udpai_strbuf_done(&whole);
}

static uint64_t
number_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    uint64_t value = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_VARINT)
            value = field.value;
    return value;
}

/* In one more ClientConfig, with the same Node. */
static void
put_left_out(udpai_csds_walk *walk, udpai_str value, udpai_str config)
{
    char text[160];
    uint64_t n_left_out = number_of(value, N_LEFT_OUT);
    udpai_strbuf node = {0};
    if (n_left_out == 0)
        return;
    snprintf(text, sizeof(text),
             "cut: %llu of %llu resources of this client are left out: ask the node that serves it",
             (unsigned long long)n_left_out, (unsigned long long)number_of(value, N_RESOURCES));
    if (put_field(&node, NODE, udpai_proto_last_bytes(config, NODE)))
        put(walk, udpai_strbuf_view(&node), udpai_str_from(text));
    else
        walk->failed = true;
    udpai_strbuf_done(&node);
}

/* What is malformed is left out: its node has reported how many clients it has, but not which. */
static void
put_client(const udpai_csds_tree *tree, udpai_csds_walk *walk, const udpa_resource *resource)
{
    udpai_client_name name;
    udpai_str full_name = udpai_resource_name(resource), config;
    udpai_strbuf path = {0};
    bool is_match = false;
    if (!udpai_client_name_read(full_name, &name) || name.is_of_node ||
        is_of_this_side(tree, &name) || !may_see(tree, &walk->viewer, &name, full_name))
        return;
    udpai_str value = udpai_resource_value(resource);
    udpai_csds_walk_spend(walk, value.len);
    udpa_err err = take_config(value, &config);
    if (err == UDPA_OK)
        err = match_node(walk, config, &is_match);
    if (err == UDPA_ERR_NOMEM)
        walk->failed = true;
    if (err != UDPA_OK || !is_match)
        return;
    put_path(&path, resource, name.node);
    if (udpai_strbuf_failed(&path))
        walk->failed = true;
    else
        put(walk, config, udpai_strbuf_view(&path));
    udpai_strbuf_done(&path);
    put_left_out(walk, value, config);
}

struct visit {
    const udpai_csds_tree *tree;
    udpai_csds_walk *walk;
};

static bool
on_taken(void *userdata, const udpai_taken *taken)
{
    const struct visit *self = userdata;
    udpai_csds_walk *walk = self->walk;
    udpai_csds_walk_spend(walk, VISIT_BYTES);
    if (taken->ack.resource && udpai_client_tree_counts(&self->tree->nodes, taken->ack.resource))
        put_client(self->tree, walk, taken->ack.resource);
    bool is_full = walk->response_bytes && udpai_csds_walk_size(walk) >= walk->response_bytes;
    return walk->budget && !walk->failed && !is_full;
}

/* A ClientConfig of the node itself, with what is amiss in its scope. */
static void
put_client_node(const udpai_csds_tree *tree, udpai_csds_walk *walk, const udpai_client_node *node)
{
    char room[160];
    const char *text = udpai_client_node_describe(node, room, sizeof(room));
    const udpai_node_parts parts = {.id = udpai_bytes_view(node->id)};
    udpai_strbuf name = {0}, config = {0};
    udpai_client_name read;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    if (!text)
        return;
    udpai_client_names_put_node(&name, parts.id);
    bool is_visible = !udpai_strbuf_failed(&name) &&
                      udpai_client_name_read(udpai_strbuf_view(&name), &read) &&
                      may_see(tree, &walk->viewer, &read, udpai_strbuf_view(&name));
    walk->failed |= udpai_strbuf_failed(&name);
    if (is_visible && udpai_node_info_new(&info, &parts) == UDPA_OK &&
        udpai_csds_put_node(&config, info, UDPAI_CENSUS_NODE_BYTES))
        put(walk, udpai_strbuf_view(&config), udpai_str_from(text));
    else
        walk->failed |= is_visible;
    udpai_strbuf_done(&config);
    udpai_strbuf_done(&name);
}

bool
udpai_csds_tree_put_next(udpai_csds_tree *tree, udpai_csds_walk *walk)
{
    struct visit self = {tree, walk};
    if (!tree->has_visited_all) {
        tree->has_visited_all =
            !udpai_subscription_visit_taken(tree->subscription, &tree->place, on_taken, &self);
        return true;
    }
    if (tree->node >= tree->nodes.nodes.n)
        return false;
    const udpai_client_node *node = tree->nodes.nodes.items[tree->node++];
    udpai_csds_walk_spend(walk, VISIT_BYTES);
    put_client_node(tree, walk, node);
    return true;
}
