/* SPDX-License-Identifier: Apache-2.0 */
/* Which replica set a prefix in etcd belongs to: one key there says so, and whoever is first writes
 * it. All replicas of a set have its id as the instance of their node, and as the epoch of their
 * store, so that to everybody else they are one node. */
#ifndef UDPAI_REPLICA_SET_H
#define UDPAI_REPLICA_SET_H

#include "base/bytes.h"
#include "base/wheel.h"
#include "etcd/etcd.h"

/* Of what is kept in etcd; a set of another format is not joined. */
#define UDPAI_SET_FORMAT 1
#define UDPAI_SET_ID_LEN 32 /* hexadecimal digits */
#define UDPAI_SET_RETRY_MS 200

/* Is the key's value of this format? *ret_format: of which; 0: it is no set's. */
bool udpai_set_has_own_format(udpai_str value, uint64_t *ret_format);

typedef struct udpai_set_search udpai_set_search;

typedef struct udpai_set_search_env {
    udpai_etcd *etcd;
    udpai_wheel *wheel;
    uint64_t (*random)(void *userdata);
    /* Once: the id, or why this node cannot be one of its replicas. */
    void (*found)(void *userdata, udpai_str id, const udpa_error *error);
    /* After each attempt at which etcd has not answered. */
    void (*waiting)(void *userdata, const udpa_error *why);
    void *userdata;
} udpai_set_search_env;

/* @p prefix: with a '/' at its end. @p node_id: which all replicas of the set have. */
udpa_err udpai_set_search_new(udpai_set_search **ret_search,
                              const udpai_set_search_env *env,
                              udpai_str prefix,
                              udpai_str node_id);
/* NULL does nothing. Returns NULL. Not from a callback. */
udpai_set_search *udpai_set_search_free(udpai_set_search *search);

/* ---- the key ---- */

#define UDPAI_SET_KEY "set" /* behind the prefix */

/* Its value for this set. NULL without memory. */
udpa_bytes *udpai_set_value(udpai_str id, udpai_str node_id);
/* Is that its value, for this set and in this format? */
bool udpai_set_is(udpai_str value, udpai_str id, udpai_str node_id);

#endif
