/* SPDX-License-Identifier: Apache-2.0 */
/* One name of one subscription. For the files of this folder.
 *
 * A client that comes back may name a hundred thousand, and many come back at once: what a name
 * costs each of them counts (docs/design/fanout.md). So what few names need has a part of its own,
 * and what follows from the item is not kept here. */
#ifndef UDPAI_FANOUT_NAME_SUB_H
#define UDPAI_FANOUT_NAME_SUB_H

#include "fanout/item.h"
#include "model/variant.h"

typedef struct udpai_variant_ref udpai_variant_ref;
typedef struct udpai_name_sub udpai_name_sub;

/* Something a subscription must be sent besides what its cursor covers. */
typedef struct udpai_pending {
    udpai_list node;
    udpai_item *item;
    uint64_t mark_seq : 63;  /* the fan-out's seq when it was marked; lists are in this order */
    uint64_t is_of_item : 1; /* allocated by itself, in the subscription's pending_items; or it is
                              * part of a name sub */
} udpai_pending;

typedef enum udpai_name_state {
    UDPAI_NAME_PRESENT, /* what there is was sent, or is pending */
    UDPAI_NAME_WAITING, /* there is nothing, but that is not certain yet */
    UDPAI_NAME_MISSING, /* sent, or pending: there is nothing */
} udpai_name_state;

typedef enum udpai_name_leads {
    UDPAI_LEADS_HERE,      /* to the item of the name that was asked for */
    UDPAI_LEADS_NOWHERE,   /* there is nothing */
    UDPAI_LEADS_ELSEWHERE, /* to an item of another name, by an alias or as a variant */
} udpai_name_leads;

/* What a name sub has besides while it leads elsewhere, if it has parameters, or if its subscriber
 * distinguishes variants. */
typedef struct udpai_name_more {
    udpai_name_sub *sub;
    udpai_item *target;       /* where it leads, if that is elsewhere */
    udpai_list in_target;     /* the same */
    udpai_variant_ref *holds; /* the variant it was sent; NULL: none, or variants are not sent */
    uint32_t key_len;         /* with parameters, the length of the name, a zero byte, and the */
    char key[];               /* parameters; without: 0 */
} udpai_name_more;

struct udpai_name_sub {
    udpai_pending pending; /* first; an addition, or a removal if the state is MISSING; of the item
                            * of the name that was asked for */
    udpai_list in_item;
    udpai_subscription *subscription;
    udpai_name_more *more;               /* NULL: none of that */
    uint64_t sent_seq, sent_payload_seq; /* 0: the subscriber holds nothing */
    uint64_t turn : 48;      /* of the delivery that brought what it holds, or took it away; */
    uint64_t is_delayed : 1; /* or, before there was any, it is not missing before this ms */
    uint64_t state : 2;      /* udpai_name_state */
    uint64_t leads : 2;      /* udpai_name_leads */
    uint64_t leads_to_variant : 1; /* which is visible by the name that was asked for */
    uint64_t
        shows_last : 1; /* it was removed after it was sent; MODE_STATE: the state still holds it */
    uint64_t had_any : 1;      /* before it was sent what it holds it held something, */
    uint64_t had_former : 1;   /* and that was the item's former content */
    uint64_t lacks_memory : 1; /* to be led elsewhere */
    uint64_t has_looked : 1;   /* a node's: that it waits for an answer was reported as interest */
};

static inline udpai_item *
udpai_asked(const udpai_name_sub *sub)
{
    return sub->pending.item;
}

/* What it leads to; NULL: nothing. */
static inline udpai_item *
udpai_target(const udpai_name_sub *sub)
{
    if (sub->leads == UDPAI_LEADS_ELSEWHERE)
        return sub->more->target;
    return sub->leads == UDPAI_LEADS_HERE ? sub->pending.item : NULL;
}

/* One that leads there from elsewhere. */
static inline udpai_name_sub *
udpai_alias_sub_of(const udpai_list *in_target)
{
    return UDPAI_LIST_ENTRY(in_target, udpai_name_more, in_target)->sub;
}

static inline udpai_name_sub *
udpai_name_sub_of(const udpai_list *in_item)
{
    return UDPAI_LIST_ENTRY(in_item, udpai_name_sub, in_item);
}

/* The name sub that is pending; NULL: none, it is of an item. */
static inline udpai_name_sub *
udpai_pending_name_sub(const udpai_pending *pending)
{
    return pending->is_of_item ? NULL : UDPAI_CONTAINER_OF(pending, udpai_name_sub, pending);
}

static inline uint64_t
udpai_name_sub_turn(const udpai_name_sub *sub)
{
    return sub->is_delayed ? 0 : sub->turn;
}

static inline void
udpai_name_sub_set_turn(udpai_name_sub *sub, uint64_t turn)
{
    sub->is_delayed = false;
    sub->turn = turn;
}

static inline udpai_variant_ref *
udpai_name_sub_holds(const udpai_name_sub *sub)
{
    return sub->more ? sub->more->holds : NULL;
}

void udpai_name_subs_init(udpai_subscription *subscription);
/* As the name subs of a subscription are found: by the name, and behind it what parameters it is
 * asked for with. */
#define UDPAI_LOCATOR_KEY_MAX (UDPAI_NAME_MAX + 1 + UDPAI_PARAMETERS_BYTES_MAX)
udpai_str udpai_locator_key(const udpai_locator *locator, char room[UDPAI_LOCATOR_KEY_MAX]);
/* NULL: none. */
udpai_name_sub *udpai_name_sub_find(const udpai_subscription *subscription,
                                    const udpai_locator *locator);
/* What a name sub asks for. */
udpai_locator udpai_name_sub_locator(const udpai_name_sub *sub);
/* Gives it what few have, found by this key (empty: by its name). NULL without memory. */
udpai_name_more *udpai_name_sub_make_more(udpai_name_sub *sub, udpai_str key);
/* Makes what it has more, if need be; NULL without memory. */
udpai_name_more *udpai_name_sub_more(udpai_name_sub *sub);
/* The subscriber is sent this payload, or none (0), by the name. */
void udpai_name_sub_sent(udpai_name_sub *sub, uint64_t payload_seq);

#endif
