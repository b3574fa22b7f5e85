/* SPDX-License-Identifier: Apache-2.0 */
/* Removals with a generation (model/removal.h), by type and name, for subscribers that are sent a
 * removal: now, or when they come back and still have what was removed. For the files of this
 * folder. */
#ifndef UDPAI_FANOUT_KEPT_REMOVALS_H
#define UDPAI_FANOUT_KEPT_REMOVALS_H

#include "fanout/fanout_internal.h"

/* Each is remembered for an hour, and at most so many; the oldest go first. */
#define UDPAI_KEPT_REMOVALS_MS ((uint64_t)3600 * 1000)
#define UDPAI_KEPT_REMOVALS_MAX 100000

/* Keeps the change's removal, or if it has none, forgets that of its name. */
udpa_err udpai_kept_removals_note(udpai_fanout *fanout, const udpai_change *change);
/* NULL: nothing. */
udpa_resource *udpai_kept_removals_find(const udpai_topic *topic, udpai_str name);
/* Each of them, from *at = 0 on; NULL behind the last. */
const udpa_resource *udpai_kept_removals_next(const udpai_topic *topic, size_t *at);
void udpai_kept_removals_forget_all(udpai_fanout *fanout);

#endif
