/* SPDX-License-Identifier: Apache-2.0 */
/* Which subscriptions receive a resource, and how far each has come with it, by places in the
 * sequence alone: there is no table of what each was sent, and nothing is computed before it is
 * asked for. */
#ifndef UDPAI_ACK_TRACKER_H
#define UDPAI_ACK_TRACKER_H

#include "fanout/fanout.h"

/* One subscription, and one resource that it selects. */
typedef struct udpai_resource_ack {
    udpai_subscription *subscription;
    udpa_resource
        *resource; /* the visible version; NULL: it was removed, and the removal is what is sent */
    bool is_sent;
    bool is_unreported; /* this protocol cannot send its removal */
    uint64_t place;     /* its place, or that of its removal; 0: it came by a name alone */
    uint64_t from;      /* of a removal: it was sent at this place or later, up to `place` */
    uint64_t payload;   /* the place of its payload; UINT64_MAX: not known */
    uint64_t turn;      /* of the delivery that it came with; 0: it did not come by a name */
    uint64_t seq;       /* of the payload, see udpai_send_item */
} udpai_resource_ack;

/* False: that is enough. */
typedef bool (*udpai_resource_ack_fn)(void *userdata, const udpai_resource_ack *ack);

/* Calls back for every subscription that selects the resource of this name or alias, by wildcard,
 * name, or alias; each once. If there is none: for those that select the name. Returns the
 * resource, borrowed; NULL: there is none. The callback may not subscribe or send. */
udpa_resource *udpai_fanout_visit_acks(udpai_fanout *fanout,
                                       udpai_str type_url,
                                       udpai_str name,
                                       udpai_resource_ack_fn visit,
                                       void *userdata);

/* ---- the other way round: what one subscription takes ---- */

typedef struct udpai_taken {
    udpai_resource_ack ack;
    udpai_str name;  /* that it was asked for by; by a wildcard: what others would ask for */
    bool is_missing; /* there is none, and that is certain; else it may yet come */
} udpai_taken;

/* How far such a visit has come; all zero: it begins. */
typedef struct udpai_taken_place {
    size_t name;
    uint64_t seq;
} udpai_taken_place;

/* False: that is enough for now. It may not subscribe or send. */
typedef bool (*udpai_taken_fn)(void *userdata, const udpai_taken *taken);

/* Calls back for what the subscription selects by name, whether it is there or not, and for what
 * else its wildcards hold; from the place on, which is moved. False: that was all. What changes
 * between two calls may be reported twice, and names that are asked for then, or given back, may
 * hide another one. */
bool udpai_subscription_visit_taken(udpai_subscription *subscription,
                                    udpai_taken_place *place,
                                    udpai_taken_fn visit,
                                    void *userdata);

/* The same of one name. False: the subscription does not ask for it. */
bool udpai_subscription_find_taken(udpai_subscription *subscription,
                                   udpai_str name,
                                   udpai_taken *ret_taken);

/* Is there something of this name, or alias, for the subscriber? */
typedef enum udpai_presence {
    UDPAI_PRESENT,
    UDPAI_PRESENCE_UNKNOWN, /* there is nothing, and it may yet come */
    UDPAI_ABSENT,           /* that is certain */
} udpai_presence;

udpai_presence
udpai_subscriber_presence(const udpai_subscriber *subscriber, udpai_str type_url, udpai_str name);

/* Has the subscriber been sent what it did not have, by a delivery from this place, which is the
 * last that brought this name? `steady`: what its wildcards held from the beginning was sent
 * before. True where that is not known any more. */
bool udpai_subscription_is_new(const udpai_subscription *subscription,
                               udpai_str name,
                               udpai_ack_position place,
                               bool is_steady);

/* What had the subscriber of a resource, before it was sent the payload of this number, by a
 * delivery from this place? */
typedef struct udpai_had_question {
    udpai_str name;
    uint64_t seq;
    udpai_ack_position place;
} udpai_had_question;

typedef struct udpai_had {
    uint64_t seq;      /* of that payload */
    udpai_str version; /* as its protocol shows it: a view of the fan-out, or of the room */
    char room[UDPAI_CONTENT_HASH_HEX];
} udpai_had;

/* False: nothing, or it is not known (any more): of each resource one step back is remembered. */
bool udpai_subscription_had(const udpai_subscription *subscription,
                            const udpai_had_question *asked,
                            udpai_had *ret_had);

/* ---- how far one has come ---- */

/* Nothing is unanswered. */
#define UDPAI_ACK_POSITION_NONE                                                                    \
    ((udpai_ack_position){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX})

/* The lesser in each. */
udpai_ack_position udpai_ack_position_least(udpai_ack_position a, udpai_ack_position b);
/* Was what the subscription was sent answered, if what is not answered began at this place? */
bool udpai_resource_ack_is_answered(const udpai_resource_ack *ack, udpai_ack_position unanswered);
/* Has the subscription been sent, and has its client answered, all that had been added to what it
 * selects, or removed from it, when the fan-out was at this place? Of what has changed again since
 * then, it may have been a later version; what was removed again since then is not asked for. */
bool udpai_subscription_has_answered(const udpai_subscription *subscription,
                                     udpai_ack_position unanswered,
                                     uint64_t place,
                                     bool is_removal);

#endif
