/* SPDX-License-Identifier: Apache-2.0 */
/* What was removed is sent last: when whatever may refer to it was not only sent, but acknowledged,
 * so that a client that takes its time is not left with routes to clusters that it has lost. Types
 * that come later in the order refer to those before them. A client that does not answer is not
 * waited for for ever. */
#include "model/name.h"
#include "xds/xds_internal.h"

static uint64_t
now_ms(const udpai_xds *xds)
{
    return udpai_hub_wheel(xds->session.hub)->now_ms;
}

static void
on_patience_end(udpai_timer *timer)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(timer, udpai_xds, patience)->session);
}

void
udpai_xds_removals_init(udpai_xds *xds)
{
    udpai_timer_init(&xds->patience, on_patience_end);
}

void
udpai_xds_removals_done(udpai_xds *xds)
{
    udpai_timer_cancel(&xds->patience);
}

static bool
is_referrer_in_flight(const udpai_xds *xds, const udpai_subscription *subscription)
{
    unsigned rank = udpai_type_rank(udpai_subscription_type_url(subscription));
    for (size_t i = xds->subscriber.subscriptions.n; i-- > 0;) {
        const udpai_subscription *other = xds->subscriber.subscriptions.items[i];
        if (udpai_type_rank(udpai_subscription_type_url(other)) <= rank)
            break;
        if (udpai_xds_type_of(other)->n_in_flight)
            return true;
    }
    return false;
}

/* What a group had before goes while another begins in its name space: its client is sent the
 * removal of what is not there any more when its sources have answered. */
static bool
is_known_of_group(const udpai_xds *xds, udpai_subscription *subscription)
{
    udpai_str name_space = xds->audience->default_namespace;
    for (size_t i = 0; i < udpai_subscription_n_prefixes(subscription); i++)
        if (udpai_prefix_covers(name_space, udpai_subscription_prefix(subscription, i)) &&
            !udpai_subscription_is_known(subscription, i))
            return false;
    return true;
}

/* Is it to wait still? Not for ever: patience begins when whatever may refer to it has been sent.
 */
static bool
is_to_wait(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_references *elsewhere)
{
    /* Removals are held back so long; 0: they are not. Each part of a type has its own. */
    uint64_t *held_until_ms = udpai_subscription_time(subscription);
    uint64_t now = now_ms(xds), removal = udpai_subscription_first_removal(subscription);
    bool waits = elsewhere->held < removal;
    bool holds = elsewhere->unsent < removal || elsewhere->is_unanswered ||
                 is_referrer_in_flight(xds, subscription);
    if (waits || !holds) {
        *held_until_ms = 0;
        return waits;
    }
    if (!*held_until_ms)
        *held_until_ms = now + xds->server->removal_patience_ms;
    if (now >= *held_until_ms)
        return false;
    if (!udpai_timer_is_set(&xds->patience))
        udpai_timer_set(udpai_hub_wheel(xds->session.hub), &xds->patience, *held_until_ms);
    return true;
}

uint64_t
udpai_xds_may_remove(udpai_subscriber *subscriber, udpai_subscription *subscription)
{
    udpai_xds *xds = UDPAI_CONTAINER_OF(subscriber, udpai_xds, subscriber);
    if (xds->group && !is_known_of_group(xds, subscription))
        return 0;
    if (!xds->server->removal_patience_ms)
        return UINT64_MAX;
    const udpai_xds_references elsewhere = udpai_xds_siblings_references(xds, subscription);
    uint64_t *held_until_ms = udpai_subscription_time(subscription);
    if (is_to_wait(xds, subscription, &elsewhere))
        return 0;
    bool is_over = *held_until_ms > 0; /* nobody answers */
    *held_until_ms = 0;
    uint64_t behind = is_over ? elsewhere.held : elsewhere.unsent;
    return behind == UINT64_MAX ? UINT64_MAX : behind - 1;
}

void
udpai_xds_removals_answered(udpai_xds *xds)
{
    if (!udpai_timer_is_set(&xds->patience))
        return;
    udpai_timer_cancel(&xds->patience); /* a subscription that is still held sets it again */
    udpai_session_ready(&xds->session);
}
