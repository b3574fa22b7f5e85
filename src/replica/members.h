/* SPDX-License-Identifier: Apache-2.0 */
/* Which replicas a set has: each holds one of a few places in etcd, as long as it lives. A place
 * has a lease; nothing else in etcd has one. Owned by the thread of its replicator. */
#ifndef UDPAI_REPLICA_MEMBERS_H
#define UDPAI_REPLICA_MEMBERS_H

#include "base/wheel.h"
#include "etcd/mirror.h"
#include "store/replication.h"

#define UDPAI_MEMBERS_TTL_S 10
#define UDPAI_MEMBERS_KEEP_MS 3000
#define UDPAI_MEMBERS_RETRY_MS 500
/* So long places of replicas that have died may be taken. */
#define UDPAI_MEMBERS_PATIENCE_MS (1000 * (UDPAI_MEMBERS_TTL_S + 3))

typedef struct udpai_members udpai_members;

typedef struct udpai_members_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    udpai_mirror *mirror;
    /* Takes what the set has now. */
    void (*report)(void *userdata, udpai_replicated *event);
    void *userdata;
} udpai_members_env;

/* @p prefix: with a '/' at its end. */
udpa_err udpai_members_new(udpai_members **ret_members,
                           const udpai_members_env *env,
                           udpai_str prefix,
                           const udpai_replica_description *own);
/* Its place ends with its lease. NULL does nothing. Returns NULL. */
udpai_members *udpai_members_free(udpai_members *members);

/* Is this, behind the prefix, the key of a place? */
bool udpai_members_is_key(udpai_str key);
/* A change of such a key; @p value: NULL: it is not there any more. Without memory it stays as it
 * was until the next one. */
void udpai_members_take(udpai_members *members, udpai_str key, const udpai_str *value);
/* All is read anew. */
void udpai_members_clear(udpai_members *members);
/* Reports them, if they have changed, and claims a place: after the changes of one revision, while
 * etcd is current. @p revision: the last one at which a record changed. */
void udpai_members_go_on(udpai_members *members, int64_t revision);

#endif
