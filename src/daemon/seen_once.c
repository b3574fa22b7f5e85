/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/seen_once.h"

#include "base/vector.h"

typedef struct told_resource {
    udpai_list node;
    udpai_str key; /* behind the struct */
    UDPAI_VECTOR(const char *) features;
} told_resource;

static udpai_str
key_of(const void *item)
{
    return ((const told_resource *)item)->key;
}

void
udpai_seen_once_init(udpai_seen_once *told)
{
    udpai_map_init(&told->resources, key_of);
    udpai_list_init(&told->order);
    told->n = 0;
}

static void
drop(udpai_seen_once *told, told_resource *of)
{
    udpai_map_remove(&told->resources, of->key);
    udpai_list_remove(&of->node);
    told->n -= of->features.n;
    udpai_vector_done(&of->features);
    udpai_free(of);
}

void
udpai_seen_once_done(udpai_seen_once *told)
{
    while (!udpai_list_empty(&told->order))
        drop(told, UDPAI_LIST_ENTRY(told->order.next, told_resource, node));
    udpai_map_done(&told->resources);
}

bool
udpai_seen_once_has(const udpai_seen_once *told, udpai_str resource, const char *feature)
{
    const told_resource *of = udpai_map_get(&told->resources, resource);
    for (size_t i = 0; of && i < of->features.n; i++)
        if (of->features.items[i] == feature)
            return true;
    return false;
}

/* NULL without memory. */
static told_resource *
add_resource(udpai_seen_once *told, udpai_str key)
{
    told_resource *of = udpai_alloc(sizeof(*of) + key.len);
    if (!of)
        return NULL;
    udpai_list_init(&of->node);
    memcpy(of + 1, key.data, key.len);
    of->key = (udpai_str){(const char *)(of + 1), key.len};
    if (!udpai_map_add(&told->resources, of)) {
        udpai_free(of);
        return NULL;
    }
    udpai_list_append(&told->order, &of->node);
    return of;
}

static void
make_room(udpai_seen_once *told, const told_resource *for_whom)
{
    while (told->n >= UDPAI_SEEN_ONCE_MAX) {
        told_resource *first = UDPAI_LIST_ENTRY(told->order.next, told_resource, node);
        if (first == for_whom)
            return;
        drop(told, first);
    }
}

void
udpai_seen_once_add(udpai_seen_once *told, udpai_str resource, const char *feature)
{
    told_resource *of = udpai_map_get(&told->resources, resource);
    if (!of)
        of = add_resource(told, resource);
    if (!of)
        return;
    make_room(told, of);
    if (told->n < UDPAI_SEEN_ONCE_MAX && udpai_vector_push(&of->features, feature))
        told->n++;
    else if (of->features.n == 0)
        drop(told, of);
}

void
udpai_seen_once_forget(udpai_seen_once *told, udpai_str resource)
{
    told_resource *of = udpai_map_get(&told->resources, resource);
    if (of)
        drop(told, of);
}
