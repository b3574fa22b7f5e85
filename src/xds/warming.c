/* SPDX-License-Identifier: Apache-2.0 */
/* A client that is sent another version of a cluster with EDS waits for its endpoints again, though
 * they may be the same as before: Envoy holds the new cluster back for 15 s if they do not come,
 * and likewise behind endpoints for what their localities have by LEDS. By the protocol's text
 * listeners may wait for their routes so (Envoy does not). So behind a response with such clusters
 * or listeners, what they wait for goes out once more. */
#include "xds/peek.h"
#include "xds/xds_internal.h"

/* The subscription to what is waited for. */
struct follower {
    const udpai_xds *xds;
    udpai_subscription *subscription;
};

static void
resend(void *userdata, udpai_str name)
{
    const struct follower *follower = userdata;
    udpai_xds_name resolved;
    if (udpai_xds_name_resolve(follower->xds->audience,
                               udpai_subscription_type_url(follower->subscription), name, &resolved,
                               NULL) != UDPA_OK)
        return;
    if (resolved.is_xdstp && follower->xds->protocol->has_parts)
        udpai_xds_resend_requested(udpai_xds_type_of(follower->subscription), &resolved);
    else
        udpai_subscription_resend(follower->subscription, resolved.full);
}

static void
visit_endpoints(udpai_str cluster, udpai_xds_name_fn visit, void *userdata)
{
    udpai_str name;
    if (udpai_xds_peek_endpoints_name(cluster, &name))
        visit(userdata, name);
}

static const struct {
    const char *type_url, *awaited;
    void (*visit)(udpai_str payload, udpai_xds_name_fn visit, void *userdata);
} rules[] = {
    {UDPAI_TYPE_CLUSTER, UDPAI_TYPE_ENDPOINTS, visit_endpoints},
    {UDPAI_TYPE_ENDPOINTS, UDPAI_TYPE_MEMBER, udpai_xds_peek_collections},
    {UDPAI_TYPE_LISTENER, UDPAI_TYPE_ROUTES, udpai_xds_peek_routes},
};

void
udpai_xds_follow(udpai_xds *xds, const udpai_delivery *delivery)
{
    const udpai_body *body = delivery->body;
    udpai_str type_url = udpai_subscription_type_url(delivery->subscription);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rules); i++) {
        if (!udpai_str_eq(type_url, udpai_str_from(rules[i].type_url)))
            continue;
        udpai_str awaited = udpai_str_from(rules[i].awaited);
        struct follower follower = {xds, udpai_subscriber_find(&xds->subscriber, awaited)};
        for (size_t j = 0; follower.subscription && j < body->resources.n; j++)
            if (body->seqs.items[j] > delivery->since &&
                !udpai_resource_is_redirect(body->resources.items[j]))
                rules[i].visit(udpai_resource_value(body->resources.items[j]), resend, &follower);
    }
}
