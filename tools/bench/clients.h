/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of the load: all of them subscribe, and acknowledge each response. */
#ifndef UDPAI_BENCH_CLIENTS_H
#define UDPAI_BENCH_CLIENTS_H

#include "tools/bench/link.h"
#include "tools/bench/spaces.h"
#include "tools/bench/stream.h"

typedef struct udpai_load_clients udpai_load_clients;

typedef struct udpai_load_client {
    udpai_load_clients *clients;
    udpai_load_stream stream;
    udpai_load_subscription subscription;
    udpai_mark_finder finder;
    uint64_t n_resources; /* since it was opened */
    size_t n_expected;    /* that there are for it; 0: it is not known */
    size_t space;         /* the namespace that it subscribes to */
    size_t link, index;   /* of the connection; on it */
    bool is_slow;
} udpai_load_client;

typedef struct udpai_load_connection {
    udpai_load_clients *clients;
    udpai_link *link;
    SSL_SESSION *session; /* of the one before; NULL: none */
    size_t index, first;  /* of its streams */
    size_t n;
    bool is_ready;
} udpai_load_connection;

struct udpai_load_clients {
    const udpai_load_options *options;
    udpai_load_loop *loop;
    SSL_CTX *tls;
    udpai_load_client *items;
    udpai_load_connection *links;
    udpai_load_space *spaces;
    size_t n_ready;    /* connections that can be used */
    size_t n_complete; /* streams that have what there is */
    uint64_t n_messages, n_resources, n_errors;
    uint64_t last_ns; /* when a message has come */
    udpa_err first_code;
    udpai_strbuf first_error;
    udpai_load_version *versions; /* of each resource; NULL: they are not kept */
    udpai_load_held held;         /* the same, as streams say it */
    udpai_mark_fn found;          /* marks; NULL: they are not looked for */
    void *userdata;
};

udpa_err udpai_load_clients_begin(udpai_load_clients *clients,
                                  udpai_load_loop *loop,
                                  const udpai_load_options *options,
                                  udpa_error **ret_error);
void udpai_load_clients_end(udpai_load_clients *clients);

/* Connects all. */
udpa_err udpai_load_clients_connect(udpai_load_clients *clients, udpa_error **ret_error);
void udpai_load_clients_disconnect(udpai_load_clients *clients);
/* Opens all streams; with versions they send what they hold. */
udpa_err udpai_load_clients_subscribe(udpai_load_clients *clients,
                                      bool with_versions,
                                      udpa_error **ret_error);
/* Waits until all have what there is. */
udpa_err udpai_load_clients_await(udpai_load_clients *clients, udpa_error **ret_error);
/* How many streams that read are subscribed to this one. */
size_t udpai_load_clients_n_readers(const udpai_load_clients *clients, size_t resource);
/* UDPA_OK while none has failed. */
udpa_err udpai_load_clients_check(const udpai_load_clients *clients, udpa_error **ret_error);

#endif
