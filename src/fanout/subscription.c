/* SPDX-License-Identifier: Apache-2.0 */
/* A subscriber and its subscriptions, one for each type. */
#include "fanout/resume.h"
#include "fanout/variant.h"

#include <assert.h>

#include "model/name.h"

/* What may wait to be called complete, beside all names that may be asked for, twice. */
#define AWAITS_MAX 4096
#define AWAITED_BYTES_MAX ((size_t)64 << 20) /* with its text */

/* ---- subscribers ---- */

void
udpai_subscriber_init(udpai_subscriber *subscriber,
                      udpai_fanout *fanout,
                      const udpai_subscriber_ops *ops,
                      const udpai_renderer *renderer)
{
    memset(subscriber, 0, sizeof(*subscriber));
    subscriber->fanout = fanout;
    subscriber->ops = ops;
    subscriber->renderer = renderer;
}

static void
free_awaits(udpai_subscription *subscription)
{
    while (!udpai_list_empty(&subscription->awaits))
        udpai_await_done(subscription,
                         UDPAI_LIST_ENTRY(subscription->awaits.next, udpai_await, node));
}

static void
drop_pending(udpai_subscription *subscription, udpai_list *list)
{
    while (!udpai_list_empty(list))
        udpai_pending_done(subscription, UDPAI_LIST_ENTRY(list->next, udpai_pending, node));
}

static void
free_subscription(udpai_subscription *subscription)
{
    udpai_topic *topic = subscription->topic;
    udpai_debounce_leave(subscription);
    udpai_name_subs_free(subscription);
    drop_pending(subscription, &subscription->additions);
    drop_pending(subscription, &subscription->removals);
    drop_pending(subscription, &subscription->unanswered);
    udpai_map_done(&subscription->pending_items);
    udpai_variant_refs_done(subscription);
    for (size_t i = 0; i < subscription->prefixes.n; i++) {
        udpa_bytes *prefix = subscription->prefixes.items[i];
        udpai_interest_wildcard(subscription, udpai_bytes_view(prefix), false);
        udpa_bytes_unref(prefix);
    }
    udpai_vector_done(&subscription->prefixes);
    udpai_subscription_leave_view(subscription);
    udpai_held_drop_all(subscription);
    free_awaits(subscription);
    udpai_list_remove(&subscription->in_waiting);
    udpai_timer_cancel(&subscription->cycle);
    udpa_bytes_unref(subscription->label);
    udpa_bytes_unref(subscription->glob);
    topic->n_state_subscriptions -= subscription->mode == UDPAI_MODE_STATE;
    topic->n_subscriptions--;
    udpai_free_in(udpai_topic_memory(topic), subscription, sizeof(*subscription));
    udpai_topic_release(topic);
}

void
udpai_subscriber_done(udpai_subscriber *subscriber)
{
    for (size_t i = 0; i < subscriber->subscriptions.n; i++)
        free_subscription(subscriber->subscriptions.items[i]);
    udpai_vector_done(&subscriber->subscriptions);
    subscriber->except_node = udpa_bytes_unref(subscriber->except_node);
    subscriber->owner = udpai_owner_unref(subscriber->owner);
}

static udpa_err
reselect_all(udpai_subscriber *subscriber)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < subscriber->subscriptions.n && err == UDPA_OK; i++) {
        err = udpai_subscription_reselect(subscriber->subscriptions.items[i], true, NULL);
        udpai_name_subs_update(subscriber->subscriptions.items[i]);
    }
    return err;
}

udpa_err
udpai_subscriber_set_except(udpai_subscriber *subscriber, udpai_str node_id)
{
    if (subscriber->except_node && udpai_str_eq(udpai_bytes_view(subscriber->except_node), node_id))
        return UDPA_OK;
    udpa_bytes *except = NULL;
    udpa_err err = udpa_bytes_new(&except, node_id.data, node_id.len);
    if (err != UDPA_OK)
        return err;
    udpa_bytes_unref(subscriber->except_node);
    subscriber->except_node = except;
    return reselect_all(subscriber);
}

udpa_err
udpai_subscriber_set_visibility(udpai_subscriber *subscriber, uint64_t visibility)
{
    if (subscriber->visibility == visibility)
        return UDPA_OK;
    subscriber->visibility = visibility;
    return reselect_all(subscriber);
}

udpa_err
udpai_subscriber_set_link(udpai_subscriber *subscriber, uint64_t link)
{
    if (subscriber->link == link)
        return UDPA_OK;
    subscriber->link = link;
    return reselect_all(subscriber);
}

/* ---- subscriptions ---- */

udpai_subscription *
udpai_subscriber_find(const udpai_subscriber *subscriber, udpai_str type_url)
{
    const udpai_topic *topic = udpai_topic_find(subscriber->fanout, type_url);
    for (size_t i = 0; topic && i < subscriber->subscriptions.n; i++) {
        udpai_subscription *subscription = subscriber->subscriptions.items[i];
        if (subscription->topic == topic && !subscription->label)
            return subscription;
    }
    return NULL;
}

static void
on_cycle_end(udpai_timer *timer)
{
    udpai_subscription_recheck(UDPAI_CONTAINER_OF(timer, udpai_subscription, cycle));
}

static udpai_subscription *
new_subscription(udpai_subscriber *subscriber, udpai_topic *topic, udpai_delivery_mode mode)
{
    udpai_subscription *subscription =
        udpai_alloc_in(udpai_topic_memory(topic), sizeof(*subscription));
    if (!subscription)
        return NULL;
    subscription->subscriber = subscriber;
    subscription->topic = topic;
    subscription->mode = mode;
    subscription->state_due_seq = subscription->state_removal_seq = UDPAI_NOTHING;
    subscription->asked_ms = subscriber->fanout->wheel->now_ms;
    udpai_list_init(&subscription->in_view);
    udpai_list_init(&subscription->in_filter);
    udpai_list_init(&subscription->additions);
    udpai_list_init(&subscription->removals);
    udpai_list_init(&subscription->unanswered);
    udpai_list_init(&subscription->awaits);
    udpai_list_init(&subscription->in_waiting);
    udpai_list_init(&subscription->in_debounce);
    udpai_name_subs_init(subscription);
    udpai_held_init(subscription);
    udpai_pending_init(subscription);
    udpai_variant_refs_init(subscription);
    udpai_timer_init(&subscription->cycle, on_cycle_end);
    return subscription;
}

/* Types are sent in order of rank; of one rank, in the order in which they were asked for. */
static void
insert_by_rank(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    size_t at = subscriber->subscriptions.n++;
    udpai_subscription **all = subscriber->subscriptions.items;
    for (; at > 0 && all[at - 1]->topic->rank > subscription->topic->rank; at--)
        all[at] = all[at - 1];
    all[at] = subscription;
    subscriber->turn = 0;
}

static udpai_subscription *
add_subscription(udpai_subscriber *subscriber, udpai_str type_url, udpai_delivery_mode mode)
{
    udpai_subscription *subscription = NULL;
    udpai_topic *topic = udpai_topic_get(subscriber->fanout, type_url);
    if (!topic)
        return NULL;
    if (udpai_vector_reserve(&subscriber->subscriptions, 1))
        subscription = new_subscription(subscriber, topic, mode);
    if (!subscription) {
        udpai_topic_release(topic);
        return NULL;
    }
    topic->n_subscriptions++;
    topic->n_state_subscriptions += mode == UDPAI_MODE_STATE;
    insert_by_rank(subscriber, subscription);
    return subscription;
}

udpai_subscription *
udpai_subscriber_get(udpai_subscriber *subscriber, udpai_str type_url, udpai_delivery_mode mode)
{
    udpai_subscription *subscription = udpai_subscriber_find(subscriber, type_url);
    return subscription ? subscription : add_subscription(subscriber, type_url, mode);
}

udpai_subscription *
udpai_subscriber_add_part(udpai_subscriber *subscriber,
                          const udpai_part *part,
                          udpai_delivery_mode mode)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *label = NULL, *glob = NULL;
    udpa_err err = udpa_bytes_new(&label, part->label.data, part->label.len);
    if (err == UDPA_OK && part->glob.len)
        err = udpa_bytes_new(&glob, part->glob.data, part->glob.len);
    udpai_subscription *subscription =
        err == UDPA_OK ? add_subscription(subscriber, part->type_url, mode) : NULL;
    if (!subscription)
        return NULL;
    subscription->label = UDPAI_TAKE(label);
    subscription->glob = UDPAI_TAKE(glob);
    return subscription;
}

void
udpai_subscriber_drop_part(udpai_subscription *part)
{
    udpai_subscriber *subscriber = part->subscriber;
    udpai_subscription **all = subscriber->subscriptions.items;
    size_t at = 0, n = subscriber->subscriptions.n;
    udpai_debounce_asked(part);
    while (all[at] != part)
        at++;
    memmove(all + at, all + at + 1, (n - at - 1) * sizeof(*all));
    subscriber->subscriptions.n--;
    subscriber->turn = 0;
    free_subscription(part);
}

/* ---- settled ---- */

/* What is still uncertain goes back to the list that it came from. */
static void
answer_waiting_names(udpai_subscription *subscription)
{
    udpai_list waiting;
    udpai_list_init(&waiting);
    udpai_list_splice(&waiting, &subscription->unanswered);
    udpai_list *node;
    while ((node = udpai_list_pop(&waiting))) {
        udpai_pending *pending = UDPAI_LIST_ENTRY(node, udpai_pending, node);
        udpai_name_sub_update(udpai_pending_name_sub(pending), false);
    }
}

void
udpai_subscription_recheck(udpai_subscription *subscription)
{
    udpai_list_remove(&subscription->in_waiting);
    answer_waiting_names(subscription);
    udpai_held_check_when_sent(subscription);
    udpai_subscription_wake(subscription);
}

/* ---- complete ---- */

static void
free_await(udpai_await *await)
{
    for (size_t i = 0; i < await->names.n; i++)
        udpa_bytes_unref(await->names.items[i]);
    udpai_vector_done(&await->names);
    udpa_bytes_unref(await->prefix);
    udpa_bytes_unref(await->sent_waits);
    udpai_free(await);
}

static size_t
await_cost(const udpai_await *await)
{
    return 1 + await->names.n;
}

static size_t
await_bytes(const udpai_await *await)
{
    size_t bytes = udpa_bytes_size(await->prefix);
    for (size_t i = 0; i < await->names.n; i++)
        bytes += udpa_bytes_size(await->names.items[i]);
    return bytes;
}

/* What was refused is not kept, and does not count. */
static bool
may_await(const udpai_subscriber *subscriber, const udpai_await *await)
{
    return subscriber->n_awaited + await_cost(await) <=
               AWAITS_MAX + 2 * subscriber->fanout->options.max_names &&
           subscriber->awaited_bytes + await_bytes(await) <= AWAITED_BYTES_MAX;
}

void
udpai_await_done(udpai_subscription *subscription, udpai_await *await)
{
    udpai_list_remove(&await->node);
    subscription->subscriber->n_awaited -= await_cost(await);
    subscription->subscriber->awaited_bytes -= await_bytes(await);
    free_await(await);
}

/* A name that was refused is answered. */
static bool
add_await_name(udpai_subscription *subscription, udpai_await *await, udpai_str name)
{
    if (!udpai_subscription_has_name(subscription, name))
        return true;

    udpa_bytes *copy = NULL;
    if (udpa_bytes_new(&copy, name.data, name.len) != UDPA_OK)
        return false;
    if (udpai_vector_push(&await->names, copy))
        return true;
    udpa_bytes_unref(copy);
    return false;
}

udpa_err
udpai_subscription_await_complete(udpai_subscription *subscription,
                                  udpai_str prefix,
                                  const udpai_str *names,
                                  size_t n_names)
{
    udpai_subscriber *subscriber = subscription->subscriber;
    udpai_await *await = udpai_alloc(sizeof(*await));
    if (!await)
        return UDPA_ERR_NOMEM;
    await->asked_ms = subscription->topic->fanout->wheel->now_ms;
    await->is_wildcard = !names;
    udpai_list_init(&await->node);
    udpa_err err = udpa_bytes_new(&await->prefix, prefix.data, prefix.len);
    for (size_t i = 0; i < n_names && err == UDPA_OK; i++)
        err = add_await_name(subscription, await, names[i]) ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !may_await(subscriber, await))
        err = UDPA_ERR_LIMIT;
    if (err != UDPA_OK) {
        free_await(await);
        return err;
    }
    subscriber->n_awaited += await_cost(await);
    subscriber->awaited_bytes += await_bytes(await);
    udpai_list_append(&subscription->awaits, &await->node);
    udpai_subscription_wake(subscription);
    return UDPA_OK;
}

/* ---- looking ---- */

udpai_str
udpai_subscription_type_url(const udpai_subscription *subscription)
{
    return udpai_topic_url(subscription->topic);
}

udpai_str
udpai_subscription_label(const udpai_subscription *subscription)
{
    return subscription->label ? udpai_bytes_view(subscription->label) : (udpai_str){0};
}

udpai_str
udpai_subscription_glob(const udpai_subscription *subscription)
{
    return subscription->glob ? udpai_bytes_view(subscription->glob) : (udpai_str){0};
}

void
udpai_subscription_set_uncounted(udpai_subscription *subscription, bool is_uncounted)
{
    if (subscription->names.n == 0 && subscription->prefixes.n == 0)
        subscription->is_uncounted = is_uncounted;
}

udpa_err
udpai_subscription_offer_back(udpai_subscription *subscription)
{
    if (subscription->offers_back)
        return UDPA_OK;
    subscription->offers_back = true;
    return udpai_subscription_reselect(subscription, true, NULL);
}

void
udpai_subscription_set_of_node(udpai_subscription *subscription, bool is_of_node)
{
    if (subscription->names.n == 0 && subscription->prefixes.n == 0)
        subscription->is_of_node = is_of_node;
}

bool
udpai_subscription_is_uncounted(const udpai_subscription *subscription)
{
    return subscription->is_uncounted;
}

bool
udpai_subscription_is_empty(const udpai_subscription *subscription)
{
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    const udpai_log *live = filtered.view ? &filtered.view->live : NULL;
    if (!filtered.filter)
        return !live || live->n_live == 0;
    for (size_t i = 0; i < live->n; i++)
        if (live->slots[i].item && !udpai_filtered_view_hides(filtered, live->slots[i].item))
            return false;
    return true;
}

udpai_subscriber *
udpai_subscription_subscriber(const udpai_subscription *subscription)
{
    return subscription->subscriber;
}

udpai_delivery_mode
udpai_subscription_mode(const udpai_subscription *subscription)
{
    return subscription->mode;
}

void
udpai_subscription_set_userdata(udpai_subscription *subscription, void *userdata)
{
    subscription->userdata = userdata;
}

void
udpai_subscription_delay_absence(udpai_subscription *subscription, uint64_t delay_ms)
{
    subscription->absent_delay_ms = delay_ms;
}

uint64_t *
udpai_subscription_time(udpai_subscription *subscription)
{
    return &subscription->time;
}

void *
udpai_subscription_userdata(const udpai_subscription *subscription)
{
    return subscription->userdata;
}

/* What a wildcard brings, too, counts once. */
static udpai_set_hash
hash_each(const udpai_subscription *subscription)
{
    udpai_filtered_view filtered = udpai_filtered_view_of(subscription);
    udpai_set_hash hash = udpai_filtered_view_set_hash(filtered);
    size_t at = 0;
    const udpai_name_sub *sub;
    while ((sub = udpai_map_next(&subscription->names, &at))) {
        const udpai_item *item = udpai_target(sub);
        if (item && item->resource && !udpai_filtered_view_is_live(filtered, item))
            udpai_set_hash_join(&hash, udpai_item_alone(item));
    }
    return hash;
}

#ifndef NDEBUG
static bool
is_hash(udpai_set_hash a, udpai_set_hash b)
{
    return a.high == b.high && a.low == b.low;
}
#endif

/* The state of what a name leads to counts under the name of the resource. */
udpai_set_hash
udpai_subscription_set_hash(const udpai_subscription *subscription)
{
    if (udpai_filtered_view_of(subscription).view)
        return hash_each(subscription);
    assert(is_hash(subscription->names_hash, hash_each(subscription)));
    return subscription->names_hash;
}

bool
udpai_subscription_shows(const udpai_subscription *subscription,
                         udpai_str name,
                         udpai_send_item *ret_item)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    const udpai_item *item = udpai_item_find(subscription->topic, name);
    if (!item || !udpai_is_visible(item, subscriber))
        return false;
    bool has = (subscription->view && udpai_item_membership(item, subscription->view)) ||
               udpai_subscription_has_name(subscription, name);
    if (has)
        *ret_item = (udpai_send_item){
            .subscription = subscription,
            .resource = item->resource,
            .ttl_ms = udpai_item_ttl_left(item),
            .seq = udpai_item_payload_seq(item, subscription),
        };
    return has;
}
