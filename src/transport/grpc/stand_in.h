/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers peers while the stream thread is busy. */
#ifndef UDPAI_STAND_IN_H
#define UDPAI_STAND_IN_H

#include <stdint.h>

typedef struct udpai_stand_in udpai_stand_in;

/* After so long a turn of the stream thread. NULL: there is no memory or no thread for it, and a
 * node that is busy for long may be taken for a dead one. */
udpai_stand_in *udpai_stand_in_new(uint64_t stuck_ms);
/* Waits for its end. */
udpai_stand_in *udpai_stand_in_free(udpai_stand_in *self);
/* The stream thread is busy from now on; 0: it waits for what comes. NULL does nothing. */
void udpai_stand_in_note(udpai_stand_in *self, uint64_t now_ms);

#endif
