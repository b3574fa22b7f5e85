/* SPDX-License-Identifier: Apache-2.0 */
/* How many views there may be: in all, and of one peer, which may have many streams. A peer that
 * reaches its own bound takes nothing from the others. */
#include "fanout/fanout_internal.h"

udpai_str
udpai_owner_key(const void *item)
{
    const udpai_owner *owner = item;
    return (udpai_str){owner->name, owner->name_len};
}

static udpai_owner *
new_owner(udpai_fanout *fanout, udpai_str name)
{
    udpai_owner *owner = udpai_alloc_in(&fanout->memory, sizeof(*owner) + name.len);
    if (!owner)
        return NULL;
    owner->fanout = fanout;
    owner->name_len = (uint32_t)name.len;
    memcpy(owner->name, name.data, name.len);
    if (udpai_map_add(&fanout->owners, owner))
        return owner;
    udpai_free_in(&fanout->memory, owner, sizeof(*owner) + name.len);
    return NULL;
}

udpai_owner *
udpai_owner_ref(udpai_owner *owner)
{
    if (owner)
        owner->n_refs++;
    return owner;
}

udpai_owner *
udpai_owner_unref(udpai_owner *owner)
{
    if (owner && --owner->n_refs == 0) {
        udpai_map_remove(&owner->fanout->owners, udpai_owner_key(owner));
        udpai_free_in(&owner->fanout->memory, owner, sizeof(*owner) + owner->name_len);
    }
    return NULL;
}

udpa_err
udpai_subscriber_set_owner(udpai_subscriber *subscriber, udpai_str name)
{
    udpai_owner *owner = NULL;
    if (name.len) {
        owner = udpai_map_get(&subscriber->fanout->owners, name);
        if (!owner)
            owner = new_owner(subscriber->fanout, name);
        if (!owner)
            return UDPA_ERR_NOMEM;
        udpai_owner_ref(owner);
    }
    udpai_owner_unref(subscriber->owner);
    subscriber->owner = owner;
    return UDPA_OK;
}

bool
udpai_quota_is_exceeded(const udpai_fanout *fanout, const udpai_owner *owner)
{
    return fanout->n_views > fanout->options.max_views ||
           (owner && owner->n_views > fanout->options.max_views_per_owner);
}
