/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of what a replica does while it holds, for its files. */
#ifndef UDPAI_REPLICA_HELD_INTERNAL_H
#define UDPAI_REPLICA_HELD_INTERNAL_H

#include "etcd/listing.h"
#include "replica/comparison.h"
#include "replica/held.h"
#include "replica/hold_keys.h"

/* More replicas than a set may have, as those that have just died. */
#define UDPAI_HELD_PEERS_MAX 32
#define UDPAI_HELD_ID_MAX 128

/* A replica that holds. */
typedef struct udpai_held_peer {
    udpa_bytes *id;
    udpai_hold_state state;
    bool is_own;
} udpai_held_peer;

typedef enum udpai_held_set {
    UDPAI_HELD_SET_NONE, /* no set is there */
    UDPAI_HELD_SET_OWN,
    UDPAI_HELD_SET_OTHER, /* nothing is written */
} udpai_held_set;

/* What etcd has of those that hold, as it was looked at last. */
typedef struct udpai_held_view {
    int64_t revision; /* 0: it was not looked at */
    udpai_held_set set;
    int64_t set_revision;
    bool has_back;
    udpai_back back; /* without its writer */
    int64_t back_revision;
    UDPAI_VECTOR(udpai_held_peer) peers;
    bool has_too_many;
    udpa_bytes *server; /* a replica that does not hold; NULL: none */
} udpai_held_view;

/* This replica, among those that hold. */
typedef struct udpai_held_presence {
    udpai_etcd_call call;
    udpai_timer again;
    bool is_asking, is_revoking;
    int64_t lease;                /* 0: none */
    bool is_written, is_outdated; /* it is written, and is to be written again */
} udpai_held_presence;

struct udpai_held {
    udpai_held_env env;
    udpa_bytes *prefix, *own;
    udpai_record_seals seals;
    bool is_on, is_leaving;
    bool has_answer;
    udpai_hold_answer answer;
    udpai_comparison *compared; /* NULL: what this replica has is not known yet */
    udpai_hold_state state;     /* of this replica */
    udpai_held_presence presence;

    udpai_etcd_call call;
    bool is_asking;
    udpai_timer again;
    udpai_held_view view;
    uint64_t peers_digest, since_ms; /* those that hold are the same ones since then */
    udpai_listing *listing;
    bool is_listing, is_listed;
    int64_t listed_revision;
    uint64_t listed_ms;

    /* Writing back. */
    bool is_writing;
    int64_t claimed;  /* revision of the key that says so */
    size_t next;      /* of what is compared */
    size_t n_written; /* since etcd was listed, and … */
    size_t n_all;     /* … of all */
    udpa_error *why;  /* the last attempt has failed; NULL: it has not */
    udpa_bytes *said; /* what will happen, as it was reported */
};

/* ---- held_view.c ---- */

/* The key behind the prefix; a NULL is no memory. */
udpa_bytes *udpai_held_key(const udpai_held *held, const char *head, udpai_str tail);

/* Asks for it; the call's `done` is the caller's. UDPA_ERR_NOMEM, UDPA_ERR_CLOSED */
udpa_err udpai_held_view_ask(udpai_held *held);
/* Takes the answer. False without memory. */
bool udpai_held_view_take(udpai_held *held, const udpai_etcd_result *result);
void udpai_held_view_clear(udpai_held_view *view);
/* The replica may write back what etcd lacks. Else why not, or what will be, for people. */
bool udpai_held_may_write(const udpai_held *held, udpai_strbuf *text);
/* All that this replica has was written back by another one, or by itself. */
bool udpai_held_is_covered(const udpai_held *held);

/* ---- held_presence.c ---- */

void udpai_held_presence_init(udpai_held *held);
void udpai_held_presence_begin(udpai_held *held);
void udpai_held_presence_end(udpai_held *held);
/* The state has changed. */
void udpai_held_presence_renew(udpai_held *held);
/* Is not among them any more; then accepts what etcd has. */
void udpai_held_leave(udpai_held *held);

/* ---- held_write.c ---- */

/* Claims that this replica does it, and begins. */
void udpai_held_write(udpai_held *held);
/* etcd was listed. */
void udpai_held_write_on(udpai_held *held);

/* ---- held.c ---- */

void udpai_held_look_in(udpai_held *held, uint64_t ms);
/* False: it was not begun, and is tried again. */
bool udpai_held_list(udpai_held *held);

#endif
