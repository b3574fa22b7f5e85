/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer has rejected of what it was sent, of one type: the last resources by name, for
 * status, and of what is not noted so, where in the sequence it lies. Bounded, whatever the peer
 * sends. */
#ifndef UDPAI_REFUSED_H
#define UDPAI_REFUSED_H

#include "base/error.h"
#include "base/vector.h"
#include "fanout/ack_tracker.h"

#define UDPAI_REFUSED_KEPT 16

typedef struct udpai_refused {
    udpa_error *error;
    udpai_str name, version; /* their text follows */
    udpai_str good;          /* the version that it had before, and still has; empty: not known */
    uint64_t seq;            /* of the payload, see udpai_send_item; 0: none was sent */
    int64_t at_us;
    bool is_certain; /* false: it came with what was refused, and others are named */
} udpai_refused;

typedef UDPAI_VECTOR(udpai_refused *) udpai_refused_list; /* the oldest first */

/* Something between these places, both included. */
typedef struct udpai_refused_range {
    uint64_t low, high;
    udpa_error *error; /* NULL: nothing */
    int64_t at_us;
} udpai_refused_range;

typedef struct udpai_refusals {
    udpai_refused_list last;
    udpai_refused_range others;
    udpai_refused_range removals;
    int64_t looked_us; /* when it was last looked whether they still matter (client_state.h) */
} udpai_refusals;

/* Fills in the version that the peer had, and has not refused, before it was sent this by a
 * delivery from this place: a view of `room`, or of the refusals until the next change of them. */
void udpai_refusals_find_good(const udpai_refusals *refusals,
                              const udpai_subscription *subscription,
                              udpai_ack_position place,
                              udpai_refused *refused,
                              udpai_had *room);
/* Copies the text, takes a reference to the error. What there is no memory for is not kept. */
void udpai_refusals_add(udpai_refusals *refusals, const udpai_refused *refused);
/* Widens the range; takes a reference to the error, in place of the one before. */
void udpai_refused_range_add(udpai_refused_range *range, const udpai_refused_range *more);
bool udpai_refusals_any(const udpai_refusals *refusals);
/* Is exactly this noted? */
bool udpai_refusals_has(const udpai_refusals *refusals, uint64_t seq);
/* Does it hold any place from the one to the other? */
bool udpai_refused_range_meets(const udpai_refused_range *range, uint64_t from, uint64_t to);
/* What was refused so, was sent again and accepted. */
void udpai_refusals_forget(udpai_refusals *refusals, uint64_t seq);
/* The same of what has this name, with the versions before it, which the peer has not any more. */
void udpai_refusals_accept(udpai_refusals *refusals, udpai_str name, uint64_t seq);
/* The same of whatever lies between these places. */
void udpai_refusals_forget_range(udpai_refusals *refusals, uint64_t low, uint64_t high);
/* Was this refused? The error is borrowed; only error, time and certainty are filled in. */
bool udpai_refusals_find(const udpai_refusals *refusals,
                         udpai_str name,
                         uint64_t seq,
                         udpai_refused *ret_refused);
void udpai_refusals_done(udpai_refusals *refusals);

/* Does a peer's text speak of the resource, in whatever spelling it knows its name? */
bool udpai_refusal_names(udpai_str text, udpai_str full_name);
/* Does it have exactly this name? */
bool udpai_refusal_spells(udpai_str text, udpai_str name);

#endif
