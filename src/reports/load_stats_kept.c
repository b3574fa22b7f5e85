/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_stats_kept.h"

#include "base/alloc.h"

typedef struct kept_sum {
    udpai_list in_order;
    udpa_bytes *cluster;
    udpai_load_stats_nodes counted;
    uint64_t until_ms;
} kept_sum;

static udpai_str
kept_key(const void *item)
{
    return udpai_bytes_view(((const kept_sum *)item)->cluster);
}

void
udpai_load_stats_kept_init(udpai_load_stats_kept *kept)
{
    udpai_map_init(&kept->map, kept_key);
    udpai_list_init(&kept->order);
}

static void
drop(udpai_load_stats_kept *kept, kept_sum *self)
{
    udpai_map_remove(&kept->map, kept_key(self));
    udpai_list_remove(&self->in_order);
    udpai_load_stats_nodes_done(&self->counted);
    udpa_bytes_unref(self->cluster);
    udpai_free(self);
}

void
udpai_load_stats_kept_done(udpai_load_stats_kept *kept)
{
    (void)udpai_load_stats_kept_expire(kept, UINT64_MAX);
    udpai_map_done(&kept->map);
}

void
udpai_load_stats_kept_put(udpai_load_stats_kept *kept,
                          udpa_bytes *cluster,
                          udpai_load_stats_nodes *counted,
                          uint64_t until_ms)
{
    kept_sum *self = udpai_alloc(sizeof(*self));
    if (!self) {
        udpai_load_stats_nodes_done(counted);
        return;
    }
    udpai_load_stats_nodes_init(&self->counted, (udpai_str){0});
    udpai_load_stats_nodes_go_on(&self->counted, counted);
    self->cluster = udpa_bytes_ref(cluster);
    self->until_ms = until_ms;
    udpai_list_append(&kept->order, &self->in_order);
    if (!udpai_map_add(&kept->map, self))
        drop(kept, self);
}

udpai_load_stats_nodes *
udpai_load_stats_kept_find(const udpai_load_stats_kept *kept, udpai_str cluster)
{
    kept_sum *self = udpai_map_get(&kept->map, cluster);
    return self ? &self->counted : NULL;
}

void
udpai_load_stats_kept_forget(udpai_load_stats_kept *kept, udpai_str cluster)
{
    kept_sum *self = udpai_map_get(&kept->map, cluster);
    if (self)
        drop(kept, self);
}

uint64_t
udpai_load_stats_kept_expire(udpai_load_stats_kept *kept, uint64_t now_ms)
{
    UDPAI_LIST_FOREACH_SAFE (at, &kept->order) {
        kept_sum *self = UDPAI_LIST_ENTRY(at, kept_sum, in_order);
        if (self->until_ms > now_ms)
            return self->until_ms;
        drop(kept, self);
    }
    return UINT64_MAX;
}
