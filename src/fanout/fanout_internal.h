/* SPDX-License-Identifier: Apache-2.0 */
/* The fan-out's inside, for the files of this folder. */
#ifndef UDPAI_FANOUT_INTERNAL_H
#define UDPAI_FANOUT_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "fanout/client_versions.h"
#include "fanout/debounce.h"
#include "fanout/fanout.h"
#include "fanout/glob.h"
#include "fanout/item.h"
#include "fanout/log.h"
#include "fanout/name_sub.h"
#include "fanout/quota.h"
#include "fanout/sorted.h"
#include "fanout/view.h"

typedef struct udpai_collection udpai_collection;

/* ---- topics.c ---- */

/* The items that have this alias. */
typedef struct udpai_alias {
    UDPAI_VECTOR(udpai_item *) items; /* by name */
    uint32_t name_len;
    char name[];
} udpai_alias;

typedef struct udpai_wildcard_use {
    udpa_bytes *prefix;
    size_t n;
} udpai_wildcard_use;

struct udpai_topic {
    udpai_fanout *fanout;
    udpa_bytes *url;
    unsigned rank;
    udpai_map items;
    udpai_numbers numbers; /* of them */
    udpai_sorted sorted;   /* of them, if that pays for those who ask for namespaces: */
    size_t n_in_vain;      /* items that were looked at for these, and lie in others */
    udpai_map aliases;     /* exact ones and patterns */
    size_t n_patterns;
    size_t n_variants;
    size_t n_live;
    udpai_list indirect; /* items to which some of their subscriptions do not lead */
    udpai_map prefixes;  /* udpai_view_prefix: which views a name may belong to */
    udpai_map globs;     /* the same, of collections by glob */
    udpai_map families;
    bool has_families; /* somebody has asked for a collection: items are in their families */
    udpai_list views;
    size_t n_subscriptions;
    size_t n_state_subscriptions;
    udpai_meter *coalesced; /* NULL: they are not counted */
    udpai_debounce debounce;
    udpai_map kept_removals;                    /* see kept_removals.h */
    UDPAI_VECTOR(udpai_wildcard_use) wildcards; /* how many subscriptions have each */
};

struct udpai_fanout {
    udpai_wheel *wheel;
    udpai_fanout_options options;
    udpai_map topics;
    udpai_memory memory, responses;       /* that it has, and that its bodies have */
    bool owns_resources;                  /* the former has them */
    udpai_meters *meters;                 /* NULL: nothing is counted */
    uint64_t seq;                         /* of the last change, over all topics */
    uint64_t n_applied;                   /* calls that apply change sets */
    uint64_t applied_after;               /* where the last one began, */
    bool is_applying;                     /* and it has not ended */
    udpai_debounce_rules *debounce_rules; /* NULL: there are none */
    uint64_t stamp;
    udpai_settled *settled;
    uint64_t settled_nr; /* of all that there were */
    udpai_interest_fn interest;
    void *interest_userdata;
    udpai_may_see_fn may_see;
    void *may_see_userdata;
    udpai_list dirty_views;              /* during an apply */
    UDPAI_VECTOR(udpai_touched) touched; /* by the change that is being made */
    udpai_list idle_views;               /* that nobody uses, the one idle longest first */
    udpai_map owners;
    udpai_list waiting;        /* subscriptions that wait for settled */
    udpai_list recent_bodies;  /* the last used first */
    udpai_log_limit ambiguous; /* warnings of variants for the same */
    udpai_log_limit waits;     /* and of clients that wait: each may have many subscriptions */
    udpai_list kept_removals;  /* of all topics */
    size_t n_kept_removals;
    size_t body_bytes;
    size_t n_resources, n_views;
};

static inline udpai_memory *
udpai_topic_memory(const udpai_topic *topic)
{
    return &topic->fanout->memory;
}

static inline void
udpai_alias_free(const udpai_topic *topic, udpai_alias *alias)
{
    udpai_vector_done_in(udpai_topic_memory(topic), &alias->items);
    udpai_free_in(udpai_topic_memory(topic), alias, sizeof(*alias) + alias->name_len);
}

udpai_topic *udpai_topic_find(const udpai_fanout *fanout, udpai_str type_url);
udpai_topic *udpai_topic_get(udpai_fanout *fanout, udpai_str type_url);
void udpai_topic_release(udpai_topic *topic);
udpai_str udpai_topic_url(const udpai_topic *topic);
/* ---- alias.c ---- */

/* The item that a name leads to by alias, for this subscriber; NULL: none. */
udpai_item *
udpai_alias_resolve(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name);

/* ---- alias_change.c ---- */

/* Makes room for what the change from `before` to `now` adds (either may be NULL). On failure
 * nothing has changed. */
udpa_err
udpai_alias_reserve(udpai_topic *topic, const udpa_resource *before, const udpa_resource *now);
/* Makes what subscriptions need that may be led elsewhere when the item becomes this (NULL: is
 * removed). */
udpa_err udpai_alias_reserve_subs(const udpai_item *item, const udpa_resource *now);
/* Keeps the index in step with a change of an item's resource, and resolves the subscriptions again
 * that ask for an alias that came or went. Room was reserved. */
void udpai_alias_update(udpai_item *item, const udpa_resource *before, const udpa_resource *now);

/* ---- subscription.c ---- */

typedef struct udpai_await {
    udpai_list node;
    udpa_bytes *prefix;
    UDPAI_VECTOR(udpa_bytes *) names;
    bool is_wildcard; /* of the prefix, instead of names */
    uint64_t asked_ms;
    uint64_t target_seq;
    bool is_settled;
    udpa_bytes *sent_waits;   /* what this node waits for, as it was sent; NULL: it was not */
    uint64_t sent_settled_nr; /* what was settled then; 0: it was not sent */
} udpai_await;

/* The cursor: everything up to `low` was sent, and of what comes after, (window_from, window_to].
 */
typedef struct udpai_cursor {
    uint64_t low;
    uint64_t window_from, window_to;
    uint64_t sent_before; /* up to here some was sent, too, that is to be sent again */
    uint64_t tombstones;
    bool newest_turn; /* the last response was cut short: the newest go next */
} udpai_cursor;

static inline bool
udpai_cursor_has_window(const udpai_cursor *cursor)
{
    return cursor->window_to > cursor->low;
}

static inline bool
udpai_cursor_in_window(const udpai_cursor *cursor, uint64_t seq)
{
    return seq > cursor->window_from && seq <= cursor->window_to;
}

static inline bool
udpai_cursor_was_sent(const udpai_cursor *cursor, uint64_t seq)
{
    return seq <= cursor->low || udpai_cursor_in_window(cursor, seq);
}

struct udpai_subscription {
    udpai_subscriber *subscriber;
    udpai_topic *topic;
    udpai_delivery_mode mode;
    udpa_bytes *label; /* NULL: it is no part */
    udpa_bytes *glob;  /* NULL: its wildcards are of namespaces */
    void *userdata;
    uint64_t time;                       /* the session's, while there are removals */
    UDPAI_VECTOR(udpa_bytes *) prefixes; /* wildcards asked for */
    udpai_view *view;                    /* NULL: no wildcard */
    udpai_view *filter;                  /* of the view; NULL: all of it is visible to it */
    udpai_list in_view, in_filter;
    udpai_cursor cursor;
    udpai_map names;                            /* of udpai_name_sub, */
    udpai_set_hash names_hash;                  /* and of what they lead to */
    udpai_list additions, removals, unanswered; /* of udpai_pending */
    udpai_map pending_items;                    /* of udpai_pending, by item: at most one of each */
    bool is_uncounted;                          /* it counts for no interest */
    bool offers_back;                           /* there is no split horizon for its wildcards */
    bool is_of_node;                            /* they are those of a node below */
    bool distinguishes_variants;
    udpai_map variant_refs; /* of udpai_variant_ref, if it does */
    udpai_map held;         /* what its client stated that it holds: held_item, by name, */
    udpai_client_versions
        unchanged;         /* or this, if that is what there is; of a name, in one of the two */
    bool held_unchecked;   /* what is left of it must be looked through, */
    uint64_t held_seq;     /* once everything up to here was sent */
    bool is_held_ahead;    /* but for what was sent ahead of names that are still to come: */
    uint32_t n_held_ahead; /* the pieces of this number, which has begun as often */
    udpai_list awaits;
    udpai_list in_waiting;    /* fanout->waiting: something here waits for settled */
    udpai_timer cycle;        /* the end of a bounded wait */
    uint64_t asked_ms;        /* when it subscribed last */
    uint64_t absent_delay_ms; /* fanout.h */
    bool takes_unsettled;     /* MODE_STATE: the subscriber holds nothing */
    bool is_wait_logged;
    uint64_t state_due_seq, state_removal_seq; /* MODE_STATE; UINT64_MAX: not due */
    bool state_forced;                         /* it goes out though nothing may have changed */
    bool state_has_ttl;                        /* the one that was sent last */
    udpai_set_hash state_hash;                 /* of that one */
    uint64_t n_turns;                          /* deliveries that it was given */
    uint64_t pending_item_seq; /* the last place of what was pending besides names */
    uint64_t stamp;            /* to meet it once in one pass */
    uint64_t synced_seq;       /* of each item it was sent the state of then, or a later one */
    uint64_t all_additions, all_removals; /* when the fan-out was there, all had been sent */
    unsigned n_deferred; /* rounds in which it had something to send and might not */
    unsigned n_removals_deferred;
    udpai_list in_debounce; /* linked: changes of it wait */
    udpai_debounce_state debounce_state;
    bool had_state; /* its subscriber was sent one, by another subscription */
};

static inline udpai_memory *
udpai_subscription_memory(const udpai_subscription *subscription)
{
    return udpai_topic_memory(subscription->topic);
}

static inline udpai_filtered_view
udpai_filtered_view_of(const udpai_subscription *subscription)
{
    return (udpai_filtered_view){subscription->view, subscription->filter};
}

/* The node of which its wildcards hold no resources; NULL: none. */
static inline udpa_bytes *
udpai_subscription_except(const udpai_subscription *subscription)
{
    return subscription->offers_back ? NULL : subscription->subscriber->except_node;
}

/* The node that it is not waited for; empty: none. */
static inline udpai_str
udpai_subscriber_except(const udpai_subscriber *subscriber)
{
    return subscriber->except_node ? udpai_bytes_view(subscriber->except_node) : (udpai_str){0};
}

/* ---- pending.c ---- */

void udpai_pending_init(udpai_subscription *subscription);
void udpai_subscription_wake(udpai_subscription *subscription);
/* Puts it at the end of one of the lists. */
void udpai_mark_pending(udpai_subscription *subscription, udpai_list *list, udpai_pending *pending);
/* The same for an item that was not asked for by name, or not only; what was pending of it before
 * is void. */
udpa_err
udpai_mark_item_pending(udpai_subscription *subscription, udpai_list *list, udpai_item *item);
/* What is pending of the item; NULL: nothing. */
udpai_pending *udpai_pending_of_item(const udpai_subscription *subscription,
                                     const udpai_item *item);
/* Takes it off its list; frees it if it is of an item. */
void udpai_pending_done(udpai_subscription *subscription, udpai_pending *pending);
/* Is all known of what lies at or below `scope`? If not, the subscription is woken when it is. */
bool
udpai_subscription_is_settled(udpai_subscription *subscription, udpai_str scope, uint64_t asked_ms);
/* The same of a name that is asked for as such. */
bool udpai_subscription_is_name_settled(udpai_subscription *subscription,
                                        udpai_str name,
                                        uint64_t asked_ms);
/* If there is no such name here: is there none? What was sent on this stream, and removed here,
 * does not exist, whatever this returns. The same. */
bool udpai_subscription_knows_absence(udpai_subscription *subscription, udpai_str name);
/* What was uncertain may be certain now; or then. */
void udpai_subscription_recheck(udpai_subscription *subscription);
void udpai_subscription_recheck_at(udpai_subscription *subscription, uint64_t at_ms);
/* It was answered, or will not be. */
void udpai_await_done(udpai_subscription *subscription, udpai_await *await);
bool udpai_subscription_covers(const udpai_subscription *subscription, udpai_str name);

/* ---- wildcard.c ---- */

/* The subscriber's selection has changed: what it asked for, or what it may see. `notify`: it is
 * sent the removal of what it does not see any more. */
udpa_err
udpai_subscription_reselect(udpai_subscription *subscription, bool notify, udpa_error **ret_error);
void udpai_subscription_leave_view(udpai_subscription *subscription);
/* Will the subscriber be sent the item's payload anyway, by its wildcards? */
bool udpai_view_will_bring(const udpai_subscription *subscription, const udpai_item *item);

/* ---- names.c ---- */

/* Looks again at what a name leads to, and marks what is pending. `again`: even if it was sent. */
void udpai_name_sub_update(udpai_name_sub *sub, bool again);
void udpai_name_subs_free(udpai_subscription *subscription);
void udpai_name_subs_update(udpai_subscription *subscription);

/* ---- interest.c ---- */

/* Counts users of a name or wildcard, and reports the first and the last to the owner of the
 * fan-out. */
void udpai_interest_name(const udpai_subscription *subscription, udpai_item *item, bool subscribed);
void
udpai_interest_wildcard(const udpai_subscription *subscription, udpai_str prefix, bool subscribed);
/* A node asks once more for what is not there. */
void udpai_interest_again(const udpai_subscription *subscription, udpai_item *item);

/* ---- coalesced.c ---- */

/* Before the item is changed: has it a change that this one replaces, and that some subscriber was
 * not sent? */
void udpai_coalesced_count(const udpai_item *item, const udpai_change *change);

/* ---- due.c: what must still be sent ---- */

/* How far additions may go: by the order of types, and by what may_add allows of their changes. */
typedef struct udpai_send_limits {
    uint64_t place, change;
} udpai_send_limits;

/* The place of the first addition, or UDPAI_NOTHING. */
uint64_t udpai_pending_addition(udpai_subscription *subscription);
/* The same for removals. */
uint64_t udpai_pending_removal(udpai_subscription *subscription);
/* The same of what the wildcards hold, and of what is pending besides and may be sent. */
uint64_t udpai_pending_in_view(const udpai_subscription *subscription);
uint64_t udpai_first_pending_within(const udpai_subscription *subscription,
                                    const udpai_send_limits *limits);
/* The place where what is pending has changed last; 0: there is nothing any more. */
uint64_t udpai_pending_change(const udpai_pending *pending);
/* Is nothing pending, whether it may be sent now or not? */
bool udpai_has_all_additions(const udpai_subscription *subscription);
bool udpai_has_all_removals(const udpai_subscription *subscription);
/* Is an addition pending that had changed since then already when it changed last? */
bool udpai_pending_changed_twice(const udpai_subscription *subscription, uint64_t since);
/* Is there an addition within the limit that has changed up to where it may be sent? */
bool udpai_pending_is_sendable(const udpai_subscription *subscription,
                               const udpai_send_limits *limits);
/* ---- collect.c: filling one response ---- */

/* Each composes one response and counts its contents as sent. *ret_body NULL: there was nothing to
 * send after all. */
udpa_err udpai_collect_additions(udpai_subscription *subscription,
                                 const udpai_send_limits *limits,
                                 udpai_body **ret_body);
udpa_err
udpai_collect_removals(udpai_subscription *subscription, uint64_t limit, udpai_body **ret_body);
/* What was removed behind `removals`, or sent as removed already, is in it still; 0: all whose
 * removal was not sent. */
udpa_err
udpai_collect_state(udpai_subscription *subscription, uint64_t removals, udpai_body **ret_body);
udpa_err
udpai_collect_complete(udpai_subscription *subscription, udpai_str scope, udpai_body **ret_body);
udpa_err udpai_collect_waits(udpai_subscription *subscription,
                             const udpai_await *await,
                             udpai_str waits,
                             udpai_body **ret_body);

#endif
