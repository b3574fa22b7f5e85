/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has taken another one's place sends that one what it commits, for the clients that
 * have not moved yet (docs/design/restart.md). On the loop. */
#ifndef UDPAI_DAEMON_FEED_H
#define UDPAI_DAEMON_FEED_H

#include "daemon/worker_link.h"
#include "endpoint/endpoint.h"

typedef struct udpai_feed udpai_feed;

/* Of what is committed from now on, as soon as it is kept; both are borrowed. Where the other
 * process takes nothing, or there is no memory, it ends by itself. UDPA_ERR_NOMEM */
udpa_err udpai_feed_begin(udpai_feed **ret_feed, udpa_endpoint *endpoint, udpai_worker_link *link);
/* NULL does nothing. */
void udpai_feed_end(udpai_feed *feed);

#endif
