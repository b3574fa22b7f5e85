/* SPDX-License-Identifier: Apache-2.0 */
/* xDS v3 as clients call it: aggregated or for one type, as streams of the delta or of the state of
 * the world protocol, or one state at a time. The rules of the protocol on top of the fan-out. No
 * I/O, like every session; what is specific to one type lies in xds/peek.h. */
#ifndef UDPAI_XDS_H
#define UDPAI_XDS_H

#include "session/hub.h"
#include "xds/server.h"

/* Begins a session on a new stream, whose info->context is the udpai_xds_method. */
udpa_err
udpai_xds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
