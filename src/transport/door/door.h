/* SPDX-License-Identifier: Apache-2.0 */
/* The front door: a listener of our own for gRPC over HTTP/2, by nghttp2 and OpenSSL. It knows
 * calls as streams of messages, and nothing of what they mean.
 *
 * A door belongs to one thread, which waits in it (udpai_door_wait) and flushes it. Each listener
 * has a thread of its own for what comes before a connection can carry streams (acceptor.c). Events
 * come in udpai_door_wait() and udpai_door_flush() alone, never in a call about a stream. */
#ifndef UDPAI_DOOR_H
#define UDPAI_DOOR_H

#include <openssl/ssl.h>

#include "base/list.h"
#include "base/wheel.h"
#include "certs/certificate.h"
#include "metrics/meters.h"
#include "session/hub.h"
#include "transport/admission.h"
#include "transport/network.h"
#include "transport/visit.h"

typedef struct udpai_door udpai_door;
typedef struct udpai_door_listener udpai_door_listener;
typedef struct udpai_door_connection udpai_door_connection;
typedef struct udpai_door_stream udpai_door_stream;
typedef struct udpai_door_field udpai_door_field;

/* What is known of who has opened a connection. Nothing of it changes. */
typedef struct udpai_door_peer {
    udpa_bytes *address;      /* 192.0.2.1:4242, [2001:db8::1]:4242; "process 4242" */
    udpai_chain *chain;       /* of its certificate, which the handshake has verified; NULL: none */
    udpai_identity *identity; /* by that, or of its user; NULL: none, or … */
    udpa_error *error;        /* … its names are not to be relied on */
    bool is_secure;           /* nobody else can read it */
    udpai_tls_agreed tls;
} udpai_door_peer;

/* A message that goes out; parts are shared with other streams. */
typedef struct udpai_door_message {
    udpa_bytes **parts; /* owned references; NULL: there is no message */
    udpa_bytes *few[4]; /* where they are, if they are few */
    size_t n_parts, part, offset;
    size_t left; /* bytes that were not taken yet */
    uint8_t prefix[5], tail[24];
    uint8_t tail_len;
} udpai_door_message;

/* One call. Its owner may have it as the first member of something larger. */
struct udpai_door_stream {
    udpai_door_connection *connection;
    int32_t id;
    udpai_list node;     /* of the connection */
    udpai_list in_due;   /* something is to be submitted */
    udpai_list in_taken; /* a message was taken, and waits for the socket */
    udpai_list in_room;  /* it has room for a message that is coming, or waits for it */
    udpai_door_message out;
    char *in; /* of a message that is not complete, or that is not read yet */
    size_t in_len, in_size;
    size_t reserved; /* of room, for the message that is coming */
    uint64_t grew_ms;
    size_t withheld;          /* bytes that the peer was not given back for its window */
    char *path;               /* while the head comes */
    udpai_visit *visit;       /* NULL: it is a call of gRPC, or will be none */
    udpai_door_field *fields; /* metadata */
    size_t head_bytes;
    udpa_error *status;   /* we have ended it with; NULL: OK */
    udpai_timer deadline; /* of its end; before that, of the call (grpc-timeout) */
    uint64_t timeout_ms;
    uint32_t pushback_ms;
    bool is_open;          /* its owner knows it */
    bool is_calm;          /* and says that only acknowledgements are expected */
    bool is_grpc, is_post; /* by its head */
    bool is_encoded;       /* its messages may be compressed (grpc-encoding) */
    bool has_bad_metadata; /* that is no base64 */
    bool is_admitted;      /* of a visit: admit() has let it in */
    bool is_paused;        /* its owner does not read */
    bool is_waiting;       /* for room */
    bool has_failed;       /* nothing more of it is read */
    bool has_head;         /* its response has begun */
    bool has_trailers;
    bool is_finishing, is_cut;
    bool peer_has_ended, has_reported_end;
};

/* How the owner of a listener's streams is notified. */
typedef struct udpai_door_events {
    size_t stream_bytes; /* of what begins with a udpai_door_stream; zeroed */
    /* A call of this method. It may be ended at once. */
    void (*opened)(udpai_door_stream *stream, void *userdata, udpai_str path);
    void (*receive)(udpai_door_stream *stream, udpai_str message);
    /* The last message has gone to the kernel: there may be another. */
    void (*written)(udpai_door_stream *stream);
    /* The peer sends no more, but reads. */
    void (*ended)(udpai_door_stream *stream);
    /* The peer has sent what is not taken, or too much, and nothing more is read: to be finished.
     */
    void (*failed)(udpai_door_stream *stream, const udpa_error *why, bool is_greedy);
    /* Room for a message that has begun to come, and that has so many bytes; all of it is given
     * back. */
    udpai_reservation (*reserve)(udpai_door_stream *stream, size_t bytes);
    void (*release)(udpai_door_stream *stream, size_t bytes);
    /* It is over, and is freed after this. @p why: NULL for an end in peace. */
    void (*closed)(udpai_door_stream *stream, const udpa_error *why);
    /* Nothing but acknowledgements is expected from it: they may be read late. */
    bool (*is_calm)(const udpai_door_stream *stream);
    /* A visit begins, which counts and reserves while it comes; UDPA_ERR_LIMIT: it may not. The
     * userdata is the listener's. */
    udpa_err (*admit)(udpai_door_stream *stream, void *userdata, udpa_error **ret_error);
    void (*dismiss)(udpai_door_stream *stream); /* it has come */
    /* Of a listener: may others be served beside those that are refused, by one connection? Then
     * that does not go for a few of these. */
    bool (*is_open_to_all)(void *userdata);
} udpai_door_events;

typedef struct udpai_door_limits {
    size_t max_streams; /* of a connection, at a time */
    uint64_t handshake_timeout_ms;
    uint64_t keepalive_ms, keepalive_timeout_ms;
    uint64_t idle_ms; /* a connection may be without streams */
    uint64_t age_ms;  /* then a connection takes no new streams; 0: it always does */
} udpai_door_limits;

typedef struct udpai_door_listen_options {
    int socket; /* listens; consumed */
    const udpai_door_events *events;
    void *userdata;
    /* A reference to what handshakes are made with from now on; any thread. NULL: plaintext. */
    SSL_CTX *(*context)(void *userdata);
    size_t max_message_bytes; /* from the peer */
    bool keeps_metadata;      /* of requests; else it is dropped as it comes */
    /* Connections of these begin with a head of the PROXY protocol, and are of the client that it
     * names; they outlive the listener. */
    const udpai_network *proxies;
    size_t n_proxies;
    /* Who serves what is no gRPC, which is HTTP/1.1, too; NULL: nobody, and there is HTTP/2 alone.
     * And by what certificates of their peers are verified again; NULL: there are none. Both
     * outlive the listener. */
    const udpai_visits *visits;
    udpai_trust *trust;
    udpai_door_limits limits;
    void (*closed)(void *userdata); /* its last connection has gone; it is freed */
} udpai_door_listen_options;

/* ---- the door ---- */

/* What others do with it: from any thread udpai_door_wake(), after which woken() is called once in
 * udpai_door_wait(). */
typedef struct udpai_door_options {
    udpai_wheel *wheel;
    void (*woken)(void *userdata);
    void *userdata;
    size_t max_unfinished_bytes;                         /* of messages that are coming */
    size_t max_connections, max_connections_per_address; /* the latter: of an identity, too */
} udpai_door_options;

udpa_err udpai_door_new(udpai_door **ret_door, const udpai_door_options *options);
udpai_door *udpai_door_free(udpai_door *door);
/* Under the lock of an inbox, too. */
void udpai_door_wake(void *door);
/* Waits until something comes or @p due_ms, a time of the wheel, and takes all that has come. The
 * time goes forward first. @p ret_woken_ns has when the wait has ended, by udpai_monotonic_ns(),
 * before anything is handled; NULL: nobody asks. */
void udpai_door_wait(udpai_door *door, uint64_t due_ms, atomic_uint_fast64_t *ret_woken_ns);
/* Others from now on; connections that are there stay. */
void udpai_door_set_max(udpai_door *door, size_t max, size_t max_per_address);

/* So far. */
typedef struct udpai_door_counts {
    size_t n_refused; /* connections that were too many */
    size_t n_failed;  /* handshakes */
    size_t n_floods;  /* connections that were ended for what they asked for nothing */
} udpai_door_counts;

/* Any thread. */
udpai_door_counts udpai_door_count(udpai_door *door);
/* The same by reasons, and more: for metrics. Any thread may read them while the door lives. */
const udpai_meters *udpai_door_meters(const udpai_door *door);
/* Has each connection send what its streams have. */
void udpai_door_flush(udpai_door *door);

/* Starts to accept. */
udpa_err udpai_door_listen(udpai_door *door,
                           const udpai_door_listen_options *options,
                           udpai_door_listener **ret_listener,
                           udpa_error **ret_error);
/* Others from now on, also for connections that are there. */
void udpai_door_listener_set_limits(udpai_door_listener *listener,
                                    size_t max_message_bytes,
                                    uint64_t age_ms);
/* No new connection or stream is taken; connections go with their last stream. */
void udpai_door_listener_close(udpai_door_listener *listener);

/* ---- streams ---- */

const udpai_door_peer *udpai_door_stream_peer(const udpai_door_stream *stream);
/* One message at a time; it is taken before the return. What will not be read is dropped. */
void udpai_door_stream_write(udpai_door_stream *stream, const udpai_outgoing *message);
void udpai_door_stream_set_reading(udpai_door_stream *stream, bool reading);
/* Ends it with this status (NULL: OK), behind what was written; to be hurried. */
void udpai_door_stream_finish(udpai_door_stream *stream, const udpa_error *status);
/* The same of one that was not even begun. A connection with many of these takes no more, unless
 * is_open_to_all(); with very many it is ended in any case. */
void udpai_door_stream_refuse(udpai_door_stream *stream, const udpa_error *status);
/* The peer has this long to take the end; else it is cut. */
void udpai_door_stream_hurry(udpai_door_stream *stream, uint64_t ms);
/* Ends it at once, without a status. */
void udpai_door_stream_cut(udpai_door_stream *stream);
/* The metadata of a call, where the listener keeps it: the first value of this name, borrowed from
 * the stream; of a name that ends in "-bin" its bytes. False: there is none. */
bool
udpai_door_stream_metadata(const udpai_door_stream *stream, udpai_str name, udpai_str *ret_value);

/* When metadata is sent: with the first message, or with the status. */
typedef enum udpai_door_metadata {
    UDPAI_DOOR_OF_REQUEST, /* it has come */
    UDPAI_DOOR_INITIAL,
    UDPAI_DOOR_TRAILING,
} udpai_door_metadata;

#define UDPAI_DOOR_METADATA_MAX 16 /* fields of each, for a response */

/* Sends this, too; of a name that ends in "-bin" the value is any bytes, and else printable ASCII
 * without a space at its ends. UDPA_ERR_INVAL: it is not, or this is no name of metadata;
 * UDPA_ERR_PRECONDITION: it is too late; UDPA_ERR_LIMIT; UDPA_ERR_NOMEM. */
udpa_err udpai_door_stream_add_metadata(udpai_door_stream *stream,
                                        udpai_door_metadata when,
                                        udpai_str name,
                                        udpai_str value);
/* No other stream is on its connection; or both are on the same one. */
bool udpai_door_stream_is_alone(const udpai_door_stream *stream);
bool udpai_door_stream_is_beside(const udpai_door_stream *stream, const udpai_door_stream *other);
/* Its connection takes no new stream once this was called, and goes with its last one; or it does
 * not, after all. */
void udpai_door_stream_close_after(udpai_door_stream *stream, bool closes);

#endif
