/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_listing.h"

#include "federation/replica_sweep.h"

/* The loop calls the node again. */
static void
on_next(udpai_timer *timer)
{
    (void)timer;
}

void
udpai_replica_listing_init(udpai_replica_listing *listing,
                           udpai_context *context,
                           udpai_listing_compare_fn compare,
                           void *userdata)
{
    *listing =
        (udpai_replica_listing){.context = context, .compare = compare, .userdata = userdata};
    udpai_places_init(&listing->there);
    udpai_timer_init(&listing->next, on_next);
}

void
udpai_replica_listing_reset(udpai_replica_listing *listing)
{
    udpai_places_clear(&listing->there);
    listing->n_seen = listing->n_left = listing->n_held = 0;
    udpai_timer_cancel(&listing->next);
}

void
udpai_replica_listing_done(udpai_replica_listing *listing)
{
    udpai_replica_listing_reset(listing);
    udpai_places_done(&listing->there);
}

/* Those that are left keep their order. False without memory. */
static bool
compare_next(udpai_replica_listing *listing, udpai_durable_batch *list)
{
    udpai_durable_op *op = &list->ops.items[listing->n_seen];
    bool is_there = op->kind == UDPAI_DURABLE_PUT;
    const udpai_place place = is_there ? udpai_place_of(op) : (udpai_place){0};
    size_t n_before = udpai_places_n(&listing->there);
    if (is_there && !udpai_places_add(&listing->there, &place))
        return false;
    bool is_again = udpai_places_n(&listing->there) == n_before;
    udpai_listed listed = is_there ? listing->compare(listing->userdata, op) : UDPAI_LISTED_NEW;
    listing->n_held += listed != UDPAI_LISTED_NEW && !is_again;
    if (listed == UDPAI_LISTED_SAME) {
        udpai_durable_op_done(op);
    } else {
        udpai_durable_op left = *op;
        *op = (udpai_durable_op){0};
        list->ops.items[listing->n_left++] = left;
    }
    listing->n_seen++;
    return true;
}

bool
udpai_replica_listing_go_on(udpai_replica_listing *listing,
                            udpai_durable_batch *list,
                            bool is_at_once)
{
    size_t part = is_at_once ? SIZE_MAX : listing->context->list_part;
    bool has_memory = true;
    for (size_t n = 0; n < part && listing->n_seen < list->ops.n && has_memory; n++)
        has_memory = compare_next(listing, list);
    if (listing->n_seen < list->ops.n) {
        udpai_timer_set(listing->context->wheel, &listing->next,
                        udpai_context_now(listing->context));
        return false;
    }
    list->ops.n = listing->n_seen = listing->n_left;
    return true;
}

udpa_err
udpai_replica_listing_end_others(udpai_replica_listing *listing,
                                 const udpai_shares *shares,
                                 const udpai_durable_batch *locked)
{
    for (size_t i = 0; locked && i < locked->ops.n; i++) {
        const udpai_place place = udpai_place_of(&locked->ops.items[i]);
        if (!udpai_places_add(&listing->there, &place))
            return UDPA_ERR_NOMEM;
    }
    return udpai_replica_end_others(listing->context->store, shares, &listing->there,
                                    listing->n_held);
}
