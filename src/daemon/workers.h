/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a node: processes of the same program that serve its sockets, each with a stream
 * side of its own. They begin and end with the node; if one is lost, the node ends too, so that its
 * supervisor starts all of it anew: what streams it had are closed, and what the others have is
 * kept by the store.
 *
 * All of it belongs to the loop's thread. */
#ifndef UDPAI_WORKERS_H
#define UDPAI_WORKERS_H

#include "daemon/options.h"
#include "daemon/plan.h"

typedef struct udpai_workers udpai_workers;

typedef struct udpai_workers_env {
    uv_loop_t *loop;
    const udpai_plan *plan;
    const udpai_options *options;
    /* One was lost; at most once. */
    void (*lost)(void *userdata, const udpa_error *why);
    struct udpai_liveness *liveness; /* notes that they turn; borrowed */
    void *userdata;
} udpai_workers_env;

/* Starts them; nothing is served before udpai_workers_listen(). */
udpa_err udpai_workers_open(udpai_workers **ret_workers,
                            const udpai_workers_env *env,
                            udpa_error **ret_error);
/* Reserves the addresses, and has all workers listen there: runs the loop until they do. The ports
 * are those of the plan's sockets, in their order. */
udpa_err udpai_workers_listen(udpai_workers *workers,
                              udpa_endpoint *endpoint,
                              int *ret_ports,
                              udpa_error **ret_error);
/* Hands an order on: udpai_endpoint_settings.order_worker; @p userdata: the workers. */
void udpai_workers_order(void *userdata, size_t worker, const udpai_order *order);
/* udpai_endpoint_settings.serve_workers, with the same @p userdata. */
void udpai_workers_serve(void *userdata, bool is_serving);
/* There are other certificates. NULL is fine, as below. */
void udpai_workers_read_certificates(udpai_workers *workers);
void udpai_workers_reopen_log(udpai_workers *workers);
/* The runtime has other values for a node: udpai_tunables_encode(). */
void udpai_workers_switch(udpai_workers *workers, udpai_str switches);

/* They accept nothing, since another process does; or accept again. */
void udpai_workers_mute(udpai_workers *workers, bool is_muted);

/* The bootstrap file was read again, and is this one now, packed. */
void udpai_workers_take_bootstrap(udpai_workers *workers, const udpa_bytes *packed);

typedef struct udpai_worker_facts {
    size_t number;
    int pid;            /* 0: it has ended */
    udpai_str readings; /* what it has counted: udpai_readings_decode() */
    bool is_up;         /* it has sent that not long ago */
} udpai_worker_facts;

/* Each worker, from *at = 0 on, as long as the loop does not turn. False: there are no more. NULL:
 * there are none. */
bool udpai_workers_next(const udpai_workers *workers, size_t *at, udpai_worker_facts *ret_facts);
/* Hangs up, and frees when the last one has ended; the loop runs until then. */
void udpai_workers_close(udpai_workers *workers);

#endif
