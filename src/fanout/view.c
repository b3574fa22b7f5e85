/* SPDX-License-Identifier: Apache-2.0 */
/* Views: what a selection of a topic holds, in order of change, for all subscriptions that select
 * the same. */
#include "fanout/variant.h"

#include "model/links.h"
#include "model/name.h"

/* ---- memberships ---- */

static void
unhash(udpai_view *view, const udpai_item *item, const udpa_resource *before)
{
    udpai_set_hash_subtract(&view->set_hash, udpai_item_name(item),
                            udpai_resource_content_hash(before));
}

/* ---- changes ---- */

/* An item that the view holds, alive or as a tombstone, has changed. `before`: what it was, for the
 * hash; the view may have held it only if it was alive there. Room was reserved. */
static void
update_member(udpai_view *view,
              udpai_item *item,
              udpai_membership *membership,
              const udpa_resource *before,
              const udpai_set_hash *alone)
{
    bool was_live = !membership->is_tombstone, is_live = udpai_view_selects(view, item);
    if (!was_live && !is_live)
        return;
    if (was_live && before)
        unhash(view, item, before);
    udpai_membership_unplace(membership);
    if (!was_live)
        membership->entered_seq = item->seq;
    udpai_membership_place(membership, item, !is_live);
    if (is_live)
        udpai_set_hash_join(&view->set_hash, *alone);
    view->n_removed += !is_live;
    udpai_view_changed(view);
}

/* The view selects the item and does not hold it. `entered_seq`: 0 for what is there already when
 * the view is made. Room was reserved. */
static void
add_member(udpai_view *view, udpai_item *item, uint64_t entered_seq, const udpai_set_hash *alone)
{
    udpai_membership *membership = &udpai_item_memberships(item)[item->n_memberships++];
    *membership = (udpai_membership){.view = view, .entered_seq = entered_seq};
    udpai_membership_place(membership, item, false);
    udpai_set_hash_join(&view->set_hash, *alone);
    udpai_view_changed(view);
}

static udpa_err
reserve_member(udpai_view *view, udpai_item *item, size_t n_joining)
{
    udpa_err err = udpai_view_reserve(view);
    return err == UDPA_OK ? udpai_memberships_reserve(item, item->n_memberships + n_joining + 1)
                          : err;
}

/* Views that do not hold the item yet are noted behind its memberships, where they do not count as
 * such. What has the stamp holds it. */
static udpa_err
reserve_new_among(const udpai_view_prefix *prefix,
                  udpai_item *item,
                  const udpai_change *change,
                  uint64_t stamp,
                  size_t *n_joining)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; prefix && i < prefix->views.n && err == UDPA_OK; i++) {
        udpai_view *view = prefix->views.items[i];
        if (view->stamp == stamp || !udpai_view_would_select(view, change))
            continue;
        err = reserve_member(view, item, *n_joining);
        if (err == UDPA_OK)
            udpai_item_memberships(item)[item->n_memberships + (*n_joining)++].view = view;
    }
    return err;
}

static udpa_err
reserve_new_views(udpai_item *item, const udpai_change *change, uint64_t stamp, size_t *n_joining)
{
    size_t at = 0;
    udpai_str prefix_text;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_name_next_prefix(udpai_item_name(item), &at, &prefix_text))
        err = reserve_new_among(udpai_map_get(&item->topic->prefixes, prefix_text), item, change,
                                stamp, n_joining);
    if (err == UDPA_OK)
        err = reserve_new_among(udpai_glob_views_of(item), item, change, stamp, n_joining);
    return err;
}

udpa_err
udpai_views_reserve(udpai_item *item, const udpai_change *change, size_t *ret_n_joining)
{
    uint64_t stamp = ++item->topic->fanout->stamp;
    udpa_err err = UDPA_OK;
    *ret_n_joining = 0;
    for (size_t i = 0; i < item->n_memberships && err == UDPA_OK; i++) {
        udpai_view *view = udpai_item_memberships(item)[i].view;
        view->stamp = stamp;
        err = udpai_view_reserve(view);
    }
    if (err == UDPA_OK && change->kind != UDPAI_CHANGE_REMOVE)
        err = reserve_new_views(item, change, stamp, ret_n_joining);
    return err == UDPA_OK ? udpai_filters_reserve(item, change, *ret_n_joining) : err;
}

void
udpai_views_update(udpai_item *item, const udpa_resource *before, size_t n_joining)
{
    size_t joining = item->n_memberships;
    udpai_membership *memberships = udpai_item_memberships(item);
    udpai_set_hash alone = udpai_item_alone(item);
    for (size_t i = 0; i < joining; i++)
        if (!udpai_view_is_filter(memberships[i].view))
            update_member(memberships[i].view, item, &memberships[i], before, &alone);
    for (size_t i = 0; i < n_joining; i++)
        add_member(memberships[joining + i].view, item, item->seq, &alone);
    udpai_filters_update(item);
}

/* ---- finding and making ---- */

/* What of the selection of a glob is the same is found by the glob. */
static bool
same_selection(const udpai_view *view,
               const udpai_subscription *subscription,
               const udpai_str *prefixes,
               size_t n_prefixes)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    if (view->prefixes.n != n_prefixes || view->visibility != subscriber->visibility ||
        view->without_variants != udpai_selects_variants(subscriber))
        return false;
    if (view->glob)
        return udpai_same_bytes(view->label, subscription->label);
    for (size_t i = 0; i < n_prefixes; i++) {
        const udpai_view_prefix *own = view->prefixes.items[i];
        if (!udpai_str_eq((udpai_str){own->text, own->len}, prefixes[i]))
            return false;
    }
    return true;
}

static udpai_view *
find_view(const udpai_subscription *subscription, const udpai_str *prefixes, size_t n_prefixes)
{
    const udpai_topic *topic = subscription->topic;
    const udpai_view_prefix *first =
        subscription->glob ? udpai_map_get(&topic->globs, udpai_bytes_view(subscription->glob))
                           : udpai_map_get(&topic->prefixes, prefixes[0]);
    for (size_t i = 0; first && i < first->views.n; i++)
        if (same_selection(first->views.items[i], subscription, prefixes, n_prefixes))
            return first->views.items[i];
    return NULL;
}

/* Where views are found. */
static udpai_map *
index_of(const udpai_view *view)
{
    return view->glob ? &view->topic->globs : &view->topic->prefixes;
}

static void
drop_prefix_if_unused(udpai_map *index, udpai_view_prefix *prefix)
{
    if (prefix->views.n)
        return;
    udpai_map_remove(index, (udpai_str){prefix->text, prefix->len});
    udpai_vector_done_in(index->memory, &prefix->views);
    udpai_free_in(index->memory, prefix, sizeof(*prefix) + prefix->len);
}

static udpai_view_prefix *
get_prefix(udpai_map *index, udpai_str text)
{
    udpai_view_prefix *prefix = udpai_map_get(index, text);
    if (prefix)
        return prefix;
    prefix = udpai_alloc_in(index->memory, sizeof(*prefix) + text.len);
    if (!prefix)
        return NULL;
    prefix->len = (uint32_t)text.len;
    if (text.len)
        memcpy(prefix->text, text.data, text.len);
    if (udpai_map_add(index, prefix))
        return prefix;
    udpai_free_in(index->memory, prefix, sizeof(*prefix) + text.len);
    return NULL;
}

static bool
attach_prefix(udpai_view *view, udpai_str text)
{
    udpai_view_prefix *prefix = get_prefix(index_of(view), text);
    if (!prefix)
        return false;
    if (udpai_vector_push_in(udpai_topic_memory(view->topic), &prefix->views, view)) {
        if (udpai_vector_push(&view->prefixes, prefix))
            return true;
        prefix->views.n--;
    }
    drop_prefix_if_unused(index_of(view), prefix);
    return false;
}

/* Everything the view selects, in order of its last change. */
static bool
fill(udpai_view *view)
{
    udpai_found_vector found = {0};
    bool made = udpai_view_find(view, &found);
    for (size_t i = 0; made && i < found.n; i++) {
        udpai_item *item = found.items[i].item;
        udpai_set_hash alone = udpai_item_alone(item);
        made = reserve_member(view, item, 0) == UDPA_OK;
        if (made)
            add_member(view, item, 0, &alone);
    }
    udpai_vector_done(&found);
    udpai_list_remove(&view->dirty); /* nobody is there yet to be woken */
    return made;
}

static void
on_linger_end(udpai_timer *timer)
{
    udpai_view_free(UDPAI_CONTAINER_OF(timer, udpai_view, linger));
}

/* Views of globs do not count against the bounds on views: each costs its members one look-up in
 * all, goes with its last subscription, and these are bounded. */
static void
count_view(udpai_view *view, const udpai_subscriber *subscriber)
{
    if (view->glob)
        return;
    view->topic->fanout->n_views++;
    view->owner = udpai_owner_ref(subscriber->owner);
    if (view->owner)
        view->owner->n_views++;
}

static void
uncount_view(udpai_view *view)
{
    if (view->glob || udpai_view_is_filter(view))
        return;
    view->topic->fanout->n_views--;
    if (view->owner)
        view->owner->n_views--;
    udpai_owner_unref(view->owner);
}

udpai_view *
udpai_view_new(udpai_topic *topic)
{
    udpai_view *view = udpai_alloc_in(udpai_topic_memory(topic), sizeof(*view));
    if (!view)
        return NULL;
    view->topic = topic;
    view->live.memory = view->tombstones.memory = udpai_topic_memory(topic);
    udpai_list_init(&view->in_topic);
    udpai_list_init(&view->subscriptions);
    udpai_list_init(&view->dirty);
    udpai_list_init(&view->bodies);
    udpai_list_init(&view->in_idle);
    udpai_timer_init(&view->linger, on_linger_end);
    udpai_tombstones_init(view);
    udpai_filters_init(view);
    return view;
}

static udpai_view *
new_view(const udpai_subscription *subscription)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    udpai_view *view = udpai_view_new(subscription->topic);
    if (!view)
        return NULL;
    view->glob = udpa_bytes_ref(subscription->glob);
    view->label = udpa_bytes_ref(subscription->glob ? subscription->label : NULL);
    view->visibility = subscriber->visibility;
    view->without_variants = udpai_selects_variants(subscriber);
    udpai_list_append(&view->topic->views, &view->in_topic);
    count_view(view, subscriber);
    return view;
}

static bool
attach(udpai_view *view, const udpai_str *prefixes, size_t n_prefixes)
{
    if (view->glob)
        return udpai_families_make(view->topic) == UDPA_OK &&
               attach_prefix(view, udpai_bytes_view(view->glob));
    bool made = true;
    for (size_t i = 0; made && i < n_prefixes; i++)
        made = attach_prefix(view, prefixes[i]);
    return made;
}

static udpai_view *
make_view(const udpai_subscription *subscription, const udpai_str *prefixes, size_t n_prefixes)
{
    udpai_view *view = new_view(subscription);
    bool made = view && attach(view, prefixes, n_prefixes);
    if (made && fill(view))
        return view;
    if (view)
        udpai_view_free(view);
    return NULL;
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
    return view && udpai_view_has_one(view) ? view : NULL;
}

/* The subscription may be given one more view; for that, one that nobody uses may go. What it alone
 * has used up to now makes room, too: it will be idle, and must then not be kept above the bound.
 */
static udpa_err
make_room(const udpai_subscription *subscription, udpa_error **ret_error)
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

udpa_err
udpai_view_get(const udpai_subscription *subscription,
               const udpai_str *prefixes,
               size_t n_prefixes,
               udpai_view **ret_view,
               udpa_error **ret_error)
{
    udpai_view *view = find_view(subscription, prefixes, n_prefixes);
    if (view) {
        udpai_timer_cancel(&view->linger);
        udpai_list_remove(&view->in_idle);
    } else {
        udpa_err err = subscription->glob ? UDPA_OK : make_room(subscription, ret_error);
        if (err != UDPA_OK)
            return err;
        view = make_view(subscription, prefixes, n_prefixes);
    }
    if (!view)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_view = view;
    return UDPA_OK;
}

void
udpai_view_idle(udpai_view *view)
{
    udpai_fanout *fanout = view->topic->fanout;
    if (view->glob || udpai_quota_is_exceeded(fanout, view->owner)) {
        udpai_view_free(view);
        return;
    }
    udpai_list_append(&fanout->idle_views, &view->in_idle);
    udpai_timer_set(fanout->wheel, &view->linger,
                    fanout->wheel->now_ms + fanout->options.view_linger_ms);
}

static void
drop_all_members(udpai_view *view, udpai_log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        udpai_item *item = log->slots[i].item;
        if (!item)
            continue;
        udpai_membership_drop(item, udpai_item_membership(item, view));
        udpai_item_release(item);
    }
    udpai_log_done(log);
}

void
udpai_view_free(udpai_view *view)
{
    udpai_topic *topic = view->topic;
    topic->n_subscriptions++; /* releasing items must not take the topic away below us */
    drop_all_members(view, &view->live);
    drop_all_members(view, &view->tombstones);
    for (size_t i = 0; i < view->prefixes.n; i++) {
        udpai_view_prefix *prefix = view->prefixes.items[i];
        for (size_t k = 0; k < prefix->views.n; k++)
            if (prefix->views.items[k] == view)
                udpai_vector_remove_unordered(&prefix->views, k);
        drop_prefix_if_unused(index_of(view), prefix);
    }
    udpai_view_drop_bodies(view);
    udpai_vector_done(&view->prefixes);
    udpai_timer_cancel(&view->linger);
    udpai_timer_cancel(&view->patience);
    udpai_list_remove(&view->in_topic);
    udpai_list_remove(&view->dirty);
    udpai_list_remove(&view->in_idle);
    uncount_view(view);
    udpai_map_done(&view->filters);
    udpa_bytes_unref(view->node);
    udpa_bytes_unref(view->glob);
    udpa_bytes_unref(view->label);
    udpai_free_in(udpai_topic_memory(topic), view, sizeof(*view));
    topic->n_subscriptions--;
    udpai_topic_release(topic);
}
