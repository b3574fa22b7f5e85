/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/first_answer.h"

#include "model/type_url.h"

#define LOG_WAIT_MS 5000

void
udpai_subscription_take_unsettled(udpai_subscription *subscription)
{
    subscription->takes_unsettled = true;
}

static const udpai_unsettled *
missing_for(const udpai_subscription *subscription, udpai_str prefix)
{
    const udpai_subscriber *subscriber = subscription->subscriber;
    udpai_str except = udpai_subscriber_except(subscriber);
    return udpai_settled_missing(subscriber->fanout->settled, udpai_topic_url(subscription->topic),
                                 prefix, except);
}

bool
udpai_subscription_waits_for(const udpai_subscription *subscription,
                             udpai_str *ret_source,
                             udpai_str *ret_why)
{
    const udpai_unsettled *missing = NULL;
    for (size_t i = 0;
         subscription->mode == UDPAI_MODE_STATE && !missing && i < subscription->prefixes.n; i++)
        missing = missing_for(subscription, udpai_bytes_view(subscription->prefixes.items[i]));
    if (!missing)
        return false;
    *ret_source = missing->source;
    *ret_why = missing->why;
    return true;
}

static void
log_wait(udpai_subscription *subscription, const udpai_unsettled *missing)
{
    udpai_fanout *fanout = subscription->topic->fanout;
    udpai_str url = udpai_topic_url(subscription->topic), type = udpai_type_url_name(url);
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (subscription->is_wait_logged)
        return;
    subscription->is_wait_logged = true;
    if (!udpai_log_allow(&fanout->waits, fanout->wheel->now_ms, &n_suppressed))
        return;
    udpai_log_about(UDPA_LOG_WARNING, "fanout",
                    UDPAI_ABOUT({UDPAI_LOG_SOURCE, missing->source}, {UDPAI_LOG_TYPE, url}),
                    "a client has waited 5 s for all of type %.*s: source %.*s is %.*s%s",
                    (int)type.len, type.data, (int)missing->source.len, missing->source.data,
                    (int)missing->why.len, missing->why.data, udpai_log_more(more, n_suppressed));
}

/* Sources that are asked for just this client, or just what was asked for, are missing since it
 * asked; all others since they are, so that a later client need not wait. */
bool
udpai_subscription_is_waited_out(udpai_subscription *subscription, udpai_str prefix)
{
    const udpai_fanout *fanout = subscription->topic->fanout;
    const udpai_unsettled *missing = missing_for(subscription, prefix);
    uint64_t now_ms = fanout->wheel->now_ms;
    if (!missing)
        return false;
    if (now_ms >= subscription->asked_ms + LOG_WAIT_MS)
        log_wait(subscription, missing);
    else
        udpai_subscription_recheck_at(subscription, subscription->asked_ms + LOG_WAIT_MS);
    if (!subscription->takes_unsettled)
        return false;
    bool is_asked_for = missing->of_groups || missing->on_demand;
    uint64_t since_ms = is_asked_for ? subscription->asked_ms : missing->missing_ms;
    uint64_t end_ms = since_ms + fanout->options.first_answer_timeout_ms;
    if (now_ms < end_ms)
        udpai_subscription_recheck_at(subscription, end_ms);
    return now_ms >= end_ms;
}
