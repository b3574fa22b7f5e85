/* SPDX-License-Identifier: Apache-2.0 */
/* The stream thread: one thread that owns a gRPC completion queue, the hub, and every stream.
 *
 * It listens, dials, reads, writes; what a message means is the hub's. The loop side gives it
 * orders and is sent reports, nothing else passes between the two (docs/design/threads.md). This
 * header is all that the loop side needs. gRPC does not survive fork(): a process that has one of
 * these must not fork without exec. When gRPC has no memory it ends the process. */
#ifndef UDPAI_STREAM_THREAD_H
#define UDPAI_STREAM_THREAD_H

#include <stdatomic.h>

#include "base/vector.h"
#include "session/hub.h"
#include "transport/http_client.h"
#include "transport/network.h"
#include "transport/tls_files.h"
#include "transport/trust.h"
#include "xds/polling.h"

typedef struct udpai_stream_thread udpai_stream_thread;
typedef struct udpai_listener udpai_listener;
typedef struct udpai_acceptance udpai_acceptance; /* stream.h */

/* A stream, or a request that is held, with a certificate of its peer: as long as it lasts, that
 * must be good (credentials.c). */
typedef struct udpai_bearer udpai_bearer;
typedef struct udpai_credential udpai_credential;

struct udpai_bearer {
    udpai_list node;
    udpai_credential *credential; /* NULL: it bears none */
    /* It is good no more; the bearer is to end. */
    void (*lose)(udpai_bearer *bearer, const udpa_error *why, bool is_disowned);
};

/* A method that streams in both directions, and the protocol that is spoken on it. */
typedef struct udpai_grpc_method {
    const char *path; /* "/package.Service/Method"; static */
    /* Begins a session on a new stream. NULL: it is not served, and the context, a text, is what
     * callers are sent. */
    udpa_err (*open)(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);
    void *context; /* handed to it in the info; outlives the thread, or the target that has it */
    /* Its streams are of clients of xDS: replicas share them, so one that has too many may reject
     * them, or end them (UDPAI_ORDER_SPREAD). */
    bool is_client;
} udpai_grpc_method;

#define UDPAI_UDPA_PATH "/udpa.service.discovery.v1.UdpaDiscoveryService/StreamMessages"

/* ---- TLS of peers that dial us ---- */

/* Counted atomically; any thread. */
typedef struct udpai_server_tls udpai_server_tls;

/* Copies the texts. Certificate and key are required. With authorities a client must present a
 * certificate that they vouch for, or, if it is optional, none at all. */
udpa_err udpai_server_tls_new(udpai_server_tls **ret_tls,
                              const udpai_tls_files *files,
                              bool client_certificate_optional,
                              udpa_error **ret_error);
/* Other certificates for handshakes from now on; connections that are there stay, and are looked at
 * again with udpai_stream_thread_verify(). Whether clients must present a certificate cannot
 * change: UDPA_ERR_PRECONDITION. */
udpa_err udpai_server_tls_replace(udpai_server_tls *tls,
                                  const udpai_tls_files *files,
                                  udpa_error **ret_error);
udpai_server_tls *udpai_server_tls_ref(udpai_server_tls *tls);
udpai_server_tls *udpai_server_tls_unref(udpai_server_tls *tls);
UDPA_DEFINE_CLEANUP(udpai_server_tls, udpai_server_tls_unref)
/* Before it is listened with: the own listener agrees on HTTP/1.1, too, by ALPN. */
void udpai_server_tls_offer_first(udpai_server_tls *tls);

/* ---- peers that we dial ---- */

/* How to reach an endpoint: what a DIAL order carries. Nothing of it changes but certificates;
 * counted atomically; any thread. */
typedef struct udpai_grpc_target udpai_grpc_target;

/* A peer from which nothing has come for the interval is tried, and is lost if no answer comes in
 * time. 0: the default. */
typedef struct udpai_keepalive {
    uint64_t interval_ms, timeout_ms;
} udpai_keepalive;

/* Of nodes among each other. */
#define UDPAI_NODE_KEEPALIVE_MS 5000
#define UDPAI_NODE_KEEPALIVE_TIMEOUT_MS 5000
/* Control planes built on grpc-go end connections that are tried more often than every 5 minutes,
 * unless configured otherwise. One that reports that is tried half as often from then on. */
#define UDPAI_XDS_KEEPALIVE_MS 300000

typedef struct udpai_grpc_target_options {
    /* HOST:PORT; an IPv6 address in brackets. Or a list of them (model/server_list.h), of which
     * each order to dial names one; not of one that is polled. */
    const char *address;
    const udpai_tls_files *tls; /* NULL: plaintext; else its authorities are required */
    const char *server_name; /* that each certificate must have; NULL or empty: the server's host */
    udpai_grpc_method method;
    /* Called with the method's context when the last reference to the target is dropped; also if
     * no target can be made. NULL: the context is another's. */
    void (*release_context)(void *context);
    udpai_keepalive keepalive;
    size_t max_message_bytes; /* that gRPC takes; 0: no limit, the stream has one */
    /* So much of a stream may be under way. 0: gRPC finds out how much is needed, by a ping with
     * what comes: on the network of a data centre that costs more than it gives. */
    size_t window_bytes;
    /* Not NULL: no stream of gRPC is opened, but the server is asked by this again and again. Both
     * are consumed, also if no target can be made. */
    udpai_http_client *client;
    udpai_polled_server *server;
} udpai_grpc_target_options;

/* Is it an address to dial? Reports how to write one. Nothing is looked up; any thread. */
udpa_err udpai_dial_address_check(const char *address, udpa_error **ret_error);

/* The same of a list of them, and of unix:/PATH. */
udpa_err udpai_dial_list_check(const char *list, udpa_error **ret_error);

/* Other certificates for what is dialled from now on, also by way of the targets that were made
 * after this one; as above. UDPA_ERR_PRECONDITION: it has no TLS. */
udpa_err udpai_grpc_target_replace_tls(udpai_grpc_target *target,
                                       const udpai_tls_files *files,
                                       udpa_error **ret_error);

/* Copies the texts but the method's path. */
udpa_err udpai_grpc_target_new(udpai_grpc_target **ret_target,
                               const udpai_grpc_target_options *options,
                               udpa_error **ret_error);
/* The same endpoint by the same means, for another context of the same method, which is released as
 * the other's is; and of one that is polled, for another server (else NULL). Both are consumed.
 * NULL without memory. */
udpai_grpc_target *
udpai_grpc_target_with(udpai_grpc_target *target, void *context, udpai_polled_server *server);
/* NULL: it is not polled. */
udpai_polled_server *udpai_grpc_target_server(const udpai_grpc_target *target);
udpai_grpc_target *udpai_grpc_target_ref(udpai_grpc_target *target);
udpai_grpc_target *udpai_grpc_target_unref(udpai_grpc_target *target);
UDPA_DEFINE_CLEANUP(udpai_grpc_target, udpai_grpc_target_unref)
const udpai_grpc_method *udpai_grpc_target_method(const udpai_grpc_target *target);
/* The same for callers to which a target is a void *: udpai_source_config, udpai_order. */
void *udpai_grpc_target_hold(void *target);
void udpai_grpc_target_drop(void *target);

/* ---- the thread ---- */

/* 0 anywhere: the default that is named. */
#define UDPAI_MAX_STREAMS 20000
#define UDPAI_MAX_STREAMS_PER_IDENTITY 10000
#define UDPAI_MAX_MESSAGE_BYTES (16 << 20)
#define UDPAI_MAX_CERTIFIED_MESSAGE_BYTES (64 << 20) /* from peers that must have a certificate */
#define UDPAI_MAX_SOURCE_MESSAGE_BYTES (64 << 20)
#define UDPAI_MAX_UNFINISHED_BYTES (256 << 20)
#define UDPAI_MANY_MESSAGES 2000
#define UDPAI_DIAL_TIMEOUT_MS 10000
#define UDPAI_DIAL_HURRIED_MS 2000 /* at most, while another server of the list may be there */
#define UDPAI_FINISH_TIMEOUT_MS 5000
#define UDPAI_HANDSHAKE_TIMEOUT_MS 10000
#define UDPAI_KEEPALIVE_MS 30000
#define UDPAI_KEEPALIVE_TIMEOUT_MS 20000
#define UDPAI_MIN_PING_INTERVAL_MS 1900 /* every 2 s, and a little sooner for the way */
#define UDPAI_STUCK_MS 1000
#define UDPAI_CONNECTION_IDLE_MS 300000

typedef struct udpai_stream_limits {
    size_t max_streams; /* that others have opened */
    /* Of one name; of one address for peers without a certificate. */
    size_t max_streams_per_identity;
    size_t max_message_bytes; /* from any peer but a ConfigSource that we dialled; 0: see above */
    size_t max_source_message_bytes;
    /* Of messages that others have begun to send and that are not complete, on streams that begin;
     * a quarter of it of one name. Beyond it such streams are read one after the other. */
    size_t max_unfinished_bytes;
    size_t many_messages; /* that are written in one go: a pause follows, for changes to come in */
} udpai_stream_limits;

typedef struct udpai_stream_timing {
    uint64_t dial_timeout_ms;      /* until a connection is established */
    uint64_t finish_timeout_ms;    /* until a peer must have taken a stream's end; then it is cut */
    uint64_t handshake_timeout_ms; /* of peers that dial us */
    uint64_t keepalive_ms;         /* how often we try an idle connection that others have opened */
    uint64_t keepalive_timeout_ms; /* and how long we wait for an answer */
    uint64_t min_ping_interval_ms; /* a peer that tries us more often is disconnected */
    uint64_t stuck_ms;             /* busy for so long: another thread answers peers that try us */
    uint64_t connection_idle_ms;   /* a connection that others have opened, without a stream */
    uint64_t delayed_read_ms;      /* at most so late are acknowledgements read; by default it grows
                                    * with the number of streams: with few it is not at all */
    uint64_t hold_ms;  /* so long are sockets of such streams held back, however little is written;
                        * by default about 100, where much is */
    uint64_t pause_ms; /* after many messages; by default it grows with the time they took */
    /* So long, 10 % less or more, a stream lasts that others have opened; then it is ended, and its
     * connection takes no new one, so that its peer connects again. 0: for ever. */
    uint64_t max_stream_age_ms;
} udpai_stream_timing;

typedef struct udpai_stream_thread_options {
    udpai_hub_options hub;
    const udpai_grpc_method *methods; /* that others may call */
    size_t n_methods;
    udpai_stream_limits limits;
    udpai_stream_timing timing;
    bool shares_ports;                  /* with other processes, which take connections in turn */
    const udpai_acceptance *acceptance; /* how others are listened to; NULL: by gRPC's library */
    /* All on the stream thread; may not call back. */
    void (*report)(void *userdata, udpai_report *report); /* takes it */
    void (*stopped)(void *userdata); /* the last call of the thread; may be NULL */
    void *userdata;
} udpai_stream_thread_options;

/* Starts the thread. All of it belongs to the thread that calls this, but
 * udpai_stream_thread_order() and udpai_stream_thread_stats(), which any may call. */
udpa_err udpai_stream_thread_new(udpai_stream_thread **ret_thread,
                                 const udpai_stream_thread_options *options,
                                 udpa_error **ret_error);

/* Any thread. Takes the order; after the stop it is freed unread. */
void udpai_stream_thread_order(udpai_stream_thread *thread, udpai_order *order);

/* Others are trusted from now on: connected peers are verified again, and are cut off if their
 * certificate is good no more. Any thread; several at once count as one. */
void udpai_stream_thread_verify(udpai_stream_thread *thread);

/* What grpc.health.v1 answers; at first: serving. UDPA_ERR_NOMEM: it answers as before. */
udpa_err udpai_stream_thread_set_serving(udpai_stream_thread *thread, bool is_serving);

/* Any thread: since when its present turn lasts, by udpai_monotonic_ms(); 0: it waits for what
 * comes.
 */
uint64_t udpai_stream_thread_busy_since_ms(const udpai_stream_thread *thread);

/* What may change while it runs; 0 as above. */
typedef struct udpai_stream_switches {
    size_t max_streams, max_streams_per_identity;
    size_t max_message_bytes, max_source_message_bytes;
    uint64_t finish_timeout_ms;
    uint64_t max_stream_age_ms;     /* of streams that begin from now on */
    udpai_debounce_rules *debounce; /* a reference is taken */
    udpai_fanout_options fanout;
} udpai_stream_switches;

/* Any thread. Streams that are there stay. UDPA_ERR_NOMEM: all is as before. */
udpa_err udpai_stream_thread_switch(udpai_stream_thread *thread,
                                    const udpai_stream_switches *switches);

/* Begins to end all streams, with these words; within finish_timeout_ms the thread has ended and
 * has called stopped(). No order, listener or dialling is begun any more. */
void udpai_stream_thread_stop(udpai_stream_thread *thread, const char *why);
/* Stops it if it was not, waits for its end, frees it. */
udpai_stream_thread *udpai_stream_thread_free(udpai_stream_thread *thread);
UDPA_DEFINE_CLEANUP(udpai_stream_thread, udpai_stream_thread_free)

/* ---- bridged streams: one request and its answer, for transports that are not gRPC ---- */

typedef struct udpai_bridged_stream udpai_bridged_stream;

/* Something to be done on the stream thread, asked for by another. */
typedef struct udpai_request {
    udpai_list node;
    udpai_stream_thread *thread;
    void (*run)(struct udpai_request *request);
} udpai_request;

/* A session with a stream that is no call of gRPC; first in what it is part of. The stream
 * thread's. */
typedef struct udpai_bridge {
    udpai_stream_thread *thread;
    uint64_t link;          /* not 0: we dialled, for this link */
    udpai_session *session; /* NULL: not yet, or no longer */
    udpa_error *error;      /* with which it was finished; NULL: none */
    udpai_list node, in_due;
    size_t n_requests; /* to other threads, under way: it lasts until they are over */
    bool is_written, is_finished;
    void (*stop)(struct udpai_bridge *bridge); /* it was finished; NULL: nothing is to be stopped */
    void (*ended)(struct udpai_bridge *bridge); /* it is over */
} udpai_bridge;

/* Counted atomically: by its maker and, while it lasts, by the stream thread. */
struct udpai_bridged_stream {
    udpai_bridge bridge; /* its error: NULL, it has ended in peace */

    /* Filled in by its maker, and read by the stream thread. */
    udpai_grpc_method method;
    udpai_identity *identity; /* NULL: none was presented; owned */
    udpai_chain *chain;       /* of its certificate; NULL: none; owned */
    udpai_trust *trust;       /* by which that must be verified; beside it; owned */
    udpa_bytes *address;      /* of the peer; owned */
    udpa_bytes *message;      /* the request; owned */
    uint64_t patience_ms;     /* see udpai_stream_info */
    bool is_secure;           /* the same */
    udpai_tls_agreed tls;     /* the same */
    /* On the stream thread: the next message of many is in the parts, which are the maker's until
     * it calls udpai_bridged_stream_taken(). May not call back. NULL: there is one answer. */
    void (*wrote)(udpai_bridged_stream *bridged);
    /* On the stream thread, once: it is over, and what is below is filled in. May not call back. */
    void (*over)(udpai_bridged_stream *bridged);
    void (*free)(udpai_bridged_stream *bridged); /* when nobody counts it; any thread */

    /* The answer. */
    UDPAI_VECTOR(udpa_bytes *) parts; /* none: there was nothing to send */

    /* The stream thread's. */
    atomic_uint refs;
    struct udpai_admitted *admitted;
    udpai_bearer bearer;
    udpai_request begin_request, cancel_request, taken_request;
};

/* One reference; the rest is zero, to be filled in. */
void udpai_bridged_stream_init(udpai_bridged_stream *bridged);
udpai_bridged_stream *udpai_bridged_stream_ref(udpai_bridged_stream *bridged);
/* Lets go of what it owns, then calls its free(). */
udpai_bridged_stream *udpai_bridged_stream_unref(udpai_bridged_stream *bridged);
/* Any thread. Begins it; false: the thread has stopped, and over() is not called. It counts as a
 * stream for limits. */
bool udpai_stream_thread_bridge(udpai_stream_thread *thread, udpai_bridged_stream *bridged);
/* Any thread, after wrote(): the next message may come. */
void udpai_bridged_stream_taken(udpai_bridged_stream *bridged);
/* Any thread, once, after it was begun: nobody waits for the answer any more. over() is called all
 * the same. */
void udpai_bridged_stream_cancel(udpai_bridged_stream *bridged);

/* ---- figures ---- */

typedef struct udpai_stream_thread_stats {
    size_t n_streams; /* now, of both directions; those being refused or ended count */
    size_t n_refused; /* so far, for a limit, an unclear identity or an unknown method */
    size_t n_tags;    /* operations that gRPC has not completed; one for an idle stream */
    size_t
        n_cut_off; /* so far: streams of peers with a certificate that was revoked or has expired */
    size_t n_too_large;   /* so far: streams that were ended for a message above the limit, or for
                             more of unfinished ones than there is room for */
    size_t n_waited;      /* so far: messages that waited to be read (max_unfinished_bytes) */
    size_t reserved;      /* the most bytes that were set aside for such at a time */
    size_t n_served;      /* now, accepted, of methods that it was given */
    size_t n_clients;     /* now, of clients of xDS, without those that are being ended */
    size_t n_aged;        /* so far: streams that were ended at max_stream_age_ms */
    size_t n_moved;       /* so far: that were ended so that they go to another replica */
    size_t n_above_share; /* so far: that were rejected, for the same */
    /* So far, where gRPC's library does not listen: connections that were too many, handshakes that
     * have failed, and connections that were ended because of what they have sent. */
    size_t n_connections_refused, n_handshakes_failed, n_floods;
} udpai_stream_thread_stats;

/* Each meter of what it counts, and what its listeners do. Any thread, while it lives. */
void udpai_stream_thread_read_meters(const udpai_stream_thread *thread,
                                     udpai_reading_fn visit,
                                     void *userdata);

void udpai_stream_thread_stats_get(const udpai_stream_thread *thread,
                                   udpai_stream_thread_stats *ret_stats);

/* gRPC writes its own log to standard error. This sends it through ours, for the whole process: for
 * programs, not for a library in an application that may use gRPC itself. Before any other thread.
 */
void udpai_grpc_redirect_log(void);

#endif
