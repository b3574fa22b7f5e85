/* SPDX-License-Identifier: Apache-2.0 */
/* Which features of which resources were reported, so that each is reported once. Of so many; then
 * the resource that came first is forgotten. Belongs to one thread. */
#ifndef UDPAI_DAEMON_SEEN_ONCE_H
#define UDPAI_DAEMON_SEEN_ONCE_H

#include "base/list.h"
#include "base/map.h"

#define UDPAI_SEEN_ONCE_MAX 8192

typedef struct udpai_seen_once {
    udpai_map resources;
    udpai_list order; /* the same, from the first */
    size_t n;         /* features of all resources */
} udpai_seen_once;

/* Allocates nothing. */
void udpai_seen_once_init(udpai_seen_once *seen);
void udpai_seen_once_done(udpai_seen_once *seen);

/* Features are known by where their name is, not by its text. */
bool udpai_seen_once_has(const udpai_seen_once *seen, udpai_str resource, const char *feature);
/* One that was not there. What there is no room or memory for is not remembered. */
void udpai_seen_once_add(udpai_seen_once *seen, udpai_str resource, const char *feature);
void udpai_seen_once_forget(udpai_seen_once *seen, udpai_str resource);

#endif
