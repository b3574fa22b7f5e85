/* SPDX-License-Identifier: Apache-2.0 */
/* A replica that has died counts as live until its lease ends, and its streams go to the others:
 * these have too many then, though nobody has room. So streams are rejected only after another
 * replica with room has written since there are too many; one does so when it sees that
 * (replica/members.c). */
#include "session/spread_plan.h"

static uint64_t
streams_of(const udpai_spread_view *view, const udpai_spread_replica *replica)
{
    return replica->is_own ? view->n_own : replica->n_streams;
}

udpai_spread_facts
udpai_spread_facts_of(const udpai_spread_view *view)
{
    udpai_spread_facts facts = {.n_replicas = view->n_replicas};
    uint64_t sum = 0;
    bool is_one = false;
    for (size_t i = 0; i < view->n_replicas; i++) {
        sum += streams_of(view, &view->replicas[i]);
        is_one |= view->replicas[i].is_own;
    }
    facts.share = udpai_spread_share(sum, facts.n_replicas);
    return is_one && view->is_current ? facts : (udpai_spread_facts){0};
}

/* ---- rejecting ---- */

/* That others have written. */
static int64_t
newest_of(const udpai_spread_view *view)
{
    int64_t newest = 0;
    for (size_t i = 0; i < view->n_replicas; i++)
        if (!view->replicas[i].is_own && view->replicas[i].written > newest)
            newest = view->replicas[i].written;
    return newest;
}

static bool
has_room_elsewhere(const udpai_spread_plan *plan, const udpai_spread_view *view, uint64_t share)
{
    for (size_t i = 0; i < view->n_replicas; i++) {
        const udpai_spread_replica *replica = &view->replicas[i];
        if (!replica->is_own && replica->n_streams < share && replica->written > plan->newest)
            return true;
    }
    return false;
}

static udpai_spread_order
order_of(const udpai_spread_view *view, uint64_t share, uint64_t above)
{
    return (udpai_spread_order){.n_streams = view->n_own, .share = share, .above = above};
}

bool
udpai_spread_plan_tick(udpai_spread_plan *plan,
                       uint64_t now_ms,
                       const udpai_spread_view *view,
                       udpai_spread_order *ret_order)
{
    const udpai_spread_facts facts = udpai_spread_facts_of(view);
    uint64_t limit = udpai_spread_limit(facts.share), passed_ms = now_ms - plan->since_ms;
    bool has_too_many = facts.n_replicas > 1 && view->n_own > limit;
    bool is_over = passed_ms >= UDPAI_SPREAD_REJECT_MS;
    switch (plan->state) {
    case UDPAI_SPREAD_EVEN:
        if (has_too_many)
            *plan = (udpai_spread_plan){UDPAI_SPREAD_WAITING, now_ms, UDPAI_SPREAD_PAUSE_MS,
                                        newest_of(view)};
        return false;
    case UDPAI_SPREAD_WAITING:
        if (!has_too_many || is_over) {
            plan->state = has_too_many ? UDPAI_SPREAD_RESTING : UDPAI_SPREAD_EVEN;
            return false;
        }
        if (passed_ms < UDPAI_SPREAD_WAIT_MS || !has_room_elsewhere(plan, view, facts.share))
            return false;
        plan->state = UDPAI_SPREAD_REJECTING;
        *ret_order = order_of(view, facts.share, limit);
        ret_order->reject_ms = UDPAI_SPREAD_REJECT_MS - passed_ms;
        return true;
    case UDPAI_SPREAD_REJECTING:
        if (has_too_many && !is_over)
            return false;
        plan->state = UDPAI_SPREAD_RESTING;
        *ret_order = order_of(view, facts.share, limit); /* no more */
        return true;
    default:
        if (!has_too_many && passed_ms >= plan->rest_ms)
            plan->state = UDPAI_SPREAD_EVEN;
        return false;
    }
}

/* ---- rebalancing ---- */

bool
udpai_spread_plan_rebalance(udpai_spread_plan *plan,
                            uint64_t now_ms,
                            const udpai_spread_view *view,
                            uint64_t over_ms,
                            udpai_spread_order *ret_order)
{
    const udpai_spread_facts facts = udpai_spread_facts_of(view);
    if (facts.n_replicas < 2 || view->n_own <= facts.share)
        return false;
    *plan = (udpai_spread_plan){
        .state = UDPAI_SPREAD_RESTING,
        .since_ms = now_ms,
        .rest_ms = over_ms + UDPAI_SPREAD_PAUSE_MS,
    };
    *ret_order = order_of(view, facts.share, facts.share);
    ret_order->over_ms = over_ms;
    ret_order->reject_ms = over_ms + UDPAI_SPREAD_AFTER_MS;
    return true;
}
