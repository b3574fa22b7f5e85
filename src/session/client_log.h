/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log about the clients of a node: that one has connected, has sent a NACK, has
 * disconnected (docs/design/xds.md, "In the log"). At most one a second is written about a client;
 * what waits is replaced by later lines of its kind, and those left out are counted by the next. Of
 * all clients of one peer at most 1,000 are written at once, and 10 a second after that.
 *
 * Streams of one connection with one Node id are one client. For the second it is the Node id and
 * the peer's name or host that count: a client that comes again from another port is the same.
 * Without memory a line is left out, nothing else. */
#ifndef UDPAI_CLIENT_LOG_H
#define UDPAI_CLIENT_LOG_H

#include "base/map.h"
#include "session/hub.h"

/* What a peer may have written, by its name or host. Peers share so many: how many there are must
 * not be a matter of who comes. */
#define UDPAI_CLIENT_BUDGETS 256

typedef struct udpai_client_budget {
    uint64_t since_ms;
    unsigned n_spent;
} udpai_client_budget;

/* A part of the hub. */
struct udpai_client_log {
    udpai_wheel *wheel;
    udpai_map clients; /* that are connected */
    udpai_map
        speakers; /* those of which lines were written in the last second, or clients are there */
    uint64_t window_end_ms;           /* of a second over all clients … */
    unsigned n_in_window, n_left_out; /* … lines written, and those beyond what it takes */
    uint64_t n_waiting;               /* lines that have waited, ever: their order */
    udpai_client_budget budgets[UDPAI_CLIENT_BUDGETS];
};

/* What a client has rejected: views, for the call. */
typedef struct udpai_client_nack {
    udpai_str type_url;
    udpai_str name;    /* of the first; empty: not known */
    size_t n_more;     /* resources */
    udpai_str version; /* empty: not known, or none */
    uint64_t nonce;
    const udpa_error *why; /* in its words; NULL: no memory */
} udpai_client_nack;

void udpai_client_log_init(udpai_client_log *log, udpai_wheel *wheel);
/* Writes what waits. */
void udpai_client_log_done(udpai_client_log *log);

/* The session's peer has sent its Node; again, it may have become another client. */
void udpai_client_log_node(udpai_session *session, const udpai_node_info *node);
void udpai_client_log_nack(udpai_session *session,
                           const udpai_node_info *node,
                           const udpai_client_nack *nack);
/* The session ends; harmless if its peer never sent a Node. @p why: NULL: as it should. */
void udpai_client_log_closed(udpai_session *session, const udpa_error *why);

#endif
