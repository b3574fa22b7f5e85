/* SPDX-License-Identifier: Apache-2.0 */
#include "store/change_set.h"

#include <stdatomic.h>

struct udpai_change_set {
    atomic_uint refs;
    UDPAI_VECTOR(udpai_change) changes;
};

udpai_change_set *
udpai_change_set_new(void)
{
    udpai_change_set *set = udpai_alloc(sizeof(*set));
    if (set)
        atomic_init(&set->refs, 1);
    return set;
}

udpa_err
udpai_change_set_add(udpai_change_set *set, const udpai_change *change)
{
    if (!udpai_vector_push(&set->changes, *change))
        return UDPA_ERR_NOMEM;
    udpa_resource_ref(change->resource);
    udpa_resource_ref(change->before);
    udpa_resource_ref(change->removal);
    udpa_bytes_ref(change->from_node);
    udpa_bytes_ref(change->visible_to);
    return UDPA_OK;
}

udpai_change_set *
udpai_change_set_ref(udpai_change_set *set)
{
    if (set)
        atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
    return set;
}

udpai_change_set *
udpai_change_set_unref(udpai_change_set *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < set->changes.n; i++) {
        udpa_resource_unref(set->changes.items[i].resource);
        udpa_resource_unref(set->changes.items[i].before);
        udpa_resource_unref(set->changes.items[i].removal);
        udpa_bytes_unref(set->changes.items[i].from_node);
        udpa_bytes_unref(set->changes.items[i].visible_to);
    }
    udpai_vector_done(&set->changes);
    udpai_free(set);
    return NULL;
}

size_t
udpai_change_set_size(const udpai_change_set *set)
{
    return set->changes.n;
}

const udpai_change *
udpai_change_set_at(const udpai_change_set *set, size_t index)
{
    return &set->changes.items[index];
}
