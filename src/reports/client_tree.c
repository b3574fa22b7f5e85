/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/client_tree.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "model/name.h"
#include "reports/client_names.h"

enum { /* fields of ClientStatus and NodeClients */
    EPOCH = 13,
    OF_NODE = 20,
    N_CLIENTS = 1,
    N_LEFT_OUT = 2,
    NODES_BELOW = 3,
};

static udpai_str
node_key(const void *item)
{
    return udpai_bytes_view(((const udpai_client_node *)item)->id);
}

void
udpai_client_tree_init(udpai_client_tree *tree)
{
    *tree = (udpai_client_tree){0};
    udpai_map_init(&tree->by_id, node_key);
}

static void
free_node(udpai_client_node *node)
{
    udpa_bytes_unref(node->id);
    udpai_vector_done(&node->below);
    udpai_free(node);
}

void
udpai_client_tree_clear(udpai_client_tree *tree)
{
    udpai_map_done(&tree->by_id);
    for (size_t i = 0; i < tree->nodes.n; i++)
        free_node(tree->nodes.items[i]);
    udpai_vector_done(&tree->nodes);
    tree->is_cut = false;
}

/* ---- nodes ---- */

static udpa_err
add_node(udpai_client_tree *tree, udpai_str id, udpai_client_node **ret_node)
{
    udpai_client_node *node = udpai_alloc(sizeof(*node));
    if (!node)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpa_bytes_new(&node->id, id.data, id.len);
    if (err == UDPA_OK && !udpai_vector_reserve(&tree->nodes, 1))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !udpai_map_add(&tree->by_id, node))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        free_node(node);
        return err;
    }
    tree->nodes.items[tree->nodes.n++] = *ret_node = node;
    return UDPA_OK;
}

/* *ret_node NULL: there are too many. */
static udpa_err
get_node(udpai_client_tree *tree, udpai_str id, udpai_client_node **ret_node)
{
    *ret_node = udpai_map_get(&tree->by_id, id);
    if (*ret_node)
        return UDPA_OK;
    if (tree->nodes.n < UDPAI_CLIENT_TREE_NODES_MAX)
        return add_node(tree, id, ret_node);
    tree->is_cut = true;
    return UDPA_OK;
}

/* ---- what they report ---- */

/* Field by field, of what is malformed up to there. */
static udpa_err
read_of_node(udpai_client_tree *tree, udpai_client_node *node, udpai_str bytes)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    udpai_client_node *below;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        bool is_number = field.type == UDPAI_WIRE_VARINT;
        if (field.number == N_CLIENTS && is_number)
            node->n_clients = field.value;
        else if (field.number == N_LEFT_OUT && is_number)
            node->n_left_out = field.value;
        if (field.number != NODES_BELOW || field.type != UDPAI_WIRE_BYTES || field.bytes.len == 0 ||
            field.bytes.len > UDPAI_AUTHORITY_MAX || !udpai_utf8_valid(field.bytes))
            continue;
        err = get_node(tree, field.bytes, &below);
        if (err == UDPA_OK && below && !udpai_vector_push(&node->below, below))
            err = UDPA_ERR_NOMEM;
    }
    return err;
}

static uint64_t
epoch_of(udpai_str value)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    uint64_t epoch = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == EPOCH && field.type == UDPAI_WIRE_VARINT)
            epoch = field.value;
    return epoch;
}

static udpa_err
read_status(udpai_client_tree *tree, udpai_client_node *node, udpai_str value)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == OF_NODE && field.type == UDPAI_WIRE_BYTES)
            err = read_of_node(tree, node, field.bytes);
    node->epoch = epoch_of(value);
    node->has_reported = true;
    return err;
}

/* Of more epochs than there can be, the rest is not there. */
static void
count(udpai_client_node *node, uint64_t epoch)
{
    size_t i = 0;
    while (i < node->n_counts && node->counts[i].epoch != epoch)
        i++;
    if (i == UDPAI_CLIENT_EPOCHS_MAX)
        return;
    if (i == node->n_counts)
        node->n_counts++;
    node->counts[i].epoch = epoch;
    node->counts[i].n++;
}

/* The id in the name, in the room; false: it is no name of these. */
static bool
read_name(const udpa_resource *resource,
          char room[UDPAI_NAME_MAX],
          udpai_client_name *ret_name,
          udpai_str *ret_id)
{
    char *at = room;
    return udpai_client_name_read(udpai_resource_name(resource), ret_name) &&
           ret_name->node.len <= UDPAI_NAME_MAX &&
           udpai_percent_decode(ret_name->node, &at, ret_id) && udpai_utf8_valid(*ret_id);
}

udpa_err
udpai_client_tree_add(udpai_client_tree *tree, const udpa_resource *resource)
{
    char room[UDPAI_NAME_MAX];
    udpai_client_name name;
    udpai_client_node *node;
    udpai_str id, value = udpai_resource_value(resource);
    if (!read_name(resource, room, &name, &id))
        return UDPA_OK;
    udpa_err err = get_node(tree, id, &node);
    if (err != UDPA_OK || !node)
        return err;
    if (name.is_of_node)
        return read_status(tree, node, value);
    count(node, epoch_of(value));
    return UDPA_OK;
}

bool
udpai_client_tree_counts(const udpai_client_tree *tree, const udpa_resource *resource)
{
    char room[UDPAI_NAME_MAX];
    udpai_client_name name;
    udpai_str id;
    const udpai_client_node *node =
        read_name(resource, room, &name, &id) ? udpai_map_get(&tree->by_id, id) : NULL;
    return !node || !node->has_reported || name.is_of_node ||
           epoch_of(udpai_resource_value(resource)) == node->epoch;
}

/* ---- what that means ---- */

static udpai_client_node_state
state_of(const udpai_client_node *node, bool alone)
{
    if (!node->is_reached && alone)
        return UDPAI_CLIENT_NODE_OTHER;
    if (!node->is_reached)
        return UDPAI_CLIENT_NODE_STALE;
    if (!node->has_reported)
        return node->n_there ? UDPAI_CLIENT_NODE_PARTIAL : UDPAI_CLIENT_NODE_MISSING;
    return node->n_there < node->n_clients || node->n_left_out ? UDPAI_CLIENT_NODE_PARTIAL
                                                               : UDPAI_CLIENT_NODE_WHOLE;
}

/* Of one that is connected: may more come? */
static bool
is_awaited(const udpai_client_node *node)
{
    return node->is_reached && (!node->has_reported || node->n_there < node->n_clients);
}

/* Those of the present epoch; until that is known, all. */
static uint64_t
count_there(const udpai_client_node *node)
{
    uint64_t n = 0;
    for (size_t i = 0; i < node->n_counts; i++)
        if (!node->has_reported || node->counts[i].epoch == node->epoch)
            n += node->counts[i].n;
    return n;
}

static void
reach(udpai_client_node *node, udpai_client_node **queue, size_t *n)
{
    if (node->is_reached)
        return;
    node->is_reached = true;
    queue[(*n)++] = node;
}

udpa_err
udpai_client_tree_evaluate(udpai_client_tree *tree, udpai_str root, bool alone, bool *ret_settled)
{
    udpai_client_node *node;
    udpa_err err = get_node(tree, root, &node);
    UDPAI_AUTO_FREE udpai_client_node **queue =
        udpai_alloc_array(tree->nodes.n + 1, sizeof(*queue));
    if (err != UDPA_OK || !queue)
        return UDPA_ERR_NOMEM;
    size_t n = 0;
    if (node)
        reach(node, queue, &n);
    for (size_t i = 0; i < n && !alone; i++)
        for (size_t k = 0; k < queue[i]->below.n; k++)
            reach(queue[i]->below.items[k], queue, &n);
    *ret_settled = true;
    for (size_t i = 0; i < tree->nodes.n; i++) {
        tree->nodes.items[i]->n_there = count_there(tree->nodes.items[i]);
        tree->nodes.items[i]->state = state_of(tree->nodes.items[i], alone);
        *ret_settled &= !is_awaited(tree->nodes.items[i]);
    }
    return UDPA_OK;
}

const char *
udpai_client_node_describe(const udpai_client_node *node, char *room, size_t size)
{
    switch (node->state) {
    case UDPAI_CLIENT_NODE_WHOLE:
    case UDPAI_CLIENT_NODE_OTHER:
        return NULL;
    case UDPAI_CLIENT_NODE_MISSING:
        return "missing: this node is connected, and has not reported its clients";
    case UDPAI_CLIENT_NODE_STALE:
        return "stale: this node is not connected any more, and its clients are as last reported";
    case UDPAI_CLIENT_NODE_PARTIAL:
        break;
    }
    if (!node->has_reported)
        return "partial: some clients of this node may not have been received";
    snprintf(room, size, "partial: %llu clients of this node are known, and it has %llu",
             (unsigned long long)node->n_there,
             (unsigned long long)node->n_clients + (unsigned long long)node->n_left_out);
    return room;
}
