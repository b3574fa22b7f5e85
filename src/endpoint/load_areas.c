/* SPDX-License-Identifier: Apache-2.0 */
/* The demand for the aggregates of load: for each prefix, what is asked of clients and nodes below.
 */
#include "endpoint/load_aggregates_internal.h"

#include "base/alloc.h"
#include "endpoint/load_names.h"
#include "model/name.h"

/* Clusters below a prefix with subscriptions to their aggregates. */
typedef struct aggregate_area {
    udpai_load_aggregates *owner;
    size_t n_wildcards, n_named; /* wildcards; and this node's own aggregate by its name */
    udpai_local_subscription *clients, *nodes;
    udpai_local_subscription *shared; /* from anywhere below */
    udpai_local_subscription *below;  /* its subscriber does not ask nodes below for theirs */
    uint32_t len;
    char prefix[];
} aggregate_area;

static udpai_str
area_key(const void *item)
{
    const aggregate_area *area = item;
    return (udpai_str){area->prefix, area->len};
}

/* ---- what comes ---- */

static void
on_clients(void *userdata, udpai_local_update *update)
{
    udpai_load_aggregates_take(((aggregate_area *)userdata)->owner, update,
                               UDPAI_LOAD_STATS_OF_CLIENT);
}

static void
on_nodes(void *userdata, udpai_local_update *update)
{
    udpai_load_aggregates_take(((aggregate_area *)userdata)->owner, update,
                               UDPAI_LOAD_STATS_OF_NODE);
}

static void
on_shared(void *userdata, udpai_local_update *update)
{
    udpai_load_aggregates_take(((aggregate_area *)userdata)->owner, update,
                               UDPAI_LOAD_STATS_OF_SHARED);
}

/* ---- areas ---- */

static void
free_area(aggregate_area *area)
{
    udpai_node *node = area->owner->options.node;
    if (area->clients)
        udpai_node_unsubscribe(node, area->clients);
    if (area->nodes)
        udpai_node_unsubscribe(node, area->nodes);
    if (area->shared)
        udpai_node_unsubscribe(node, area->shared);
    if (area->below)
        udpai_node_unsubscribe(node, area->below);
    udpai_free(area);
}

static udpa_err
subscribe(aggregate_area *area)
{
    udpai_node *node = area->owner->options.node;
    const udpai_local_ops of_clients = {.update = on_clients, .userdata = area},
                          of_nodes = {.update = on_nodes, .userdata = area},
                          of_shared = {.update = on_shared, .userdata = area};
    udpai_selection selection = {
        .type_url = UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD),
        .prefix = area_key(area),
        .reach = UDPAI_REACH_CLIENTS,
    };
    udpa_err err = udpai_node_subscribe(node, &selection, &of_clients, &area->clients);
    selection.type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD);
    selection.reach = UDPAI_REACH_NOBODY; /* they come to the subscribers to these aggregates */
    if (err == UDPA_OK)
        err = udpai_node_subscribe(node, &selection, &of_nodes, &area->nodes);
    selection.type_url = UDPAI_STR(UDPAI_TYPE_SHARED_CLIENT_LOAD);
    selection.reach = UDPAI_REACH_ALL;
    return err == UDPA_OK ? udpai_node_subscribe(node, &selection, &of_shared, &area->shared) : err;
}

static aggregate_area *
make_area(udpai_load_aggregates *self, udpai_str prefix)
{
    aggregate_area *area = udpai_alloc(sizeof(*area) + prefix.len);
    if (!area)
        return NULL;
    area->owner = self;
    area->len = (uint32_t)prefix.len;
    if (prefix.len)
        memcpy(area->prefix, prefix.data, prefix.len);
    udpai_load_aggregates_wake(self, prefix);
    if (subscribe(area) == UDPA_OK && udpai_map_add(&self->areas, area))
        return area;
    free_area(area);
    return NULL;
}

bool
udpai_load_areas_have_demand(const udpai_load_aggregates *self, udpai_str cluster)
{
    size_t at = 0;
    const aggregate_area *area;
    while ((area = udpai_map_next(&self->areas, &at)))
        if (udpai_prefix_covers(area_key(area), cluster))
            return true;
    return false;
}

static void
end_area_if_unused(udpai_load_aggregates *self, aggregate_area *area)
{
    if (area->n_wildcards || area->n_named)
        return;
    udpai_map_remove(&self->areas, area_key(area));
    free_area(area);
    udpai_load_aggregates_rest(self);
}

static void
ignore(void *userdata, udpai_local_update *update)
{
    (void)userdata;
    (void)update;
}

/* Asks the nodes below for their aggregates as long as this node's has a subscription by its name.
 * The node reports then that all of the area is subscribed to, and when it is no more; that counts
 * as any such subscription.
 */
static void
ask_below(aggregate_area *area)
{
    udpai_node *node = area->owner->options.node;
    const udpai_local_ops ops = {.update = ignore, .userdata = area};
    const udpai_selection selection = {.type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD),
                                       .prefix = area_key(area)};
    if (area->n_named && !area->below) {
        (void)udpai_node_subscribe(node, &selection, &ops, &area->below);
    } else if (!area->n_named && area->below) {
        udpai_node_unsubscribe(node, area->below);
        area->below = NULL;
    }
}

/* True: the aggregate of this node; others make theirs. */
static bool
is_own_aggregate(const udpai_load_aggregates *self, udpai_str name, udpai_str *ret_cluster)
{
    udpai_str id;
    return udpai_load_name_split(name, ret_cluster, &id) && udpai_load_aggregates_is_own(self, id);
}

void
udpai_load_areas_note(udpai_load_aggregates *self,
                      udpai_str type_url,
                      udpai_str text,
                      bool subscribed)
{
    if (!udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD)))
        return;
    bool is_wildcard = text.len && text.data[0] == '*';
    udpai_str prefix = {text.data + is_wildcard, text.len - is_wildcard};
    if (!is_wildcard && !is_own_aggregate(self, text, &prefix))
        return;
    aggregate_area *area = udpai_map_get(&self->areas, prefix);
    if (!area && subscribed)
        area = make_area(self, prefix);
    if (!area)
        return;
    *(is_wildcard ? &area->n_wildcards : &area->n_named) += subscribed ? 1 : (size_t)-1;
    if (!is_wildcard)
        ask_below(area);
    end_area_if_unused(self, area);
}

/* ---- coming and going ---- */

void
udpai_load_areas_init(udpai_load_aggregates *self)
{
    udpai_map_init(&self->areas, area_key);
}

void
udpai_load_areas_free(udpai_load_aggregates *self)
{
    size_t at = 0;
    aggregate_area *area;
    while ((area = udpai_map_next(&self->areas, &at)))
        free_area(area);
    udpai_map_done(&self->areas);
}
