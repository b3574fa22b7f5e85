/* SPDX-License-Identifier: Apache-2.0 */
/* A udpai_replication on etcd: the client's thread, with a replicator on it. */
#ifndef UDPAI_ETCD_REPLICATION_H
#define UDPAI_ETCD_REPLICATION_H

#include "replica/replicator.h"
#include "replica/set.h"
#include "store/replication.h"
#include "transport/etcd/client.h"

/* All copied, but what `seals` refers to. */
typedef struct udpai_etcd_replication_options {
    udpai_etcd_client_options client;
    const char *prefix; /* without a '/' at its end */
    /* Which one this is: no two have the same id; and what else the others are told. */
    udpai_replica_description own;
    udpai_record_seals seals;
} udpai_etcd_replication_options;

/* Its functions are called on one thread, the caller's. */
udpa_err udpai_etcd_replication_new(udpai_replication **ret_replication,
                                    const udpai_etcd_replication_options *options,
                                    udpa_error **ret_error);

/* Which set it is; asked for before the start, if at all. */
typedef struct udpai_etcd_set_request {
    udpai_str node_id;
    /* Once, on the thread of etcd: the id, or why this node cannot be one of the replicas. */
    void (*found)(void *userdata, udpai_str id, const udpa_error *error);
    void *userdata;
} udpai_etcd_set_request;

udpa_err udpai_etcd_replication_find_set(udpai_replication *replication,
                                         const udpai_etcd_set_request *request);

/* For what is dialled, or authenticated, from now on. */
udpa_err udpai_etcd_replication_replace_tls(udpai_replication *replication,
                                            const udpai_tls_files *files,
                                            udpa_error **ret_error);
udpa_err udpai_etcd_replication_set_password(udpai_replication *replication, const char *password);
/* The digest of its configuration, for the others: it has changed. UDPA_ERR_NOMEM */
udpa_err udpai_etcd_replication_set_config(udpai_replication *replication, udpai_str config);

/* After the keys behind `seals` have changed. @p key_ids: of all, for the other replicas.
 * UDPA_ERR_NOMEM: what could not be decrypted waits until the next call. */
udpa_err udpai_etcd_replication_set_keys(udpai_replication *replication, udpai_str key_ids);

/* Begins to seal secrets with the first key; does nothing while that is under way.
 * UDPA_ERR_NOMEM */
udpa_err udpai_etcd_replication_reseal(udpai_replication *replication);
/* Of the last time; zeroes: there was none. */
udpai_reseal_progress udpai_etcd_replication_resealing(udpai_replication *replication);

#endif
