/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to the loop side all clients that this stream side serves, as resources that it can hand
 * on (udpa.status.v1.ClientStatus), while it subscribes to them: all of them once, then each that
 * has changed, once a second at most, and each that has left. With what CSDS has of them, without
 * bodies; nothing of a client is kept here but a digest of what was reported (docs/design/csds.md).
 */
#ifndef UDPAI_CLIENT_REGISTRY_H
#define UDPAI_CLIENT_REGISTRY_H

#include "session/hub.h"

/* Clients are looked at again so long after that was begun, or, if that is longer, four times as
 * long as it took after it has ended. */
#define UDPAI_CENSUS_INTERVAL_MS 1000

/* Of one ClientStatus: what is SYNCED is left out above the first, anything above the second; and
 * of a larger Node, everything but its identity. */
#define UDPAI_CENSUS_SYNCED_BYTES ((size_t)64 << 10)
#define UDPAI_CENSUS_MAX_BYTES ((size_t)256 << 10)
#define UDPAI_CENSUS_NODE_BYTES ((size_t)4 << 10)

/* How long a report of a client holds, where nothing is configured; at least and at most. */
#define UDPAI_CENSUS_TTL_MS ((uint64_t)30000)
#define UDPAI_CENSUS_TTL_MIN_MS ((uint64_t)3000)
#define UDPAI_CENSUS_TTL_MAX_MS ((uint64_t)3600000)

/* For udpai_hub_options. */
extern const udpai_watcher_ops udpai_client_registry_ops;

#endif
