/* SPDX-License-Identifier: Apache-2.0 */
/* The stream side's mirror of all effective resources, and what each subscriber must still be sent.
 *
 * A wildcard subscription is a cursor in a view that all subscriptions with the same selection
 * share; a subscription by name hangs on the name. There is no queue per subscriber: what it must
 * be sent is found when it can be sent (docs/design/fanout.md). Owned by the stream thread; no
 * clock but the wheel. */
#ifndef UDPAI_FANOUT_H
#define UDPAI_FANOUT_H

#include "base/wheel.h"
#include "fanout/body.h"
#include "fanout/debounce_rules.h"
#include "metrics/meters.h"
#include "model/types.h"
#include "store/change_set.h"
#include "store/settled.h"

typedef struct udpai_fanout udpai_fanout;
typedef struct udpai_subscriber udpai_subscriber;
typedef struct udpai_subscription udpai_subscription;
typedef struct udpai_owner udpai_owner;

typedef struct udpai_fanout_options {
    uint64_t cycle_timeout_ms; /* see docs/design/federation.md */
    /* A client that holds nothing is sent a state when something has been missing for so long. */
    uint64_t first_answer_timeout_ms;
    uint64_t view_linger_ms; /* an unused view is kept so long */
    size_t tombstones_min;   /* a view keeps so many removals, or as many as it has resources, or
                              * those of the last change sets for clients that move */
    size_t max_views, max_views_per_owner;
    size_t max_names;      /* of one subscriber */
    size_t max_held;       /* what one subscriber may state that it holds, */
    size_t max_held_bytes; /* with names and versions */
    size_t body_cache_bytes;
    size_t response_bytes; /* a response is closed at this size; one larger resource goes alone */
} udpai_fanout_options;

/* A name has its first subscription, or its last one ended. An empty name with a prefix is the
 * wildcard of that prefix. Names that nodes below subscribe to are counted by themselves; whenever
 * one of those asks, and there is none, that is reported again (is_again). */
typedef struct udpai_interest_of {
    udpai_str type_url, name, prefix;
    bool subscribed, by_nodes, is_again;
} udpai_interest_of;

typedef void (*udpai_interest_fn)(void *userdata, const udpai_interest_of *of);

udpa_err udpai_fanout_new(udpai_fanout **ret_fanout,
                          udpai_wheel *wheel,
                          const udpai_fanout_options *options);
udpai_fanout *udpai_fanout_free(udpai_fanout *fanout);
UDPA_DEFINE_CLEANUP(udpai_fanout, udpai_fanout_free)
/* Others from now on. What is there and over a limit stays; what is waited for is not longer or
 * shorter for it. */
void udpai_fanout_set_options(udpai_fanout *fanout, const udpai_fanout_options *options);
/* Nobody else in the process holds the resources: they count as its memory. Before it has any. */
void udpai_fanout_own_resources(udpai_fanout *fanout);
/* It counts there, which must outlive it; before it has anything. */
void udpai_fanout_set_meters(udpai_fanout *fanout, udpai_meters *meters);

/* Takes a reference; NULL: nothing waits. What waits already does so by these from now on. */
void udpai_fanout_set_debounce(udpai_fanout *fanout, udpai_debounce_rules *rules);
void udpai_fanout_set_interest(udpai_fanout *fanout, udpai_interest_fn interest, void *userdata);
/* May subscribers of this visibility see the resource? Without one: all may. */
typedef bool (*udpai_may_see_fn)(void *userdata,
                                 uint64_t visibility,
                                 const udpa_resource *resource);
void udpai_fanout_set_may_see(udpai_fanout *fanout, udpai_may_see_fn may_see, void *userdata);

/* Applies a change set whole, then wakes the subscribers that it concerns. @p place: how far it has
 * come, 0 at first. On UDPA_ERR_NOMEM what comes before the place is in the mirror, and nothing of
 * what comes behind it: until a later call with the same set and place has succeeded, no other set
 * may be applied, and no subscriber served. */
udpa_err udpai_fanout_apply(udpai_fanout *fanout, const udpai_change_set *changes, size_t *place);
/* Takes over the reference. */
void udpai_fanout_set_settled(udpai_fanout *fanout, udpai_settled *settled);

size_t udpai_fanout_n_resources(const udpai_fanout *fanout);
/* Of the last change that was applied. */
uint64_t udpai_fanout_place(const udpai_fanout *fanout);
size_t udpai_fanout_n_views(const udpai_fanout *fanout);

/* Bytes, as far as main structures go. */
typedef struct udpai_fanout_memory {
    uint64_t all;       /* the mirror, views and subscriptions; resources if it owns them */
    uint64_t responses; /* composed bodies, with their listings, that somebody has */
} udpai_fanout_memory;

udpai_fanout_memory udpai_fanout_memory_of(const udpai_fanout *fanout);

/* ---- subscribers ---- */

typedef struct udpai_subscriber_ops {
    /* Something may have to be sent: call udpai_subscriber_next() before long. Called once, then
     * not again until next() has found nothing. */
    void (*wake)(udpai_subscriber *subscriber);
    /* Up to where may the subscriber be sent now what of this type was removed? 0: nothing of it;
     * UINT64_MAX: all. If that is not all, its owner sees to it that it is asked again, by
     * udpai_subscriber_next(). NULL: always all. May not call back. */
    uint64_t (*may_remove)(udpai_subscriber *subscriber, udpai_subscription *subscription);
    /* Up to where may the subscriber be sent now what was set of this type? UINT64_MAX: all of it.
     * What has changed later is put off, and its owner sees to it that it is asked again; what is
     * behind it in the order does not overtake it. NULL: always all. */
    uint64_t (*may_add)(udpai_subscriber *subscriber, udpai_subscription *subscription);
} udpai_subscriber_ops;

/* How a subscriber takes the types it subscribes to. */
typedef enum udpai_delivery_mode {
    UDPAI_MODE_DELTA,   /* additions and removals */
    UDPAI_MODE_STATE,   /* everything each time (SotW LDS, CDS) */
    UDPAI_MODE_GROUPED, /* additions; removals cannot be sent (other SotW types) */
    UDPAI_MODE_ERRORS,  /* the same, but removals of names that were asked for are sent as errors */
} udpai_delivery_mode;

struct udpai_subscriber {
    udpai_fanout *fanout;
    void *userdata; /* of the session that subscribes */
    const udpai_subscriber_ops *ops;
    const udpai_renderer *renderer;
    udpa_bytes *except_node; /* split horizon: not what came from this node; NULL: everything */
    uint64_t visibility;     /* subscribers of one number see the same */
    uint64_t link;           /* to a ConfigSource, as which it subscribes; 0: it is none */
    udpai_owner *owner;      /* for which the views count that it makes; NULL: none */
    UDPAI_VECTOR(udpai_subscription *) subscriptions; /* by rank */
    size_t n_names;
    size_t n_held, held_bytes; /* notes of what it states that it holds; their text */
    size_t n_awaited; /* questions whose answer is to be called complete, and names in them */
    size_t awaited_bytes;
    /* The scheduler's place. */
    size_t turn;
    uint64_t round_limit;
    uint64_t moved_ms; /* when it was sent something last */
    bool in_round;
    bool woken;
    /* Its changes wait where rules say so (udpai_fanout_set_debounce()): a client's do. */
    bool is_debounced;
    uint32_t n_waiting, n_overdue; /* subscriptions of which changes wait, and have waited, … */
    uint64_t due_seq;              /* … up to this place */
    bool receives_waits; /* it is sent what this node waits for, while it cannot be sent all */
};

void udpai_subscriber_init(udpai_subscriber *subscriber,
                           udpai_fanout *fanout,
                           const udpai_subscriber_ops *ops,
                           const udpai_renderer *renderer);
void udpai_subscriber_done(udpai_subscriber *subscriber);
/* The views that it makes from now on count for this peer, which other subscribers may be, too; an
 * empty name: for nobody. */
udpa_err udpai_subscriber_set_owner(udpai_subscriber *subscriber, udpai_str name);
/* It sees what all of this number see, from now on, and is sent the removal of what it does not see
 * any more. */
udpa_err udpai_subscriber_set_visibility(udpai_subscriber *subscriber, uint64_t visibility);
/* It is a ConfigSource, by this link: what is routed to others of them is removed for it. 0: it is
 * none. */
udpa_err udpai_subscriber_set_link(udpai_subscriber *subscriber, uint64_t link);
/* Nothing that came from this node is offered any more. */
udpa_err udpai_subscriber_set_except(udpai_subscriber *subscriber, udpai_str node_id);

/* The subscriber's subscription to a type; NULL if it has none. */
udpai_subscription *udpai_subscriber_find(const udpai_subscriber *subscriber, udpai_str type_url);
/* Finds or makes it. NULL without memory. */
udpai_subscription *
udpai_subscriber_get(udpai_subscriber *subscriber, udpai_str type_url, udpai_delivery_mode mode);

/* A subscription to a type may have parts beside it: with wildcards and names of their own, and
 * responses of their own. */
typedef struct udpai_part {
    udpai_str type_url;
    udpai_str label; /* not empty; what the renderer makes of the part depends on it alone */
    udpai_str glob;  /* its wildcards hold this collection alone (model/xdstp.h); empty: anything */
} udpai_part;

/* Adds one. NULL without memory. */
udpai_subscription *udpai_subscriber_add_part(udpai_subscriber *subscriber,
                                              const udpai_part *part,
                                              udpai_delivery_mode mode);
/* What the subscriber may still hold through a part, and was not sent the removal of, counts as
 * held through another one, which is to take its place. To be called before that is subscribed. */
void udpai_part_take_over(udpai_subscription *part, const udpai_subscription *old);
/* Ends a part, and sends nothing about what it had. */
void udpai_subscriber_drop_part(udpai_subscription *part);

/* What the subscriber states that it still holds, from an earlier stream: what is equal is not
 * sent, what is no longer there is sent as removed once that is certain. Before subscribing.
 * UDPA_ERR_LIMIT: it is not noted, and if it has vanished no removal is sent. */
udpa_err udpai_subscription_hold_version(udpai_subscription *subscription,
                                         udpai_str name,
                                         udpai_str version);
udpa_err
udpai_subscription_hold_digest(udpai_subscription *subscription, udpai_str name, uint64_t digest);

/* What is held from here on goes ahead of what it belongs to, and is kept, whatever is subscribed
 * already; until `ahead` is false again, just before that is subscribed. */
void udpai_subscription_hold_ahead(udpai_subscription *subscription, bool ahead);

/* Beside one of these: the path by which what it holds has come. */
udpa_err
udpai_subscription_hold_path(udpai_subscription *subscription, udpai_str name, uint64_t path);

/* Adds the wildcard of a prefix. What it covers is sent, again if need be. UDPA_ERR_LIMIT: too many
 * wildcards, or views. */
udpa_err udpai_subscribe_wildcard(udpai_subscription *subscription,
                                  udpai_str prefix,
                                  udpa_error **ret_error);
/* Several at once, which is cheaper. In an error it has none of them that it did not have. */
udpa_err udpai_subscribe_wildcards(udpai_subscription *subscription,
                                   const udpai_str *prefixes,
                                   size_t n,
                                   udpa_error **ret_error);
/* Takes it away: of exactly this prefix, or all. */
udpa_err udpai_unsubscribe_wildcard(udpai_subscription *subscription, udpai_str prefix);
udpa_err udpai_unsubscribe_all_wildcards(udpai_subscription *subscription);
bool udpai_subscription_has_wildcard(const udpai_subscription *subscription);
bool udpai_subscription_has_prefix(const udpai_subscription *subscription, udpai_str prefix);
/* Adds a name or alias. It is sent, again if need be; or, if it is certain that there is none,
 * reported as not found. UDPA_ERR_LIMIT: too many names. */
udpa_err
udpai_subscribe_name(udpai_subscription *subscription, udpai_str name, udpa_error **ret_error);

/* Of one name in a subscription: a change of a variant costs each of them. */
#define UDPAI_LOCATORS_MAX 256

/* The same for a client with dynamic parameters: what it is sent of the name's variants is what
 * they satisfy. A name with other parameters, or none, is another subscription. */
typedef struct udpai_locator {
    udpai_str name;
    udpai_str parameters; /* as udpai_parameters_put() makes them; empty: the name alone */
} udpai_locator;

udpa_err udpai_subscribe_locator(udpai_subscription *subscription,
                                 const udpai_locator *locator,
                                 udpa_error **ret_error);
void udpai_unsubscribe_locator(udpai_subscription *subscription,
                               const udpai_locator *locator,
                               bool notify);
bool udpai_subscription_has_locator(const udpai_subscription *subscription,
                                    const udpai_locator *locator);
/* How often the name is asked for, with whatever parameters. */
size_t udpai_subscription_n_asking(const udpai_subscription *subscription, udpai_str name);
/* From now on the subscriber is sent each variant with its constraints, and the end of one when
 * another takes its place: it may have several of a name. After UDPA_ERR_NOMEM it must begin anew.
 */
udpa_err udpai_subscription_distinguish_variants(udpai_subscription *subscription);
bool udpai_subscription_distinguishes_variants(const udpai_subscription *subscription);

/* Its subscriber holds nothing of the type, and so can lose nothing by a state that lacks what is
 * not known yet: MODE_STATE is sent it though its wildcards are not settled, once that has been so
 * for first_answer_timeout_ms. What is by name is awaited as ever. */
void udpai_subscription_take_unsettled(udpai_subscription *subscription);
/* MODE_STATE: the source that a wildcard of it waits for, and why; false: none. Views of what is
 * settled now. */
bool udpai_subscription_waits_for(const udpai_subscription *subscription,
                                  udpai_str *ret_source,
                                  udpai_str *ret_why);

/* Its subscriber states that it has been sent a state, by another subscription: what it was not
 * sent of the changes that wait now it is sent with the others. */
void udpai_subscription_wait_with_others(udpai_subscription *subscription);
/* Do changes of it wait (udpai_fanout_set_debounce())? */
bool udpai_subscription_is_debounced(const udpai_subscription *subscription);

/* Takes it away. With `notify`, and a wildcard that might hold it: its present state is sent. */
void udpai_unsubscribe_name(udpai_subscription *subscription, udpai_str name, bool notify);
/* Sends what the wildcards hold of a name that another part of the type has given back. */
void udpai_subscription_notify(udpai_subscription *subscription, udpai_str name);
bool udpai_subscription_has_name(const udpai_subscription *subscription, udpai_str name);
/* Was the resource removed that the subscriber was sent by the name, and it has not asked for that
 * again since? */
bool udpai_subscription_has_lost(const udpai_subscription *subscription, udpai_str name);
/* Calls back for every name that it has asked for; the callback must not subscribe or unsubscribe.
 */
typedef void (*udpai_locator_fn)(void *userdata, const udpai_locator *locator);
void udpai_subscription_visit_names(const udpai_subscription *subscription,
                                    udpai_locator_fn visit,
                                    void *userdata);
/* The same for those of which it is certain that there is nothing, whatever the parameters, and no
 * state shows them still. */
typedef void (*udpai_name_fn)(void *userdata, udpai_str name);
void udpai_subscription_visit_missing(const udpai_subscription *subscription,
                                      udpai_name_fn visit,
                                      void *userdata);
/* Sends a resource again if the subscriber has it, though it has not changed; of a name with
 * variants, all that it has. */
void udpai_subscription_resend(udpai_subscription *subscription, udpai_str name);
/* Sends everything that the wildcards hold again. */
void udpai_subscription_resend_all(udpai_subscription *subscription);
/* In UDPAI_MODE_STATE: sends the state again, though nothing has changed. */
void udpai_subscription_resend_state(udpai_subscription *subscription);
/* Asks for one delivery of kind COMPLETE, after all that was subscribed up to now, once everything
 * below `prefix` is settled; with names that are not NULL: those of them that are subscribed to.
 * UDPA_ERR_LIMIT: too much waits already. */
udpa_err udpai_subscription_await_complete(udpai_subscription *subscription,
                                           udpai_str prefix,
                                           const udpai_str *names,
                                           size_t n_names);

/* ---- what to send ---- */

typedef enum udpai_delivery_kind {
    UDPAI_DELIVERY_NONE = 0,
    UDPAI_DELIVERY_ADDITIONS,
    UDPAI_DELIVERY_REMOVALS,
    UDPAI_DELIVERY_STATE,
    UDPAI_DELIVERY_COMPLETE,
} udpai_delivery_kind;

/* Where what has not been answered begins, in a subscription: all additions before this place were
 * sent, or else their payloads up to that one, and all removals before the third; and which of its
 * deliveries it was, counted from 1. When the fan-out was at the last two places, all additions,
 * and all removals, had been sent. */
typedef struct udpai_ack_position {
    uint64_t additions, payloads, removals;
    uint64_t turn;
    uint64_t all_additions, all_removals;
} udpai_ack_position;

typedef struct udpai_delivery {
    udpai_delivery_kind kind;
    udpai_subscription *subscription;
    udpai_body *body; /* composed by the renderer; a reference, the caller's */
    /* What the subscriber had not been sent before has a higher number in body->seqs. */
    uint64_t since;
    udpai_ack_position place; /* of the subscription, before it was sent this */
    uint64_t head;            /* nothing that has changed later counts */
} udpai_delivery;

/* The next thing to send, in the right order, or kind NONE. It counts as sent from here on.
 * UDPA_ERR_ABORTED: the subscriber is too far behind, which none is that was in sync, or was sent
 * anything, in the last half minute; but for removals of more than two of the largest change sets.
 * After this error, and UDPA_ERR_NOMEM, it must begin anew. */
udpa_err udpai_subscriber_next(udpai_subscriber *subscriber, udpai_delivery *ret_delivery);
/* Where the first and the last change lie that it must still be sent; false: none. */
bool udpai_subscription_pending_changes(const udpai_subscription *subscription,
                                        uint64_t *ret_first,
                                        uint64_t *ret_last);
/* The place of what can be sent next, if it may; UINT64_MAX: nothing can. The same of removals. */
uint64_t udpai_subscription_first_pending(udpai_subscription *subscription);
uint64_t udpai_subscription_first_removal(udpai_subscription *subscription);
/* Has the subscriber been sent all there is? */
bool udpai_subscriber_in_sync(const udpai_subscriber *subscriber);

/* ---- for status, and for sessions ---- */

udpai_str udpai_subscription_type_url(const udpai_subscription *subscription);
/* Empty: it is no part. */
udpai_str udpai_subscription_label(const udpai_subscription *subscription);
udpai_str udpai_subscription_glob(const udpai_subscription *subscription);
/* Is what it subscribes to nobody's interest (udpai_interest_fn)? Settled by the first time that
 * it subscribes to anything. */
void udpai_subscription_set_uncounted(udpai_subscription *subscription, bool is_uncounted);
bool udpai_subscription_is_uncounted(const udpai_subscription *subscription);
/* From now on its wildcards hold also what came from the node that the subscriber is not offered
 * anything of. */
udpa_err udpai_subscription_offer_back(udpai_subscription *subscription);
/* Is the subscriber a node below, which passes on the subscriptions of others? Settled in the same
 * way. */
void udpai_subscription_set_of_node(udpai_subscription *subscription, bool is_of_node);
/* Do its wildcards hold nothing now? */
bool udpai_subscription_is_empty(const udpai_subscription *subscription);
udpai_delivery_mode udpai_subscription_mode(const udpai_subscription *subscription);
udpai_subscriber *udpai_subscription_subscriber(const udpai_subscription *subscription);
size_t udpai_subscription_n_names(const udpai_subscription *subscription);
size_t udpai_subscription_n_prefixes(const udpai_subscription *subscription);
udpai_str udpai_subscription_prefix(const udpai_subscription *subscription, size_t index);
/* Is all known of this one of its wildcards? If not, its subscriber is woken when that changes. */
bool udpai_subscription_is_known(udpai_subscription *subscription, size_t index);
/* The sum over (name, content) of what is visible to the subscriber now. */
udpai_set_hash udpai_subscription_set_hash(const udpai_subscription *subscription);
/* What the subscriber has under this name through the subscription; false: nothing. */
bool udpai_subscription_shows(const udpai_subscription *subscription,
                              udpai_str name,
                              udpai_send_item *ret_item);
/* The removal of this name by its authority (model/removal.h): it is sent with the name's removal,
 * and with what takes its place. NULL: nothing. */
udpa_resource *udpai_subscription_removal(const udpai_subscription *subscription, udpai_str name);
/* A slot for the session that subscribes. */
void udpai_subscription_set_userdata(udpai_subscription *subscription, void *userdata);
void *udpai_subscription_userdata(const udpai_subscription *subscription);
/* Another one, for a time that has to do with its removals: 0 when there are none. */
uint64_t *udpai_subscription_time(udpai_subscription *subscription);
/* A subscriber that asks for a name from now on, and neither has nor is sent anything of it, is
 * sent not-found only after so long. 0: as soon as that is certain. */
void udpai_subscription_delay_absence(udpai_subscription *subscription, uint64_t delay_ms);

#endif
