/* SPDX-License-Identifier: Apache-2.0 */
/* Many clients of LRS, each of which reports the load of some clusters again and again, and whoever
 * wants the sums of it. One thread, and HTTP/2 as udpactl bench speaks it: who measures must cost
 * less than who is measured. */
#ifndef BENCH_REPORTS_H
#define BENCH_REPORTS_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "tools/bench/link.h"

#define REPORTS_CLUSTERS_MAX 1000
#define REPORTS_NAMESPACE "com.acme"

typedef struct reports_options {
    const char *server;  /* HOST:PORT */
    const char *control; /* HOST:PORT of what tells sums as text; NULL: they are got by UDPA */
    size_t n_clients, n_connections, n_clusters;
    size_t n_rounds; /* that each client reports, half of them once more: sums come each second */
    uint64_t interval_ms, patience_ms;
    int servers[UDPAI_LOAD_SERVERS_MAX];
    size_t n_servers;
} reports_options;

/* Of one cluster: what was sent, or what a sum says. */
typedef struct reports_counts {
    uint64_t successful, error, issued, in_progress, n_clients;
} reports_counts;

/* When how many requests of the first cluster had been sent. */
typedef struct reports_moment {
    uint64_t ns, issued;
} reports_moment;

typedef struct reports_sent {
    reports_counts *of; /* each cluster */
    UDPAI_VECTOR(reports_moment) moments;
} reports_sent;

/* Says it on stderr, and ends the program: nothing that is measured then would be true. */
void reports_fail(const char *format, ...) UDPA_PRINTF(1, 2) __attribute__((noreturn));

/* ---- clients.c ---- */

typedef struct reports_clients reports_clients;

/* A connection, with the clients that use it. */
typedef struct reports_link {
    reports_clients *owner;
    udpai_link *link;
    size_t first, n;
} reports_link;

struct reports_clients {
    const reports_options *options;
    udpai_load_loop *loop;
    reports_link *links;
    bool *is_asked; /* each client, to report */
    reports_sent sent;
    size_t n_ready; /* connections that can be used */
    size_t n_asked;
    struct reports_message *message;
};

void
reports_clients_begin(reports_clients *self, udpai_load_loop *loop, const reports_options *options);
void reports_clients_end(reports_clients *self);
/* Connects all, opens their streams, and says who they are. */
void reports_clients_connect(reports_clients *self);
/* The client says what has come since it did last. */
void reports_clients_report(reports_clients *self, size_t client, size_t round);

/* ---- message.c: what a client says ---- */

struct reports_message *reports_message_new(const reports_options *options);
void reports_message_free(struct reports_message *message);
/* Appends messages of gRPC: the first of a stream, and one with what has come in this round, which
 * is added to what was sent. */
void reports_message_put_node(udpai_strbuf *out, size_t client);
void reports_message_put(struct reports_message *message,
                         udpai_strbuf *out,
                         size_t client,
                         size_t round,
                         reports_counts *sent);

/* ---- sums.c: what is told of all of them ---- */

typedef struct reports_sums {
    const reports_options *options;
    udpai_link *link;     /* of UDPA */
    int control;          /* -1: not so */
    reports_counts *seen; /* of each cluster, in the newest sum */
    const reports_sent *sent;
    udpai_strbuf held; /* of a message that is not whole yet */
    bool is_ready;
    uint64_t n_updates, behind_ns; /* what a new sum lacks was sent so long ago, at most */
} reports_sums;

/* Wants the sums of all clusters; what is sent of each they must never be above. */
void reports_sums_begin(reports_sums *self,
                        udpai_load_loop *loop,
                        const reports_options *options,
                        const reports_sent *sent);
void reports_sums_end(reports_sums *self);
/* Are they all that was sent, and nothing else? Asks, if it is not told by itself. */
bool reports_sums_are_complete(reports_sums *self);

#endif
