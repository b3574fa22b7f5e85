/* SPDX-License-Identifier: Apache-2.0 */
/* xDS v3 on aggregated streams (ADS), delta and state of the world: the rules of the protocol on
 * top of the fan-out. No I/O, like every session; what is specific to one type lies in xds/peek.h.
 */
#ifndef UDPAI_XDS_H
#define UDPAI_XDS_H

#include "session/hub.h"
#include "xds/settings.h"

#define UDPAI_XDS_DELTA_METHOD                                                                     \
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
#define UDPAI_XDS_SOTW_METHOD                                                                      \
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

/* Each begins a session on a new stream, whose info->context is the udpai_xds_settings. */
udpa_err udpai_xds_delta_session_new(udpai_session **ret_session,
                                     udpai_hub *hub,
                                     const udpai_stream_info *info);
udpa_err udpai_xds_sotw_session_new(udpai_session **ret_session,
                                    udpai_hub *hub,
                                    const udpai_stream_info *info);

#endif
