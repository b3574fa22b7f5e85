/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in effect: that of the start, until a reload has made another one of the
 * bootstrap file (docs/design/reload.md); and what came of the last reload. */
#ifndef UDPAI_DAEMON_EFFECTIVE_H
#define UDPAI_DAEMON_EFFECTIVE_H

#include "daemon/plan.h"
#include "wire/arena.h"

/* Belongs to the loop's thread. Zeroes but for the plan and the options, which are borrowed. */
typedef struct udpai_effective {
    udpai_plan *plan; /* of the start */
    const udpai_options *options;
    udpai_plan *present; /* of the last reload; owned; NULL: that of the start */
    /* When the file was read again the last time, as udpai_bootstrap has it; 0: never. */
    int64_t again_us;
    udpai_audit_hash again_sha256;
    bool is_rejected;    /* what was read then is not in effect */
    int64_t rejected_us; /* since when the file that there is has been rejected; 0: it is not */
    uint64_t n_reloads, n_rejected;
    char *restart; /* what differs, and takes a restart; NULL: nothing does, or it is rejected */
} udpai_effective;

/* What is in effect now. */
const udpai_plan *udpai_effective_plan(const udpai_effective *effective);
/* The file was read again, and is in effect now, as this plan, from udpai_plan_new(), which is
 * taken over; the one before is freed, but for that of the start. @p restart: as above; taken over,
 * too. */
void udpai_effective_take(udpai_effective *effective,
                          udpai_plan *plan,
                          const udpai_bootstrap *read,
                          char *restart);
/* It was read again, and is not. There may be no message. */
void udpai_effective_reject(udpai_effective *effective, const udpai_bootstrap *read);
/* A copy in the arena. UDPA_ERR_LIMIT: packed it has more bytes than that. */
udpa_err udpai_effective_read(const udpai_effective *effective,
                              size_t max_bytes,
                              udpai_arena *arena,
                              Udpa__Config__V1__Bootstrap **ret_message);
void udpai_effective_done(udpai_effective *effective);

#endif
