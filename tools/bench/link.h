/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of HTTP/2 to a server of gRPC, with streams on it; messages are bytes here. Many of
 * them belong to one loop, and all to one thread. */
#ifndef UDPAI_BENCH_LINK_H
#define UDPAI_BENCH_LINK_H

#include <openssl/ssl.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tools/bench/load.h"

typedef struct udpai_load_loop {
    int epoll;
    uint64_t now_ns; /* of CLOCK_MONOTONIC: when the last bytes were read */
    uint64_t n_bytes_read;
    char *room; /* owned: what is read goes through it */
    udpai_load_progress progress;
} udpai_load_loop;

typedef struct udpai_link udpai_link;

/* None may close the link. */
typedef struct udpai_link_events {
    /* It can be used: what was to be agreed on was. */
    void (*ready)(void *userdata);
    /* Of one of its streams, which count from 0. */
    void (*data)(void *userdata, size_t stream, udpai_str bytes);
    /* A stream is over, which none should be, and why. */
    void (*ended)(void *userdata, size_t stream, const char *reason);
    /* So is the connection. */
    void (*broken)(void *userdata, const char *reason);
} udpai_link_events;

udpa_err udpai_load_loop_open(udpai_load_loop *loop,
                              const udpai_load_options *options,
                              udpa_error **ret_error);
void udpai_load_loop_close(udpai_load_loop *loop);
/* Waits for at most so long, and calls back for what has arrived. */
void udpai_load_loop_run(udpai_load_loop *loop, int timeout_ms);
/* Reports how far this step is. */
void udpai_load_loop_report(udpai_load_loop *loop, const char *step, size_t n, size_t n_all);

/* NULL without TLS. */
udpa_err
udpai_load_tls_new(SSL_CTX **ret_context, const udpai_load_tls *tls, udpa_error **ret_error);

typedef struct udpai_link_options {
    udpai_load_loop *loop;
    const char *server; /* HOST:PORT */
    SSL_CTX *tls;       /* borrowed; NULL: none */
    const char *server_name;
    SSL_SESSION *session; /* of an earlier one with the same server; borrowed; NULL: none */
    const udpai_link_events *events;
    void *userdata;
} udpai_link_options;

udpa_err
udpai_link_open(udpai_link **ret_link, const udpai_link_options *options, udpa_error **ret_error);
/* NULL-safe. */
udpai_link *udpai_link_close(udpai_link *link);
/* To open another one by; to be freed. NULL: there is none. */
SSL_SESSION *udpai_link_session(const udpai_link *link);
/* One more stream; false: it cannot be. */
bool udpai_link_request(udpai_link *link, const char *path);
/* Where messages for a stream are to be put; udpai_link_flush() sends them. */
udpai_strbuf *udpai_link_out(udpai_link *link, size_t stream);
void udpai_link_flush(udpai_link *link);
/* Bytes that the peer has not taken yet. */
size_t udpai_link_n_unsent(const udpai_link *link, size_t stream);
/* From now on nothing is read by itself. */
void udpai_link_stop_reading(udpai_link *link);
/* Reads up to so many bytes that are there, also then; how many there were. */
size_t udpai_link_read(udpai_link *link, size_t max);

#endif
