/* SPDX-License-Identifier: Apache-2.0 */
/* Records that this replica cannot decrypt, because it lacks their keys: kept as they are in etcd,
 * until it has the keys, or they change. Owned by the thread of the replicator. */
#ifndef UDPAI_REPLICA_UNREAD_H
#define UDPAI_REPLICA_UNREAD_H

#include "base/map.h"
#include "replica/record.h"

/* So many keys are named. */
#define UDPAI_UNREAD_KEYS_MAX 4

typedef struct udpai_unread_record {
    udpa_bytes *key; /* without the prefix */
    udpa_bytes *value, *type;
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    bool is_over;
} udpai_unread_record;

typedef struct udpai_unread {
    udpai_map records;
    bool has_grown; /* for its owner to take note of, and set back */
} udpai_unread;

void udpai_unread_init(udpai_unread *unread);
void udpai_unread_done(udpai_unread *unread);
/* Copies key and value; takes a reference to the type, which is as that of an op. In the place of
 * what there is of the key. */
udpa_err udpai_unread_set(
    udpai_unread *unread, udpai_str key, udpai_str value, udpa_bytes *type, const char *key_id);
/* It goes with the next sweep, unless it is set again; of a key that is not there, nothing. */
void udpai_unread_end(udpai_unread *unread, udpai_str key);
void udpai_unread_end_all(udpai_unread *unread);
/* False: nothing was to go. */
bool udpai_unread_sweep(udpai_unread *unread);
/* NULL: it is not one of them, or is to go. */
const udpai_unread_record *udpai_unread_find(const udpai_unread *unread, udpai_str key);

/* Ids of the keys that are lacking, in their order, as "a b", and "a b c d …" if there are more.
 * NULL without memory, and if there are none. */
udpa_bytes *udpai_unread_key_ids(const udpai_unread *unread);

#endif
