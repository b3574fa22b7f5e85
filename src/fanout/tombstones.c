/* SPDX-License-Identifier: Apache-2.0 */
/* How many removals a view remembers: some in any case, and for subscribers that are about to be
 * sent them, all of the last change sets, however large these were. */
#include "fanout/fanout_internal.h"

/* A subscriber that was sent nothing for so long, though there was something, begins anew. */
#define PATIENCE_MS 30000

/* As many change sets of the largest kind: a subscriber in sync has one before it, or two. */
#define SETS_MAX 2

/* What comes so close together is one: a node above sends a large one as several messages. So is
 * what waits together. */
#define TOGETHER_MS 1000

static size_t
kept_in_any_case(const udpai_view *view)
{
    const udpai_log *live = udpai_view_is_filter(view) ? &view->whole->live : &view->live;
    return udpai_max_size(view->topic->fanout->options.tombstones_min, live->n_live);
}

/* A removal that all are past is worth nothing; a subscriber that is not past it must begin anew.
 */
static void
drop_oldest(udpai_view *view)
{
    size_t slot = udpai_log_oldest(&view->tombstones);
    udpai_item *item = view->tombstones.slots[slot].item;
    view->tombstone_horizon = view->tombstones.slots[slot].seq;
    if (udpai_view_is_filter(view)) {
        udpai_filter_forget_removal(view, item);
    } else {
        udpai_log_clear_slot(&view->tombstones, slot);
        udpai_membership_drop(item, udpai_item_membership(item, view));
        udpai_filters_forget(item, view);
    }
    udpai_item_release(item);
}

/* Subscriptions that move will come to what is behind this place. */
static uint64_t
place_of_moving(const udpai_view *view)
{
    uint64_t now_ms = view->topic->fanout->wheel->now_ms, least = UDPAI_NOTHING;
    UDPAI_LIST_FOREACH (node, &view->subscriptions) {
        const udpai_subscription *subscription =
            udpai_view_is_filter(view) ? UDPAI_LIST_ENTRY(node, udpai_subscription, in_filter)
                                       : UDPAI_LIST_ENTRY(node, udpai_subscription, in_view);
        if (subscription->mode == UDPAI_MODE_DELTA &&
            subscription->subscriber->moved_ms + PATIENCE_MS > now_ms &&
            subscription->cursor.tombstones < least)
            least = subscription->cursor.tombstones;
    }
    return least;
}

static void
come_back_later(udpai_view *view)
{
    udpai_fanout *fanout = view->topic->fanout;
    view->kept_seq = fanout->seq;
    udpai_timer_set(fanout->wheel, &view->patience, fanout->wheel->now_ms + PATIENCE_MS);
}

static uint64_t
oldest_seq(udpai_view *view)
{
    return view->tombstones.slots[udpai_log_oldest(&view->tombstones)].seq;
}

static void
on_patience_end(udpai_timer *timer)
{
    udpai_view *view = UDPAI_CONTAINER_OF(timer, udpai_view, patience);
    uint64_t needed = place_of_moving(view);
    uint64_t last = needed < view->kept_seq ? needed : view->kept_seq;
    while (view->tombstones.n_live > kept_in_any_case(view) && oldest_seq(view) <= last)
        drop_oldest(view);
    udpai_tombstones_bound(view);
}

void
udpai_tombstones_init(udpai_view *view)
{
    view->tombstone_horizon = view->topic->fanout->seq;
    udpai_timer_init(&view->patience, on_patience_end);
}

static void
note_removed(udpai_view *view)
{
    uint64_t now_ms = view->topic->fanout->wheel->now_ms, max_ms = view->topic->debounce.max_ms;
    if (now_ms - view->together_ms >= (max_ms > TOGETHER_MS ? max_ms : TOGETHER_MS)) {
        view->together_ms = now_ms;
        view->n_together = 0;
    }
    view->n_together += view->n_removed;
    view->n_removed = 0;
    view->n_most_removed = udpai_max_size(view->n_most_removed, view->n_together);
}

void
udpai_tombstones_bound(udpai_view *view)
{
    size_t in_any_case = kept_in_any_case(view);
    note_removed(view);
    size_t most = udpai_max_size(in_any_case, SETS_MAX * view->n_most_removed);
    while (view->tombstones.n_live > most)
        drop_oldest(view);
    if (view->tombstones.n_live <= in_any_case)
        view->n_most_removed = 0;
    else if (!udpai_timer_is_set(&view->patience))
        come_back_later(view);
}
