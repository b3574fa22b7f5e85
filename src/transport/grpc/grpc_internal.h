/* SPDX-License-Identifier: Apache-2.0 */
/* The stream thread's inside, for the files of this folder. Everything here belongs to the stream
 * thread, but where it is stated otherwise. */
#ifndef UDPAI_GRPC_INTERNAL_H
#define UDPAI_GRPC_INTERNAL_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <openssl/ssl.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/map.h"
#include "base/wheel.h"
#include "loop/inbox.h"
#include "session/spread.h"
#include "transport/admission.h"
#include "transport/grpc/backup_poller.h"
#include "transport/grpc/call.h"
#include "transport/grpc/channel.h"
#include "transport/grpc/connection.h"
#include "transport/grpc/stream.h"
#include "transport/grpc/surge.h"
#include "transport/grpc/turnstile.h"

#define UDPAI_LOG_GRPC "grpc"
/* Calls asked for in advance, of each listener and for all methods. */
#define UDPAI_ACCEPTS 32
/* Streams that are being refused with a status; more are cut without one. */
#define UDPAI_REFUSALS_MAX 1024
/* Taken from a stream that is not read. */
#define UDPAI_LOOKAHEAD_BYTES (256 << 10)
#define UDPAI_STATUS_TEXT_MAX 1000 /* bytes; it travels in a header */

/* ---- queue.c: operations that gRPC completes ---- */

/* Notes that an operation with this tag is about to begin. */
void udpai_tag_begin(udpai_stream_thread *thread, udpai_tag *tag);
/* It has not begun after all. */
void udpai_tag_forget(udpai_stream_thread *thread, udpai_tag *tag);
/* Waits for an operation to complete or a timer to be due, and handles it; with many streams, also
 * what else has completed. False: the queue was shut down and is empty. */
bool udpai_queue_turn(udpai_stream_thread *thread);
/* The loop was sent what it answers at once; it has answered. */
void udpai_queue_expect_order(udpai_stream_thread *thread);
void udpai_queue_has_orders(udpai_stream_thread *thread);

/* ---- completions.c: gRPC's queue, which has no descriptor, where the thread waits elsewhere ----
 */

/* A thread that waits for the queue, and has what completes handled by the stream thread. */
typedef struct udpai_completions udpai_completions;

udpa_err udpai_completions_new(udpai_completions **ret_completions, udpai_stream_thread *thread);
/* When the queue was shut down, and that was reported. */
udpai_completions *udpai_completions_free(udpai_completions *completions);
/* Handles what has completed; false: the queue was shut down and is empty. */
bool udpai_completions_take(udpai_completions *completions);

/* ---- credentials.c ---- */

typedef struct udpai_credentials {
    udpai_map all;     /* of udpai_credential */
    udpai_list queue;  /* those that are to be looked at, or that have bearers to be cut off */
    udpai_timer slice; /* set while there are any */
    udpai_intermediates known;
    udpai_log_limit log;
    uint64_t since_ms; /* of what is under way */
    size_t n_looked_at, n_cut_off;
    udpai_request request;
    atomic_bool is_asked; /* any thread */
} udpai_credentials;

void udpai_credentials_init(udpai_credentials *all);
/* When there are no bearers any more. */
void udpai_credentials_done(udpai_credentials *all);

/* From now on until it leaves, a bearer that is not good any more loses what it bears.
 * UDPA_ERR_UNAUTHENTICATED: it is not good now; then and on UDPA_ERR_NOMEM it bears nothing. */
udpa_err udpai_bearer_enter(udpai_stream_thread *thread,
                            udpai_bearer *bearer,
                            const udpai_presented *presented,
                            udpa_error **ret_error);
/* Also one that has not entered. */
void udpai_bearer_leave(udpai_bearer *bearer);

/* ---- the thread ---- */

struct udpai_stream_thread {
    pthread_t pthread;
    bool is_stop_asked; /* the owner's */

    udpai_hub *hub;
    udpai_wheel wheel;
    udpai_timer pause; /* set: no round of writing yet */
    udpai_grpc_method *methods;
    size_t n_methods;
    udpai_stream_limits limits;
    udpai_stream_timing timing;
    void (*report)(void *userdata, udpai_report *report);
    void (*stopped)(void *userdata);
    void *userdata;

    const udpai_acceptance *acceptance; /* NULL: gRPC listens */
    void *accepting;
    udpai_completions *completions; /* beside it */
    grpc_completion_queue *cq;
    udpai_backup_poller *backup_poller;
    grpc_channel *wake_channel;
    udpai_inbox orders, requests; /* any thread */
    udpai_wake orders_wake, requests_wake;
    udpai_request stop_request;
    udpa_error *stop_why;

    udpai_list streams;
    udpai_list listeners;
    const udpai_listener_kind *listener_kind; /* constant */
    size_t n_streams, n_listeners, n_refusals, n_tags;
    udpai_admission admission;
    udpai_connections connections;
    udpai_spread_side spread;
    udpai_timer spread_tick; /* set while streams are to be ended */
    size_t n_clients;        /* their streams, but those that are being ended */
    uint64_t random;         /* the last one */
    udpai_drain drain;
    size_t n_served;
    udpai_turnstile turnstile;
    udpai_surge surge;
    unsigned n_holds;
    uint64_t awake_until_ns; /* 0: nothing is waited for awake */
    unsigned n_rests;        /* publications with answers that are not waited for so */
    udpai_list health_watches;
    udpai_list bridges, due_bridges; /* the latter: written or finished */
    bool is_serving, is_stopping, is_queue_closed, shares_ports;
    udpai_credentials credentials;

    atomic_uint_fast64_t
        woken_ns; /* the last wait has ended; by udpai_monotonic_ns(); 0: it waits */
    atomic_size_t stat_streams, stat_refused, stat_tags, stat_cut_off, stat_too_large, stat_waited,
        stat_reserved, stat_clients, stat_served, stat_aged, stat_moved, stat_above_share;
    udpai_log_limit too_large_log;
};

/* thread.c: what others have sent to it is taken. */
void udpai_thread_woken(udpai_stream_thread *thread);
/* requests.c */
void udpai_thread_count(udpai_stream_thread *thread);
/* A stream or a listener has ended: is that all that the stop waited for? */
void udpai_thread_check_end(udpai_stream_thread *thread);
/* Has the request run on the stream thread; false: it has stopped, and nothing will run. */
bool udpai_thread_request(udpai_stream_thread *thread,
                          udpai_request *request,
                          void (*run)(udpai_request *request));

/* ---- round.c: writing ---- */

void udpai_rounds_init(udpai_stream_thread *thread);
/* Writes what there is to be written, unless that is to wait. */
void udpai_write_round(udpai_stream_thread *thread);

/* ---- server.c ---- */

extern const udpai_listener_kind udpai_grpc_listener_kind;

/* ---- bridge.c: sessions with a stream that is no call of gRPC ---- */

/* One that is zero. */
void udpai_bridge_init(udpai_bridge *bridge);
/* The hub has written a message, and it was taken, or could not be: that ends the session. */
void udpai_bridge_written(udpai_bridge *bridge, udpa_err err);
/* What it waits for may be over. */
void udpai_bridge_due(udpai_bridge *bridge);
/* For udpai_stream_ops. */
void udpai_bridge_stream_finish(udpai_stream *stream, const udpa_error *status);
/* Finishes its session, or what was to become one; consumes the error. */
void udpai_bridge_finish(udpai_bridge *bridge, udpa_error *error);
/* It is over, and may be freed after this. */
void udpai_bridge_end(udpai_bridge *bridge);
/* Goes on with bridges with a message that was taken, or that have ended; false: there were none.
 * After every udpai_hub_run(), and then that once more. */
bool udpai_bridges_settle(udpai_stream_thread *thread);
void udpai_bridges_finish(udpai_stream_thread *thread, const udpa_error *why);
void udpai_bridges_stop_dialling(udpai_stream_thread *thread, uint64_t link);

/* ---- polled.c ---- */

/* Takes the report, of a failure, over; false: there is no memory, and it does not. */
bool udpai_polled_dial(udpai_stream_thread *thread, const udpai_order *order, udpai_report *report);

/* ---- client.c ---- */

/* The end of a link that never had a session: reports it; takes the report and the error. */
void udpai_client_report_closed(udpai_stream_thread *thread,
                                udpai_report *report,
                                uint64_t link,
                                udpa_error *error);

/* ---- target.c, server_tls.c ---- */

/* Its server ends connections that are tried as often as this one is. */
void udpai_grpc_target_try_less(udpai_grpc_target *target);
udpai_trust *udpai_grpc_target_trust(const udpai_grpc_target *target);
/* Of a server that is polled; NULL: it is none. */
udpai_http_client *udpai_grpc_target_http_client(const udpai_grpc_target *target);

/* One listener's use of its certificate. */
typedef struct udpai_tls_user {
    udpai_server_tls *tls; /* NULL: plaintext */
    uint64_t version;      /* that gRPC has been given; under the mutex of tls */
} udpai_tls_user;

udpai_trust *udpai_server_tls_trust(const udpai_server_tls *tls);
/* Must a client present a certificate? NULL: it has none. */
bool udpai_server_tls_knows_clients(const udpai_server_tls *tls);
/* For handshakes that begin now; a reference; any thread. NULL: no memory. */
SSL_CTX *udpai_server_tls_context(udpai_server_tls *tls);
/* To be released by the caller; @p user must outlive the server. NULL: gRPC refuses it. */
grpc_server_credentials *udpai_server_tls_credentials(udpai_tls_user *user);

/* ---- slices.c ---- */

/* The message as gRPC needs it, without copying its larger parts; NULL without memory. */
grpc_byte_buffer *udpai_slices_from(const udpai_outgoing *message);

/* ---- address.c ---- */

/* Can a socket listen there? Reports why not. */
udpa_err udpai_address_probe(const char *address, bool is_shared, udpa_error **ret_error);

#endif
