/* SPDX-License-Identifier: Apache-2.0 */
/* How many views there may be: in all, and of one peer, which may have many streams. Who reaches
 * his own bound takes nothing from the others. */
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
    udpai_owner *owner = udpai_alloc(sizeof(*owner) + name.len);
    if (!owner)
        return NULL;
    owner->fanout = fanout;
    owner->name_len = (uint32_t)name.len;
    memcpy(owner->name, name.data, name.len);
    if (udpai_map_add(&fanout->owners, owner))
        return owner;
    udpai_free(owner);
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
        udpai_free(owner);
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

/* Views that nobody uses are only kept for a while: they make room. The one idle longest goes. */
static bool
drop_idle(udpai_fanout *fanout, const udpai_owner *owner)
{
    UDPAI_LIST_FOREACH (node, &fanout->idle_views) {
        udpai_view *view = UDPAI_LIST_ENTRY(node, udpai_view, in_idle);
        if (owner && view->owner != owner)
            continue;
        udpai_view_free(view);
        return true;
    }
    return false;
}

/* The view that the subscription leaves, if nobody else has it: a change of the selection is then
 * no view more. */
static const udpai_view *
view_left(const udpai_subscription *subscription)
{
    const udpai_view *view = subscription->view;
    return view && view->subscriptions.next == view->subscriptions.prev ? view : NULL;
}

bool
udpai_quota_is_exceeded(const udpai_fanout *fanout, const udpai_owner *owner)
{
    return fanout->n_views > fanout->options.max_views ||
           (owner && owner->n_views > fanout->options.max_views_per_owner);
}

udpa_err
udpai_quota_make_room(const udpai_subscription *subscription, udpa_error **ret_error)
{
    udpai_fanout *fanout = subscription->subscriber->fanout;
    const udpai_owner *owner = subscription->subscriber->owner;
    const udpai_view *left = view_left(subscription);
    const udpai_fanout_options *options = &fanout->options;
    size_t n_left = left != NULL, n_left_of_owner = left && left->owner == owner;
    if (owner && owner->n_views - n_left_of_owner >= options->max_views_per_owner &&
        !drop_idle(fanout, owner))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "'%.*s' subscribes to %zu different selections of types and namespaces, "
                          "which is the limit for one peer (limits.max_views_per_identity): end "
                          "some first",
                          UDPAI_SHOWN(udpai_owner_key(owner)), owner->n_views);
    if (fanout->n_views - n_left >= options->max_views && !drop_idle(fanout, NULL))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "this node serves %zu different selections of types and namespaces, "
                          "which is its limit (limits.max_views): try again later",
                          fanout->n_views);
    return UDPA_OK;
}
