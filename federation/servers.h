/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a source: replicas of one set, of which it is connected to one at a time. When
 * that fails, the next one is dialled at once, and only after a whole round there is a pause. For
 * the files of this part. */
#ifndef UDPAI_FEDERATION_SERVERS_H
#define UDPAI_FEDERATION_SERVERS_H

#include "federation/peers.h"
#include "federation/problems.h"
#include "federation/source.h"

typedef struct udpai_server {
    udpa_bytes *address;         /* ends with a NUL */
    udpa_bytes *node, *instance; /* as it was introduced last; NULL: it was not yet */
    udpa_error *why; /* its last stream or attempt has ended since the source was steady; or NULL */
} udpai_server;

typedef struct udpai_servers {
    udpai_server *items; /* owned */
    size_t n;            /* 0: it is not dialled by gRPC; 1: there is no next one */
    size_t at;           /* the one that is connected, or dialled now or next */
    size_t n_ended;      /* streams and attempts that have ended since the source was steady */
    bool is_moving;      /* it was active, and the rest of the round has its place kept */
} udpai_servers;

/* Reads the source's address; from the start it is the first one's turn, or any one's. */
udpa_err udpai_servers_set(udpai_source *source, bool starts_anywhere);
void udpai_servers_done(udpai_source *source);

/* The stream to a server, or the attempt at one, has ended; it is the next one's turn. NULL: in
 * peace. True: it is to be dialled at once, since the round is not over. */
bool udpai_servers_ended(udpai_source *source, udpa_error *why);
/* Why those that were tried have failed: each by its address, or the only one's own error. A new
 * reference; NULL without memory. */
udpa_error *udpai_servers_why(const udpai_source *source);
/* How many rounds of attempts have failed; at least 1. */
unsigned udpai_servers_n_rounds(const udpai_source *source);
/* Has no round failed yet, so that others may be there? */
bool udpai_servers_are_untried(const udpai_source *source);

/* The Node of the one that is connected was received: is it of the same set as the others? */
void udpai_servers_introduced(udpai_source *source, const udpai_peer *peer);
/* Sources with servers of several nodes. */
void
udpai_servers_visit_problems(const udpai_sources *sources, udpai_problem_fn visit, void *userdata);

/* Its address, for people and ending with a NUL; NULL: it is not dialled by gRPC. */
const char *udpai_servers_address(const udpai_source *source);

#endif
