/* SPDX-License-Identifier: Apache-2.0 */
/* Views and filters of them; for the files of this folder. */
#ifndef UDPAI_FANOUT_VIEW_H
#define UDPAI_FANOUT_VIEW_H

#include "base/map.h"
#include "fanout/fanout.h"
#include "fanout/item.h"
#include "fanout/log.h"
#include "fanout/quota.h"

/* As a place in the sequence: none. */
#define UDPAI_NOTHING UINT64_MAX

/* ---- view.c ---- */

/* One prefix, and the views that have it. */
struct udpai_view_prefix {
    UDPAI_VECTOR(udpai_view *) views;
    uint32_t len;
    char text[];
};

/* A filter is a view of another one, the whole, for subscribers that do not see all of that: not
 * what came from their own node, nor what is for other ConfigSources. It holds no more than where
 * the two differ for what they were sent (filter.c). */
struct udpai_view {
    udpai_topic *topic;
    udpai_list in_topic;
    UDPAI_VECTOR(udpai_view_prefix *) prefixes;
    udpa_bytes *glob;  /* it selects what is in this collection; NULL: all below its prefixes */
    udpa_bytes *label; /* with a glob: of those that share it */
    uint64_t visibility;
    bool without_variants;
    udpai_owner *owner; /* NULL: it counts for nobody */
    udpai_log live, tombstones;
    uint64_t tombstone_horizon; /* seq of the last tombstone that was dropped */
    size_t n_removed;           /* by the change set that is being applied, … */
    size_t n_together;          /* … with those before it, since: */
    uint64_t together_ms;
    size_t n_most_removed; /* together, of those that are kept beyond what is in any case */
    uint64_t kept_seq;     /* when it turns out which move, what is above this is new */
    udpai_timer patience;
    udpai_set_hash set_hash;
    uint64_t changed_seq;
    udpai_list subscriptions;
    udpai_list dirty;  /* in fanout->dirty_views */
    udpai_list bodies; /* composed ones, the newest first */
    size_t n_bodies;
    uint64_t stamp;
    const udpai_subscription *slowest; /* of those that it has, … */
    uint64_t slowest_in;               /* … in this call that applies changes; coalesced.c */
    udpai_list in_idle;
    udpai_timer linger;
    udpai_map filters;   /* by node, those that leave out nothing but what came from it; */
    udpai_list of_links; /* and the others */
    udpai_view *whole;   /* this one is a filter; NULL: it is none, and the rest is nothing */
    udpa_bytes *node;    /* what came from it is left out; NULL: that does not count */
    uint64_t link;       /* as what is not for this one; 0: nor does that */
    udpai_list in_whole;
    uint64_t entered_seq; /* something became visible again here last, */
    uint64_t removed_seq; /* and a removal was sent otherwise than there */
};

static inline bool
udpai_same_bytes(const udpa_bytes *a, const udpa_bytes *b)
{
    return a == b || (a && b && udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
}

static inline bool
udpai_view_is_filter(const udpai_view *view)
{
    return view->whole != NULL;
}

/* At most one subscription has it. */
static inline bool
udpai_view_has_one(const udpai_view *view)
{
    return view->subscriptions.next == view->subscriptions.prev;
}

/* Finds or makes the view of this selection for a subscription, with everything it selects.
 * Prefixes are a minimal cover. */
udpa_err udpai_view_get(const udpai_subscription *subscription,
                        const udpai_str *prefixes,
                        size_t n_prefixes,
                        udpai_view **ret_view,
                        udpa_error **ret_error);
/* One that holds nothing, and is nowhere found. NULL without memory. */
udpai_view *udpai_view_new(udpai_topic *topic);
/* The last subscription has left; it may be freed. */
void udpai_view_idle(udpai_view *view);
void udpai_view_free(udpai_view *view);
bool udpai_view_covers(const udpai_view *view, udpai_str name);
/* Makes room in every view for the item as it will be, and notes the views that will be new to it.
 * On failure nothing has changed. */
udpa_err udpai_views_reserve(udpai_item *item, const udpai_change *change, size_t *ret_n_joining);
/* After a change of item->resource from `before`: puts the item where it belongs in every view.
 * Room was reserved, and nothing has come between. */
void udpai_views_update(udpai_item *item, const udpa_resource *before, size_t n_joining);
/* May what came from a node, for these links, be offered to a subscriber that is not offered what
 * came from this node, by this link? */
bool udpai_may_offer(const udpa_bytes *from_node,
                     const udpa_bytes *visible_to,
                     const udpa_bytes *except_node,
                     uint64_t link);
/* After what a view holds, or how far it differs from that, has changed by the last change. */
void udpai_view_changed(udpai_view *view);
/* Is there a resource, and may the subscriber see it? */
bool udpai_is_visible(const udpai_item *item, const udpai_subscriber *subscriber);

/* Does it hold the item, if its prefixes or its glob cover that? */
bool udpai_view_selects(const udpai_view *view, const udpai_item *item);
/* The same, after the change. */
bool udpai_view_would_select(const udpai_view *view, const udpai_change *change);

/* ---- places of items in views ---- */

udpai_membership *udpai_item_membership(const udpai_item *item, const udpai_view *view);
/* Room for so many in all. */
udpa_err udpai_memberships_reserve(udpai_item *item, size_t n);
udpa_err udpai_view_reserve(udpai_view *view);
/* Puts the item at the end of one of the two logs. */
void udpai_membership_place(udpai_membership *membership, udpai_item *item, bool is_tombstone);
/* Takes it out of its log. */
void udpai_membership_unplace(udpai_membership *membership);
void udpai_membership_drop(udpai_item *item, udpai_membership *membership);

/* ---- filter.c ---- */

void udpai_filters_init(udpai_view *view);

/* What a subscription looks through. */
typedef struct udpai_filtered_view {
    udpai_view *view;   /* NULL: it has no wildcard */
    udpai_view *filter; /* of the view; NULL: all of that is visible */
} udpai_filtered_view;

/* The position of an item in a filtered view. */
typedef enum udpai_position_kind {
    UDPAI_POSITION_NONE,
    UDPAI_POSITION_LIVE,
    UDPAI_POSITION_REMOVED,
} udpai_position_kind;

typedef struct udpai_position {
    udpai_position_kind kind;
    uint64_t seq;         /* in its log */
    uint64_t entered_seq; /* as of a membership */
} udpai_position;

udpai_position udpai_filtered_view_position(udpai_filtered_view filtered, const udpai_item *item);

static inline bool
udpai_filtered_view_is_live(udpai_filtered_view filtered, const udpai_item *item)
{
    return udpai_filtered_view_position(filtered, item).kind == UDPAI_POSITION_LIVE;
}

/* Is what the view has of the item left out? */
bool udpai_filter_hides(const udpai_view *filter, const udpai_item *item);

static inline bool
udpai_filtered_view_hides(udpai_filtered_view filtered, const udpai_item *item)
{
    return filtered.filter && udpai_filter_hides(filtered.filter, item);
}

/* The sum over what is visible; costs as much as there is, if there is a filter. */
udpai_set_hash udpai_filtered_view_set_hash(udpai_filtered_view filtered);

/* Removals in their order. */
typedef struct udpai_removals {
    udpai_filtered_view filtered;
    size_t of_view, of_filter; /* the next slots */
} udpai_removals;

udpai_removals udpai_removals_after(udpai_filtered_view filtered, uint64_t seq);
/* The place of the next one; UINT64_MAX: there is none. It may be one that is not sent. */
uint64_t udpai_removals_next_seq(udpai_removals *removals);
/* Moves on; the item, or NULL if this one is not sent. There must be one. */
udpai_item *udpai_removals_next(udpai_removals *removals);

/* Finds or makes the filter of the subscription in this view; NULL if it needs none. */
udpa_err
udpai_filter_get(udpai_view *view, const udpai_subscription *subscription, udpai_view **ret_filter);
/* Its last subscription has left. */
void udpai_filter_free(udpai_view *filter);
/* A subscriber with this filtered view would be sent the same as one with the whole: if nothing is
 * left out, and it holds what there was up to `held`; or removals after a place. */
bool udpai_filtered_view_shares_payloads(udpai_filtered_view filtered, uint64_t held);
bool udpai_filtered_view_shares_removals(udpai_filtered_view filtered, uint64_t after);

/* Makes room in the filters of views that hold the item for what the change will make different.
 * On failure nothing has changed. */
udpa_err udpai_filters_reserve(udpai_item *item, const udpai_change *change, size_t n_joining);
/* After the change, when the views hold it. Nothing has come between. */
void udpai_filters_update(udpai_item *item);
/* The view forgets the removal of the item; or the filter does its own. */
void udpai_filters_forget(udpai_item *item, const udpai_view *whole);
void udpai_filter_forget_removal(udpai_view *filter, udpai_item *item);

/* A filter that a change may concern, and where the item stood for it before. */
typedef struct udpai_touched {
    udpai_view *filter;
    udpai_position before;
} udpai_touched;

/* ---- find.c ---- */

/* The order is beside the item: to look it up there would cost more than all the sorting. */
typedef struct udpai_found {
    uint64_t seq;
    udpai_item *item;
} udpai_found;

typedef UDPAI_VECTOR(udpai_found) udpai_found_vector;

/* Everything the view selects, in order of its last change. False without memory. */
bool udpai_view_find(const udpai_view *view, udpai_found_vector *found);

/* ---- tombstones.c ---- */

void udpai_tombstones_init(udpai_view *view);
/* After each change set that the view was concerned by. */
void udpai_tombstones_bound(udpai_view *view);

/* ---- cache.c: composed bodies that others may need too ---- */

/* A reference; NULL: there is none for this filtered view. `is_shared`: what is made of the view
 * may do, if the filter takes nothing out of it; or else only what is made for the filter. */
udpai_body *udpai_view_find_body(udpai_filtered_view filtered,
                                 bool is_shared,
                                 const udpai_renderer *renderer,
                                 const udpai_body_range *range);
void udpai_view_keep_body(udpai_filtered_view filtered, bool is_shared, udpai_body *body);
void udpai_view_drop_bodies(udpai_view *view);

#endif
