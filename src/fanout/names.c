/* SPDX-License-Identifier: Apache-2.0 */
/* Subscriptions by name: each hangs on the item of its name, and on the item that an alias leads
 * to. */
#include "fanout/kept_removals.h"
#include "fanout/resume.h"
#include "fanout/variant.h"

#include "model/name.h"
#include "model/variant.h"

#define RETRY_MS 100 /* without memory */

/* ---- what a name leads to ---- */

static udpai_item *
resolve(const udpai_name_sub *sub)
{
    const udpai_subscriber *subscriber = sub->subscription->subscriber;
    bool selects = udpai_selects_variants(subscriber);
    if (selects) {
        const udpai_locator asked = udpai_name_sub_locator(sub);
        udpai_item *variant = udpai_variant_choose(sub->subscription->topic, subscriber, &asked);
        if (variant)
            return variant;
    }
    if (udpai_is_visible(udpai_asked(sub), subscriber) &&
        !(selects && udpai_item_is_variant(udpai_asked(sub))))
        return udpai_asked(sub);
    return udpai_alias_resolve(sub->subscription->topic, subscriber,
                               udpai_item_name(udpai_asked(sub)));
}

/* Subscriptions that may be led elsewhere by a pattern are found by the item that they ask for. */
static void
count_indirect(udpai_item *asked, bool is_indirect)
{
    udpai_item_more *more = asked->more;
    more->n_indirect += is_indirect ? 1 : (size_t)-1;
    if (!more->n_indirect)
        udpai_list_remove(&more->in_indirect);
    else if (!udpai_list_linked(&more->in_indirect))
        udpai_list_append(&asked->topic->indirect, &more->in_indirect);
}

static udpai_name_leads
way_to(const udpai_name_sub *sub, const udpai_item *target)
{
    if (!target)
        return UDPAI_LEADS_NOWHERE;
    return target == udpai_asked(sub) ? UDPAI_LEADS_HERE : UDPAI_LEADS_ELSEWHERE;
}

static void
add_to_hash(const udpai_name_sub *sub)
{
    if (udpai_target(sub))
        udpai_set_hash_join(&sub->subscription->names_hash, udpai_item_alone(udpai_target(sub)));
}

static void
take_from_hash(const udpai_name_sub *sub)
{
    if (udpai_target(sub))
        udpai_set_hash_leave(&sub->subscription->names_hash, udpai_item_alone(udpai_target(sub)));
}

/* If that is elsewhere it has what it needs more. */
static void
set_target(udpai_name_sub *sub, udpai_item *target)
{
    udpai_item *old = udpai_target(sub), *asked = udpai_asked(sub);
    if (target == old)
        return;
    take_from_hash(sub);
    if (target == asked || old == asked)
        count_indirect(asked, old == asked);
    if (sub->leads == UDPAI_LEADS_ELSEWHERE)
        udpai_list_remove(&sub->more->in_target);
    sub->leads = way_to(sub, target);
    sub->sent_seq = sub->sent_payload_seq = 0;
    if (sub->leads == UDPAI_LEADS_ELSEWHERE) {
        sub->more->target = target;
        udpai_list_append(&target->more->alias_subs, &sub->more->in_target); /* it has an alias */
    }
    add_to_hash(sub);
    if (old && old != asked)
        udpai_item_release(old);
}

/* ---- what it was sent ---- */

/* Does the wildcard that the subscriber also has bring the item anyway? */
static bool
comes_by_view(const udpai_subscription *subscription, const udpai_item *item)
{
    return udpai_filtered_view_is_live(udpai_filtered_view_of(subscription), item);
}

/* Does it bring the removal? One that was sent before is not that of what came by name since. */
static bool
goes_by_view(const udpai_name_sub *sub, const udpai_item *item)
{
    const udpai_subscription *subscription = sub->subscription;
    udpai_position position =
        udpai_filtered_view_position(udpai_filtered_view_of(subscription), item);
    return position.kind == UDPAI_POSITION_REMOVED &&
           position.seq > subscription->cursor.tombstones;
}

/* To what its client has asked for. */
static bool
is_first_answer(const udpai_name_sub *sub)
{
    return !sub->subscription->had_state && !sub->sent_payload_seq && !udpai_name_sub_turn(sub);
}

static void
has_come(udpai_name_sub *sub, bool again)
{
    udpai_subscription *subscription = sub->subscription;
    bool was_missing = sub->state != UDPAI_NAME_PRESENT;
    sub->state = UDPAI_NAME_PRESENT;
    sub->shows_last = false;
    if (was_missing) /* a removal that was not sent yet is void */
        udpai_list_remove(&sub->pending.node);
    if (again) {
        sub->sent_seq = sub->sent_payload_seq = 0;
        udpai_debounce_asked(subscription);
    }
    if (again ? udpai_view_will_bring(subscription, udpai_target(sub))
              : comes_by_view(subscription, udpai_target(sub)))
        return;
    if (sub->sent_seq == udpai_target(sub)->seq)
        return;
    if (is_first_answer(sub))
        udpai_debounce_asked(subscription);
    udpai_mark_pending(subscription, &subscription->additions, &sub->pending);
}

/* Some subscribers suffer more from "there is none" than from silence, at first. */
static bool
is_early(const udpai_name_sub *sub)
{
    udpai_subscription *subscription = sub->subscription;
    if (!sub->is_delayed || sub->turn <= subscription->subscriber->fanout->wheel->now_ms)
        return false;
    udpai_subscription_recheck_at(subscription, sub->turn);
    return true;
}

/* What it leads to is looked at again before long. */
static bool
is_put_off(const udpai_name_sub *sub)
{
    udpai_subscription *subscription = sub->subscription;
    if (sub->lacks_memory)
        udpai_subscription_recheck_at(subscription,
                                      subscription->subscriber->fanout->wheel->now_ms + RETRY_MS);
    return sub->lacks_memory;
}

/* The subscriber may have it from elsewhere, even where it was removed here: it may have been
 * published again since. What it has from here, it has not. */
static bool
is_known_absent(const udpai_name_sub *sub)
{
    udpai_subscription *subscription = sub->subscription;
    udpai_str name = udpai_item_name(udpai_asked(sub));
    return (sub->shows_last || udpai_subscription_knows_absence(subscription, name)) &&
           (udpai_kept_removals_find(subscription->topic, name) ||
            udpai_subscription_is_name_settled(subscription, name, subscription->asked_ms));
}

/* A resource that is there but may not be seen certainly does not exist for the subscriber; one
 * that is not there may yet come, unless its authority has removed it. */
static bool
is_certain(udpai_name_sub *sub)
{
    if (is_put_off(sub) || is_early(sub))
        return false;
    bool is = udpai_asked(sub)->resource || is_known_absent(sub);
    if (!is && !sub->has_looked)
        udpai_interest_again(sub->subscription, udpai_asked(sub));
    sub->has_looked = !is;
    return is;
}

static bool
can_send_names(const udpai_subscription *subscription)
{
    return subscription->mode == UDPAI_MODE_DELTA || subscription->mode == UDPAI_MODE_ERRORS;
}

static void
on_removed(udpai_name_sub *sub, bool was_sent, bool again)
{
    udpai_subscription *subscription = sub->subscription;
    if (sub->state == UDPAI_NAME_MISSING && !again && !sub->lacks_memory)
        return;
    if (sub->state == UDPAI_NAME_PRESENT && was_sent)
        sub->shows_last = true;
    else if (again && !udpai_list_linked(&sub->pending.node) && can_send_names(subscription))
        sub->shows_last = false; /* its end was sent */
    sub->sent_seq = sub->sent_payload_seq = 0;
    udpai_list_remove(&sub->pending.node);
    if (!is_certain(sub)) {
        sub->state = UDPAI_NAME_WAITING;
        udpai_list_append(&subscription->unanswered, &sub->pending.node);
        return;
    }
    sub->state = UDPAI_NAME_MISSING;
    /* In a state there is nothing to take away of what it never showed. */
    bool is_news = subscription->mode == UDPAI_MODE_STATE && !sub->shows_last;
    if (again || subscription->mode == UDPAI_MODE_ERRORS || !goes_by_view(sub, udpai_asked(sub)))
        udpai_mark_pending(subscription,
                           is_news ? &subscription->additions : &subscription->removals,
                           &sub->pending);
}

/* What an alias led to was sent under its own name, so its end is sent under that, unless the
 * subscriber still has it otherwise; of a part, everything has the name that was asked for. Without
 * memory the subscriber keeps what it has. */
static void
leave_target(udpai_name_sub *sub)
{
    udpai_subscription *subscription = sub->subscription;
    if (subscription->subscriber->renderer->aliases_end_by_name && !subscription->label &&
        subscription->mode == UDPAI_MODE_DELTA &&
        subscription->pending_items.n < subscription->topic->fanout->options.max_names)
        (void)udpai_mark_item_pending(subscription, &subscription->removals, udpai_target(sub));
}

void
udpai_name_sub_update(udpai_name_sub *sub, bool again)
{
    bool was_sent = sub->sent_payload_seq != 0;
    udpai_item *target = resolve(sub);
    sub->lacks_memory = way_to(sub, target) == UDPAI_LEADS_ELSEWHERE && !udpai_name_sub_more(sub);
    if (sub->lacks_memory)
        target = NULL;
    if (was_sent && target != udpai_target(sub) && udpai_target(sub) != udpai_asked(sub) &&
        !sub->leads_to_variant)
        leave_target(sub);
    set_target(sub, target);
    sub->leads_to_variant = target && udpai_item_is_variant(target) &&
                            udpai_selects_variants(sub->subscription->subscriber);
    if (udpai_target(sub))
        has_come(sub, again);
    else
        on_removed(sub, was_sent, again);
}

/* What the subscriber calls it when it states that it holds it. */
static udpai_str
known_name(const udpai_subscription *subscription, const udpai_item *item)
{
    bool is_selected =
        udpai_item_is_variant(item) && udpai_selects_variants(subscription->subscriber);
    return is_selected ? udpai_resource_asked_name(item->resource) : udpai_item_name(item);
}

/* ---- coming and going ---- */

/* Its memory; nothing refers to it. */
static void
drop_sub(udpai_name_sub *sub)
{
    udpai_memory *memory = udpai_subscription_memory(sub->subscription);
    if (sub->more)
        udpai_free_in(memory, sub->more, sizeof(*sub->more) + sub->more->key_len);
    udpai_free_in(memory, sub, sizeof(*sub));
}

static udpai_name_sub *
alloc_sub(udpai_subscription *subscription, udpai_item *item, const udpai_locator *locator)
{
    char room[UDPAI_LOCATOR_KEY_MAX];
    udpai_name_sub *sub = udpai_alloc_in(udpai_subscription_memory(subscription), sizeof(*sub));
    if (!sub)
        return NULL;
    sub->subscription = subscription;
    sub->pending.item = item;
    udpai_list_init(&sub->pending.node);
    udpai_list_init(&sub->in_item);
    if (!locator->parameters.len || udpai_name_sub_make_more(sub, udpai_locator_key(locator, room)))
        return sub;
    drop_sub(sub);
    return NULL;
}

static udpai_name_sub *
make_sub(udpai_subscription *subscription, udpai_item *item, const udpai_locator *locator)
{
    udpai_name_sub *sub = alloc_sub(subscription, item, locator);
    if (!sub)
        return NULL;
    if (udpai_variant_refs_asked(sub) == UDPA_OK) {
        if (udpai_map_add(&subscription->names, sub))
            return sub;
        udpai_variant_refs_given_back(sub);
    }
    drop_sub(sub);
    return NULL;
}

static void
delay_absence(udpai_name_sub *sub, uint64_t until_ms)
{
    sub->is_delayed = true;
    sub->turn = until_ms;
}

static udpai_name_sub *
new_sub(udpai_subscription *subscription, const udpai_locator *locator)
{
    udpai_item *item = udpai_item_get(subscription->topic, locator->name);
    udpai_name_sub *sub =
        item && udpai_item_more_of(item) ? make_sub(subscription, item, locator) : NULL;
    if (!sub) {
        if (item)
            udpai_item_release(item);
        return NULL;
    }
    if (subscription->absent_delay_ms && !udpai_held_has(subscription, locator->name))
        delay_absence(sub, subscription->asked_ms + subscription->absent_delay_ms);
    subscription->subscriber->n_names++;
    udpai_list_append(&item->more->name_subs, &sub->in_item);
    add_to_hash(sub);
    udpai_interest_name(subscription, item, true);
    sub->has_looked = item->more->n_nodes == 1;
    return sub;
}

/* Its subscription goes with it, or its hash has it no more. */
static void
free_sub(udpai_name_sub *sub)
{
    udpai_item *item = udpai_asked(sub);
    udpai_variant_refs_given_back(sub);
    set_target(sub, udpai_asked(sub));
    udpai_list_remove(&sub->pending.node);
    udpai_list_remove(&sub->in_item);
    sub->subscription->subscriber->n_names--;
    udpai_interest_name(sub->subscription, item, false);
    drop_sub(sub);
    udpai_item_release(item);
}

udpa_err
udpai_subscribe_locator(udpai_subscription *subscription,
                        const udpai_locator *locator,
                        udpa_error **ret_error)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    udpai_name_sub *sub = udpai_name_sub_find(subscription, locator);
    bool was_asked = sub != NULL;
    subscription->asked_ms = subscriber->fanout->wheel->now_ms;
    subscription->state_forced = true;
    if (!sub) {
        if (locator->parameters.len &&
            udpai_subscription_n_asking(subscription, locator->name) >= UDPAI_LOCATORS_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                              "a stream may ask for one name with %d different sets of dynamic "
                              "parameters, and has asked for '%.*s' with one more",
                              UDPAI_LOCATORS_MAX, UDPAI_SHOWN(locator->name));
        if (subscriber->n_names >= subscriber->fanout->options.max_names)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                              "this stream has asked for %zu names, which is as many as one may "
                              "(limits.max_names_per_stream); '%.*s' is one more",
                              subscriber->n_names, UDPAI_SHOWN(locator->name));
        sub = new_sub(subscription, locator);
        if (!sub)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    } else {
        udpai_held_forget(
            subscription,
            known_name(subscription, udpai_target(sub) ? udpai_target(sub) : udpai_asked(sub)));
    }
    if (was_asked)
        udpai_interest_again(subscription, udpai_asked(sub));
    udpai_name_sub_update(sub, true);
    return udpai_fail_code(ret_error, udpai_variants_mark_pending(sub));
}

udpa_err
udpai_subscribe_name(udpai_subscription *subscription, udpai_str name, udpa_error **ret_error)
{
    return udpai_subscribe_locator(subscription, &(udpai_locator){.name = name}, ret_error);
}

/* The name was given back, a wildcard is there still: what does it hold of the item? Without memory
 * the subscriber keeps what it has, which is no worse than before. */
static void
send_state_of(udpai_subscription *subscription, udpai_item *item)
{
    if (comes_by_view(subscription, item)) {
        if (!udpai_view_will_bring(subscription, item))
            (void)udpai_mark_item_pending(subscription, &subscription->additions, item);
    } else if (!item->resource && udpai_subscription_covers(subscription, udpai_item_name(item)) &&
               !(udpai_subscription_knows_absence(subscription, udpai_item_name(item)) &&
                 udpai_subscription_is_settled(subscription, udpai_item_name(item),
                                               subscription->asked_ms))) {
        udpai_held_suspect(subscription, udpai_item_name(item));
    } else if (subscription->pending_items.n < subscription->topic->fanout->options.max_names) {
        (void)udpai_mark_item_pending(subscription, &subscription->removals, item);
    }
}

void
udpai_unsubscribe_locator(udpai_subscription *subscription,
                          const udpai_locator *locator,
                          bool notify)
{
    udpai_name_sub *sub = udpai_name_sub_find(subscription, locator);
    if (!sub)
        return;
    char room[UDPAI_LOCATOR_KEY_MAX];
    udpai_map_remove(&subscription->names, udpai_locator_key(locator, room));
    udpai_item *item = udpai_asked(sub);
    item->n_pins++; /* it may be needed below */
    set_target(sub, item);
    take_from_hash(sub);
    free_sub(sub);
    if (!udpai_subscription_covers(subscription, locator->name))
        udpai_held_forget(subscription, locator->name);
    if (notify && subscription->view)
        send_state_of(subscription, item);
    item->n_pins--;
    udpai_item_release(item);
    if (subscription->mode == UDPAI_MODE_STATE)
        udpai_subscription_wake(subscription);
}

void
udpai_unsubscribe_name(udpai_subscription *subscription, udpai_str name, bool notify)
{
    udpai_unsubscribe_locator(subscription, &(udpai_locator){.name = name}, notify);
}

void
udpai_subscription_notify(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *item = subscription->view ? udpai_item_get(subscription->topic, name) : NULL;
    if (!item)
        return;
    item->n_pins++;
    send_state_of(subscription, item);
    item->n_pins--;
    udpai_item_release(item);
}

bool
udpai_subscription_has_lost(const udpai_subscription *subscription, udpai_str name)
{
    const udpai_name_sub *sub = udpai_map_get(&subscription->names, name);
    return sub && sub->shows_last;
}

size_t
udpai_subscription_n_names(const udpai_subscription *subscription)
{
    return subscription->names.n;
}

void
udpai_subscription_visit_names(const udpai_subscription *subscription,
                               udpai_locator_fn visit,
                               void *userdata)
{
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at))) {
        const udpai_locator locator = udpai_name_sub_locator(sub);
        visit(userdata, &locator);
    }
}

void
udpai_subscription_visit_missing(const udpai_subscription *subscription,
                                 udpai_name_fn visit,
                                 void *userdata)
{
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        if (!udpai_target(sub) && sub->state == UDPAI_NAME_MISSING && !sub->shows_last &&
            udpai_variant_refs_is_only(sub))
            visit(userdata, udpai_item_name(udpai_asked(sub)));
}

/* With whatever parameters. */
static void
resend_variants(udpai_subscription *subscription, udpai_str name)
{
    udpai_item *asked = udpai_item_find(subscription->topic, name);
    if (!asked)
        return;
    UDPAI_LIST_FOREACH_SAFE (node, udpai_item_name_subs(asked)) {
        udpai_name_sub *sub = udpai_name_sub_of(node);
        if (sub->subscription == subscription && udpai_target(sub) && sub->more &&
            sub->more->key_len)
            udpai_name_sub_update(sub, true);
    }
}

void
udpai_subscription_resend(udpai_subscription *subscription, udpai_str name)
{
    udpai_name_sub *sub = udpai_map_get(&subscription->names, name);
    if (subscription->distinguishes_variants)
        resend_variants(subscription, name);
    udpai_item *item = sub ? udpai_target(sub) : udpai_item_find(subscription->topic, name);
    if (!item || !(sub || comes_by_view(subscription, item)))
        return; /* if it holds that nevertheless, the end is yet to be sent */
    udpai_held_forget(subscription, known_name(subscription, item));
    if (sub)
        udpai_name_sub_update(sub, true);
    else if (!udpai_view_will_bring(subscription, item))
        (void)udpai_mark_item_pending(subscription, &subscription->additions, item);
}

void
udpai_name_subs_update(udpai_subscription *subscription)
{
    size_t at = 0;
    udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at)))
        udpai_name_sub_update(sub, false);
}

void
udpai_name_subs_free(udpai_subscription *subscription)
{
    size_t at = 0;
    udpai_name_sub *sub;
    udpai_map names = subscription->names;
    subscription->names = (udpai_map){.key = names.key};
    while ((sub = udpai_map_next(&names, &at)))
        free_sub(sub);
    udpai_map_done(&names);
}
