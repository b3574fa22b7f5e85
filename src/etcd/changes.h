/* SPDX-License-Identifier: Apache-2.0 */
/* Events, with copies of what they refer to. */
#ifndef UDPAI_ETCD_CHANGES_H
#define UDPAI_ETCD_CHANGES_H

#include "base/vector.h"
#include "etcd/etcd.h"
#include "wire/arena.h"

typedef struct udpai_etcd_changes_copy {
    udpai_arena arena;
    UDPAI_VECTOR(udpai_etcd_event) events;
} udpai_etcd_changes_copy;

void udpai_etcd_changes_copy_init(udpai_etcd_changes_copy *copy);
void udpai_etcd_changes_copy_done(udpai_etcd_changes_copy *copy);
/* False without memory; those before stay. */
bool udpai_etcd_changes_copy_add(udpai_etcd_changes_copy *copy, const udpai_etcd_event *event);
void udpai_etcd_changes_copy_clear(udpai_etcd_changes_copy *copy);

#endif
