/* SPDX-License-Identifier: Apache-2.0 */
/* What a view selects, and the places of items in views. */
#include "fanout/fanout_internal.h"

#include "model/links.h"
#include "model/name.h"

bool
udpai_may_offer(const udpa_bytes *from_node,
                const udpa_bytes *visible_to,
                const udpa_bytes *except_node,
                uint64_t link)
{
    if (except_node && from_node && udpai_same_bytes(except_node, from_node))
        return false;
    return !link || udpai_links_have(visible_to, link);
}

static bool
may_see(const udpai_fanout *fanout, const udpa_resource *resource, uint64_t visibility)
{
    return !fanout->may_see || fanout->may_see(fanout->may_see_userdata, visibility, resource);
}

bool
udpai_is_visible(const udpai_item *item, const udpai_subscriber *subscriber)
{
    return item->resource &&
           udpai_may_offer(item->from_node, udpai_item_visible_to(item), subscriber->except_node,
                           subscriber->link) &&
           may_see(item->topic->fanout, item->resource, subscriber->visibility);
}

/* Lazy resources come by name, not by wildcard; and variants, to subscribers that select one of a
 * name. */
static bool
would_select(const udpai_view *view, const udpa_resource *resource)
{
    return resource && may_see(view->topic->fanout, resource, view->visibility) &&
           !udpai_resource_is_lazy(resource) &&
           !(view->without_variants && udpai_resource_constraints(resource).len);
}

bool
udpai_view_selects(const udpai_view *view, const udpai_item *item)
{
    return would_select(view, item->resource);
}

bool
udpai_view_would_select(const udpai_view *view, const udpai_change *change)
{
    return change->kind != UDPAI_CHANGE_REMOVE && would_select(view, change->resource);
}

bool
udpai_view_covers(const udpai_view *view, udpai_str name)
{
    if (view->glob)
        return udpai_glob_covers(view, name);
    for (size_t i = 0; i < view->prefixes.n; i++) {
        const udpai_view_prefix *prefix = view->prefixes.items[i];
        if (udpai_prefix_covers((udpai_str){prefix->text, prefix->len}, name))
            return true;
    }
    return false;
}

udpai_membership *
udpai_item_membership(const udpai_item *item, const udpai_view *view)
{
    udpai_membership *memberships = udpai_item_memberships(item);
    for (size_t i = 0; i < item->n_memberships; i++)
        if (memberships[i].view == view)
            return &memberships[i];
    return NULL;
}

/* The first has it in the item. */
udpa_err
udpai_memberships_reserve(udpai_item *item, size_t n)
{
    size_t capacity = item->more && item->more->memberships ? item->more->memberships_capacity : 1;
    if (n <= capacity)
        return UDPA_OK;
    size_t grown = udpai_max_size(capacity * 2, n);
    udpai_item_more *more = grown <= UINT32_MAX ? udpai_item_more_of(item) : NULL;
    if (!more)
        return UDPA_ERR_NOMEM;
    udpai_membership *bigger = udpai_realloc_array(more->memberships, grown, sizeof(*bigger));
    if (!bigger)
        return UDPA_ERR_NOMEM;
    udpai_memory_change(udpai_topic_memory(item->topic),
                        more->memberships_capacity * sizeof(*bigger), grown * sizeof(*bigger));
    if (!more->memberships)
        bigger[0] = item->own;
    more->memberships = bigger;
    more->memberships_capacity = (uint32_t)grown;
    return UDPA_OK;
}

void
udpai_membership_drop(udpai_item *item, udpai_membership *membership)
{
    *membership = udpai_item_memberships(item)[--item->n_memberships];
}

static void
on_moved(void *userdata, udpai_item *item, size_t slot)
{
    udpai_item_membership(item, userdata)->slot = (uint32_t)slot;
}

static udpai_log *
log_of(const udpai_membership *membership)
{
    return membership->is_tombstone ? &membership->view->tombstones : &membership->view->live;
}

void
udpai_membership_place(udpai_membership *membership, udpai_item *item, bool is_tombstone)
{
    membership->is_tombstone = is_tombstone;
    membership->slot = (uint32_t)udpai_log_append(log_of(membership), item->seq, item);
}

void
udpai_membership_unplace(udpai_membership *membership)
{
    udpai_log_clear_slot(log_of(membership), membership->slot);
}

void
udpai_view_changed(udpai_view *view)
{
    view->changed_seq = view->topic->fanout->seq;
    if (!udpai_list_linked(&view->dirty))
        udpai_list_append(&view->topic->fanout->dirty_views, &view->dirty);
}

udpa_err
udpai_view_reserve(udpai_view *view)
{
    return udpai_log_reserve(&view->live, on_moved, view) &&
                   udpai_log_reserve(&view->tombstones, on_moved, view)
               ? UDPA_OK
               : UDPA_ERR_NOMEM;
}
