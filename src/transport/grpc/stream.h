/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of messages, and a listener, whatever carries them: a call of gRPC's library (call.h),
 * or a stream of the front door (front.h). Everything here belongs to the stream thread, but where
 * it is stated otherwise. */
#ifndef UDPAI_STREAM_H
#define UDPAI_STREAM_H

#include "base/wheel.h"
#include "transport/admission.h"
#include "transport/grpc/listener.h"

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

/* What carries it. None of these calls its handler before it returns. */
typedef struct udpai_carrier {
    /* It has a handler from now on: it is read. */
    void (*begin)(udpai_stream *stream);
    /* As in udpai_stream_ops. */
    void (*write)(udpai_stream *stream, const udpai_outgoing *message);
    void (*set_reading)(udpai_stream *stream, bool reading);
    void (*finish)(udpai_stream *stream, const udpa_error *status);
    /* It was finished: its peer has so long to take that, else it is cut. */
    void (*hurry)(udpai_stream *stream, uint64_t ms);
    /* At once, and its peer is sent no status. */
    void (*cut)(udpai_stream *stream);
    /* Only this stream has come by its connection; true also if that is not known. */
    bool (*is_alone)(const udpai_stream *stream);
    /* Both have come by one connection. */
    bool (*is_beside)(const udpai_stream *stream, const udpai_stream *other);
    /* Once its last stream has ended, its connection is closed, so that its peer opens the next one
     * on another connection; or it is not, after all. */
    void (*close_after)(udpai_stream *stream, bool closes);
} udpai_carrier;

struct udpai_stream {
    udpai_stream_thread *thread;
    const udpai_carrier *carrier;
    udpai_list node;
    const udpai_stream_handler *handler; /* NULL: nobody */
    void *context;                       /* the handler's */
    uint64_t link;                       /* not 0: we dialled, for this link */
    udpai_timer deadline;                /* the carrier's; of an accepted one, its age at first */
    udpai_listener *listener;            /* NULL: we dialled */
    udpai_list in_listener;
    udpai_admitted *admitted;
    udpai_bearer bearer;
    uint32_t
        pushback_ms; /* it was rejected, and its client is to wait so long; 0: that is not sent */
    bool is_refusal;
    bool is_client; /* and counted as one */
    bool is_served; /* it was accepted, and has a session */
    bool is_node;   /* of UDPA, which may publish */
    bool is_secure; /* nobody else can read it */
};

/* It has come, and is zeroed else. */
void udpai_stream_enter(udpai_stream *stream,
                        udpai_stream_thread *thread,
                        const udpai_carrier *carrier,
                        udpai_listener *listener);
/* It is freed after this; its handler was notified by closed(). */
void udpai_stream_leave(udpai_stream *stream);

/* Gives it a handler and begins to read. */
void udpai_stream_open(udpai_stream *stream, const udpai_stream_handler *handler, void *context);
void udpai_stream_write(udpai_stream *stream, const udpai_outgoing *message);
void udpai_stream_set_reading(udpai_stream *stream, bool reading);
void udpai_stream_finish(udpai_stream *stream, const udpa_error *status);
/* Ends it, or its session if it has one; consumes the error. */
void udpai_stream_end(udpai_stream *stream, udpa_error *error);
/* An accepted one has its age: it ends. */
void udpai_stream_end_old(udpai_stream *stream);
/* It is ended, for it has sent too much; that is reported. Consumes the error. */
void udpai_stream_end_greedy(udpai_stream *stream, udpai_str address, udpa_error *error);

/* What a peer has presented, and where. */
typedef struct udpai_presented {
    udpai_trust *trust; /* NULL: the handshake is enough */
    udpai_chain *chain; /* NULL: nothing */
    bool is_server;     /* we dialled */
} udpai_presented;

/* It lasts no longer than that is good. UDPA_ERR_UNAUTHENTICATED: it is not. */
udpa_err udpai_stream_present(udpai_stream *stream,
                              const udpai_presented *presented,
                              udpa_error **ret_error);

/* ---- service.c: the methods that there are ---- */

/* Of one that a peer has opened. */
typedef struct udpai_caller {
    udpai_identity *identity; /* NULL: it has none */
    udpa_bytes *address;
    udpai_tls_agreed tls;
} udpai_caller;

/* Counts it, and begins whatever is served at this path; or fails with words that name what there
 * is. */
udpa_err udpai_service_open(udpai_stream *stream,
                            udpai_str path,
                            const udpai_caller *caller,
                            udpa_error **ret_error);
/* Ends an accepted one that was not opened; consumes the error. */
void udpai_service_refuse(udpai_stream *stream, udpa_err err, udpa_error *error);
bool udpai_service_exists(const udpai_stream_thread *thread, udpai_str service);
/* Calls @p visit with the name of each service, once. */
void udpai_service_visit(const udpai_stream_thread *thread,
                         void (*visit)(void *userdata, udpai_str service),
                         void *userdata);

/* ---- session_stream.c ---- */

/* Begins a session of this method on the stream. */
udpa_err udpai_session_stream_open(udpai_stream *stream,
                                   const udpai_grpc_method *method,
                                   const udpai_caller *caller,
                                   udpa_error **ret_error);
/* The stream's session; NULL: it has none. */
udpai_session *udpai_session_of_stream(const udpai_stream *stream);
/* The stream of a session; NULL: that is a bridge's. */
udpai_stream *udpai_stream_of_session(const udpai_session *session);

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

/* ---- drain.c: streams that others have opened, of a node or a listener that is to end ---- */

typedef struct udpai_drain {
    udpai_stream_thread *thread;
    const udpai_listener *of; /* whose streams; NULL: all */
    const char *words;        /* that they end with */
    bool is_on;
    bool is_leaving; /* another process takes the place of this one */
    uint64_t begun_ms, over_ms;
    size_t n_begun; /* streams then */
    udpai_timer tick;
} udpai_drain;

/* Of a node. */
#define UDPAI_DRAIN_WORDS "this node is draining: connect again to reach another one"

void udpai_drain_init(udpai_drain *drain,
                      udpai_stream_thread *thread,
                      const udpai_listener *of,
                      const char *words);
/* Ends them within so long; a second time does nothing. */
void udpai_drain_begin(udpai_drain *drain, uint64_t over_ms);
void udpai_drain_done(udpai_drain *drain);
/* UDPAI_ORDER_DRAIN */
void udpai_drain_obey(udpai_stream_thread *thread, uint64_t over_ms);
/* UDPAI_ORDER_LEAVE */
void udpai_drain_set_leaving(udpai_stream_thread *thread, bool is_leaving);
/* May a stream be served? UDPA_ERR_UNAVAILABLE: not any more, and its connection is closed. */
udpa_err udpai_drain_check(udpai_stream *stream, udpa_error **ret_error);
/* An accepted stream has a session. */
void udpai_drain_enter(udpai_stream *stream, const udpai_grpc_method *method);
/* It is over. */
void udpai_drain_leave(udpai_stream *stream);

/* ---- health.c, reflection.c ---- */

udpa_err udpai_health_check_open(udpai_stream *stream, udpa_error **ret_error);
udpa_err udpai_health_watch_open(udpai_stream *stream, udpa_error **ret_error);
/* is_serving has changed. */
void udpai_health_notify(udpai_stream_thread *thread);
udpa_err udpai_reflection_open(udpai_stream *stream, udpa_error **ret_error);

/* ---- listener.c ---- */

typedef struct udpai_listener_kind {
    size_t bytes; /* of what begins with a udpai_listener; zeroed */
    /* The owner's thread: listens, and sets the port; what has failed is freed. */
    udpa_err (*open)(udpai_listener *listener,
                     const udpai_listen_options *options,
                     udpa_error **ret_error);
    /* Accepts from now on. */
    void (*start)(udpai_listener *listener);
    /* Accepts no more; its streams were ended. Calls udpai_listener_check_end() when it is done. */
    void (*close)(udpai_listener *listener);
    /* It has no stream any more: is it over? */
    bool (*is_over)(udpai_listener *listener);
    void (*release)(udpai_listener *listener);
    /* It listens in the place of the former one, on a copy of its socket. NULL: it cannot. */
    void (*inherit)(udpai_listener *listener, udpai_listener *former);
    /* Its limits, or those of the thread, are others. NULL: it looks at them with each stream. */
    void (*changed)(udpai_listener *listener);
} udpai_listener_kind;

struct udpai_listener {
    udpai_stream_thread *thread;
    const udpai_listener_kind *kind;
    udpai_list node;
    udpai_list streams;
    udpai_server_tls *tls;        /* NULL: plaintext */
    size_t own_max_message_bytes; /* 0: the thread's */
    size_t max_message_bytes;
    int port, socket; /* the latter: -1: it is not known */
    bool is_closing;
    udpai_request start_request, close_request;
    udpai_drain drain;
    udpai_listener_drain how;
    atomic_size_t n_served;
};

/* How the streams of others are accepted, if not by gRPC's library: with a loop of its own, in
 * which the stream thread waits then. */
struct udpai_acceptance {
    const udpai_listener_kind *listeners;
    /* The thread's wheel, limits and timing are there already. */
    udpa_err (*begin)(void **ret_self, udpai_stream_thread *thread);
    void (*end)(void *self);
    void (*wake)(void *self); /* any thread, under a lock; then udpai_thread_woken() is called */
    /* Until then, a time of the wheel, or until something comes, and has all handled that has. The
     * time goes forward first. When the wait has ended, by udpai_monotonic_ns(), is there before
     * anything is handled. */
    void (*wait)(void *self, uint64_t due_ms, atomic_uint_fast64_t *ret_woken_ns);
    void (*flush)(void *self); /* sends what streams have written */
    /* Any thread: what it has counted. */
    void (*count)(void *self, udpai_stream_thread_stats *stats);
    const udpai_meters *(*meters)(void *self); /* any thread: the same for metrics */
    void (*changed)(void *self, const udpai_stream_limits *limits); /* the thread's have */
};

/* Before the first of its streams has its age, a connection takes no new ones (GOAWAY), so that its
 * peer opens the next one on another connection, which a balancer may lead elsewhere; what is open
 * stays, and is ended by us. 0: it always takes them. */
uint64_t udpai_listener_connection_age_ms(const udpai_stream_timing *timing);
void udpai_listeners_begin_close(udpai_stream_thread *thread, const udpa_error *why);
/* The thread's limits and times are others. */
void udpai_listeners_take_limits(udpai_stream_thread *thread);
/* A stream of it has ended, or it has closed. */
void udpai_listener_check_end(udpai_listener *listener);

#endif
