/* SPDX-License-Identifier: Apache-2.0 */
/* Load on a server of xDS or UDPA, and what it costs: many streams, each on a connection of its own
 * or some on each, and resources that change. One thread, sockets by epoll, HTTP/2 by nghttp2, and
 * no message is parsed further than it must: the client must cost less than the server.
 *
 * docs/performance.md has what the figures mean. */
#ifndef UDPAI_BENCH_LOAD_H
#define UDPAI_BENCH_LOAD_H

#include "base/error.h"
#include "tools/bench/progress.h"
#include "tools/bench/samples.h"

typedef enum udpai_load_protocol {
    UDPAI_LOAD_DELTA,
    UDPAI_LOAD_STATE_OF_THE_WORLD,
    UDPAI_LOAD_UDPA,
} udpai_load_protocol;

#define UDPAI_LOAD_SERVERS_MAX 16 /* processes that are measured */

/* PEM files; without authorities there is no TLS. */
typedef struct udpai_load_tls {
    const char *authorities, *certificate, *private_key, *server_name;
} udpai_load_tls;

/* NULL and 0: not given. Everything is borrowed. */
typedef struct udpai_load_options {
    const char *server; /* HOST:PORT */
    udpai_load_tls tls;
    udpai_load_protocol protocol;
    const char *type_url;
    const char *node_id;    /* what those of streams and of the publisher begin with */
    const char *name_space; /* of resources */
    size_t n_namespaces;    /* 0: this one; else so many below it, of which a stream has some */
    size_t n_of_a_stream;   /* so many; 0: one */
    bool has_plain_names;   /* in xDS streams subscribe to them without their namespace */
    size_t n_streams, n_connections;
    size_t n_resources; /* that there are; 0: it is not known, and silence means that all have
                           arrived */
    size_t n_names;     /* that each stream subscribes to; 0: all, by wildcard */
    size_t n_of_envoys; /* not 0: each stream subscribes as an Envoy does, to all clusters and
                           listeners and the first route configuration, too; so many in all */
    bool is_idle;       /* connections alone */
    bool reconnects;
    size_t n_slow;           /* streams that stop to read when they have what there is … */
    size_t slow_bytes_per_s; /* … or go on to, no faster than this */

    const char *publish_to; /* HOST:PORT of a node of UDPA, to which n_resources are published */
    bool keeps;             /* what was published is left there */
    size_t batch;           /* so many in a message */
    const char *control;    /* HOST:PORT of what takes changes by records */
    size_t size;            /* of the contents of a resource, in bytes, at least */
    size_t n_changes;
    size_t depth;      /* changes on the way */
    size_t n_together; /* resources of each change; 0: one */
    bool has_receipts; /* changes ask for them */
    double per_second; /* 0: the next one when all streams have had one */
    uint64_t patience_ms, changes_ms;
    uint64_t rest_ms; /* in the end nothing happens for so long */

    int servers[UDPAI_LOAD_SERVERS_MAX]; /* process ids */
    size_t n_servers;

    udpai_load_progress_fn progress; /* NULL: no reports */
    void *userdata;
} udpai_load_options;

/* What a step took, and the processes of servers for it. Of changes, and behind a reconnect:
 * without slow streams, and without the one change that shows when all are back. */
typedef struct udpai_load_step {
    bool was_done;
    double ms, server_cpu_ms, client_cpu_ms;
    uint64_t n, bytes;
} udpai_load_step;

typedef struct udpai_load_memory {
    uint64_t begin_kb, filled_kb, connected_kb, synced_kb, end_kb;
} udpai_load_memory;

typedef struct udpai_load_figures {
    udpai_load_step publish, connect, sync, changes, reconnect, rest; /* n: of resources */
    udpai_load_memory memory;
    uint64_t n_deliveries, n_messages;
    udpai_samples deliveries, last; /* us; last: of the slowest stream of each change */
    udpai_samples receipts;         /* us; of changes */
    udpai_samples after_receipt; /* until the slowest stream had the change; 0: it had it before */
    uint64_t n_errors;
} udpai_load_figures;

/* UDPA_ERR_INVAL: the options contradict each other. */
udpa_err udpai_load_check(const udpai_load_options *options, udpa_error **ret_error);

/* UDPA_ERR_INVAL: the options contradict each other. Other errors: it could not go on, or what
 * should have come did not. To be followed by udpai_load_figures_done() in any case. */
udpa_err udpai_load_run(const udpai_load_options *options,
                        udpai_load_figures *ret_figures,
                        udpa_error **ret_error);
void udpai_load_figures_done(udpai_load_figures *figures);

#endif
