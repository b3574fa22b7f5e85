/* SPDX-License-Identifier: Apache-2.0 */
/* Times as options have them: 90s, 30m, 24h, 7d. */
#ifndef UDPAI_CTL_DURATION_H
#define UDPAI_CTL_DURATION_H

#include <stdint.h>

/* Seconds; 0: it is no such time, or more than @p max_s. */
uint64_t udpai_ctl_seconds_of(const char *text, uint64_t max_s);

#endif
