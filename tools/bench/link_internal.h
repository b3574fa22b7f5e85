/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a connection of the load generator, for the files link*.c. */
#ifndef UDPAI_BENCH_LINK_INTERNAL_H
#define UDPAI_BENCH_LINK_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "base/vector.h"
#include "tools/bench/link.h"
#include "tools/bench/reason.h"

/* Of a stream of gRPC: what is to be sent, and what came in its end. */
typedef struct udpai_link_stream {
    udpai_link *link;
    size_t index;
    int32_t id;
    int http_status, grpc_status; /* UDPAI_LOAD_NO_STATUS: not sent */
    udpai_strbuf out, message;    /* message: what is beside the status of gRPC */
    size_t n_sent;                /* of `out` */
    bool is_waiting;              /* for more to send */
} udpai_link_stream;

struct udpai_link {
    udpai_load_loop *loop;
    const udpai_link_events *events;
    void *userdata;
    int fd;
    uint32_t watched; /* events of epoll */
    SSL *ssl;         /* owned; NULL: none */
    nghttp2_session *http;
    udpai_strbuf held; /* for the socket, which did not take it */
    UDPAI_VECTOR(udpai_link_stream *) streams;
    bool is_shaking_hands, is_ready, is_broken, is_deaf;
};

/* What the session is to send, until the socket takes no more. */
void udpai_link_write(udpai_link *link);
void udpai_link_break(udpai_link *link, const char *reason);

/* ---- link_http.c ---- */

udpa_err udpai_link_http_open(udpai_link *link);

#endif
