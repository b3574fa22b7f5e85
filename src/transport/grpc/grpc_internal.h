/* SPDX-License-Identifier: Apache-2.0 */
/* The stream thread's inside, for the files of this folder. Everything here belongs to the stream
 * thread, but where it is stated otherwise. */
#ifndef UDPAI_GRPC_INTERNAL_H
#define UDPAI_GRPC_INTERNAL_H

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <stdatomic.h>

#include "base/log.h"
#include "base/map.h"
#include "base/wheel.h"
#include "loop/inbox.h"
#include "session/spread.h"
#include "transport/admission.h"
#include "transport/grpc/backup_poller.h"
#include "transport/grpc/channel.h"
#include "transport/grpc/connection.h"
#include "transport/grpc/stream_thread.h"
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

/* What a peer has presented, and where. */
typedef struct udpai_presented {
    udpai_trust *trust; /* NULL: the handshake is enough */
    udpai_chain *chain; /* NULL: nothing */
    bool is_server;     /* we dialled */
} udpai_presented;

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

    grpc_completion_queue *cq;
    udpai_backup_poller *backup_poller;
    grpc_channel *wake_channel;
    udpai_inbox orders, requests; /* any thread */
    udpai_wake orders_wake, requests_wake;
    udpai_request stop_request;
    udpa_error *stop_why;

    udpai_list streams;
    udpai_list listeners;
    size_t n_streams, n_listeners, n_refusals, n_tags;
    udpai_admission admission;
    udpai_connections connections;
    udpai_spread_side spread;
    udpai_timer spread_tick; /* set while streams are to be ended */
    size_t n_clients;        /* their streams, but those that are being ended */
    uint64_t random;         /* the last one */
    udpai_turnstile turnstile;
    udpai_surge surge;
    unsigned n_holds;
    uint64_t awake_until_ns; /* 0: nothing is waited for awake */
    unsigned n_rests;        /* publications with answers that are not waited for so */
    udpai_list health_watches;
    udpai_list bridges, due_bridges; /* the latter: written or finished */
    bool is_serving, is_stopping, is_queue_closed, shares_ports;
    udpai_credentials credentials;

    atomic_size_t stat_streams, stat_refused, stat_tags, stat_cut_off, stat_too_large, stat_waited,
        stat_reserved, stat_clients, stat_aged, stat_moved, stat_above_share;
    udpai_log_limit too_large_log;
};

/* thread.c */
void udpai_thread_count(udpai_stream_thread *thread);
/* A stream or a listener has ended: is that all that the stop waited for? */
void udpai_thread_check_end(udpai_stream_thread *thread);
/* Has the request run on the stream thread; false: it has stopped, and nothing will run. */
bool udpai_thread_request(udpai_stream_thread *thread,
                          udpai_request *request,
                          void (*run)(udpai_request *request));

/* ---- stream.c: one call, dialled or accepted, as a sequence of messages ---- */

/* What reads from it and writes to it. */
typedef struct udpai_stream_handler {
    void (*receive)(udpai_stream *stream, udpai_str message);
    /* The last message was written, there may be another. NULL: it is not reported. */
    void (*written)(udpai_stream *stream);
    /* The peer will send no more, but goes on reading. */
    void (*ended)(udpai_stream *stream);
    /* The stream is over and is freed after this. @p why: NULL for a normal end. */
    void (*closed)(udpai_stream *stream, const udpa_error *why);
} udpai_stream_handler;

/* What only those streams have that we dialled. */
typedef struct udpai_dialled {
    uint64_t link;
    bool is_source, is_hurried;
    udpai_grpc_target *target;
    unsigned server; /* of the target */
    grpc_channel *channel;
    bool is_connected, is_given_up, asked_for_headers;
    udpai_report *report; /* of a failure; made in time */
    grpc_metadata_array headers, trailers;
    grpc_status_code code;
    grpc_slice text;
} udpai_dialled;

/* When nothing but acknowledgements is expected, reading waits for the next message that is written
 * (delayed_read.c). */
typedef struct udpai_delayed_read {
    udpai_timer timer; /* set while it waits: so long at most */
    unsigned n_unread; /* messages that were written, and not acknowledged */
    bool is_idle;      /* nothing was written since it has waited for long */
    bool is_busy;      /* many messages were written in the last stretch of time */
    bool is_held;      /* the socket is held back, too */
    size_t n_bytes;    /* written since then */
    unsigned n_written;
    uint64_t since_ms; /* n_written counts */
} udpai_delayed_read;

struct udpai_stream {
    udpai_stream_thread *thread;
    udpai_list node;
    grpc_call *call;
    const udpai_stream_handler *handler; /* NULL: nobody */
    void *context;                       /* the handler's */
    udpai_tag read_tag, write_tag, end_tag;
    grpc_byte_buffer *received;
    size_t max_message_bytes; /* that it may receive at a time */
    udpai_timer deadline;     /* of dialling, of finishing; before that, of an accepted one's age */
    udpai_delayed_read delayed;
    udpai_turn turn;
    udpai_connection *connection; /* that an accepted one has come by; NULL: not known */
    bool is_reading;
    bool peer_has_ended;   /* nothing can be read any more */
    bool is_finishing;     /* we have ended it */
    bool is_broken;        /* nothing can be written any more */
    bool has_sent_headers; /* of peers that dialled us */
    bool has_sent_status;  /* or the end of what we write, if we dialled */
    bool asked_for_end;
    udpa_error *status;     /* we have ended it with; NULL: OK */
    udpa_error *why;        /* it has ended */
    udpai_dialled *dialled; /* NULL: the peer dialled us */
    udpai_listener *listener;
    udpai_list in_listener;
    udpai_admitted *admitted;
    udpai_bearer bearer;
    bool is_refusal;
    bool is_client; /* and counted as one */
    uint32_t
        pushback_ms;  /* it was rejected, and its client is to wait so long; 0: that is not sent */
    bool is_secure;   /* nobody else can read it */
    int is_cancelled; /* for gRPC to write to */
};

/* Consumes the call, unless it returns NULL for lack of memory. */
udpai_stream *udpai_stream_new(udpai_stream_thread *thread, grpc_call *call);
/* Gives it a handler and begins to read. */
void udpai_stream_open(udpai_stream *stream, const udpai_stream_handler *handler, void *context);
bool udpai_stream_start(udpai_stream *stream, const grpc_op *ops, size_t n_ops, udpai_tag *tag);
void udpai_stream_write(udpai_stream *stream, const udpai_outgoing *message);
void udpai_stream_set_reading(udpai_stream *stream, bool reading);
void udpai_stream_finish(udpai_stream *stream, const udpa_error *status);
/* Ends it, and reports that: it has sent so much. */
void udpai_stream_refuse_size(udpai_stream *stream, size_t size);
/* The same: so much of a message that is not complete, and all such are too many; */
void udpai_stream_refuse_load(udpai_stream *stream, uint64_t size);
/* or others wait, and it does not go on. */
void udpai_stream_refuse_stall(udpai_stream *stream, uint64_t size, unsigned seconds);
/* Asks for the end, reads if it may: after whatever changed the stream. */
void udpai_stream_arm(udpai_stream *stream);
/* Frees it if nothing is outstanding any more. */
void udpai_stream_settle(udpai_stream *stream);

extern const udpai_stream_ops udpai_grpc_stream_ops;

/* ---- round.c: writing ---- */

void udpai_rounds_init(udpai_stream_thread *thread);
/* Writes what there is to be written, unless that is to wait. */
void udpai_write_round(udpai_stream_thread *thread);

/* ---- spread.c: streams of clients that go to other replicas, and old ones ---- */

void udpai_spread_init(udpai_stream_thread *thread);
/* UDPAI_ORDER_SPREAD */
void udpai_spread_obey(udpai_stream_thread *thread, const udpai_order *order);
/* An accepted stream of a method that is served. */
void udpai_spread_enter(udpai_stream *stream, const udpai_grpc_method *method);
/* Its client is known. UDPA_ERR_UNAVAILABLE: it is to go elsewhere, and has been made to. */
udpa_err udpai_spread_check(udpai_stream *stream, uint64_t client, udpa_error **ret_error);
/* It is being ended, or is over. */
void udpai_spread_leave(udpai_stream *stream);
/* It has begun: it gets older from now on. */
void udpai_spread_begin_age(udpai_stream *stream);
/* One has its age, and is ended. */
void udpai_spread_count_old(udpai_stream_thread *thread);

/* ---- delayed_read.c: delayed reading ---- */

void udpai_delayed_read_init(udpai_stream *stream);
/* Nothing waits any more; streams that are to be read may be. */
void udpai_delayed_read_end(udpai_stream *stream);
/* A message was read: may the next one wait? */
void udpai_delayed_read_consider(udpai_stream *stream);
/* A message was written, of so many bytes: what may have come is to be read. */
void udpai_delayed_read_written(udpai_stream *stream, size_t size, bool is_answered);
bool udpai_is_read_delayed(const udpai_stream *stream);

/* ---- session_stream.c ---- */

/* Begins a session of this method on the stream. Of an accepted one, the identity is given. */
udpa_err udpai_session_stream_open(udpai_stream *stream,
                                   const udpai_grpc_method *method,
                                   udpai_identity *identity,
                                   udpa_error **ret_error);
/* The stream's session; NULL: it has none. */
udpai_session *udpai_session_of_stream(const udpai_stream *stream);

/* ---- server.c ---- */

void udpai_listeners_begin_close(udpai_stream_thread *thread, const udpa_error *why);
/* A stream of it has ended. */
void udpai_listener_check_end(udpai_listener *listener);

/* ---- service.c: the methods that there are ---- */

/* Begins whatever is served at this path, or fails with words that name what there is. */
udpa_err udpai_service_open(udpai_stream *stream,
                            udpai_str path,
                            udpai_identity *identity,
                            udpa_error **ret_error);
bool udpai_service_exists(const udpai_stream_thread *thread, udpai_str service);
/* Calls @p visit with the name of each service, once. */
void udpai_service_visit(const udpai_stream_thread *thread,
                         void (*visit)(void *userdata, udpai_str service),
                         void *userdata);

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

void udpai_client_dial(udpai_stream_thread *thread, udpai_order *order);
void udpai_client_stop_dialling(udpai_stream_thread *thread, uint64_t link);
/* The headers of the call were sent, or could not be. */
void udpai_client_connected(udpai_stream *stream, bool ok);
/* How long an attempt may take. */
uint64_t udpai_client_patience_ms(const udpai_stream *stream);
void udpai_client_give_up(udpai_stream *stream, grpc_status_code code, const char *why);
/* The end of a stream that never had a session: reports it. */
void udpai_client_closed(udpai_stream *stream);
/* The same of a link; takes the report and the error. */
void udpai_client_report_closed(udpai_stream_thread *thread,
                                udpai_report *report,
                                uint64_t link,
                                udpa_error *error);
/* Its status, as an error; NULL: OK. */
udpa_error *udpai_client_why(const udpai_stream *stream);

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
/* To be released by the caller; @p user must outlive the server. NULL: gRPC refuses it. */
grpc_server_credentials *udpai_server_tls_credentials(udpai_tls_user *user);

/* ---- peer.c ---- */

/* The identity of the peer of this stream's call, by its certificate (NULL: it has none), and that
 * it counts as long as the stream lasts. UDPA_ERR_UNAUTHENTICATED: it has none. */
udpa_err udpai_stream_know_peer(udpai_stream *stream,
                                udpai_trust *trust,
                                udpai_identity **ret_identity,
                                udpa_error **ret_error);
/* Its address, for people: 192.0.2.1:4242, [2001:db8::1]:4242. NULL without memory. */
udpa_bytes *udpai_call_address(grpc_call *call);

/* ---- slices.c ---- */

/* The message as gRPC needs it, without copying its larger parts; NULL without memory. */
grpc_byte_buffer *udpai_slices_from(const udpai_outgoing *message);

/* ---- address.c ---- */

/* Can a socket listen there? Reports why not. */
udpa_err udpai_address_probe(const char *address, bool is_shared, udpa_error **ret_error);

/* ---- health.c, reflection.c ---- */

udpa_err udpai_health_check_open(udpai_stream *stream, udpa_error **ret_error);
udpa_err udpai_health_watch_open(udpai_stream *stream, udpa_error **ret_error);
/* is_serving has changed. */
void udpai_health_notify(udpai_stream_thread *thread);
udpa_err udpai_reflection_open(udpai_stream *stream, udpa_error **ret_error);

#endif
