/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/seen_once.h"

#include "base/vector.h"

typedef struct seen_resource {
    udpai_list node;
    udpai_str key; /* behind the struct */
    UDPAI_VECTOR(const char *) features;
} seen_resource;

static udpai_str
key_of(const void *item)
{
    return ((const seen_resource *)item)->key;
}

void
udpai_seen_once_init(udpai_seen_once *seen)
{
    udpai_map_init(&seen->resources, key_of);
    udpai_list_init(&seen->order);
    seen->n = 0;
}

static void
drop(udpai_seen_once *seen, seen_resource *of)
{
    udpai_map_remove(&seen->resources, of->key);
    udpai_list_remove(&of->node);
    seen->n -= of->features.n;
    udpai_vector_done(&of->features);
    udpai_free(of);
}

void
udpai_seen_once_done(udpai_seen_once *seen)
{
    while (!udpai_list_empty(&seen->order))
        drop(seen, UDPAI_LIST_ENTRY(seen->order.next, seen_resource, node));
    udpai_map_done(&seen->resources);
}

bool
udpai_seen_once_has(const udpai_seen_once *seen, udpai_str resource, const char *feature)
{
    const seen_resource *of = udpai_map_get(&seen->resources, resource);
    for (size_t i = 0; of && i < of->features.n; i++)
        if (of->features.items[i] == feature)
            return true;
    return false;
}

/* NULL without memory. */
static seen_resource *
add_resource(udpai_seen_once *seen, udpai_str key)
{
    seen_resource *of = udpai_alloc(sizeof(*of) + key.len);
    if (!of)
        return NULL;
    udpai_list_init(&of->node);
    memcpy(of + 1, key.data, key.len);
    of->key = (udpai_str){(const char *)(of + 1), key.len};
    if (!udpai_map_add(&seen->resources, of)) {
        udpai_free(of);
        return NULL;
    }
    udpai_list_append(&seen->order, &of->node);
    return of;
}

static void
make_room(udpai_seen_once *seen, const seen_resource *for_whom)
{
    while (seen->n >= UDPAI_SEEN_ONCE_MAX) {
        seen_resource *first = UDPAI_LIST_ENTRY(seen->order.next, seen_resource, node);
        if (first == for_whom)
            return;
        drop(seen, first);
    }
}

void
udpai_seen_once_add(udpai_seen_once *seen, udpai_str resource, const char *feature)
{
    seen_resource *of = udpai_map_get(&seen->resources, resource);
    if (!of)
        of = add_resource(seen, resource);
    if (!of)
        return;
    make_room(seen, of);
    if (seen->n < UDPAI_SEEN_ONCE_MAX && udpai_vector_push(&of->features, feature))
        seen->n++;
    else if (of->features.n == 0)
        drop(seen, of);
}

void
udpai_seen_once_forget(udpai_seen_once *seen, udpai_str resource)
{
    seen_resource *of = udpai_map_get(&seen->resources, resource);
    if (of)
        drop(seen, of);
}
