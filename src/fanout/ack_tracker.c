/* SPDX-License-Identifier: Apache-2.0 */
/* A wildcard was sent everything at or before its cursor, a name what it notes; and what was sent
 * is answered if it precedes the first thing in any response that is not. Where the exact place is
 * not known, less is reported than there is. */
#include "fanout/ack_tracker.h"

#include "fanout/variant.h"

struct visit {
    udpai_item *item;
    udpai_resource_ack_fn visit;
    void *userdata;
    uint64_t stamp;
    bool is_enough;
};

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

udpai_ack_position
udpai_ack_position_least(udpai_ack_position a, udpai_ack_position b)
{
    return (udpai_ack_position){
        .additions = least(a.additions, b.additions),
        .payloads = least(a.payloads, b.payloads),
        .removals = least(a.removals, b.removals),
        .turn = least(a.turn, b.turn),
        .all_additions = least(a.all_additions, b.all_additions),
        .all_removals = least(a.all_removals, b.all_removals),
    };
}

bool
udpai_resource_ack_is_answered(const udpai_resource_ack *ack, udpai_ack_position unanswered)
{
    if (!ack->is_sent || ack->turn >= unanswered.turn)
        return false;
    if (!ack->resource)
        return ack->place < unanswered.removals;
    return ack->place < unanswered.additions || ack->payload <= unanswered.payloads;
}

bool
udpai_subscription_has_answered(const udpai_subscription *subscription,
                                udpai_ack_position unanswered,
                                uint64_t place,
                                bool is_removal)
{
    uint64_t answered = is_removal ? unanswered.all_removals : unanswered.all_additions;
    uint64_t sent = is_removal ? subscription->all_removals : subscription->all_additions;
    bool has_all =
        is_removal ? udpai_has_all_removals(subscription) : udpai_has_all_additions(subscription);
    return place <= answered && (has_all || place <= sent);
}

static uint64_t
greatest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- what is there ---- */

static const udpai_name_sub *
find_sub(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_map_get(&subscription->names, udpai_item_name(item));
}

static bool
is_in_view(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item);
}

/* A refresh moves an item on whose payload was sent: then the payload's place decides. */
static void
position_in_view(udpai_resource_ack *ack, const udpai_item *item)
{
    const udpai_subscription *subscription = ack->subscription;
    const udpai_cursor *cursor = &subscription->cursor;
    bool was_passed = item->seq <= cursor->low ||
                      (item->seq > cursor->window_from && item->seq <= cursor->window_to);
    uint64_t payloads =
        cursor->low < subscription->synced_seq ? cursor->low : subscription->synced_seq;
    ack->is_sent =
        (was_passed || ack->seq <= payloads) && !udpai_pending_of_item(subscription, item);
    /* What was pending besides may have been this, whatever the cursor had passed. */
    bool maybe_pending = item->seq <= subscription->pending_item_seq;
    ack->place = maybe_pending ? subscription->pending_item_seq : item->seq;
    ack->payload = ack->seq <= subscription->pending_item_seq ? UDPAI_NOTHING : ack->seq;
}

/* Asked for by name, too, it may go out once more. */
static void
position_by_name(udpai_resource_ack *ack, const udpai_name_sub *sub, bool by_view)
{
    bool was_sent = by_view ? ack->is_sent : sub->sent_payload_seq == ack->seq;
    ack->is_sent = was_sent && !udpai_list_linked(&sub->pending.node);
    ack->turn = udpai_name_sub_turn(sub);
}

/* A variant, for subscriptions that asked for the name that it is one of, and forward it. */
static void
position_besides(udpai_resource_ack *ack, const udpai_item *item)
{
    const udpai_subscription *subscription = ack->subscription;
    ack->is_sent = !udpai_pending_of_item(subscription, item);
    ack->place =
        item->seq > subscription->pending_item_seq ? item->seq : subscription->pending_item_seq;
}

/* `sub`: by which it is asked for; NULL: that is not known. */
static udpai_resource_ack
ack_of(udpai_subscription *subscription, const udpai_item *item, const udpai_name_sub *sub)
{
    udpai_resource_ack ack = {
        .subscription = subscription,
        .resource = item->resource,
        .seq = udpai_item_payload_seq(item, subscription),
        .payload = UDPAI_NOTHING,
    };
    bool by_view = is_in_view(subscription, item);
    if (by_view)
        position_in_view(&ack, item);
    if (!sub)
        sub = find_sub(subscription, item);
    if (sub)
        position_by_name(&ack, sub, by_view);
    else if (!by_view)
        position_besides(&ack, item);
    return ack;
}

static void
report(struct visit *self, udpai_subscription *subscription, const udpai_name_sub *sub)
{
    if (subscription->stamp == self->stamp || self->is_enough)
        return;
    subscription->stamp = self->stamp;
    const udpai_resource_ack ack = ack_of(subscription, self->item, sub);
    self->is_enough = !self->visit(self->userdata, &ack);
}

static void
report_subs(struct visit *self)
{
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(self->item)) {
        const udpai_name_sub *sub = udpai_name_sub_of(node);
        if (udpai_target(sub) == self->item)
            report(self, sub->subscription, sub);
        if (self->is_enough)
            return;
    }
    UDPAI_LIST_FOREACH (node, udpai_item_alias_subs(self->item)) {
        const udpai_name_sub *sub = udpai_alias_sub_of(node);
        report(self, sub->subscription, sub);
    }
}

static void
report_forwarders(struct visit *self)
{
    const udpai_item *asked =
        udpai_item_is_variant(self->item)
            ? udpai_item_find(self->item->topic, udpai_resource_asked_name(self->item->resource))
            : NULL;
    if (!asked)
        return;
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(asked)) {
        udpai_subscription *other = udpai_name_sub_of(node)->subscription;
        if (!udpai_selects_variants(other->subscriber))
            report(self, other, NULL);
    }
}

static void
report_views(struct visit *self)
{
    for (size_t i = 0; i < self->item->n_memberships && !self->is_enough; i++) {
        const udpai_membership *member = &udpai_item_memberships(self->item)[i];
        if (member->is_tombstone || udpai_view_is_filter(member->view))
            continue;
        UDPAI_LIST_FOREACH (node, &member->view->subscriptions) {
            udpai_subscription *other = UDPAI_LIST_ENTRY(node, udpai_subscription, in_view);
            if (is_in_view(other, self->item))
                report(self, other, NULL);
            if (self->is_enough)
                return;
        }
    }
}

/* ---- what was removed ---- */

static void
leave_view(udpai_resource_ack *ack, const udpai_item *item)
{
    const udpai_subscription *subscription = ack->subscription;
    udpai_position position =
        udpai_filtered_view_position(udpai_filtered_view_of(subscription), item);
    if (position.kind == UDPAI_POSITION_REMOVED)
        ack->place = position.seq;
    ack->from = ack->place;
    ack->is_sent = ack->is_sent && ack->place <= subscription->cursor.tombstones &&
                   !udpai_pending_of_item(subscription, item);
    ack->place = greatest(ack->place, subscription->pending_item_seq);
}

static void
leave_name(udpai_resource_ack *ack, const udpai_name_sub *sub)
{
    bool is_state = ack->subscription->mode == UDPAI_MODE_STATE;
    bool is_reported = is_state ? !sub->shows_last : !udpai_list_linked(&sub->pending.node);
    ack->is_sent = ack->is_sent && sub->state == UDPAI_NAME_MISSING && is_reported;
    ack->turn = udpai_name_sub_turn(sub);
    if (!ack->is_sent)
        return;
    ack->place = greatest(ack->place, sub->pending.mark_seq);
    if (sub->pending.mark_seq < ack->from || !ack->subscription->view)
        ack->from = sub->pending.mark_seq;
}

/* Its subscriber stated that it holds it, and was not notified yet. */
static bool
is_held(const udpai_subscription *subscription, udpai_str name)
{
    return udpai_map_get(&subscription->held, name) != NULL;
}

static udpai_resource_ack
ack_of_removed(udpai_subscription *subscription, const udpai_item *item, const udpai_name_sub *sub)
{
    udpai_resource_ack ack = {
        .subscription = subscription,
        .is_sent = !is_held(subscription, udpai_item_name(item)),
        .is_unreported = subscription->mode == UDPAI_MODE_GROUPED,
    };
    if (subscription->view)
        leave_view(&ack, item);
    if (sub)
        leave_name(&ack, sub);
    return ack;
}

static void
report_removed(struct visit *self, udpai_subscription *subscription)
{
    if (subscription->stamp == self->stamp || self->is_enough)
        return;
    subscription->stamp = self->stamp;
    const udpai_resource_ack ack =
        ack_of_removed(subscription, self->item, find_sub(subscription, self->item));
    self->is_enough = !self->visit(self->userdata, &ack);
}

static void
report_all_removed(struct visit *self)
{
    UDPAI_LIST_FOREACH (node, &self->item->topic->views) {
        udpai_view *view = UDPAI_LIST_ENTRY(node, udpai_view, in_topic);
        if (!udpai_view_covers(view, udpai_item_name(self->item)))
            continue;
        UDPAI_LIST_FOREACH (member, &view->subscriptions) {
            report_removed(self, UDPAI_LIST_ENTRY(member, udpai_subscription, in_view));
            if (self->is_enough)
                return;
        }
    }
    UDPAI_LIST_FOREACH (node, udpai_item_name_subs(self->item))
        report_removed(self, udpai_name_sub_of(node)->subscription);
}

/* ---- both ---- */

static udpai_item *
find_item(const udpai_topic *topic, udpai_str name)
{
    udpai_item *item = udpai_item_find(topic, name);
    const udpai_subscriber anybody = {.fanout = topic->fanout};
    if (item && item->resource)
        return item;
    udpai_item *target = udpai_alias_resolve(topic, &anybody, name);
    if (!target)
        target = udpai_variant_choose(topic, &anybody, &(udpai_locator){.name = name});
    return target ? target : item;
}

udpa_resource *
udpai_fanout_visit_acks(udpai_fanout *fanout,
                        udpai_str type_url,
                        udpai_str name,
                        udpai_resource_ack_fn visit,
                        void *userdata)
{
    udpai_topic *topic = udpai_topic_find(fanout, type_url);
    if (!topic)
        return NULL;
    /* One that is not there at all has a place to be asked for all the same: those that select its
     * name are known by it. */
    udpai_item *item = find_item(topic, name);
    if (!item)
        item = udpai_item_get(topic, name);
    if (!item)
        return NULL;
    item->n_pins++;
    struct visit self = {item, visit, userdata, ++fanout->stamp, false};
    if (item->resource) {
        report_subs(&self);
        report_forwarders(&self);
        report_views(&self);
    } else {
        report_all_removed(&self);
    }
    udpa_resource *resource = item->resource;
    item->n_pins--;
    udpai_item_release(item);
    return resource;
}

/* ---- the other way round: what one takes ---- */

static udpai_taken
taken_by_name(udpai_subscription *subscription, const udpai_name_sub *sub)
{
    const udpai_item *item = udpai_target(sub) ? udpai_target(sub) : udpai_asked(sub);
    return (udpai_taken){
        .ack = udpai_target(sub) ? ack_of(subscription, item, sub)
                                 : ack_of_removed(subscription, item, sub),
        .name = udpai_item_name(udpai_asked(sub)),
        .is_missing = sub->state == UDPAI_NAME_MISSING,
    };
}

static bool
visit_names(udpai_subscription *subscription,
            udpai_taken_place *place,
            udpai_taken_fn visit,
            void *userdata)
{
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &place->name))) {
        const udpai_taken taken = taken_by_name(subscription, sub);
        if (!visit(userdata, &taken))
            return false;
    }
    return true;
}

/* Places in the sequence are good for going on, whatever has changed meanwhile. What is asked for
 * by name, too, was visited by that. */
static bool
visit_view(udpai_subscription *subscription,
           udpai_taken_place *place,
           udpai_taken_fn visit,
           void *userdata)
{
    const udpai_log *live = &subscription->view->live;
    for (size_t i = udpai_log_after(live, place->seq); i < live->n; i++) {
        const udpai_item *item = live->slots[i].item;
        if (!item || find_sub(subscription, item) ||
            udpai_filtered_view_hides(udpai_filtered_view_of(subscription), item))
            continue;
        const udpai_taken taken = {
            .ack = ack_of(subscription, item, NULL),
            .name = udpai_resource_asked_name(item->resource),
        };
        place->seq = live->slots[i].seq;
        if (!visit(userdata, &taken))
            return false;
    }
    return true;
}

bool
udpai_subscription_visit_taken(udpai_subscription *subscription,
                               udpai_taken_place *place,
                               udpai_taken_fn visit,
                               void *userdata)
{
    if (!visit_names(subscription, place, visit, userdata))
        return true;
    return subscription->view && !visit_view(subscription, place, visit, userdata);
}

udpai_presence
udpai_subscriber_presence(const udpai_subscriber *subscriber, udpai_str type_url, udpai_str name)
{
    const udpai_fanout *fanout = subscriber->fanout;
    const udpai_topic *topic = udpai_topic_find(fanout, type_url);
    const udpai_item *item = topic ? udpai_item_find(topic, name) : NULL;
    if ((item && udpai_is_visible(item, subscriber)) ||
        (topic && udpai_alias_resolve(topic, subscriber, name)))
        return UDPAI_PRESENT;
    udpai_str except = udpai_subscriber_except(subscriber);
    bool is_certain =
        (item && item->resource) ||
        (udpai_settled_knows_absence(fanout->settled, type_url, name) &&
         udpai_settled_query_name(fanout->settled, type_url, name, except) == UDPAI_SETTLED);
    return is_certain ? UDPAI_ABSENT : UDPAI_PRESENCE_UNKNOWN;
}

/* What wildcards alone select is there, or was removed; or there has never been any of it. */
static bool
find_in_view(udpai_subscription *subscription, udpai_str name, udpai_taken *ret_taken)
{
    udpai_item *item = udpai_item_find(subscription->topic, name);
    if (!subscription->view || !udpai_view_covers(subscription->view, name))
        return false;
    bool is_there = item && is_in_view(subscription, item);
    *ret_taken = (udpai_taken){
        .ack = {.subscription = subscription},
        .name = name,
        .is_missing = !is_there && udpai_subscriber_presence(subscription->subscriber,
                                                             udpai_topic_url(subscription->topic),
                                                             name) == UDPAI_ABSENT,
    };
    if (is_there)
        ret_taken->ack = ack_of(subscription, item, NULL);
    return true;
}

bool
udpai_subscription_find_taken(udpai_subscription *subscription,
                              udpai_str name,
                              udpai_taken *ret_taken)
{
    const udpai_name_sub *sub = udpai_map_get(&subscription->names, name);
    if (!sub)
        return find_in_view(subscription, name, ret_taken);
    *ret_taken = taken_by_name(subscription, sub);
    return true;
}

/* ---- what one had before ---- */

/* What was there when the view was made has not entered it: it was sent when all was; before that,
 * if it has changed once since. */
static bool
was_new_in_view(const udpai_subscription *subscription,
                const udpai_item *item,
                uint64_t payloads,
                bool is_steady)
{
    uint64_t entered_seq =
        udpai_filtered_view_position(udpai_filtered_view_of(subscription), item).entered_seq;
    if (entered_seq)
        return entered_seq > payloads;
    return !is_steady && !(item->previous_seq && item->previous_seq <= payloads);
}

bool
udpai_subscription_is_new(const udpai_subscription *subscription,
                          udpai_str name,
                          udpai_ack_position place,
                          bool is_steady)
{
    const udpai_item *item = udpai_item_find(subscription->topic, name);
    const udpai_name_sub *sub = item ? find_sub(subscription, item) : NULL;
    if (!item)
        return false;
    if (is_in_view(subscription, item))
        return was_new_in_view(subscription, item, place.payloads, is_steady);
    return sub && !sub->had_any;
}

static bool
had_by_view(const udpai_subscription *subscription,
            const udpai_item *item,
            uint64_t seq,
            udpai_ack_position place)
{
    return is_in_view(subscription, item) && place.payloads != UDPAI_NOTHING &&
           seq <= place.payloads;
}

static bool
had_by_name(const udpai_subscription *subscription, const udpai_item *item, uint64_t sent_seq)
{
    const udpai_name_sub *sub = find_sub(subscription, item);
    return sub && sub->sent_payload_seq == sent_seq && sub->had_former;
}

bool
udpai_subscription_had(const udpai_subscription *subscription,
                       const udpai_had_question *asked,
                       udpai_had *ret_had)
{
    const udpai_item *item = udpai_item_find(subscription->topic, asked->name);
    const udpai_former *former = item ? item->former : NULL;
    if (!former || former->until != asked->seq || !item->resource)
        return false;
    bool by_content = subscription->subscriber->renderer->shows_content_only;
    uint64_t seq = by_content ? former->content_seq : former->payload_seq;
    if (!had_by_view(subscription, item, seq, asked->place) &&
        !had_by_name(subscription, item, asked->seq))
        return false;
    ret_had->seq = seq;
    ret_had->version = (udpai_str){former->version, former->version_len};
    if (by_content || former->version_len == 0) {
        udpai_content_hash_hex(former->hash, ret_had->room);
        ret_had->version = (udpai_str){ret_had->room, sizeof(ret_had->room)};
    }
    return true;
}
