/* SPDX-License-Identifier: Apache-2.0 */
/* A model of etcd on a virtual clock: what it says is right, but it says it late, twice, in parts,
 * from members that are behind, or not at all, as its faults tell it to. */
#ifndef UDPAI_TESTS_ETCD_MODEL_H
#define UDPAI_TESTS_ETCD_MODEL_H

#include "base/vector.h"
#include "base/wheel.h"
#include "etcd/etcd.h"
#include "tests/harness/etcd_model_leases.h"

/* Of a thousand. */
typedef struct etcd_faults {
    unsigned lost_requests;  /* never done; whoever asked does not know that */
    unsigned lost_responses; /* done; the same */
    unsigned late_requests;  /* done later than it is said that it is not known */
    unsigned refused;        /* not done, and that is said */
    unsigned filling;        /* done, and answered as if the database had been full */
    unsigned cut_watches;    /* of all deliveries */
    unsigned repeated;       /* events that were sent before */
    unsigned parts;          /* of responses, in the middle of a revision */
    unsigned old_members;    /* of watches: created by one that is behind */
    unsigned late_watches;   /* of all deliveries: the next one comes much later */
    unsigned silent_watches; /* of all deliveries: nothing more comes */
    unsigned left_out;       /* events that never come, which etcd must not do, and has done */
    uint64_t latency_ms;     /* at most */
} etcd_faults;

typedef struct etcd_model_event {
    char *key;
    size_t key_len;
    uint64_t key_hash; /* tests spend most of their time on looking for keys */
    udpai_str value;   /* any bytes, and a NUL */
    int64_t revision, create_revision, version;
    int64_t lease; /* 0: none */
    bool is_delete;
} etcd_model_event;

/* Who asks it, over a connection of its own. */
typedef struct etcd_model_client {
    udpai_etcd etcd;
    struct etcd_model *model;
    bool is_away; /* it is not answered */
    /* The member that it is connected to has nothing newer, and asks no other one for what may be
     * old; until the client watches again, at another member. 0: it has all. */
    int64_t old_revision;
} etcd_model_client;

typedef struct etcd_model {
    etcd_model_client own;
    udpai_wheel *wheel;
    uint64_t random;
    etcd_faults faults;
    uint64_t cluster_id;
    int64_t revision, compacted;
    bool is_bumped;           /* by the last restoration, and it was compacted up to … */
    int64_t compacted_before; /* … before that */
    bool is_away, is_full;
    udpai_etcd_status status; /* that it states; nothing follows from it */
    bool is_denied; /* whatever is read, as by a wrong password; writes must not be asked for */
    UDPAI_VECTOR(etcd_model_event) history;
    UDPAI_VECTOR(etcd_model_event) lost; /* by the last restoration, the newest first */
    etcd_model_leases leases;
    udpai_timer lease_end;
    udpai_list calls, watches;
    unsigned n_txns, n_ranges, n_watches; /* that were asked */
} etcd_model;

void etcd_model_init(etcd_model *model, udpai_wheel *wheel, uint64_t seed);
void etcd_model_done(etcd_model *model);
/* Another one, beside its own. */
void etcd_model_client_init(etcd_model_client *client, etcd_model *model);

/* At once, by somebody else. NULL: deletes. */
void etcd_model_put(etcd_model *model, const char *key, const char *value);
/* The same of any bytes. */
void etcd_model_write(etcd_model *model, const char *key, udpai_str value);
/* Several keys at one revision. */
void etcd_model_put_all(etcd_model *model, const char *const *keys, size_t n, const char *value);
void etcd_model_compact(etcd_model *model, int64_t revision);
/* All of them, as by a leader that was stuck. */
void etcd_model_end_leases(etcd_model *model);
/* As a snapshot of that revision restores it. */
void etcd_model_restore(etcd_model *model, int64_t revision);
/* The same, with its revision so much higher, and everything before that compacted away. */
void etcd_model_restore_bumped(etcd_model *model, int64_t revision, int64_t by);
/* What that has lost is there again, and what was written since is not. */
void etcd_model_bring_back(etcd_model *model);
/* Nobody is answered, and watches are silent. */
void etcd_model_away(etcd_model *model, bool is_away);
void etcd_model_client_away(etcd_model_client *client, bool is_away);

/* The last event of the key at this revision; NULL: there is no such key. */
const etcd_model_event *etcd_model_find(const etcd_model *model, udpai_str key, int64_t revision);
size_t etcd_model_count(const etcd_model *model, udpai_str prefix, int64_t revision);

#endif
