/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration in effect: the bootstrap file that the process was started with, and the parts
 * that were taken over since, when the file was read again. */
#ifndef UDPAI_DAEMON_EFFECTIVE_H
#define UDPAI_DAEMON_EFFECTIVE_H

#include "daemon/plan.h"
#include "wire/arena.h"

/* The parts that are taken over, each by itself. */
enum {
    UDPAI_EFFECTIVE_ACL = 1,
    UDPAI_EFFECTIVE_SIGNATURES = 2,
    UDPAI_EFFECTIVE_STORE_KEYS = 4,
    UDPAI_EFFECTIVE_ALL = 7,
};

/* Belongs to the loop's thread. Zeroes but for the plan and the options, which are borrowed. */
typedef struct udpai_effective {
    const udpai_plan *plan;
    const udpai_options *options;
    udpa_bytes *message; /* packed; NULL: the plan's */
    bool failed;         /* there was no memory: what is in effect is not known here */
    /* When the file was read again the last time, as udpai_bootstrap has it; 0: never. */
    int64_t again_us;
    udpai_audit_hash again_sha256;
    unsigned taken; /* which parts of it are in effect */
    char *restart; /* what differs, and takes a restart; NULL: nothing does, or nothing was taken */
} udpai_effective;

/* The file was read again, and these parts of it are in effect now; others are as they were. Of a
 * file with errors none is, and there may be no message. */
void udpai_effective_note(udpai_effective *effective, const udpai_bootstrap *read, unsigned taken);
/* A copy in the arena. UDPA_ERR_LIMIT: packed it has more bytes than that. */
udpa_err udpai_effective_read(const udpai_effective *effective,
                              size_t max_bytes,
                              udpai_arena *arena,
                              Udpa__Config__V1__Bootstrap **ret_message);
void udpai_effective_done(udpai_effective *effective);

#endif
