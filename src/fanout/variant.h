/* SPDX-License-Identifier: Apache-2.0 */
/* The fan-out's inside, as far as it is about variants of a name; for the files of this folder. */
#ifndef UDPAI_FANOUT_VARIANT_H
#define UDPAI_FANOUT_VARIANT_H

#include "fanout/collection.h"

/* ---- variant.c: resources with constraints, which have one alias ---- */

/* Of the variants of one name so many are looked at, those of the lowest names. */
#define UDPAI_VARIANTS_MAX 256

static inline bool
udpai_item_is_variant(const udpai_item *item)
{
    return item->resource && udpai_resource_constraints(item->resource).len > 0;
}

/* Is the subscriber sent one variant of a name? */
static inline bool
udpai_selects_variants(const udpai_subscriber *subscriber)
{
    return subscriber->renderer && subscriber->renderer->selects_variants;
}

/* The variant of a name for a client with these parameters; NULL: none. The one that names most
 * keys, and of equals the one of the lowest name: the same on every replica. */
udpai_item *udpai_variant_choose(const udpai_topic *topic,
                                 const udpai_subscriber *subscriber,
                                 const udpai_locator *asked);
/* A change of a variant, before and after it is made: it is pending for subscriptions that asked
 * for its name and are sent all variants of it. On failure nothing has changed. */
udpa_err udpai_variants_reserve(udpai_item *item, const udpa_resource *now);
/* Gives back what was reserved: there will be no such change. */
void udpai_variants_release(udpai_item *item, const udpa_resource *now);
void udpai_variants_changed(udpai_item *item, const udpa_resource *before);
/* All variants of a name that was asked for are pending. */
udpa_err udpai_variants_mark_pending(udpai_name_sub *sub);
/* The same, at once. */
udpa_err udpai_variants_add_all(udpai_collection *collection, const udpai_name_sub *sub);
/* Has the subscription, which is sent all variants, asked for what this is a variant of? */
bool udpai_variant_is_asked(const udpai_subscription *subscription, const udpai_item *item);

/* Makes what udpai_mark_item_pending() would make, without memory being needed when it is pending.
 */
udpa_err udpai_pending_reserve(udpai_subscription *subscription, udpai_item *item);

/* How many of a subscription's names are this: asked for, or there in this variant. */
struct udpai_variant_ref {
    size_t n;
    uint32_t name_len, len; /* of what follows: the name, and what makes it this one */
    char text[];
};

/* ---- variant_refs.c: which variants a subscriber has been sent ---- */

void udpai_variant_refs_init(udpai_subscription *subscription);
void udpai_variant_refs_done(udpai_subscription *subscription);
/* A name was asked for, or given back. */
udpa_err udpai_variant_refs_asked(udpai_name_sub *sub);
void udpai_variant_refs_given_back(udpai_name_sub *sub);
/* Is it asked for with these parameters alone? */
bool udpai_variant_refs_is_only(const udpai_name_sub *sub);
/* The subscriber is sent what the name leads to: notes what that takes the place of. */
udpa_err udpai_variant_refs_sent(udpai_name_sub *sub, udpai_collection *collection);
/* It is sent that there is nothing. */
udpa_err udpai_variant_refs_missing(udpai_name_sub *sub, udpai_collection *collection);
/* Before what was lost is sent. */
void udpai_variant_refs_settle(udpai_collection *collection);

#endif
