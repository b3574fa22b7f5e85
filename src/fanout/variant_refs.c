/* SPDX-License-Identifier: Apache-2.0 */
/* Which variants a subscriber has, where it is sent their constraints. It may subscribe to a name
 * with several sets of parameters, and some of them may lead to the same variant: it has it until
 * the last of them leads elsewhere; then the response that brings what takes its place removes it.
 *
 * A ref counts names of a subscription that have something in common: that they ask for one name,
 * or that they were sent one variant of it. */
#include "base/bytes.h"
#include "fanout/variant.h"
#include "model/name.h"
#include "model/variant.h"

#define KEY_MAX (UDPAI_NAME_MAX + 1 + UDPAI_CONSTRAINTS_MAX)

static udpai_str
ref_key(const void *item)
{
    const udpai_variant_ref *ref = item;
    return (udpai_str){ref->text, ref->len};
}

void
udpai_variant_refs_init(udpai_subscription *subscription)
{
    udpai_map_init_in(&subscription->variant_refs, ref_key,
                      udpai_subscription_memory(subscription));
}

static void
free_ref(const udpai_subscription *subscription, udpai_variant_ref *ref)
{
    udpai_free_in(udpai_subscription_memory(subscription), ref, sizeof(*ref) + ref->len);
}

void
udpai_variant_refs_done(udpai_subscription *subscription)
{
    size_t at = 0;
    udpai_variant_ref *ref;
    while ((ref = udpai_map_next(&subscription->variant_refs, &at)))
        free_ref(subscription, ref);
    udpai_map_done(&subscription->variant_refs);
}

/* Counts one more; NULL without memory. */
static udpai_variant_ref *
count(udpai_subscription *subscription, udpai_str key, size_t name_len)
{
    udpai_variant_ref *ref = udpai_map_get(&subscription->variant_refs, key);
    if (!ref) {
        ref = udpai_alloc_in(udpai_subscription_memory(subscription), sizeof(*ref) + key.len);
        if (!ref)
            return NULL;
        ref->name_len = (uint32_t)name_len;
        ref->len = (uint32_t)key.len;
        memcpy(ref->text, key.data, key.len);
        if (!udpai_map_add(&subscription->variant_refs, ref)) {
            free_ref(subscription, ref);
            return NULL;
        }
    }
    ref->n++;
    return ref;
}

/* One less; true: it was the last, and the ref is the caller's to free. */
static bool
discount(udpai_subscription *subscription, udpai_variant_ref *ref)
{
    if (--ref->n)
        return false;
    udpai_map_remove(&subscription->variant_refs, ref_key(ref));
    return true;
}

/* ---- what is asked for ---- */

udpa_err
udpai_variant_refs_asked(udpai_name_sub *sub)
{
    udpai_str name = udpai_item_name(udpai_asked(sub));
    if (!sub->subscription->distinguishes_variants)
        return UDPA_OK;
    return udpai_name_sub_more(sub) && count(sub->subscription, name, name.len) ? UDPA_OK
                                                                                : UDPA_ERR_NOMEM;
}

static void
drop(udpai_subscription *subscription, udpai_variant_ref *ref)
{
    if (ref && discount(subscription, ref))
        free_ref(subscription, ref);
}

void
udpai_variant_refs_given_back(udpai_name_sub *sub)
{
    udpai_subscription *subscription = sub->subscription;
    if (!subscription->distinguishes_variants || !sub->more) /* it was never counted */
        return;
    drop(subscription, UDPAI_TAKE(sub->more->holds));
    drop(subscription,
         udpai_map_get(&subscription->variant_refs, udpai_item_name(udpai_asked(sub))));
}

bool
udpai_variant_refs_is_only(const udpai_name_sub *sub)
{
    const udpai_variant_ref *ref =
        udpai_map_get(&sub->subscription->variant_refs, udpai_item_name(udpai_asked(sub)));
    return !ref || ref->n == 1;
}

size_t
udpai_subscription_n_asking(const udpai_subscription *subscription, udpai_str name)
{
    const udpai_variant_ref *ref = udpai_map_get(&subscription->variant_refs, name);
    return ref ? ref->n : udpai_subscription_has_name(subscription, name);
}

/* ---- what was sent ---- */

static udpai_str
variant_key(char room[KEY_MAX], udpai_str name, udpai_str constraints)
{
    char *at = room;
    udpai_str_put(&at, name);
    *at++ = '\0';
    udpai_str_put(&at, constraints);
    return (udpai_str){room, (size_t)(at - room)};
}

static udpai_variant_ref *
count_variant(udpai_name_sub *sub, udpai_str constraints)
{
    char room[KEY_MAX];
    udpai_str name = udpai_item_name(udpai_asked(sub));
    return count(sub->subscription, variant_key(room, name, constraints), name.len);
}

static udpai_lost_variant
lost_of(const udpai_variant_ref *ref, bool is_replaced)
{
    size_t skip = (size_t)ref->name_len + 1;
    return (udpai_lost_variant){
        .name = {ref->text, ref->name_len},
        .constraints = {ref->text + skip, ref->len - skip},
        .is_replaced = is_replaced,
    };
}

/* It has the variant no longer by this name. */
static udpa_err
lose(udpai_name_sub *sub, udpai_collection *collection, bool is_replaced)
{
    udpai_variant_ref *ref = UDPAI_TAKE(sub->more->holds);
    if (!ref || !discount(sub->subscription, ref))
        return UDPA_OK;
    const udpai_lost_variant lost = lost_of(ref, is_replaced);
    udpa_err err = udpai_collection_lose(collection, &lost);
    free_ref(sub->subscription, ref);
    return err;
}

udpa_err
udpai_variant_refs_sent(udpai_name_sub *sub, udpai_collection *collection)
{
    udpai_subscription *subscription = sub->subscription;
    if (!subscription->distinguishes_variants || subscription->mode != UDPAI_MODE_DELTA)
        return UDPA_OK;
    udpai_variant_ref *now =
        udpai_name_sub_more(sub)
            ? count_variant(sub, udpai_resource_constraints(udpai_target(sub)->resource))
            : NULL;
    if (!now)
        return UDPA_ERR_NOMEM;
    if (now == sub->more->holds) {
        now->n--;
        return UDPA_OK;
    }
    udpa_err err = lose(sub, collection, true);
    sub->more->holds = now;
    return err;
}

/* There has never been one: for these parameters, if it is asked for with others, too. */
static udpa_err
lose_missing(const udpai_name_sub *sub, udpai_collection *collection)
{
    udpai_locator asked = udpai_name_sub_locator(sub);
    udpai_parameters parameters;
    udpai_lost_variant lost = {.name = asked.name};
    udpai_parameters_read(asked.parameters, &parameters);
    if (udpai_variant_refs_is_only(sub))
        return udpai_collection_lose(collection, &lost);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *constraints = udpai_constraints_of_parameters(&parameters);
    if (!constraints)
        return UDPA_ERR_NOMEM;
    lost.constraints = udpai_bytes_view(constraints);
    return udpai_collection_lose(collection, &lost);
}

udpa_err
udpai_variant_refs_missing(udpai_name_sub *sub, udpai_collection *collection)
{
    return udpai_name_sub_holds(sub) ? lose(sub, collection, false) : lose_missing(sub, collection);
}

/* The text for parameters that nothing matches may be longer than any constraints. */
static bool
is_there(const udpai_collection *collection, const udpai_lost_variant *lost)
{
    char room[KEY_MAX];
    return lost->constraints.len <= UDPAI_CONSTRAINTS_MAX &&
           udpai_map_get(&collection->subscription->variant_refs,
                         variant_key(room, lost->name, lost->constraints));
}

/* What was lost by one name and come by another in the same response is there. */
void
udpai_variant_refs_settle(udpai_collection *collection)
{
    size_t kept = 0;
    for (size_t i = 0; i < collection->lost.n; i++) {
        udpai_lost_variant *lost = &collection->lost.items[i];
        if (is_there(collection, lost))
            udpai_free((char *)(uintptr_t)lost->name.data);
        else
            collection->lost.items[kept++] = *lost;
    }
    collection->lost.n = kept;
}

/* ---- the beginning ---- */

/* What it was sent until now, it knows by the name alone. */
udpa_err
udpai_subscription_distinguish_variants(udpai_subscription *subscription)
{
    if (subscription->distinguishes_variants)
        return UDPA_OK;
    subscription->distinguishes_variants = true;
    size_t at = 0;
    udpai_name_sub *sub;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (sub = udpai_map_next(&subscription->names, &at))) {
        err = udpai_variant_refs_asked(sub);
        if (err == UDPA_OK && sub->sent_payload_seq && subscription->mode == UDPAI_MODE_DELTA) {
            sub->more->holds = count_variant(sub, (udpai_str){0});
            err = sub->more->holds ? UDPA_OK : UDPA_ERR_NOMEM;
        }
    }
    return err;
}

bool
udpai_subscription_distinguishes_variants(const udpai_subscription *subscription)
{
    return subscription->distinguishes_variants;
}
