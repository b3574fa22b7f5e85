/* SPDX-License-Identifier: Apache-2.0 */
/* etcd over gRPC: one thread, a connection to each member that is asked. Its callbacks run
 * there.
 *
 * Requests go to one member until it fails, then to the next. gRPC does not survive fork(). */
#ifndef UDPAI_ETCD_CLIENT_H
#define UDPAI_ETCD_CLIENT_H

#include "base/wheel.h"
#include "etcd/etcd.h"
#include "transport/tls_files.h"

#define UDPAI_ETCD_ENDPOINTS_MAX 16
#define UDPAI_ETCD_READ_TIMEOUT_MS 400
#define UDPAI_ETCD_WRITE_TIMEOUT_MS 500

typedef struct udpai_etcd_client udpai_etcd_client;

typedef struct udpai_etcd_client_options {
    const char *const *endpoints; /* HOST:PORT, as many as the cluster has members, or fewer */
    size_t n_endpoints;           /* 1 to UDPAI_ETCD_ENDPOINTS_MAX */
    const udpai_tls_files *tls;   /* NULL: plaintext; else its authorities are required */
    const char *server_name;      /* that certificates must have; NULL: the host of each endpoint */
    const char *user, *password;  /* NULL: none, or the certificate says who we are */
    uint64_t read_timeout_ms;     /* with each member; 0: the default */
    uint64_t write_timeout_ms;
} udpai_etcd_client_options;

/* Copies what it is given. Nothing is dialled before the first request. */
udpa_err udpai_etcd_client_new(udpai_etcd_client **ret_client,
                               const udpai_etcd_client_options *options,
                               udpa_error **ret_error);
/* Waits for the thread to end. Callbacks of what is under way are not called; NULL does nothing.
 * Not on the thread. Returns NULL. */
udpai_etcd_client *udpai_etcd_client_free(udpai_etcd_client *client);
UDPA_DEFINE_CLEANUP(udpai_etcd_client, udpai_etcd_client_free)

/* What to ask with; on the thread. */
udpai_etcd *udpai_etcd_client_etcd(udpai_etcd_client *client);
/* Timers that run on the thread, by udpai_monotonic_ms(); on the thread. */
udpai_wheel *udpai_etcd_client_wheel(udpai_etcd_client *client);

/* Something to be run on the thread. */
typedef struct udpai_etcd_task {
    udpai_list node;
    void (*run)(struct udpai_etcd_task *task);
} udpai_etcd_task;

/* Any thread; in the order of the calls. False: it is being freed, and will not run. */
bool udpai_etcd_client_run(udpai_etcd_client *client, udpai_etcd_task *task);
/* Other credentials, for what is dialled or authenticated from now on; any thread. */
udpa_err udpai_etcd_client_set_password(udpai_etcd_client *client, const char *password);
udpa_err udpai_etcd_client_replace_tls(udpai_etcd_client *client,
                                       const udpai_tls_files *files,
                                       udpa_error **ret_error);

#endif
