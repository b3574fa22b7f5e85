/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica has beside what an etcd has of it, record by record. What cannot be read there is
 * left as it is. Of what the replica itself could not decrypt it has the sealed value. Owned by the
 * thread of its replicator. */
#ifndef UDPAI_REPLICA_COMPARISON_H
#define UDPAI_REPLICA_COMPARISON_H

#include "base/map.h"
#include "replica/record.h"
#include "replica/unread.h"
#include "store/replication.h"

/* As it is in etcd. */
typedef enum udpai_compared_state {
    UDPAI_COMPARED_MISSING,
    UDPAI_COMPARED_OLDER, /* by its generation, or it ends earlier */
    UDPAI_COMPARED_SAME,
    UDPAI_COMPARED_NEWER,
    UDPAI_COMPARED_OTHER,  /* of one generation, and yet not the same; or it cannot be read */
    UDPAI_COMPARED_LOCKED, /* it cannot be decrypted, so it may be newer */
    UDPAI_COMPARED_STATES,
} udpai_compared_state;

typedef struct udpai_compared {
    const udpai_durable_op *op; /* of the holdings; a DELETE: there is the sealed value alone */
    udpa_bytes *record;         /* key, without the prefix */
    udpa_bytes *sealed;         /* newer than the op, and cannot be decrypted; NULL: nothing is */
    int64_t mod_revision;       /* 0: it is not there */
    udpai_compared_state state;
} udpai_compared;

/* A key that is there and is to go: of a large change set that was not finished, or a contribution
 * that was removed since. */
typedef struct udpai_compared_rest {
    udpa_bytes *key; /* without the prefix */
    int64_t mod_revision;
} udpai_compared_rest;

typedef struct udpai_comparison {
    udpai_holdings *holdings;
    udpai_durable_batch *locked; /* DELETEs of what it has sealed alone */
    udpai_compared *items;
    size_t n;
    bool cannot_seal; /* there are secrets, and no key to write them with */
    uint64_t digest;  /* of what the replica has; without removals, which are forgotten in time */
    udpai_map by_record;
    size_t n_returned, n_locked;
    UDPAI_VECTOR(udpai_compared_rest) rests;
    udpai_record_seals seals;
    udpai_record_reader reader;
    udpai_strbuf room;
} udpai_comparison;

/* Takes the holdings, also if it fails. @p unread: what could not be decrypted before.
 * UDPA_ERR_NOMEM; what has no key in etcd is left out. */
udpa_err udpai_comparison_new(udpai_comparison **ret_comparison,
                              udpai_holdings *holdings,
                              const udpai_record_seals *seals,
                              const udpai_unread *unread);
/* NULL does nothing. Returns NULL. */
udpai_comparison *udpai_comparison_free(udpai_comparison *comparison);

/* etcd is read anew: all is missing until it is seen. */
void udpai_comparison_begin(udpai_comparison *comparison);
/* A key that is there, without the prefix. UDPA_ERR_NOMEM */
udpa_err udpai_comparison_take(udpai_comparison *comparison,
                               udpai_str key,
                               udpai_str value,
                               int64_t mod_revision);

/* Fills in the difference, and some of the names of what would be lost. Without memory fewer. */
void udpai_comparison_describe(const udpai_comparison *comparison, udpai_hold *hold);

#endif
