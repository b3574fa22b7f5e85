/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/refreshes.h"

#include "base/alloc.h"
#include "model/resource.h"

#define PRUNE_MIN 64

static udpai_str
key_of(const void *item)
{
    const udpai_refresh *refresh = item;
    return (udpai_str){(const char *)&refresh->key, sizeof(refresh->key)};
}

uint64_t
udpai_refresh_key(udpai_str origin, udpai_str type_url, udpai_str name)
{
    const uint64_t parts[] = {udpai_hash(origin), udpai_hash(type_url), udpai_hash(name)};
    return udpai_hash((udpai_str){(const char *)parts, sizeof(parts)});
}

bool
udpai_refreshes_begin(const udpai_durable_batch *batch, uint64_t now_ms, udpai_refresh_list *list)
{
    for (size_t i = 0; i < batch->ops.n; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        uint64_t ttl_ms = op->resource ? udpa_resource_ttl_ms(op->resource) : 0;
        if (ttl_ms == 0)
            continue;
        const udpai_refresh refresh = {
            .key = udpai_refresh_key(udpai_bytes_view(op->origin),
                                     udpai_resource_type_url(op->resource),
                                     udpai_resource_name(op->resource)),
            .until_ms = now_ms + ttl_ms / 3,
        };
        if (!udpai_vector_push(list, refresh))
            return false;
    }
    return true;
}

/* What remains keeps the table from growing; so each is looked at seldom. */
static void
prune(udpai_refreshes *refreshes, uint64_t now_ms)
{
    udpai_map old = refreshes->all;
    udpai_map_init(&refreshes->all, key_of);
    size_t at = 0;
    udpai_refresh *refresh;
    while ((refresh = udpai_map_next(&old, &at)))
        if (refresh->until_ms <= now_ms || !udpai_map_add(&refreshes->all, refresh))
            udpai_free(refresh);
    udpai_map_done(&old);
    refreshes->prune_at = 2 * refreshes->all.n > PRUNE_MIN ? 2 * refreshes->all.n : PRUNE_MIN;
}

static void
note(udpai_refreshes *refreshes, const udpai_refresh *written)
{
    udpai_refresh *refresh = udpai_map_get(&refreshes->all, key_of(written));
    if (refresh) {
        refresh->until_ms = written->until_ms;
        return;
    }
    refresh = udpai_alloc(sizeof(*refresh));
    if (!refresh)
        return;
    *refresh = *written;
    if (!udpai_map_add(&refreshes->all, refresh))
        udpai_free(refresh);
}

void
udpai_refreshes_end(udpai_refreshes *refreshes, const udpai_refresh_list *list, uint64_t now_ms)
{
    for (size_t i = 0; i < list->n; i++) {
        if (refreshes->all.n >= refreshes->prune_at)
            prune(refreshes, now_ms);
        note(refreshes, &list->items[i]);
    }
}

bool
udpai_refreshes_have(const udpai_refreshes *refreshes, uint64_t key, uint64_t now_ms)
{
    const udpai_refresh *refresh =
        udpai_map_get(&refreshes->all, (udpai_str){(const char *)&key, sizeof(key)});
    return refresh && refresh->until_ms > now_ms;
}

void
udpai_refreshes_done(udpai_refreshes *refreshes)
{
    size_t at = 0;
    udpai_refresh *refresh;
    while ((refresh = udpai_map_next(&refreshes->all, &at)))
        udpai_free(refresh);
    udpai_map_done(&refreshes->all);
    *refreshes = (udpai_refreshes){0};
}
