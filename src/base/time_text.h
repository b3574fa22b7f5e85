/* SPDX-License-Identifier: Apache-2.0 */
/* A time, as people and programs read it. Pure: it asks no time zone. */
#ifndef UDPAI_TIME_TEXT_H
#define UDPAI_TIME_TEXT_H

#include <stdint.h>

#define UDPAI_TIME_TEXT_SIZE 24

/* "2026-11-24T09:30:00Z", of microseconds since 1970; times before that, and after the year 9999,
 * become the first and the last one. */
void udpai_time_text(char room[UDPAI_TIME_TEXT_SIZE], int64_t time_us);

#endif
