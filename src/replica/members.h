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
#define UDPAI_MEMBERS_STREAMS_MS                                                                   \
    2000 /* between writes of their number, and half of it by chance                               \
          */
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
    uint64_t (*random)(void *userdata); /* NULL: always 0 */
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
/* A change of such a key, without the prefix; @p kv: NULL: it is not there any more. Without memory
 * it stays as it was until the next one. */
void udpai_members_take(udpai_members *members, udpai_str key, const udpai_etcd_kv *kv);
/* So many streams of clients this replica has; it states that when it is worth a write, and when
 * another one has too many while it has room (session/spread_plan.c). */
void udpai_members_set_streams(udpai_members *members, uint64_t n);
/* What this replica states to the others from now on; without memory it is as it was. A digest of
 * its configuration; ids of the keys that it has; of those that it lacks, NULL: none; and what it
 * has read of its directories (store/replication.h). */
void udpai_members_set_config(udpai_members *members, udpai_str config);
void udpai_members_set_keys(udpai_members *members, udpai_str key_ids);
void udpai_members_set_missing(udpai_members *members, udpa_bytes *key_ids);
void udpai_members_set_files(udpai_members *members, udpai_str files);
/* The set has a format that this version does not know, or knows again: until then it has no place,
 * so that another one does what one of the set is to do. */
void udpai_members_set_foreign(udpai_members *members, bool is_foreign);
/* All is read anew. */
void udpai_members_clear(udpai_members *members);
/* Reports them, if they have changed, and claims a place: after the changes of one revision, while
 * etcd is current. @p revision: the last one at which a record changed. */
void udpai_members_go_on(udpai_members *members, int64_t revision);

/* The revision at which that place of this replica was created; 0: it does not have it. */
int64_t udpai_members_place_created(const udpai_members *members, unsigned place);

/* The place of this replica, if it is the first of those that are taken: it does what one of the
 * set is to do. What it writes as such compares the revision at which its place was created. False:
 * another one does. */
bool udpai_members_is_janitor(const udpai_members *members,
                              unsigned *ret_place,
                              int64_t *ret_create_revision);

#endif
