/* SPDX-License-Identifier: Apache-2.0 */
/* Change sets that are larger than a transaction of etcd, as the mirror shows them: each record
 * that such a set changes gets a lock, which has what the record will be; one more key commits the
 * set; then the records are written, and the locks go. Owned by the thread of its replicator. */
#ifndef UDPAI_REPLICA_LOCKS_H
#define UDPAI_REPLICA_LOCKS_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/list.h"
#include "base/map.h"

/* The keys, behind the prefix:
 *
 *   i/<set>      the set may still be committed; locks are written, and it is committed, only
 *                while this is there
 *   p/<record>   a lock, by the key of its record
 *   x/<set>      the set is committed: its locks count in the place of their records
 *
 * A lock of which neither mark is there is of a set that was given up, and does not count. */

#define UDPAI_LOCK_SET_LEN 32 /* hexadecimal digits */

typedef struct udpai_lock_set {
    udpai_list node;  /* in its locks' list */
    udpai_list locks; /* of udpai_lock */
    size_t n;         /* of those */
    bool has_intent, is_committed;
    /* For who finishes it. */
    uint64_t due_ms; /* 0: not decided */
    size_t n_under_way;
    char id[UDPAI_LOCK_SET_LEN + 1];
} udpai_lock_set;

typedef struct udpai_lock {
    udpai_list in_set;
    udpai_lock_set *set;
    udpa_bytes *record; /* key, without the prefix */
    udpa_bytes *value;  /* that the record will have; NULL: it will be deleted */
    bool is_being_finished;
} udpai_lock;

typedef struct udpai_locks {
    udpai_map by_record, by_id;
    udpai_list sets;
} udpai_locks;

void udpai_locks_init(udpai_locks *locks);
void udpai_locks_done(udpai_locks *locks);
/* All is read anew. */
void udpai_locks_clear(udpai_locks *locks);

/* Is this, behind the prefix, one of the three keys? */
bool udpai_locks_is_key(udpai_str key);
/* Takes the change of such a key; @p value: NULL: it was deleted. *ret_lock: the lock that was
 * written, else NULL; *ret_set: the set that was committed by this, else NULL. UDPA_ERR_MALFORMED:
 * no replica writes such a one: it is as if it were not there. UDPA_ERR_NOMEM. */
udpa_err udpai_locks_take(udpai_locks *locks,
                          udpai_str key,
                          const udpai_str *value,
                          udpai_lock **ret_lock,
                          udpai_lock_set **ret_set);
/* NULL: the record has none. */
udpai_lock *udpai_locks_find(const udpai_locks *locks, udpai_str record);
udpai_lock_set *udpai_locks_find_set(const udpai_locks *locks, udpai_str id);

/* ---- writing ---- */

/* What a lock is written with; @p value: NULL: the record will be deleted. NULL without memory. */
udpa_bytes *udpai_lock_value(const char *set_id, udpa_bytes *value);

#endif
