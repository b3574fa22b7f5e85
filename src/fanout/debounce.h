/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a type that wait before clients are sent them, so that a type that changes all the
 * time costs a client a turn for each wait, and not for each change (docs/design/fanout.md). For
 * the files of this folder. */
#ifndef UDPAI_DEBOUNCE_H
#define UDPAI_DEBOUNCE_H

#include "fanout/fanout.h"
#include "fanout/glob.h"

/* Of a topic. Changes wait while the timer is set. */
typedef struct udpai_debounce {
    uint64_t quiet_ms, max_ms; /* 0: they do not wait */
    udpai_timer timer;
    uint64_t after;             /* those behind this place wait */
    uint64_t first_ms, last_ms; /* when the first and the last of them came */
    uint64_t n_changes;
    udpai_list waiting;             /* subscriptions that are to be sent some of them */
    udpai_meter *changes, *seconds; /* NULL: they are not counted */
} udpai_debounce;

/* Of a subscription, beside its place among those that wait. */
typedef enum udpai_debounce_state {
    UDPAI_DEBOUNCE_CALM,
    UDPAI_DEBOUNCE_BEHIND,  /* it does not wait itself, but for a type before it that does */
    UDPAI_DEBOUNCE_OVERDUE, /* it has waited, or its client has asked: it waits for nothing before
                             * it was sent what there is */
} udpai_debounce_state;

/* By the rules of the fan-out. */
void udpai_debounce_init(udpai_topic *topic, udpai_str type_url);
/* They are others now. */
void udpai_debounce_take_rules(udpai_topic *topic, udpai_str type_url);
void udpai_debounce_done(udpai_topic *topic);
/* A change of the topic is made, and is not in the sequence yet. */
void udpai_debounce_change(udpai_topic *topic);

/* The subscription is to be sent something: does that wait? Then it is woken when the wait ends.
 * What its client has caused does not wait, and ends all waits of the client. */
bool udpai_debounce_waits(udpai_subscription *subscription);
/* Its client has asked for something. */
void udpai_debounce_asked(udpai_subscription *subscription);
/* It goes. */
void udpai_debounce_leave(udpai_subscription *subscription);

/* What has changed behind this place may not be sent, by what waits in the first n subscriptions;
 * UDPAI_NOTHING: anything may. */
uint64_t udpai_debounce_limit(const udpai_subscriber *subscriber, size_t n);
/* The subscription has something that it may not be sent because of that. */
void udpai_debounce_is_behind(udpai_subscription *subscription);
/* It had its turn; `pending` is the place of its first addition now. */
void udpai_debounce_turn_ended(udpai_subscription *subscription, uint64_t pending, bool was_sent);
/* What it has pending its session does not let through: that may take long. */
void udpai_debounce_is_blocked(udpai_subscription *subscription);

#endif
