/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas that hold write into the etcd that has another state: what each of them has, with a
 * lease, and which of them writes back what it has, or has done so. */
#ifndef UDPAI_REPLICA_HOLD_KEYS_H
#define UDPAI_REPLICA_HOLD_KEYS_H

#include "base/bytes.h"

/* The keys, behind the prefix: h/<replica>, and the other one. */
#define UDPAI_HOLD_KEY "h/"
#define UDPAI_BACK_KEY "back"

/* What a replica has. */
typedef struct udpai_hold_state {
    uint64_t cluster_id; /* of the etcd that it has it from */
    uint64_t number;     /* of the last commit: the higher, the newer */
    uint64_t digest;     /* of all that it has */
    bool is_partial;     /* there was, or is, something that it cannot read or does not serve */
} udpai_hold_state;

/* What was, or is being, written back. */
typedef struct udpai_back {
    udpai_hold_state state;
    uint64_t base; /* the numbers of commits count from there: they go on rising */
    bool is_done;
    udpai_str writer; /* a view of the value */
} udpai_back;

/* NULL without memory. */
udpa_bytes *udpai_hold_state_write(const udpai_hold_state *state);
udpa_bytes *udpai_back_write(const udpai_back *back);
/* False: no replica writes that. */
bool udpai_hold_state_read(udpai_str value, udpai_hold_state *ret_state);
bool udpai_back_read(udpai_str value, udpai_back *ret_back);

#endif
