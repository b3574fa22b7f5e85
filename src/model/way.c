/* SPDX-License-Identifier: Apache-2.0 */
#include "model/way.h"

#include <stdatomic.h>

#include "base/alloc.h"

struct stored_hop {
    uint32_t node_id_len, authority_len, instance_len;
};

/* Behind the hops the texts: the authority, and of each hop node id, authority and instance. */
struct udpai_way {
    atomic_uint refs;
    uint32_t size, n_hops, authority_len;
    struct stored_hop hops[];
};

static char *
text_start(const udpai_way *way)
{
    return (char *)(uintptr_t)(way->hops + way->n_hops);
}

static char *
put_text(char *at, udpai_str text)
{
    if (text.len)
        memcpy(at, text.data, text.len);
    return at + text.len + 1; /* the memory is zeroed */
}

static void
put_texts(udpai_way *way, udpai_str authority, const udpai_hop *hops)
{
    char *at = put_text(text_start(way), authority);
    for (size_t i = 0; i < way->n_hops; i++) {
        way->hops[i] =
            (struct stored_hop){(uint32_t)hops[i].node_id.len, (uint32_t)hops[i].authority.len,
                                (uint32_t)hops[i].instance.len};
        at = put_text(at, hops[i].node_id);
        at = put_text(at, hops[i].authority);
        at = put_text(at, hops[i].instance);
    }
}

static bool
is_same(const udpai_way *way, udpai_str authority, const udpai_hop *hops, size_t n_hops)
{
    if (way->n_hops != n_hops || !udpai_str_eq(udpai_way_authority(way), authority))
        return false;
    for (size_t i = 0; i < n_hops; i++) {
        udpai_hop hop = udpai_way_hop(way, i);
        if (!udpai_str_eq(hop.node_id, hops[i].node_id) ||
            !udpai_str_eq(hop.authority, hops[i].authority) ||
            !udpai_str_eq(hop.instance, hops[i].instance))
            return false;
    }
    return true;
}

udpai_way *
udpai_way_of(udpai_way *likely, udpai_str authority, const udpai_hop *hops, size_t n_hops)
{
    if (likely && is_same(likely, authority, hops, n_hops))
        return udpai_way_ref(likely);
    size_t size = sizeof(udpai_way) + n_hops * sizeof(struct stored_hop) + authority.len + 1;
    for (size_t i = 0; i < n_hops; i++)
        size += hops[i].node_id.len + hops[i].authority.len + hops[i].instance.len + 3;
    udpai_way *way = size <= UINT32_MAX ? udpai_alloc(size) : NULL;
    if (!way)
        return NULL;
    atomic_init(&way->refs, 1);
    way->size = (uint32_t)size;
    way->n_hops = (uint32_t)n_hops;
    way->authority_len = (uint32_t)authority.len;
    put_texts(way, authority, hops);
    return way;
}

udpai_way *
udpai_way_ref(udpai_way *way)
{
    atomic_fetch_add_explicit(&way->refs, 1, memory_order_relaxed);
    return way;
}

udpai_way *
udpai_way_unref(udpai_way *way)
{
    if (way && atomic_fetch_sub_explicit(&way->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(way);
    return NULL;
}

udpai_str
udpai_way_authority(const udpai_way *way)
{
    return (udpai_str){text_start(way), way->authority_len};
}

udpai_hop
udpai_way_hop(const udpai_way *way, size_t index)
{
    const char *at = text_start(way) + way->authority_len + 1;
    for (size_t i = 0; i < index; i++)
        at += way->hops[i].node_id_len + way->hops[i].authority_len + way->hops[i].instance_len + 3;
    const struct stored_hop *hop = &way->hops[index];
    const char *authority = at + hop->node_id_len + 1;
    return (udpai_hop){
        .node_id = {at, hop->node_id_len},
        .authority = {authority, hop->authority_len},
        .instance = {authority + hop->authority_len + 1, hop->instance_len},
    };
}

size_t
udpai_way_n_hops(const udpai_way *way)
{
    return way->n_hops;
}

size_t
udpai_way_size(const udpai_way *way)
{
    return way->size;
}
