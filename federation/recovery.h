/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery, on both sides of it: a node takes over what its standby has learned,
 * and the standby lets go of what has been taken over (docs/design/federation.md). */
#ifndef UDPAI_RECOVERY_H
#define UDPAI_RECOVERY_H

#include "federation/source_internal.h"

struct udpai_recovery {
    udpai_source *source;
    UDPAI_VECTOR(udpai_scope *) scopes;     /* what the source may have learned in our stead */
    UDPAI_VECTOR(udpa_bytes *) standby_for; /* type URLs: for these we are its standby */
    bool is_off;                            /* the node was restored on purpose */
    bool is_waiting;         /* no not-found and no removal is sent of the scopes … */
    udpai_timer end_of_wait; /* … before they are complete, or this */
    uint64_t hurried_ms;     /* when it was last dialled ahead of its turn */
    uint64_t n_adopted;
};

/* What is configured for it; nothing, if it is not. */
udpa_err
udpai_recovery_new(udpai_source *source, const udpai_source_config *config, udpa_error **ret_error);
udpai_recovery *udpai_recovery_free(udpai_recovery *recovery);
/* Is that what the source has already? */
bool udpai_recovery_is(const udpai_source *source, const udpai_source_config *config);
/* Nothing is taken over any more. */
void udpai_recovery_end(udpai_source *source);
/* Gives the source what was made for another one, @p made, in the place of its own. */
void udpai_recovery_replace(udpai_source *source, udpai_source *made);

/* ---- what happens ---- */

/* The stream to the source has begun, or has ended, or could not be had. */
void udpai_recovery_opened(udpai_source *source);
void udpai_recovery_closed(udpai_source *source);

#endif
