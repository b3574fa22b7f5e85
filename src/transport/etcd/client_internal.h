/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the client. All of it belongs to the client's thread, but what client.h says of any
 * thread. */
#ifndef UDPAI_ETCD_CLIENT_INTERNAL_H
#define UDPAI_ETCD_CLIENT_INTERNAL_H

#include "base/awake_clock.h"
#include "etcd/messages.h"
#include "loop/inbox.h"
#include "transport/etcd/client.h"
#include "transport/grpc/channel.h"

#define UDPAI_LOG_ETCD "etcd"
/* A page of keys, or the fragment of a change. */
#define UDPAI_ETCD_RESPONSE_MAX ((size_t)64 * 1024 * 1024)

/* ---- members.c: members, the queue, the token ---- */

typedef struct udpai_etcd_member {
    udpai_grpc_target *target;
    grpc_channel *channel; /* NULL: it is dialled anew */
} udpai_etcd_member;

typedef struct udpai_etcd_auth {
    char *user, *password;      /* NULL: none; the latter under the mutex of the client */
    udpa_bytes *token;          /* NULL: none; with a NUL */
    struct udpai_etcd_rpc *rpc; /* not NULL: it is asked for */
    udpai_list waiting;         /* of udpai_etcd_waiter */
} udpai_etcd_auth;

struct udpai_etcd_client {
    udpai_etcd etcd;
    pthread_t thread;
    pthread_mutex_t mutex;
    udpai_wheel wheel;
    udpai_awake_clock clock; /* of the wheel */
    grpc_completion_queue *cq;
    grpc_channel *wake_channel;
    udpai_inbox tasks; /* any thread */
    udpai_wake wake;
    udpai_etcd_task stop;

    udpai_etcd_member members[UDPAI_ETCD_ENDPOINTS_MAX];
    size_t n_members, current;
    udpai_etcd_auth auth;
    uint64_t read_timeout_ms, write_timeout_ms;
    udpai_arena arena; /* of the response that is read */
    udpai_list requests, watches, rpcs;
    size_t n_out; /* tags in the queue */
    bool is_stopping, is_queue_closed;
};

/* Begins a batch with this tag. */
bool udpai_etcd_client_batch(
    udpai_etcd_client *client, grpc_call *call, const grpc_op *ops, size_t n_ops, udpai_tag *tag);
/* A tag has come out of the queue; first of all in its function. */
void udpai_etcd_client_tag_done(udpai_etcd_client *client);
/* Something has ended: is that all that the end of the client waited for? */
void udpai_etcd_client_check_end(udpai_etcd_client *client);
/* To be destroyed by the caller. */
grpc_byte_buffer *udpai_etcd_message(const udpa_bytes *bytes);
/* The connection to this member. */
grpc_channel *udpai_etcd_client_channel(udpai_etcd_client *client, size_t member);
const char *udpai_etcd_client_address(const udpai_etcd_client *client, size_t member);
/* It is dialled anew; calls that are under way go on. */
void udpai_etcd_member_drop_channel(udpai_etcd_member *member);
/* Others are asked first. */
void udpai_etcd_client_pass_over(udpai_etcd_client *client, size_t member);
/* It has not answered: it is dialled anew, and others are asked first. */
void udpai_etcd_client_member_failed(udpai_etcd_client *client, size_t member);

/* The token is not valid any more; another is asked for. */
void udpai_etcd_auth_drop(udpai_etcd_client *client);
/* Adds it to the headers of a call; how many it has added. */
size_t udpai_etcd_auth_headers(const udpai_etcd_client *client, grpc_metadata *headers);

/* ---- outcome.c: what the end of a call means ---- */

typedef struct udpai_etcd_end {
    const char *address;
    bool is_sent; /* the member may have read the request */
    bool is_read; /* which changes nothing */
    uint64_t timeout_ms;
    grpc_status_code code;
    udpai_str text;
} udpai_etcd_end;

/* @p ret_error: an error of the caller's, NULL: DONE. */
udpai_etcd_outcome udpai_etcd_outcome_of(const udpai_etcd_end *end, udpa_error **ret_error);
/* Must we authenticate (again)? Then it was not done. */
bool udpai_etcd_end_lacks_token(const udpai_etcd_end *end);
/* Is another member worth asking? */
bool udpai_etcd_end_blames_member(const udpai_etcd_end *end);
/* The revision that was asked for is compacted away. */
bool udpai_etcd_end_is_compacted(const udpai_etcd_end *end);
/* It is still to come. */
bool udpai_etcd_end_is_future(const udpai_etcd_end *end);

/* ---- rpc.c: one request to one member, and one response ---- */

typedef struct udpai_etcd_rpc udpai_etcd_rpc;

struct udpai_etcd_rpc {
    udpai_etcd_client *client;
    udpai_list node;
    size_t member;
    /* It is over, and is freed after this. */
    void (*ended)(udpai_etcd_rpc *rpc);
    void *context;
    grpc_call *call;
    grpc_byte_buffer *request, *response; /* the latter NULL: none */
    udpai_tag headers, message, end;
    unsigned n_out;
    bool is_sent, is_ok;
    uint64_t timeout_ms;
    grpc_metadata sent_headers[1];
    grpc_metadata_array received_headers, received_trailers;
    grpc_status_code code;
    grpc_slice text;
};

typedef struct udpai_etcd_method {
    const char *path; /* static */
    uint64_t timeout_ms;
    void (*ended)(udpai_etcd_rpc *rpc);
} udpai_etcd_method;

/* Of the present member, with the token, if there is one. NULL without memory. */
udpai_etcd_rpc *udpai_etcd_rpc_begin(udpai_etcd_client *client,
                                     const udpai_etcd_method *method,
                                     udpa_bytes *request,
                                     void *context);
/* It will end soon, and say so. */
void udpai_etcd_rpc_cancel(udpai_etcd_rpc *rpc);
/* For udpai_etcd_outcome_of(). */
udpai_etcd_end udpai_etcd_rpc_end(const udpai_etcd_rpc *rpc, bool is_read);

/* ---- auth.c: the token ---- */

/* Something that waits for the token. */
typedef struct udpai_etcd_waiter {
    udpai_list node;
    /* There is one, or @p error says why not, with the outcome. */
    void (*go_on)(struct udpai_etcd_waiter *waiter,
                  udpai_etcd_outcome outcome,
                  const udpa_error *error);
} udpai_etcd_waiter;

/* False: nothing need be waited for. */
bool udpai_etcd_auth_wait(udpai_etcd_client *client, udpai_etcd_waiter *waiter);
/* ---- request.c, watch.c: as udpai_etcd_ops has them ---- */

udpa_err
udpai_etcd_client_range(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_range *range);
udpa_err udpai_etcd_client_txn(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_txn *txn);
udpa_err udpai_etcd_client_lease_grant(udpai_etcd *etcd, udpai_etcd_call *call, int64_t ttl_s);
udpa_err udpai_etcd_client_lease_keep_alive(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease);
udpa_err udpai_etcd_client_lease_revoke(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease);
udpa_err udpai_etcd_client_status(udpai_etcd *etcd, udpai_etcd_call *call);
void udpai_etcd_client_cancel(udpai_etcd *etcd, udpai_etcd_call *call);
void udpai_etcd_requests_stop(udpai_etcd_client *client);

udpa_err udpai_etcd_client_watch(
    udpai_etcd *etcd, udpai_etcd_watch *watch, udpai_str key, udpai_str end, int64_t revision);
void udpai_etcd_client_ask_progress(udpai_etcd *etcd, udpai_etcd_watch *watch);
void udpai_etcd_client_unwatch(udpai_etcd *etcd, udpai_etcd_watch *watch);
void udpai_etcd_watches_stop(udpai_etcd_client *client);

#endif
