/* SPDX-License-Identifier: Apache-2.0 */
/* One subscriber for all clients of a stream side: it is no peer, so it sees everything, and its
 * interest is what has sources asked. */
#include "xds/lrs_policy.h"

#include "base/alloc.h"
#include "xds/notice.h"

#define RETRY_MS 1000

struct udpai_lrs_policy {
    udpai_load_policy rules;
    udpai_hub *hub;
    udpai_subscriber subscriber;
    udpai_timer soon;
    udpai_list followers;
    bool is_lost; /* there was no memory: it begins anew */
};

/* ---- following ---- */

static void
set_timer(udpai_lrs_policy *policy, uint64_t ms)
{
    udpai_wheel *wheel = udpai_hub_wheel(policy->hub);
    udpai_timer_set(wheel, &policy->soon, wheel->now_ms + ms);
}

static void
on_wake(udpai_subscriber *subscriber)
{
    set_timer(UDPAI_CONTAINER_OF(subscriber, udpai_lrs_policy, subscriber), 0);
}

static const udpai_subscriber_ops subscriber_ops = {.wake = on_wake};

/* What cannot be followed is as if it had not changed: its publisher here is sent an error. */
static udpa_err
take(udpai_lrs_policy *policy, const udpai_body *body)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < body->removed.n; i++)
        udpai_load_policy_remove(&policy->rules, udpai_bytes_view(body->removed.items[i]));
    for (size_t i = 0; i < body->resources.n && err != UDPA_ERR_NOMEM; i++)
        err = udpai_load_policy_set(&policy->rules, body->resources.items[i], NULL);
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

static udpa_err
catch_up(udpai_lrs_policy *policy, bool *ret_any)
{
    udpai_delivery delivery;
    udpa_err err;
    *ret_any = false;
    while ((err = udpai_subscriber_next(&policy->subscriber, &delivery)) == UDPA_OK &&
           delivery.body) {
        err = take(policy, delivery.body);
        udpai_body_unref(delivery.body);
        *ret_any = true;
        if (err != UDPA_OK)
            break;
    }
    return err;
}

static udpa_err
subscribe(udpai_lrs_policy *policy)
{
    udpai_fanout *fanout = udpai_hub_fanout(policy->hub);
    udpai_subscriber_init(&policy->subscriber, fanout, &subscriber_ops, &udpai_xds_notice_renderer);
    udpai_subscription *subscription = udpai_subscriber_get(
        &policy->subscriber, UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING), UDPAI_MODE_DELTA);
    return subscription ? udpai_subscribe_wildcard(subscription, (udpai_str){"", 0}, NULL)
                        : UDPA_ERR_NOMEM;
}

static void
notify(udpai_lrs_policy *policy)
{
    UDPAI_LIST_FOREACH_SAFE (at, &policy->followers) {
        udpai_lrs_follower *follower = UDPAI_LIST_ENTRY(at, udpai_lrs_follower, node);
        follower->changed(follower);
    }
}

static void
begin_anew(udpai_lrs_policy *policy)
{
    udpai_subscriber_done(&policy->subscriber);
    udpai_load_policy_clear(&policy->rules);
    policy->is_lost = subscribe(policy) != UDPA_OK;
}

static void
on_soon(udpai_timer *timer)
{
    udpai_lrs_policy *policy = UDPAI_CONTAINER_OF(timer, udpai_lrs_policy, soon);
    bool any = policy->is_lost;
    if (policy->is_lost)
        begin_anew(policy);
    bool more;
    policy->is_lost |= !policy->is_lost && catch_up(policy, &more) != UDPA_OK;
    if (policy->is_lost)
        set_timer(policy, RETRY_MS);
    else if (any || more)
        notify(policy);
}

/* ---- coming and going ---- */

static void
free_policy(udpai_lrs_policy *policy)
{
    udpai_timer_cancel(&policy->soon);
    udpai_subscriber_done(&policy->subscriber);
    udpai_load_policy_done(&policy->rules);
    udpai_free(policy);
}

static udpa_err
make_policy(udpai_lrs_service *service, udpai_hub *hub)
{
    udpai_lrs_policy *policy = udpai_alloc(sizeof(*policy));
    if (!policy)
        return UDPA_ERR_NOMEM;
    const udpai_load_setting otherwise = {service->interval_ms, service->per_endpoint};
    udpai_load_policy_init(&policy->rules, otherwise);
    policy->hub = hub;
    udpai_timer_init(&policy->soon, on_soon);
    udpai_list_init(&policy->followers);
    bool any;
    udpa_err err = subscribe(policy);
    if (err == UDPA_OK)
        err = catch_up(policy, &any);
    if (err != UDPA_OK) {
        free_policy(policy);
        return err;
    }
    service->policy = policy;
    return UDPA_OK;
}

void
udpai_lrs_follower_init(udpai_lrs_follower *follower, void (*changed)(udpai_lrs_follower *follower))
{
    udpai_list_init(&follower->node);
    follower->changed = changed;
}

udpa_err
udpai_lrs_follow(udpai_lrs_service *service, udpai_hub *hub, udpai_lrs_follower *follower)
{
    udpa_err err = UDPA_OK;
    if (udpai_list_linked(&follower->node))
        return UDPA_OK;
    if (!service->policy)
        err = make_policy(service, hub);
    if (err == UDPA_OK)
        udpai_list_append(&service->policy->followers, &follower->node);
    return err;
}

void
udpai_lrs_unfollow(udpai_lrs_service *service, udpai_lrs_follower *follower)
{
    if (!udpai_list_linked(&follower->node))
        return;
    udpai_list_remove(&follower->node);
    if (!udpai_list_empty(&service->policy->followers))
        return;
    free_policy(service->policy);
    service->policy = NULL;
}

/* ---- what it sets ---- */

udpai_load_setting
udpai_lrs_setting(const udpai_lrs_service *service, udpai_str cluster)
{
    const udpai_load_setting otherwise = {service->interval_ms, service->per_endpoint};
    return service->policy ? udpai_load_policy_find(&service->policy->rules, cluster) : otherwise;
}

udpai_load_setting
udpai_lrs_finest(const udpai_lrs_service *service, udpai_str prefix)
{
    const udpai_load_setting otherwise = {service->interval_ms, service->per_endpoint};
    return service->policy ? udpai_load_policy_finest(&service->policy->rules, prefix) : otherwise;
}
