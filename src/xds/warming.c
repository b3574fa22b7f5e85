/* SPDX-License-Identifier: Apache-2.0 */
/* A client that is sent another version of a cluster with EDS waits for its endpoints again, though
 * they may be the same as before: Envoy holds the new cluster back for 15 s if they do not come. So
 * behind a response with such clusters their endpoints go out once more. */
#include "xds/peek.h"
#include "xds/xds_internal.h"

void
udpai_xds_follow_clusters(udpai_xds *xds, const udpai_delivery *delivery)
{
    const udpai_body *body = delivery->body;
    if (!udpai_str_eq(udpai_subscription_type_url(delivery->subscription),
                      UDPAI_STR(UDPAI_XDS_TYPE_CLUSTER)))
        return;
    udpai_subscription *endpoints =
        udpai_subscriber_find(&xds->subscriber, UDPAI_STR(UDPAI_XDS_TYPE_ENDPOINTS));
    for (size_t i = 0; endpoints && i < body->resources.n; i++) {
        char room[UDPAI_NAME_MAX];
        udpai_str name;
        if (body->seqs.items[i] > delivery->since &&
            udpai_xds_peek_endpoints_name(udpai_resource_value(body->resources.items[i]), &name) &&
            udpai_xds_name_from_client(xds->settings, name, room, &name))
            udpai_subscription_resend(endpoints, name);
    }
}
