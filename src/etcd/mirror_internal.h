/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a mirror, for its files. */
#ifndef UDPAI_ETCD_MIRROR_INTERNAL_H
#define UDPAI_ETCD_MIRROR_INTERNAL_H

#include "base/map.h"
#include "etcd/changes.h"
#include "etcd/mirror.h"

typedef struct udpai_mirror_key {
    int64_t mod_revision, version;
    uint64_t listed;   /* the number of the last list that has it */
    uint64_t gathered; /* the number of the last gathering that has an event of it */
    size_t len;
    char data[];
} udpai_mirror_key;

struct udpai_mirror {
    udpai_mirror_env env;
    udpa_bytes *prefix, *end;
    udpai_mirror_state state;
    udpa_error *why;   /* of the state; NULL: none */
    udpa_bytes *proof; /* key that was written at the revision; NULL: none, or it has listed */
    int64_t proof_revision;
    udpai_mirror_position position;
    bool has_all;      /* the keys are those of the position … */
    bool is_stale;     /* … but it lists again, and may not watch from there */
    bool hands_on_all; /* of that list, also what it has already */
    udpai_map keys;
    udpai_list waiters;

    udpai_timer retry; /* set: nothing is under way */
    uint64_t retry_ms;

    /* The list under way. */
    udpai_etcd_call page;
    bool is_paging;
    int64_t list_revision; /* 0: the first page says it */
    int64_t page_keys;
    udpa_bytes *after; /* the last key so far; NULL: none */
    uint64_t list_number;
    udpai_etcd_changes_copy gathered; /* of the list, or of one revision of the watch */
    uint64_t gathering;               /* its number */

    /* The watch. */
    udpai_etcd_watch watch;
    bool is_watching;
    udpai_timer probe, lag;
    uint64_t received_ms;
    uint64_t waited_ms, lag_ms; /* since when something waits, and how long before it asks */
    int64_t seen;               /* revision of etcd, by its last answer */
    int64_t highest;            /* revision that this watch has shown */
};

/* ---- mirror_state.c: what both ways of asking share ---- */

udpai_str udpai_mirror_key_text(const void *item);
/* One that holds goes on as soon as it sees what it had; what it sees meanwhile is reported once.
 */
void udpai_mirror_set_state(udpai_mirror *mirror, udpai_mirror_state state, const udpa_error *why);
/* Tries again later, with what is needed then. */
void udpai_mirror_retry_later(udpai_mirror *mirror, const udpa_error *why);
void udpai_mirror_retry_without_memory(udpai_mirror *mirror);
void udpai_mirror_stop_watch(udpai_mirror *mirror);
void udpai_mirror_stop_list(udpai_mirror *mirror);
/* Hands on nothing any more, until etcd has what it had, or that is given up. */
void udpai_mirror_hold(udpai_mirror *mirror, const udpa_error *why);
/* Is this the cluster that it knows; and at the revision that it knows, or later? Holds if not. */
bool udpai_mirror_is_its_cluster(udpai_mirror *mirror, const udpai_etcd_header *header);
bool udpai_mirror_is_the_same(udpai_mirror *mirror, const udpai_etcd_header *header);
/* Adds the event of a key, unless it was gathered already. False without memory. */
bool udpai_mirror_gather(udpai_mirror *mirror, const udpai_etcd_event *event);
/* Hands on what was gathered. UDPA_ERR_NOMEM: nothing of it. */
udpa_err udpai_mirror_hand_on(udpai_mirror *mirror, udpai_mirror_position position, bool is_all);
void udpai_mirror_release_waiters(udpai_mirror *mirror);
/* Something waits: what is committed should come soon. */
void udpai_mirror_set_lag(udpai_mirror *mirror);
/* Those that wait for a later revision than this one wait in vain. */
void udpai_mirror_end_waiting(udpai_mirror *mirror, int64_t last);

/* ---- mirror_list.c, mirror_watch.c ---- */

void udpai_mirror_begin_list(udpai_mirror *mirror);
/* After a gap in which etcd may have become another. */
void udpai_mirror_watch_again(udpai_mirror *mirror);
/* From the position on. */
void udpai_mirror_begin_watch(udpai_mirror *mirror);
/* The handlers of its watch and its timers. */
void udpai_mirror_init_watch(udpai_mirror *mirror);

/* ---- mirror_history.c ---- */

void udpai_mirror_hold_for_history(udpai_mirror *mirror);
/* One that was written as late as any; NULL: there is none. */
const udpai_mirror_key *udpai_mirror_newest_key(const udpai_mirror *mirror);
/* The present state of the proof, of which etcd does not know any more what it was. */
bool udpai_mirror_has_older(const udpai_mirror *mirror, const udpai_etcd_result *present);
/* False: it holds, for a key is older than it was, … */
bool udpai_mirror_check_page(udpai_mirror *mirror, const udpai_etcd_result *result);
/* … or one that nobody deletes is in none of the pages. */
bool udpai_mirror_check_list(udpai_mirror *mirror);

#endif
