/* SPDX-License-Identifier: Apache-2.0 */
/* Which features of which resources were told of, so that each is told of once. Of so many; then
 * the resource that came first is forgotten. Belongs to one thread. */
#ifndef UDPAI_DAEMON_TOLD_H
#define UDPAI_DAEMON_TOLD_H

#include "base/list.h"
#include "base/map.h"

#define UDPAI_TOLD_MAX 8192

typedef struct udpai_told {
    udpai_map resources;
    udpai_list order; /* the same, from the first */
    size_t n;         /* features of all resources */
} udpai_told;

/* Allocates nothing. */
void udpai_told_init(udpai_told *told);
void udpai_told_done(udpai_told *told);

/* Features are known by where their name is, not by what it says. */
bool udpai_told_has(const udpai_told *told, udpai_str resource, const char *feature);
/* One that was not there. What there is no room or memory for is not remembered. */
void udpai_told_add(udpai_told *told, udpai_str resource, const char *feature);
void udpai_told_forget(udpai_told *told, udpai_str resource);

#endif
