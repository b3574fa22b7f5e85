/* SPDX-License-Identifier: Apache-2.0 */
/* A client that is sent another version of a cluster with EDS waits for its endpoints again, though
 * they may be the same as before: Envoy holds the new cluster back for 15 s if they do not come,
 * and likewise behind endpoints for what their localities have by LEDS. By the protocol's text
 * listeners may wait for their routes so (Envoy does not). So behind a response with such clusters
 * or listeners, what they wait for goes out once more. A client that connects again may not have
 * asked for that yet: then it is noted, and goes out when it has. */
#include "xds/peek.h"
#include "xds/xds_internal.h"

/* The subscription to what is waited for. */
struct follower {
    udpai_xds *xds;
    udpai_str type_url;
    udpai_subscription *subscription; /* NULL: none yet */
    udpai_xds_awaited *awaited;
};

void
udpai_xds_resend(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_name *name)
{
    if (name->is_xdstp && xds->protocol->has_parts)
        udpai_xds_resend_requested(udpai_xds_type_of(subscription), name);
    else
        udpai_subscription_resend(subscription, name->full);
}

static void
follow(void *userdata, udpai_str name)
{
    const struct follower *follower = userdata;
    udpai_xds_name resolved;
    if (udpai_xds_name_resolve(follower->xds->audience, follower->type_url, name, &resolved,
                               NULL) != UDPA_OK)
        return;
    if (follower->subscription)
        udpai_xds_resend(follower->xds, follower->subscription, &resolved);
    else
        udpai_xds_awaited_add(follower->awaited, resolved.full);
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
} rules[UDPAI_XDS_FOLLOWED] = {
    {UDPAI_TYPE_CLUSTER, UDPAI_TYPE_ENDPOINTS, visit_endpoints},
    {UDPAI_TYPE_ENDPOINTS, UDPAI_TYPE_MEMBER, udpai_xds_peek_collections},
    {UDPAI_TYPE_LISTENER, UDPAI_TYPE_ROUTES, udpai_xds_peek_routes},
};

void
udpai_xds_follow(udpai_xds *xds, const udpai_delivery *delivery)
{
    const udpai_body *body = delivery->body;
    udpai_str type_url = udpai_subscription_type_url(delivery->subscription);
    bool has_held = udpai_xds_type_of(delivery->subscription)->has_held;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rules); i++) {
        if (!udpai_str_eq(type_url, udpai_str_from(rules[i].type_url)))
            continue;
        udpai_str awaited = udpai_str_from(rules[i].awaited);
        udpai_subscription *subscription = udpai_subscriber_find(&xds->subscriber, awaited);
        struct follower follower = {xds, awaited, subscription, &xds->awaited[i]};
        for (size_t j = 0; (subscription || has_held) && j < body->resources.n; j++)
            if (body->seqs.items[j] > delivery->since &&
                !udpai_resource_is_redirect(body->resources.items[j]))
                rules[i].visit(udpai_resource_value(body->resources.items[j]), follow, &follower);
    }
}

udpai_xds_awaited *
udpai_xds_awaited_of(udpai_xds *xds, udpai_str type_url)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(rules); i++)
        if (udpai_str_eq(type_url, udpai_str_from(rules[i].awaited)))
            return &xds->awaited[i];
    return NULL;
}

void
udpai_xds_awaited_done_all(udpai_xds *xds)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(xds->awaited); i++)
        udpai_xds_awaited_done(&xds->awaited[i]);
}
