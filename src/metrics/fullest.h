/* SPDX-License-Identifier: Apache-2.0 */
/* How full the fullest of many is, each of which has a limit: of each percent it is known how many
 * have it, so that nobody looks through them. Belongs to one thread. */
#ifndef UDPAI_METRICS_FULLEST_H
#define UDPAI_METRICS_FULLEST_H

#include "base/util.h"

/* Zeroes: each of them is empty. */
typedef struct udpai_fullest {
    size_t n[101]; /* by percent; those that are empty are not counted */
} udpai_fullest;

/* Rounded down, and 100 at most; without a limit (0) it is 0. */
unsigned udpai_percent_of(uint64_t used, uint64_t limit);
/* One of them, of which so many percent were used, has this many now, and notes that. */
void udpai_fullest_note(udpai_fullest *fullest, unsigned *percent, unsigned now);
/* The most percent; 0: all are empty, or nearly. */
unsigned udpai_fullest_percent(const udpai_fullest *fullest);

#endif
