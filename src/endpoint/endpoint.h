/* SPDX-License-Identifier: Apache-2.0 */
/* A node put together: its two halves (federation/node.h, transport/grpc/stream_thread.h), the loop
 * between them, and the engine that keeps what must be kept. The public endpoint is one, and so is
 * udpad, which adds protocols, files and storage of its own.
 *
 * All of it belongs to the loop's thread. */
#ifndef UDPAI_ENDPOINT_H
#define UDPAI_ENDPOINT_H

#include <udpa/endpoint.h>

#include "endpoint/check_planner.h"
#include "endpoint/host.h"
#include "endpoint/inspection.h"
#include "endpoint/load_upstreams.h"
#include "endpoint/orca_collector.h"

/* Everything borrowed for the call, except what methods refer to. */
typedef struct udpai_endpoint_settings {
    udpai_node_config node; /* is_durable: an engine will be attached */
    bool has_replicas;      /* and a replication, too */
    /* Of the clients' streams it takes new ones even if it has more than its share. */
    bool accepts_above_share;
    udpai_node_info *info;
    udpai_fanout_options fanout;
    /* Which changes wait before clients are sent them; outlives the endpoint. */
    udpai_debounce_rules *debounce;   /* NULL: nothing waits */
    const udpai_grpc_method *methods; /* besides UDPA */
    size_t n_methods;
    udpai_stream_limits limits;
    udpai_stream_timing timing;
    const udpai_acceptance *acceptance; /* NULL: sockets are served by gRPC's library */
    bool serves_status;                 /* resources of udpa.status.v1 in the namespace udpa.node */
    const udpai_check_rule *check_rules; /* of namespaces in which checks are computed */
    size_t n_check_rules;
    uint64_t load_interval_ms; /* load is added up, of clients that report so often; 0: it is not */
    /* The clients that are served are reported to peers that subscribe to that, and what was
     * reported holds so long after; 0: they are not reported. */
    uint64_t client_ttl_ms;
    /* Clusters below these prefixes: sources are sent aggregates alone; outlives the endpoint. */
    const udpai_str *aggregated;
    size_t n_aggregated;
    /* Servers that it is reported to. */
    const udpai_load_upstream_config *load_upstreams;
    size_t n_load_upstreams;
    /* Further fields of the node's status, serialised; NULL without memory. NULL: there are none.
     */
    udpa_bytes *(*describe_more)(const void *userdata);
    const void *describe_userdata; /* outlives the endpoint */
    udpai_orca_rules orca;         /* which clients may have the load of backends asked for */
    const udpai_topics *topics;    /* of events; outlive the endpoint; NULL: there are none */
    const char *version;
    const char *name_space;    /* of names without one, for its status; NULL: none */
    udpai_inspector inspector; /* without inspect(): none */
    /* Other processes that have stream sides of this endpoint, counted from 1
     * (session/worker_pool.h). */
    size_t n_workers;
    /* Hands an order on; it is valid until this returns. On the loop. */
    void (*order_worker)(void *userdata, size_t worker, const udpai_order *order);
    /* All workers: the answer to health checks. */
    void (*serve_workers)(void *userdata, bool is_serving);
    void *workers_userdata;
} udpai_endpoint_settings;

/* The settings of a node without any sources, with every limit and time at its default. */
void udpai_endpoint_settings_init(udpai_endpoint_settings *settings);

/* What a stream side reports to, and what it does not have in common with others of its endpoint.
 */
typedef struct udpai_streams_env {
    void (*report)(void *userdata, udpai_report *report); /* on the stream thread; takes it */
    void (*stopped)(void *userdata);                      /* on the stream thread */
    void *userdata;
    uint64_t first_session, session_step; /* see session/hub.h */
    bool shares_ports;
    bool is_worker; /* see session/hub.h */
} udpai_streams_env;

udpa_err udpai_endpoint_make_streams(udpai_stream_thread **ret_streams,
                                     const udpai_endpoint_settings *settings,
                                     const udpai_streams_env *env,
                                     udpa_error **ret_error);

/* Begins the stream thread, but nothing is dialled before udpai_endpoint_start(). */
udpa_err udpai_endpoint_new(udpa_endpoint **ret_endpoint,
                            uv_loop_t *loop,
                            const udpai_endpoint_settings *settings,
                            udpa_error **ret_error);

/* Takes in what the engine kept, and commits to it from now on. The engine is the endpoint's, and
 * reports to it. */
udpa_err udpai_endpoint_attach(udpa_endpoint *endpoint,
                               udpai_durable_engine *engine,
                               udpa_error **ret_error);

/* Goes on with what replicas have committed, from where the engine's contents end; after
 * udpai_endpoint_attach(), and with a set_id in the node's settings. The replication is the
 * endpoint's, and reports to it. */
udpa_err udpai_endpoint_replicate(udpa_endpoint *endpoint, udpai_replication *replication);
/* Has it something of what they have committed? Else clients would be sent that nothing is there;
 * the loop must run for it to change. */
bool udpai_endpoint_is_replicated(const udpa_endpoint *endpoint);
/* Had it something of that when it was opened? Then it may serve at once. */
/* It has what an etcd has that there is not: to be called before udpai_endpoint_replicate(). */
void udpai_endpoint_assume_position(udpa_endpoint *endpoint);
bool udpai_endpoint_has_position(const udpa_endpoint *endpoint);
/* How the hold of an etcd that has another state than before is to end. UDPA_ERR_PRECONDITION: this
 * node does not hold, or has no replicas. */
udpa_err udpai_endpoint_answer_hold(udpa_endpoint *endpoint,
                                    udpai_hold_answer answer,
                                    udpa_error **ret_error);
/* Has it read all that they have committed, since it was opened? */
bool udpai_endpoint_has_listed(const udpa_endpoint *endpoint);
/* May load balancers send clients to it? *ret_why: why not; borrowed. The answer to health checks
 * follows this by itself. */
bool udpai_endpoint_is_ready(const udpa_endpoint *endpoint, const udpa_error **ret_why);
/* Health checks are answered by NOT_SERVING, even if it is ready by that; until it is taken back.
 */
void udpai_endpoint_hold_back(udpa_endpoint *endpoint, bool is_held_back);
/* Has it a place among its replicas? A node without any has. */
udpai_membership udpai_endpoint_membership(const udpa_endpoint *endpoint);

/* It will be closed: what has come from clients, and waits to be passed on, is passed on at once.
 * False: there is nothing of that kind, so the caller need not wait. */
bool udpai_endpoint_hand_on(udpa_endpoint *endpoint);
/* Goes on with the sums of load that are kept in this file, and keeps them there. Before the start.
 * UDPA_ERR_NOMEM */
udpa_err udpai_endpoint_keep_load(udpa_endpoint *endpoint, const char *path, udpai_str owner);

/* It is to end: streams that others have opened are ended evenly over this time, and new ones are
 * rejected. Workers do the same. UDPA_ERR_NOMEM */
udpa_err udpai_endpoint_drain(udpa_endpoint *endpoint, uint64_t over_ms);

/* ---- another process takes its place (docs/design/restart.md) ----
 *
 * Each may be taken back, if that process fails. */

/* Notified of what is committed to the engine. */
typedef struct udpai_commit_tap {
    void (*begun)(void *userdata, const udpai_durable_batch *batch, uint64_t ticket);
    void (*ended)(void *userdata, uint64_t ticket, udpa_err result); /* in the same order */
    void *userdata;
} udpai_commit_tap;

/* From now on; NULL: nobody is. */
void udpai_endpoint_tap_commits(udpa_endpoint *endpoint, const udpai_commit_tap *tap);
/* What that process has committed: the streams that are left here are sent it. PUT or DELETE. */
udpa_err udpai_endpoint_follow(udpa_endpoint *endpoint, const udpai_durable_op *op);
/* What peers report waits, and with it what they publish; what is sent to them goes on. */
void udpai_endpoint_pause(udpa_endpoint *endpoint, bool is_paused);
/* Ends the streams by which peers bring something, and takes no new ones; those of clients of xDS
 * stay. What is published is not judged any more. UDPA_ERR_NOMEM: nothing has changed. */
udpa_err udpai_endpoint_leave_peers(udpa_endpoint *endpoint, bool leaves);
/* Ends the streams to its sources, and those by which load is reported, and dials none. What
 * sources have brought stays. */
void udpai_endpoint_leave_sources(udpa_endpoint *endpoint, bool leaves);

void udpai_endpoint_start(udpa_endpoint *endpoint);

/* The problems in the node's status; replaces those before. Copies the texts; without memory some
 * are left out. */
void udpai_endpoint_set_problems(udpa_endpoint *endpoint, const char *const *texts, size_t n);

/* Replaces the rules, for publications and for what peers may see. UDPA_ERR_NOMEM: those before
 * still hold. */
udpa_err udpai_endpoint_set_acl(udpa_endpoint *endpoint, udpai_acl *acl);

/* Takes what a worker reports. */
void
udpai_endpoint_take_worker_report(udpa_endpoint *endpoint, size_t worker, udpai_report *report);

/* Other keys, and requirements of signatures, hold from now on. */
void udpai_endpoint_set_keyring(udpa_endpoint *endpoint, udpai_keyring *keyring);

/* What is called on udpai_endpoint_node() and udpai_endpoint_streams() must be followed by
 * udpai_endpoint_touch() (service.h). */

#endif
