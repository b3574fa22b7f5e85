/* SPDX-License-Identifier: Apache-2.0 */
/* What authorities have said to be gone (model/removal.h), by type and name, for whoever is told of
 * a removal: now, or when it comes back and still has what is gone. For the files of this folder.
 */
#ifndef UDPAI_FANOUT_SAID_H
#define UDPAI_FANOUT_SAID_H

#include "fanout/fanout_internal.h"

/* Each is remembered for an hour, and at most so many; the oldest go first. */
#define UDPAI_SAID_MS ((uint64_t)3600 * 1000)
#define UDPAI_SAID_MAX 100000

/* Notes what the change says of its name: that it was said to be gone, or else nothing any more. */
udpa_err udpai_said_note(udpai_fanout *fanout, const udpai_change *change);
/* NULL: nothing. */
udpa_resource *udpai_said_find(const udpai_topic *topic, udpai_str name);
/* Each of them, from *at = 0 on; NULL behind the last. */
const udpa_resource *udpai_said_next(const udpai_topic *topic, size_t *at);
void udpai_said_forget_all(udpai_fanout *fanout);

#endif
