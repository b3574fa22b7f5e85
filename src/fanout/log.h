/* SPDX-License-Identifier: Apache-2.0 */
/* What a view holds, in order of change. */
#ifndef UDPAI_FANOUT_LOG_H
#define UDPAI_FANOUT_LOG_H

#include "base/memory.h"

typedef struct udpai_item udpai_item;

typedef struct udpai_log_slot {
    uint64_t seq;
    udpai_item *item; /* NULL: a hole, its item was moved to the end or removed */
} udpai_log_slot;

/* Sorted by seq. An item that changes moves to the end; holes are closed once they are the half. */
typedef struct udpai_log {
    udpai_log_slot *slots;
    size_t n, capacity;
    size_t n_live;
    size_t first;         /* there is no item before it */
    udpai_memory *memory; /* counts it; NULL: nothing does */
} udpai_log;

/* Makes sure that one append succeeds. `moved` is called with the new places of items. */
typedef void (*udpai_log_moved_fn)(void *userdata, udpai_item *item, size_t slot);
bool udpai_log_reserve(udpai_log *log, udpai_log_moved_fn moved, void *userdata);
/* Returns the slot. Room was reserved. */
size_t udpai_log_append(udpai_log *log, uint64_t seq, udpai_item *item);
void udpai_log_clear_slot(udpai_log *log, size_t slot);
/* The first slot at or after which seq > after; skips no holes. */
size_t udpai_log_after(const udpai_log *log, uint64_t after);
/* The first item with seq > after; NULL if there is none. */
udpai_item *udpai_log_first_after(const udpai_log *log, uint64_t after);
/* The slot of the oldest item; the log must not be empty. */
size_t udpai_log_oldest(udpai_log *log);
void udpai_log_done(udpai_log *log);

#endif
