/* SPDX-License-Identifier: Apache-2.0 */
/* The UDPA session: subscribe, publish and receipt, in both directions on one stream.
 *
 * The side that dialled has sent its Node first; from then on the two sides are equal. What the
 * peer subscribes to is served from the fan-out; what we subscribe to, the loop side orders; what
 * the peer publishes is handed up, accepted or rejected there, and receipted here. */
#ifndef UDPAI_UDPA_H
#define UDPAI_UDPA_H

#include "session/hub.h"

/* Begins a session on a new stream, and reports it opened. */
udpa_err
udpai_udpa_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
