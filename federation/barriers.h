/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that wait for what was committed when they began. */
#ifndef UDPAI_FEDERATION_BARRIERS_H
#define UDPAI_FEDERATION_BARRIERS_H

#include "federation/context.h"

typedef struct udpai_barriers udpai_barriers;

/* NULL without memory. */
udpai_barriers *udpai_barriers_new(udpai_context *context);
/* NULL does nothing. */
void udpai_barriers_free(udpai_barriers *barriers);

/* A BARRIER report of a stream side; answered in any case, but for lack of memory, which the stream
 * side does not wait for. */
void udpai_barriers_ask(udpai_barriers *barriers, const udpai_report *report);
/* Those up to this one have passed: all that was committed before is applied. */
void udpai_barriers_passed(udpai_barriers *barriers, uint64_t ticket);
/* All that was applied was sent to the stream side, which may answer now. */
void udpai_barriers_release(udpai_barriers *barriers);

#endif
