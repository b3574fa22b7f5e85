/* SPDX-License-Identifier: Apache-2.0 */
#include "model/hop_path.h"

#include <stdatomic.h>

#include "base/alloc.h"

struct stored_hop {
    uint32_t node_id_len, authority_len, instance_len;
};

/* Behind the hops the texts: the authority, and of each hop node id, authority and instance. */
struct udpai_hop_path {
    atomic_uint refs;
    uint32_t size, n_hops, authority_len;
    struct stored_hop hops[];
};

static char *
text_start(const udpai_hop_path *path)
{
    return (char *)(uintptr_t)(path->hops + path->n_hops);
}

static char *
put_text(char *at, udpai_str text)
{
    if (text.len)
        memcpy(at, text.data, text.len);
    return at + text.len + 1; /* the memory is zeroed */
}

static void
put_texts(udpai_hop_path *path, udpai_str authority, const udpai_hop *hops)
{
    char *at = put_text(text_start(path), authority);
    for (size_t i = 0; i < path->n_hops; i++) {
        path->hops[i] =
            (struct stored_hop){(uint32_t)hops[i].node_id.len, (uint32_t)hops[i].authority.len,
                                (uint32_t)hops[i].instance.len};
        at = put_text(at, hops[i].node_id);
        at = put_text(at, hops[i].authority);
        at = put_text(at, hops[i].instance);
    }
}

static bool
is_same(const udpai_hop_path *path, udpai_str authority, const udpai_hop *hops, size_t n_hops)
{
    if (path->n_hops != n_hops || !udpai_str_eq(udpai_hop_path_authority(path), authority))
        return false;
    for (size_t i = 0; i < n_hops; i++) {
        udpai_hop hop = udpai_hop_path_hop(path, i);
        if (!udpai_str_eq(hop.node_id, hops[i].node_id) ||
            !udpai_str_eq(hop.authority, hops[i].authority) ||
            !udpai_str_eq(hop.instance, hops[i].instance))
            return false;
    }
    return true;
}

udpai_hop_path *
udpai_hop_path_of(udpai_hop_path *likely, udpai_str authority, const udpai_hop *hops, size_t n_hops)
{
    if (likely && is_same(likely, authority, hops, n_hops))
        return udpai_hop_path_ref(likely);
    size_t size = sizeof(udpai_hop_path) + n_hops * sizeof(struct stored_hop) + authority.len + 1;
    for (size_t i = 0; i < n_hops; i++)
        size += hops[i].node_id.len + hops[i].authority.len + hops[i].instance.len + 3;
    udpai_hop_path *path = size <= UINT32_MAX ? udpai_alloc(size) : NULL;
    if (!path)
        return NULL;
    atomic_init(&path->refs, 1);
    path->size = (uint32_t)size;
    path->n_hops = (uint32_t)n_hops;
    path->authority_len = (uint32_t)authority.len;
    put_texts(path, authority, hops);
    return path;
}

udpai_hop_path *
udpai_hop_path_ref(udpai_hop_path *path)
{
    atomic_fetch_add_explicit(&path->refs, 1, memory_order_relaxed);
    return path;
}

udpai_hop_path *
udpai_hop_path_unref(udpai_hop_path *path)
{
    if (path && atomic_fetch_sub_explicit(&path->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(path);
    return NULL;
}

udpai_str
udpai_hop_path_authority(const udpai_hop_path *path)
{
    return (udpai_str){text_start(path), path->authority_len};
}

udpai_hop
udpai_hop_path_hop(const udpai_hop_path *path, size_t index)
{
    const char *at = text_start(path) + path->authority_len + 1;
    for (size_t i = 0; i < index; i++)
        at += path->hops[i].node_id_len + path->hops[i].authority_len + path->hops[i].instance_len +
              3;
    const struct stored_hop *hop = &path->hops[index];
    const char *authority = at + hop->node_id_len + 1;
    return (udpai_hop){
        .node_id = {at, hop->node_id_len},
        .authority = {authority, hop->authority_len},
        .instance = {authority + hop->authority_len + 1, hop->instance_len},
    };
}

size_t
udpai_hop_path_n_hops(const udpai_hop_path *path)
{
    return path->n_hops;
}

size_t
udpai_hop_path_size(const udpai_hop_path *path)
{
    return path->size;
}
