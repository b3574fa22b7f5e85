/* SPDX-License-Identifier: Apache-2.0 */
/* What a filtered subscriber is not sent of its view: resources that came from its own node, or are
 * for other ConfigSources. */

/* They are left out when changes are collected, so it costs nothing to have such a subscriber. What
 * a filter has to remember is where it differs from its view for what has been sent, and each of
 * these is a place of the item in it:
 *
 * - a removal that the view does not have: what was visible is now the peer's own contribution;
 * - an item that became visible again later than it came into the view: the payload must be sent;
 * - none of the two: a removal that the view has is not sent. The item was left out when it went.
 */
#include "fanout/fanout_internal.h"

static bool
leaves_out(const udpai_view *filter, const udpa_bytes *from_node, const udpa_bytes *visible_to)
{
    return !udpai_may_offer(from_node, visible_to, filter->node, filter->link);
}

bool
udpai_filter_hides(const udpai_view *filter, const udpai_item *item)
{
    return leaves_out(filter, item->from_node, udpai_item_visible_to(item));
}

/* ---- what is seen ---- */

static uint64_t
place_of(const udpai_membership *member)
{
    return member->view->tombstones.slots[member->slot].seq;
}

static udpai_position
position_in_whole(udpai_view *view, const udpai_item *item)
{
    const udpai_membership *member = udpai_item_membership(item, view);
    if (!member)
        return (udpai_position){UDPAI_POSITION_NONE, 0, 0};
    if (member->is_tombstone)
        return (udpai_position){UDPAI_POSITION_REMOVED, place_of(member), member->entered_seq};
    return (udpai_position){UDPAI_POSITION_LIVE, item->seq, member->entered_seq};
}

udpai_position
udpai_filtered_view_position(udpai_filtered_view filtered, const udpai_item *item)
{
    if (!filtered.view)
        return (udpai_position){UDPAI_POSITION_NONE, 0, 0};
    udpai_position position = position_in_whole(filtered.view, item);
    const udpai_membership *own =
        filtered.filter ? udpai_item_membership(item, filtered.filter) : NULL;
    if (own && own->is_tombstone)
        return (udpai_position){UDPAI_POSITION_REMOVED, place_of(own), 0};
    bool is_left_out =
        position.kind == UDPAI_POSITION_LIVE && udpai_filtered_view_hides(filtered, item);
    if (is_left_out || (own && position.kind == UDPAI_POSITION_REMOVED))
        return (udpai_position){UDPAI_POSITION_NONE, 0, 0};
    if (own && own->entered_seq > position.entered_seq)
        position.entered_seq = own->entered_seq;
    return position;
}

uint64_t
udpai_item_payload_seq(const udpai_item *item, const udpai_subscription *subscription)
{
    uint64_t seq = subscription->subscriber->renderer->shows_content_only ? item->content_seq
                                                                          : item->payload_seq;
    udpai_position position =
        udpai_filtered_view_position(udpai_filtered_view_of(subscription), item);
    return position.entered_seq > seq ? position.entered_seq : seq;
}

udpai_set_hash
udpai_filtered_view_set_hash(udpai_filtered_view filtered)
{
    udpai_set_hash hash = {0};
    if (!filtered.filter)
        return filtered.view ? filtered.view->set_hash : hash;
    const udpai_log *live = &filtered.view->live;
    for (size_t i = 0; i < live->n; i++)
        if (live->slots[i].item && !udpai_filtered_view_hides(filtered, live->slots[i].item))
            udpai_set_hash_join(&hash, udpai_item_alone(live->slots[i].item));
    return hash;
}

udpai_removals
udpai_removals_after(udpai_filtered_view filtered, uint64_t seq)
{
    return (udpai_removals){
        .filtered = filtered,
        .of_view = filtered.view ? udpai_log_after(&filtered.view->tombstones, seq) : 0,
        .of_filter = filtered.filter ? udpai_log_after(&filtered.filter->tombstones, seq) : 0,
    };
}

/* Passes holes; NULL at the end. */
static const udpai_log_slot *
next_slot(const udpai_view *view, size_t *at)
{
    while (view && *at < view->tombstones.n && !view->tombstones.slots[*at].item)
        ++*at;
    return view && *at < view->tombstones.n ? &view->tombstones.slots[*at] : NULL;
}

uint64_t
udpai_removals_next_seq(udpai_removals *removals)
{
    const udpai_log_slot *of_view = next_slot(removals->filtered.view, &removals->of_view);
    const udpai_log_slot *of_filter = next_slot(removals->filtered.filter, &removals->of_filter);
    uint64_t seq = of_view ? of_view->seq : UDPAI_NOTHING;
    return of_filter && of_filter->seq < seq ? of_filter->seq : seq;
}

udpai_item *
udpai_removals_next(udpai_removals *removals)
{
    const udpai_log_slot *of_view = next_slot(removals->filtered.view, &removals->of_view);
    const udpai_log_slot *of_filter = next_slot(removals->filtered.filter, &removals->of_filter);
    if (of_filter && (!of_view || of_filter->seq < of_view->seq)) {
        removals->of_filter++;
        return of_filter->item;
    }
    removals->of_view++;
    bool is_sent_otherwise = removals->filtered.filter &&
                             udpai_item_membership(of_view->item, removals->filtered.filter);
    return is_sent_otherwise ? NULL : of_view->item;
}

/* ---- coming and going ---- */

static udpai_str
filter_key(const void *item)
{
    return udpai_bytes_view(((const udpai_view *)item)->node);
}

void
udpai_filters_init(udpai_view *view)
{
    udpai_map_init(&view->filters, filter_key);
    udpai_list_init(&view->of_links);
    udpai_list_init(&view->in_whole);
}

static udpai_view *
find_filter(const udpai_view *view, const udpa_bytes *except, uint64_t link)
{
    if (!link)
        return udpai_map_get(&view->filters, udpai_bytes_view(except));
    UDPAI_LIST_FOREACH (node, &view->of_links) {
        udpai_view *filter = UDPAI_LIST_ENTRY(node, udpai_view, in_whole);
        if (filter->link == link && udpai_same_bytes(filter->node, except))
            return filter;
    }
    return NULL;
}

static udpai_view *
make_filter(udpai_view *view, udpa_bytes *except, uint64_t link)
{
    udpai_view *filter = udpai_view_new(view->topic);
    if (!filter)
        return NULL;
    filter->whole = view;
    filter->node = udpa_bytes_ref(except);
    filter->link = link;
    if (filter->link) {
        udpai_list_append(&view->of_links, &filter->in_whole);
    } else if (!udpai_map_add(&view->filters, filter)) {
        udpai_filter_free(filter);
        return NULL;
    }
    return filter;
}

udpa_err
udpai_filter_get(udpai_view *view, const udpai_subscription *subscription, udpai_view **ret_filter)
{
    udpa_bytes *except = udpai_subscription_except(subscription);
    uint64_t link = subscription->subscriber->link;
    *ret_filter = NULL;
    if (!link && !except)
        return UDPA_OK;
    *ret_filter = find_filter(view, except, link);
    if (!*ret_filter)
        *ret_filter = make_filter(view, except, link);
    return *ret_filter ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_filter_free(udpai_view *filter)
{
    udpai_list_remove(&filter->in_whole);
    if (!filter->link && udpai_map_get(&filter->whole->filters, filter_key(filter)) == filter)
        udpai_map_remove(&filter->whole->filters, filter_key(filter));
    udpai_view_free(filter);
}

/* ---- bodies ---- */

bool
udpai_filtered_view_shares_payloads(udpai_filtered_view filtered, uint64_t held)
{
    return !filtered.filter || filtered.filter->entered_seq <= held;
}

bool
udpai_filtered_view_shares_removals(udpai_filtered_view filtered, uint64_t after)
{
    return !filtered.filter || filtered.filter->removed_seq <= after;
}

/* ---- changes ---- */

/* Will the filter need room for one place more? Not for what a peer publishes for the first time,
 * or again: it was left out, and still is. */
static bool
may_differ(const udpai_touched *touched, const udpai_item *item, const udpai_change *change)
{
    const udpai_view *filter = touched->filter;
    bool is_left_out = udpai_view_would_select(filter->whole, change) &&
                       leaves_out(filter, change->from_node, change->visible_to);
    if (udpai_item_membership(item, filter))
        return true;
    return touched->before.kind == UDPAI_POSITION_NONE ? !is_left_out : is_left_out;
}

static udpa_err
touch(udpai_view *filter, const udpai_item *item, const udpai_change *change)
{
    udpai_fanout *fanout = filter->topic->fanout;
    if (filter->stamp == fanout->stamp)
        return UDPA_OK;
    filter->stamp = fanout->stamp;
    const udpai_touched touched = {
        filter, udpai_filtered_view_position((udpai_filtered_view){filter->whole, filter}, item)};
    if (!may_differ(&touched, item, change))
        return UDPA_OK;
    if (!udpai_vector_push(&fanout->touched, touched))
        return UDPA_ERR_NOMEM;
    return udpai_view_reserve(filter);
}

static udpa_err
touch_by_node(const udpai_view *view,
              const udpa_bytes *node,
              const udpai_item *item,
              const udpai_change *change)
{
    udpai_view *filter =
        node && view->filters.n ? udpai_map_get(&view->filters, udpai_bytes_view(node)) : NULL;
    return filter ? touch(filter, item, change) : UDPA_OK;
}

/* Those of the view that may see the item otherwise than the view, before the change or after. */
static udpa_err
touch_filters_of(const udpai_view *view, const udpai_item *item, const udpai_change *change)
{
    udpa_err err = touch_by_node(view, item->from_node, item, change);
    if (err == UDPA_OK)
        err = touch_by_node(view, change->from_node, item, change);
    UDPAI_LIST_FOREACH (node, &view->of_links) {
        udpai_view *filter = UDPAI_LIST_ENTRY(node, udpai_view, in_whole);
        bool concerns = leaves_out(filter, item->from_node, udpai_item_visible_to(item)) ||
                        leaves_out(filter, change->from_node, change->visible_to);
        if (err == UDPA_OK && concerns)
            err = touch(filter, item, change);
    }
    return err;
}

udpa_err
udpai_filters_reserve(udpai_item *item, const udpai_change *change, size_t n_joining)
{
    udpai_fanout *fanout = item->topic->fanout;
    udpa_err err = UDPA_OK;
    fanout->touched.n = 0;
    fanout->stamp++;
    for (size_t i = 0; i < item->n_memberships && err == UDPA_OK; i++) {
        udpai_view *view = udpai_item_memberships(item)[i].view;
        err = udpai_view_is_filter(view) ? touch(view, item, change)
                                         : touch_filters_of(view, item, change);
    }
    if (err != UDPA_OK || !fanout->touched.n)
        return err;
    return udpai_memberships_reserve(item, item->n_memberships + n_joining + fanout->touched.n);
}

/* The item's place in the filter, taken out of where it was; a new one if it had none. */
static udpai_membership *
take_place(udpai_view *filter, udpai_item *item)
{
    udpai_membership *own = udpai_item_membership(item, filter);
    if (own) {
        udpai_membership_unplace(own);
        return own;
    }
    own = &udpai_item_memberships(item)[item->n_memberships++];
    *own = (udpai_membership){.view = filter};
    return own;
}

static void
forget_place(udpai_view *filter, udpai_item *item)
{
    udpai_membership *own = udpai_item_membership(item, filter);
    if (!own)
        return;
    udpai_membership_unplace(own);
    udpai_membership_drop(item, own);
}

static void
put_removal(udpai_view *filter, udpai_item *item)
{
    udpai_membership *own = take_place(filter, item);
    udpai_membership_place(own, item, true);
    filter->removed_seq = item->seq;
    filter->n_removed++;
    udpai_view_changed(filter);
}

/* Seq 0: it was not, and its removal is not sent. */
static void
put_entered(udpai_view *filter, udpai_item *item, uint64_t seq)
{
    udpai_membership *own = take_place(filter, item);
    own->entered_seq = seq;
    udpai_membership_place(own, item, false);
    if (seq)
        filter->entered_seq = seq;
    else
        filter->removed_seq = item->seq;
}

static void
make_visible(udpai_view *filter, udpai_item *item)
{
    const udpai_membership *member = udpai_item_membership(item, filter->whole);
    if (member->entered_seq == item->seq)
        forget_place(filter, item);
    else
        put_entered(filter, item, item->seq);
}

/* Is there a subscription that was not sent what was removed there? */
static bool
is_somebody_before(const udpai_view *filter, uint64_t seq)
{
    UDPAI_LIST_FOREACH (node, &filter->subscriptions)
        if (UDPAI_LIST_ENTRY(node, udpai_subscription, in_filter)->cursor.tombstones < seq)
            return true;
    return false;
}

/* It was removed, as seen through the filter, and is there now for others. */
static void
keep_removal(udpai_view *filter, udpai_item *item, uint64_t seq)
{
    const udpai_membership *own = udpai_item_membership(item, filter);
    if (own && own->is_tombstone)
        return;
    if (is_somebody_before(filter, seq))
        put_removal(filter, item);
    else
        forget_place(filter, item);
}

/* It is not there any more for anybody. */
static void
go(const udpai_touched *touched, udpai_item *item)
{
    const udpai_membership *own = udpai_item_membership(item, touched->filter);
    if (touched->before.kind == UDPAI_POSITION_LIVE)
        forget_place(touched->filter, item);
    else if (touched->before.kind == UDPAI_POSITION_NONE && !own)
        put_entered(touched->filter, item, 0);
    else if (own)
        touched->filter->removed_seq = item->seq;
}

static void
leave_out(const udpai_touched *touched, udpai_item *item)
{
    switch (touched->before.kind) {
    case UDPAI_POSITION_LIVE:
        put_removal(touched->filter, item);
        break;
    case UDPAI_POSITION_REMOVED:
        keep_removal(touched->filter, item, touched->before.seq);
        break;
    case UDPAI_POSITION_NONE:
        forget_place(touched->filter, item);
        break;
    }
}

static void
update(const udpai_touched *touched, udpai_item *item)
{
    udpai_view *filter = touched->filter;
    const udpai_membership *member = udpai_item_membership(item, filter->whole);
    if (!member) /* it was forgotten there long ago, and has not come again */
        return;
    if (member->is_tombstone)
        go(touched, item);
    else if (leaves_out(filter, item->from_node, udpai_item_visible_to(item)))
        leave_out(touched, item);
    else if (touched->before.kind != UDPAI_POSITION_LIVE)
        make_visible(filter, item);
}

void
udpai_filters_update(udpai_item *item)
{
    const udpai_fanout *fanout = item->topic->fanout;
    for (size_t i = 0; i < fanout->touched.n; i++)
        update(&fanout->touched.items[i], item);
}

void
udpai_filters_forget(udpai_item *item, const udpai_view *whole)
{
    for (size_t i = item->n_memberships; i-- > 0;) {
        udpai_membership *member = &udpai_item_memberships(item)[i];
        if (member->view->whole == whole && !member->is_tombstone)
            forget_place(member->view, item);
    }
}

void
udpai_filter_forget_removal(udpai_view *filter, udpai_item *item)
{
    const udpai_membership *member = udpai_item_membership(item, filter->whole);
    if (member && member->is_tombstone && udpai_view_reserve(filter) == UDPA_OK)
        put_entered(filter, item, 0);
    else
        forget_place(filter, item);
}
