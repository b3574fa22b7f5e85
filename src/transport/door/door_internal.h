/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the door, for the files of this folder. A connection is the acceptor's thread's
 * until it is handed over, and the door's from then on. */
#ifndef UDPAI_DOOR_INTERNAL_H
#define UDPAI_DOOR_INTERNAL_H

#include <nghttp2/nghttp2.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/inbox.h"
#include "transport/door/addresses.h"
#include "transport/door/door.h"
#include "transport/tls.h"

#define UDPAI_LOG_DOOR "listener"
/* What a peer may send ahead of the reading, on a stream, and on a connection. */
#define UDPAI_DOOR_STREAM_WINDOW (256 << 10)
#define UDPAI_DOOR_CONNECTION_WINDOW (4 << 20)
#define UDPAI_DOOR_HEAD_MAX (16 << 10) /* of a request, as nghttp2 counts it */
/* So much is taken from a connection, or given to it, at a time. */
#define UDPAI_DOOR_PIECE ((size_t)64 << 10)
#define UDPAI_DOOR_SMALL_PIECE ((size_t)4 << 10)
#define UDPAI_DOOR_STATUS_TEXT_MAX 1000
#define UDPAI_DOOR_GREETING 3 /* bytes, of which those of HTTP/2 are no method of HTTP/1 */
#define UDPAI_DOOR_ENDED 16   /* streams that a peer had ended are known for so long */

/* How far the frames that come have been looked at. */
typedef struct udpai_door_scan {
    uint32_t left; /* bytes until the head of the next frame */
    int32_t id;    /* of the last one, and its type */
    uint8_t type, n_head, head[9];
} udpai_door_scan;

struct udpai_door_connection {
    udpai_door_listener *listener;
    udpai_list node; /* of the listener; before that, of the acceptor or on the way to the door */
    udpai_list in_dirty;  /* it has something to send */
    udpai_list in_parked; /* it is read late */
    udpai_list streams, due, taken;
    int socket;
    udpai_tls_session *tls;   /* NULL: plaintext */
    nghttp2_session *session; /* NULL at the door: its first bytes have yet to come */
    udpai_memory memory;      /* of that, … */
    bool is_counted;          /* … and it is part of the door's */
    udpai_door_peer peer;
    udpai_http_head *head;        /* that is coming, where visits are served; NULL: none */
    size_t n_visits, visit_bytes; /* that are served; and of all that are there the bodies */
    udpai_list waiting_visits;    /* that have come, for one of those to end */
    udpai_strbuf early;           /* that came behind the handshake; before it, of a proxy's head */
    udpai_strbuf unsent; /* that the kernel has not taken; empty mostly, and then without memory */
    size_t n_streams, n_restless;     /* the latter: of them, those that are not calm */
    size_t n_written;                 /* bytes since it was read last */
    uint64_t read_ms, written_ms;     /* when it was last */
    uint64_t begun_ms, idle_since_ms; /* the latter: it has had no streams */
    udpai_timer timer;                /* it is looked at for life */
    udpai_address *address;
    udpai_address *named; /* among the identities; NULL: it has none */
    udpai_door_allowance idle_frames, resets, refusals;
    uint32_t n_answers; /* frames that may come, for what was written */
    /* The last streams that were closed and that the peer itself had ended; 0: none. */
    int32_t ended[UDPAI_DOOR_ENDED];
    uint8_t next_ended;
    udpai_door_scan scan;
    bool is_local; /* by a unix socket, of this user: */
    uint32_t uid;
    char greeting[UDPAI_DOOR_GREETING];
    uint8_t n_greeting;
    bool awaits_head; /* of the PROXY protocol */
    bool has_begun;   /* its SETTINGS have come */
    bool is_pinged, is_parked, waits_for_room, is_shaken;
    bool is_closing;   /* when it has no stream any more */
    bool is_lingering; /* all was sent, and its peer is to close it */
    bool is_aged;      /* it was asked not to open new streams */
    bool is_going;     /* it takes no new streams */
    bool is_broken;    /* it is to be freed */
};

struct udpai_door_listener {
    udpai_door *door;
    udpai_list node;
    udpai_door_listen_options options;
    udpai_list connections;
    size_t n_connections;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    struct udpai_acceptor *acceptor; /* NULL: it was stopped */
    bool is_closing;
};

typedef enum udpai_handshake_failure {
    UDPAI_HANDSHAKE_LATE,
    UDPAI_HANDSHAKE_CLOSED, /* by the peer */
    UDPAI_HANDSHAKE_MALFORMED,
    UDPAI_HANDSHAKE_UNTRUSTED,
    UDPAI_HANDSHAKE_HEAD, /* of the PROXY protocol, before it */
    UDPAI_HANDSHAKE_FAILURES,
} udpai_handshake_failure;

typedef enum udpai_connection_refusal {
    UDPAI_CONNECTION_TOO_MANY,
    UDPAI_CONNECTION_TOO_MANY_OF_PEER,
    UDPAI_CONNECTION_WITHOUT_MEMORY,
    UDPAI_CONNECTION_REFUSALS,
} udpai_connection_refusal;

/* Added to by udpai_meter_add_shared() alone; `used` is set under the mutex of the addresses. */
typedef struct udpai_acceptor_meters {
    udpai_meters *all;
    udpai_meter *used, *memory; /* the latter is set by the door */
    udpai_meter *handshakes, *failed[UDPAI_HANDSHAKE_FAILURES], *refused[UDPAI_CONNECTION_REFUSALS];
} udpai_acceptor_meters;

struct udpai_door {
    udpai_wheel *wheel;
    udpai_acceptor_meters meters;
    udpai_memory memory; /* of connections that are here, with their streams and messages */
    void (*woken)(void *userdata);
    void *userdata;
    udpai_addresses addresses, identities; /* the latter: by certificates */
    size_t max_unfinished_bytes;
    size_t n_kept; /* of messages that are coming, or are not read */
    /* Streams, for room, those with large messages by themselves, and with it (unfinished.c). */
    udpai_list waiting, waiting_huge, holding;
    udpai_timer waiting_look;                    /* set while any waits */
    atomic_size_t n_refused, n_failed, n_floods; /* see udpai_door_counts */
    udpai_log_limit flood_log;
    int epoll, wakes;    /* the latter: an eventfd */
    int parked_epoll;    /* connections that are read late (park.c) */
    bool watches_parked; /* they are part of the former */
    bool has_sent;       /* something that others may answer at once */
    bool has_more;       /* of them there are more to be read at once */
    udpai_list parked;   /* those written to last at the end */
    udpai_timer parked_look;
    uint64_t parked_written_ms;
    udpai_list listeners;
    udpai_list dirty;
    udpai_list broken;   /* to be freed when nobody is in them; by in_dirty */
    udpai_inbox answers; /* to visits */
    bool has_answers;
    udpai_inbox arrivals;
    udpai_list arriving; /* connections that were taken out of it, and have not entered */
    size_t n_streams;
    udpai_strbuf plain, cipher; /* room for one connection at a time */
    char *room;                 /* of UDPAI_DOOR_PIECE bytes, what a socket is read into */
};

/* ---- meters.c ---- */

udpa_err udpai_acceptor_meters_init(udpai_acceptor_meters *meters);
void udpai_acceptor_meters_done(udpai_acceptor_meters *meters);

/* ---- memory.c ---- */

/* For nghttp2: it counts as the connection's. */
nghttp2_mem udpai_door_memory_of(udpai_door_connection *connection);
/* The door's memory has that of the connection, from its coming on, or no longer. */
void udpai_door_count_connection(udpai_door_connection *connection, bool is_counted);

/* ---- acceptor.c ---- */

typedef struct udpai_acceptor udpai_acceptor;

/* Takes connections of the listener's socket, makes handshakes, hands over to the door. */
udpa_err udpai_acceptor_new(udpai_acceptor **ret_acceptor, udpai_door_listener *listener);
/* A connection that has left the door: to be freed, which takes a while with TLS. */
void udpai_acceptor_bury(udpai_acceptor *acceptor, udpai_door_connection *connection);
/* Ends its thread, closes the socket and what has not been handed over. */
udpai_acceptor *udpai_acceptor_free(udpai_acceptor *acceptor);

/* ---- connection.c ---- */

/* Any thread. NULL without memory; the socket is consumed in any case. */
udpai_door_connection *udpai_door_connection_new(udpai_door_listener *listener, int socket);
/* One that has not come to the door, or has left it. */
udpai_door_connection *udpai_door_connection_free(udpai_door_connection *connection);
/* It has come to the door. */
void udpai_door_connection_enter(udpai_door_connection *connection);
/* It leaves: all of its streams are over. */
void udpai_door_connection_leave(udpai_door_connection *connection);
/* Reads what there is, a piece at most. */
void udpai_door_connection_read(udpai_door_connection *connection);
/* The kernel has room again. */
void udpai_door_connection_resume(udpai_door_connection *connection);
void udpai_door_connection_flush(udpai_door_connection *connection);
/* It has something to send. */
void udpai_door_connection_dirty(udpai_door_connection *connection);
/* It ends, soon. */
void udpai_door_connection_break(udpai_door_connection *connection);
/* It takes no new streams, and goes when it has none. */
void udpai_door_connection_go(udpai_door_connection *connection);

/* ---- ended.c: streams that the peer has ended ---- */

/* One that is closed. */
void udpai_door_ended_add(udpai_door_connection *connection, int32_t id);
/* It is one of the last ones. */
bool udpai_door_ended_has(const udpai_door_connection *connection, int32_t id);
/* Looks on from @p at, which is moved behind the head of the next frame; false: it is not in these
 * bytes, which are followed by others. */
bool udpai_door_scan_next(udpai_door_scan *scan, udpai_str bytes, size_t *at);

/* Where HTTP/1.1 is served: it goes there, with these bytes, which have come. What is left of it is
 * to be freed. The acceptor's thread, or the door's. */
void udpai_door_connection_hand_over(udpai_door_connection *connection, udpai_str early);

/* ---- visit.c: requests that are no calls of gRPC ---- */

/* A head begins; false without memory. It is dropped when it was a call's. */
bool udpai_door_visit_begin_head(udpai_door_connection *connection);
void udpai_door_visit_field(udpai_door_connection *connection, udpai_str name, udpai_str value);
void udpai_door_visit_drop_head(udpai_door_connection *connection);
/* Its head is complete, and is one of these. */
void udpai_door_visit_open(udpai_door_stream *stream, bool has_body);
void udpai_door_visit_take(udpai_door_stream *stream, udpai_str bytes);
void udpai_door_visit_ended(udpai_door_stream *stream);
/* A piece of its answer has gone. */
void udpai_door_visit_progress(udpai_door_stream *stream);
/* Its stream is about to be closed; of others nothing. */
void udpai_door_visit_leave(udpai_door_stream *stream);
/* Answers have come. */
void udpai_door_visits_answer(udpai_door *door);
/* Those of a connection whose listener closes. */
void udpai_door_visits_hurry(udpai_door_connection *connection);

/* ---- metadata.c ---- */

/* A field of a request, which need not be metadata; false without memory. */
bool udpai_door_metadata_take(udpai_door_stream *stream, udpai_str name, udpai_str value);
bool udpai_door_metadata_has(const udpai_door_stream *stream, udpai_door_metadata when);
/* Adds those to the @p n fields that are there; returns how many there are. */
size_t udpai_door_metadata_put(const udpai_door_stream *stream,
                               udpai_door_metadata when,
                               nghttp2_nv *fields,
                               size_t n);
void udpai_door_metadata_drop(udpai_door_stream *stream);

/* ---- http2.c: between nghttp2 and streams ---- */

/* What all connections of a listener share. */
udpa_err udpai_door_http2_prepare(udpai_door_listener *listener);
udpa_err udpai_door_http2_begin(udpai_door_connection *connection);
/* False: the connection is broken. */
bool udpai_door_http2_take(udpai_door_connection *connection, udpai_str bytes);
/* Appends to @p out what is to be sent, about a piece. False: it is broken. */
bool udpai_door_http2_give(udpai_door_connection *connection, udpai_strbuf *out);
/* What its owner wants of a stream. */
void udpai_door_http2_submit(udpai_door_stream *stream);

/* ---- stream.c: between frames and messages ---- */

udpai_door_stream *udpai_door_stream_new(udpai_door_connection *connection, int32_t id);
/* Its head is complete. */
void udpai_door_stream_open(udpai_door_stream *stream);
void udpai_door_stream_take(udpai_door_stream *stream, udpai_str bytes);
void udpai_door_stream_peer_ended(udpai_door_stream *stream);
/* The next bytes of its message go into @p out. */
void udpai_door_stream_give(udpai_door_stream *stream, size_t n, udpai_strbuf *out);
void udpai_door_stream_due(udpai_door_stream *stream);
/* It is due: reads what waited to be read. */
void udpai_door_stream_resume(udpai_door_stream *stream);
/* What was taken has gone to the kernel. */
void udpai_door_stream_written(udpai_door_stream *stream);
/* It is over; frees it. */
void udpai_door_stream_close(udpai_door_stream *stream);
/* Nothing of its message has come for so long, and others wait for its room. */
void udpai_door_stream_stalled(udpai_door_stream *stream, unsigned seconds);
/* Of the message that is coming, as far as its size is known. */
size_t udpai_door_unfinished_size(const udpai_door_stream *stream);

/* ---- unfinished.c: room for messages that are coming ---- */

void udpai_door_unfinished_init(udpai_door *door);
/* Some of a message has come: it needs room, or may have to wait for it (is_waiting). */
void udpai_door_unfinished_begin(udpai_door_stream *stream);
/* All of it has come, or it never will. */
void udpai_door_unfinished_over(udpai_door_stream *stream);
bool udpai_door_may_keep(udpai_door *door, size_t more);

/* ---- limits.c ---- */

/* False: the peer has asked too much of us, and is sent that. */
bool udpai_door_allow_frame(udpai_door_connection *connection, const nghttp2_frame_hd *frame);
/* nghttp2 has to acknowledge too much of it, and is broken by that. */
void udpai_door_flooded(udpai_door_connection *connection);
bool udpai_door_allow_reset(udpai_door_connection *connection);
/* False: so many streams of it were refused that it is to go. */
bool udpai_door_allow_refusal(udpai_door_connection *connection);
/* The same of requests that are no calls. */
bool udpai_door_allow_request(udpai_door_connection *connection);
/* So much was written to it, which it may answer. */
void udpai_door_expect_answers(udpai_door_connection *connection, size_t size);
/* It has used up some of what it may: of such, little is taken at a time. */
bool udpai_door_is_suspect(const udpai_door_connection *connection);
void udpai_door_allowances_init(udpai_door_connection *connection);

/* ---- park.c: connections that only acknowledge are read late, many at a time ---- */

void udpai_door_parked_init(udpai_door *door);
/* Something was written to it. */
void udpai_door_park(udpai_door_connection *connection);
void udpai_door_unpark(udpai_door_connection *connection);
/* More of them that have something are read. */
void udpai_door_parked_read(udpai_door *door);

#endif
