/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_stats_nodes.h"

#include <stdlib.h>

#include "base/alloc.h"

typedef struct counted_node {
    uint64_t since_us, until_us; /* by the node's own time */
    uint64_t listed;             /* in this turn it was there */
    bool is_reported;            /* that it is there, or that it has left */
    uint32_t len;
    char id[];
} counted_node;

static udpai_str
node_key(const void *item)
{
    const counted_node *node = item;
    return (udpai_str){node->id, node->len};
}

void
udpai_load_stats_nodes_init(udpai_load_stats_nodes *nodes, udpai_str own_id)
{
    udpai_map_init(&nodes->map, node_key);
    nodes->own_id = own_id;
}

void
udpai_load_stats_nodes_done(udpai_load_stats_nodes *nodes)
{
    size_t at = 0;
    counted_node *node;
    while ((node = udpai_map_next(&nodes->map, &at)))
        udpai_free(node);
    udpai_map_done(&nodes->map);
}

void
udpai_load_stats_nodes_go_on(udpai_load_stats_nodes *nodes, udpai_load_stats_nodes *from)
{
    size_t at = 0;
    counted_node *node;
    udpai_map_done(&nodes->map);
    nodes->map = from->map;
    udpai_map_init(&from->map, node_key);
    while ((node = udpai_map_next(&nodes->map, &at))) {
        node->is_reported = false;
        node->listed = 0;
    }
}

/* ---- what is new ---- */

static const udpai_load_stats_node *
find(const udpai_load_stats *stats, size_t *at, udpai_str id)
{
    while (*at < stats->nodes.n && udpai_str_cmp(stats->nodes.items[*at].id, id) < 0)
        ++*at;
    bool is_there = *at < stats->nodes.n && udpai_str_eq(stats->nodes.items[*at].id, id);
    return is_there ? &stats->nodes.items[(*at)++] : NULL;
}

static bool
is_node_new(const udpai_load_stats_nodes *nodes,
            const udpai_load_stats_node *now,
            const udpai_load_stats_node *before)
{
    uint64_t since_us = before ? before->until_us : now->since_us;
    if (since_us == now->until_us)
        return true; /* it has not grown */
    const counted_node *known = udpai_map_get(&nodes->map, now->id);
    return known && since_us >= known->until_us; /* without room it is unknown, and this node is */
}

bool
udpai_load_stats_nodes_are_new(const udpai_load_stats_nodes *nodes,
                               const udpai_load_stats *stats,
                               const udpai_load_stats *known)
{
    static const udpai_load_stats none;
    const udpai_load_stats *older = known ? known : &none;
    size_t at = 0, n_found = 0;
    bool all = stats->n_forgotten_nodes == older->n_forgotten_nodes;
    for (size_t i = 0; i < stats->nodes.n && all; i++) {
        const udpai_load_stats_node *before = find(older, &at, stats->nodes.items[i].id);
        n_found += before != NULL;
        all = is_node_new(nodes, &stats->nodes.items[i], before);
    }
    return all && n_found == older->nodes.n;
}

/* ---- taking ---- */

static udpa_err
make_node(udpai_load_stats_nodes *nodes, udpai_str id)
{
    counted_node *node = udpai_alloc(sizeof(*node) + id.len);
    if (!node)
        return UDPA_ERR_NOMEM;
    node->len = (uint32_t)id.len;
    if (id.len)
        memcpy(node->id, id.data, id.len);
    if (udpai_map_add(&nodes->map, node))
        return UDPA_OK;
    udpai_free(node);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_load_stats_nodes_make_room(udpai_load_stats_nodes *nodes, const udpai_load_stats *stats)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < stats->nodes.n && err == UDPA_OK; i++) {
        udpai_str id = stats->nodes.items[i].id;
        if (!udpai_str_eq(id, nodes->own_id) && !udpai_map_get(&nodes->map, id) &&
            nodes->map.n < UDPAI_LOAD_STATS_NODES_MAX)
            err = make_node(nodes, id);
    }
    return err;
}

void
udpai_load_stats_nodes_take(udpai_load_stats_nodes *nodes,
                            const udpai_load_stats *stats,
                            bool is_added)
{
    for (size_t i = 0; i < stats->nodes.n; i++) {
        const udpai_load_stats_node *now = &stats->nodes.items[i];
        counted_node *known = udpai_map_get(&nodes->map, now->id);
        if (!known)
            continue;
        bool is_first = !known->is_reported && !known->listed;
        if (now->until_us > known->until_us)
            known->until_us = now->until_us;
        if (is_first)
            known->since_us = is_added ? now->since_us : known->until_us;
        known->is_reported = true;
    }
}

/* ---- over a restart ---- */

bool
udpai_load_stats_nodes_next(const udpai_load_stats_nodes *nodes,
                            size_t *at,
                            udpai_load_stats_node *ret_node)
{
    const counted_node *node = udpai_map_next(&nodes->map, at);
    if (!node)
        return false;
    *ret_node = (udpai_load_stats_node){.id = {node->id, node->len},
                                        .since_us = node->since_us,
                                        .until_us = node->until_us,
                                        .is_gone = node->is_reported};
    return true;
}

udpa_err
udpai_load_stats_nodes_restore(udpai_load_stats_nodes *nodes, const udpai_load_stats_node *from)
{
    udpa_err err = UDPA_OK;
    counted_node *node = udpai_map_get(&nodes->map, from->id);
    if (!node)
        err = make_node(nodes, from->id);
    if (err != UDPA_OK)
        return err;
    node = udpai_map_get(&nodes->map, from->id);
    node->since_us = from->since_us;
    node->until_us = from->until_us;
    node->is_reported = from->is_gone;
    return UDPA_OK;
}

/* ---- listing ---- */

static udpa_err
list(udpai_load_stats *total, udpai_str id, const udpai_load_stats_node *like)
{
    udpai_load_stats_node node = *like;
    node.id = (udpai_str){0};
    udpa_err err = udpai_load_stats_set_text(&node.id, id);
    if (err == UDPA_OK && !udpai_vector_push(&total->nodes, node)) {
        udpai_free((void *)(uintptr_t)node.id.data);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

udpa_err
udpai_load_stats_nodes_list_own(udpai_load_stats_nodes *nodes, udpai_load_stats *total)
{
    const udpai_load_stats_node own = {
        .since_us = total->epoch,
        .until_us = total->epoch + total->elapsed_ns / 1000,
    };
    udpai_load_stats_clear_nodes(total);
    nodes->turn++;
    return list(total, nodes->own_id, &own);
}

udpa_err
udpai_load_stats_nodes_list(udpai_load_stats_nodes *nodes,
                            const udpai_load_stats *stats,
                            udpai_load_stats *total)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < stats->nodes.n && err == UDPA_OK; i++) {
        const udpai_load_stats_node *node = &stats->nodes.items[i];
        counted_node *known = udpai_map_get(&nodes->map, node->id);
        udpai_load_stats_node one = {0}; /* of which nothing was counted */
        if (node->is_gone)
            continue;
        if (known) {
            one = (udpai_load_stats_node){.since_us = known->since_us, .until_us = known->until_us};
            known->listed = nodes->turn;
        }
        err = list(total, node->id, &one);
    }
    return err;
}

typedef UDPAI_VECTOR(counted_node *) node_vector;

static int
compare_turns(const void *a, const void *b)
{
    uint64_t one = (*(counted_node *const *)a)->listed;
    uint64_t other = (*(counted_node *const *)b)->listed;
    return (one > other) - (one < other);
}

/* Those that have left first; some at once, because all are looked at for that. */
static void
forget_some(udpai_load_stats_nodes *nodes, node_vector *left)
{
    if (left->n <= UDPAI_LOAD_STATS_LEFT_NODES_MAX)
        return;
    size_t n = left->n - UDPAI_LOAD_STATS_LEFT_NODES_MAX + UDPAI_LOAD_STATS_LEFT_NODES_MAX / 8;
    qsort(left->items, left->n, sizeof(left->items[0]), compare_turns);
    for (size_t i = 0; i < n; i++)
        left->items[i]->is_reported = false;
    nodes->n_forgotten += n;
    memmove(left->items, left->items + n, (left->n - n) * sizeof(left->items[0]));
    left->n -= n;
}

static udpa_err
collect_left(udpai_load_stats_nodes *nodes, node_vector *left)
{
    size_t at = 0;
    counted_node *node;
    while ((node = udpai_map_next(&nodes->map, &at)))
        if (node->is_reported && node->listed != nodes->turn && !udpai_vector_push(left, node))
            return UDPA_ERR_NOMEM;
    return UDPA_OK;
}

udpa_err
udpai_load_stats_nodes_list_left(udpai_load_stats_nodes *nodes, udpai_load_stats *total)
{
    node_vector left = {0};
    udpa_err err = collect_left(nodes, &left);
    if (err == UDPA_OK)
        forget_some(nodes, &left);
    for (size_t i = 0; i < left.n && err == UDPA_OK; i++) {
        const udpai_load_stats_node one = {.since_us = left.items[i]->since_us,
                                           .until_us = left.items[i]->until_us,
                                           .is_gone = true};
        err = list(total, node_key(left.items[i]), &one);
    }
    udpai_vector_done(&left);
    total->n_forgotten_nodes = nodes->n_forgotten;
    udpai_load_stats_sort_nodes(total);
    return err;
}
