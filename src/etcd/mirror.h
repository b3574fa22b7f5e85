/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the keys below a prefix: what a replica knows of etcd.
 *
 * It lists them once, then watches from there. Changes are handed on in the order of their
 * revisions, each revision as a whole and once, whatever members and watches do. Where the history
 * of etcd does not reach back far enough, it lists again, and hands on the difference as one
 * change. An etcd that is older than what was handed on, or another one, changes nothing: the
 * mirror holds until udpai_mirror_accept(). So does one that was restored from an older snapshot
 * to a higher revision. Owned by the thread of its etcd. */
#ifndef UDPAI_ETCD_MIRROR_H
#define UDPAI_ETCD_MIRROR_H

#include "base/bytes.h"
#include "base/wheel.h"
#include "etcd/etcd.h"

/* While nothing comes, etcd is asked so often how far it is, … */
#define UDPAI_MIRROR_PROBE_MS 1000
/* … and is given up if nothing has come for so long. */
#define UDPAI_MIRROR_SILENCE_MS 2500
/* If something waits for what is committed, it is asked so early, and given up after twice that;
 * doubled if that was of no use. */
#define UDPAI_MIRROR_LAG_MS 150
/* Between attempts, doubled from the first to the second, with jitter. */
#define UDPAI_MIRROR_RETRY_MS 50
#define UDPAI_MIRROR_RETRY_MAX_MS 2000
/* … but up to this for so long after something has come: an election of etcd takes a second. */
#define UDPAI_MIRROR_RETRY_SOON_MS 150
#define UDPAI_MIRROR_SOON_MS 5000

typedef struct udpai_mirror udpai_mirror;

typedef enum udpai_mirror_state {
    UDPAI_MIRROR_LISTING, /* nothing is known yet, or it lists again */
    UDPAI_MIRROR_CURRENT, /* the watch is alive */
    UDPAI_MIRROR_BEHIND,  /* it is not: changes may be missing */
    UDPAI_MIRROR_HELD,    /* etcd is older, another, or has another history */
} udpai_mirror_state;

/* Which state of which cluster. */
typedef struct udpai_mirror_position {
    uint64_t cluster_id; /* 0: none yet */
    int64_t revision;
} udpai_mirror_position;

/* What has changed at a revision, or from the position before up to that. */
typedef struct udpai_mirror_change {
    udpai_mirror_position position; /* after it; that before, if the watch had left something out */
    const udpai_etcd_event *events; /* at most one of each key */
    size_t n_events;
    /* Of the first list, or one that was asked for: what it does not have is not there. It may have
     * deletions, too. */
    bool is_all;
} udpai_mirror_change;

typedef struct udpai_mirror_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    uint64_t (*random)(void *userdata);
    /* A key that nobody deletes; NULL: there are none. */
    bool (*is_kept)(void *userdata, udpai_str key);
    /* UDPA_ERR_NOMEM: it was not taken, and comes again. */
    udpa_err (*changed)(void *userdata, const udpai_mirror_change *change);
    /* After the state has changed, or the reason for it. Nothing of the mirror may be called. */
    void (*state_changed)(void *userdata, udpai_mirror_state state, const udpa_error *why);
    void *userdata;
} udpai_mirror_env;

/* Begins at once, and calls back later. @p position: what was handed on to the caller before, by
 * another mirror. */
udpa_err udpai_mirror_new(udpai_mirror **ret_mirror,
                          const udpai_mirror_env *env,
                          udpai_str prefix,
                          udpai_mirror_position position);
/* At once after it was made with a position: this key was written at that revision, which is not
 * after the position's. An etcd that does not have it so, or is compacted and has it older, or
 * lacks it though it is kept, is another one: it holds. Without this only an etcd at an older
 * revision is noticed. UDPA_ERR_NOMEM */
udpa_err udpai_mirror_set_proof(udpai_mirror *mirror, udpai_str key, int64_t revision);
/* NULL does nothing. Returns NULL. Not from a callback. */
udpai_mirror *udpai_mirror_free(udpai_mirror *mirror);

udpai_mirror_state udpai_mirror_get_state(const udpai_mirror *mirror);
/* Up to where changes were handed on. */
udpai_mirror_position udpai_mirror_get_position(const udpai_mirror *mirror);
/* At which etcd was, as far as it has answered; 0: it has not. */
int64_t udpai_mirror_seen(const udpai_mirror *mirror);
/* 0: there is no such key. */
int64_t udpai_mirror_mod_revision(const udpai_mirror *mirror, udpai_str key);
/* From inside `changed`: was there such a key before, or has the change something of it? */
bool udpai_mirror_knows(const udpai_mirror *mirror, udpai_str key);
size_t udpai_mirror_n_keys(const udpai_mirror *mirror);
/* Calls back for each key, in no order. */
void udpai_mirror_visit(const udpai_mirror *mirror,
                        void (*visit)(void *userdata, udpai_str key, int64_t mod_revision),
                        void *userdata);

/* Of one that holds: what this etcd has is right. It lists, and hands on the difference. */
void udpai_mirror_accept(udpai_mirror *mirror);

/* Lists again, and hands on all there is. One that holds does not. */
void udpai_mirror_list_again(udpai_mirror *mirror);

/* Something that waits until changes up to a revision were handed on. */
typedef struct udpai_mirror_waiter {
    udpai_list node;
    int64_t revision;
    bool is_void; /* there is no such revision any more: it is, or was, that of another etcd */
    void (*reached)(struct udpai_mirror_waiter *waiter);
} udpai_mirror_waiter;

/* Calls back once, also from inside; the waiter is not linked then. */
void udpai_mirror_wait(udpai_mirror *mirror, udpai_mirror_waiter *waiter);
/* Harmless for one that does not wait. */
void udpai_mirror_wait_end(udpai_mirror_waiter *waiter);

/* The first key behind all that begin with the prefix; NULL: without memory, or there is none. */
udpa_bytes *udpai_etcd_prefix_end(udpai_str prefix);

#endif
