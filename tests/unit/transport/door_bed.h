/* SPDX-License-Identifier: Apache-2.0 */
/* A door without a socket that listens, for tests of its connections: these are pairs of sockets,
 * of which the test has the other end. The owner of its streams has them say what came. */
#ifndef UDPAI_TESTS_DOOR_BED_H
#define UDPAI_TESTS_DOOR_BED_H

#include "tests/unit/transport/frames.h"
#include "transport/door/door.h"

#define DOOR_BED_BODY 200000
#define DOOR_BED_VISITS 4 /* that are served at a time */
#define DOOR_BED_WAITING 3
#define DOOR_BED_HELD 8

typedef struct door_bed {
    udpai_wheel wheel;
    udpai_door *door;
    udpai_door_listener *listener; /* NULL: it has closed */
    atomic_uint_fast64_t woken_ns; /* since then what has come is handled; 0: it waits */
    size_t n_opened, n_open, n_messages, n_ended, n_failed, n_greedy;
    size_t room; /* for messages that are coming, in bytes; at first there is much */
    bool is_open_to_all;
    bool holds;              /* streams that begin now are not read, … */
    udpai_door_stream *last; /* … such as the last one that has begun; NULL: it is over */
    char path[64], message[256], address[80]; /* the last ones; the latter: of a stream's peer */
    size_t message_len;
    char identity[80]; /* of the peer of the last one, its name */
    bool is_secure;
    size_t n_not_sent; /* of metadata, which is echoed: "key" first, "key-bin" last */
    udpa_err why;      /* the last one has ended */
    /* Of those who serve visits: of the last one its path, its body, and what is wrong with it. */
    udpai_visits visits;
    size_t n_visits, n_over, n_taken, n_admitted, n_dismissed;
    char visit_path[64], visit_body[256];
    unsigned visit_wrong;
    bool visits_are_over, may_not_visit;
    udpai_visit *held; /* whose path is "/hold": to be answered by the test, and let go of */
    udpai_visit *held_too[DOOR_BED_HELD]; /* the same of "/held", of which there may be many */
    size_t n_held_too;
    /* Of the last connection that was handed over. */
    size_t n_handed;
    char early[256];
} door_bed;

/* A client of it. */
typedef struct door_peer {
    int socket;
    udpai_strbuf to; /* that is to be sent */
    udpai_strbuf from;
    bool is_over; /* the door has closed it */
} door_peer;

/* UDPA_ERR_NOMEM. */
udpa_err door_bed_open(door_bed *bed);
/* It serves visits, too: DOOR_BED_VISITS at a time, and DOOR_BED_WAITING wait; with bodies of at
 * most DOOR_BED_BODY bytes. */
udpa_err door_bed_open_serving(door_bed *bed);
/* Answers a visit, with this status, and a text (NULL: none). */
void door_bed_answer(udpai_visit *visit, unsigned status, const char *text);
/* With a socket that listens, and the thread that stands at it; fields that are zero are
 * filled in. */
udpa_err door_bed_open_listening(door_bed *bed, const udpai_door_listen_options *with);
/* Its peers have closed. */
void door_bed_close(door_bed *bed);
udpa_err door_bed_connect(door_bed *bed, door_peer *peer, const char *address);
/* By a socket that is connecting, which is consumed. */
void door_peer_open(door_peer *peer, int socket);
void door_peer_close(door_peer *peer);
/* Sends what is to be sent, and has the door do all there is to do. */
void door_bed_run(door_bed *bed, door_peer *peer);
/* The same, and waits so long in between. */
void door_bed_run_for(door_bed *bed, door_peer *peer, unsigned ms);
/* The same until so many streams have come; false: they do not. */
bool door_bed_run_until_opened(door_bed *bed, door_peer *peer, size_t n);
/* The same until the door has closed the connection. */
bool door_bed_run_until_over(door_bed *bed, door_peer *peer);
/* A request for this path by this method that is none of gRPC; the end of its stream, or its
 * body follows. */
void
door_peer_request(door_peer *peer, uint32_t id, const char *method, const char *path, bool ends);
/* A call of this path, with more fields (NULL: none), which are HPACK. */
void door_peer_call(door_peer *peer, uint32_t id, const char *path, const udpai_strbuf *more);

#endif
