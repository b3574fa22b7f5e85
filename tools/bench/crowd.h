/* SPDX-License-Identifier: Apache-2.0 */
/* The streams that are served: all of them ask, and acknowledge what comes. */
#ifndef UDPAI_BENCH_CROWD_H
#define UDPAI_BENCH_CROWD_H

#include "tools/bench/link.h"
#include "tools/bench/spaces.h"
#include "tools/bench/talk.h"

typedef struct udpai_crowd udpai_crowd;

typedef struct udpai_crowd_stream {
    udpai_crowd *crowd;
    udpai_load_talk talk;
    udpai_load_question question;
    udpai_mark_finder finder;
    uint64_t n_resources; /* since it was opened */
    size_t n_wanted;      /* that there are for it; 0: it is not known */
    size_t space;         /* where it asks */
    size_t link, index;   /* of the connection; on it */
    bool is_slow;
} udpai_crowd_stream;

typedef struct udpai_crowd_link {
    udpai_crowd *crowd;
    udpai_link *link;
    SSL_SESSION *session; /* of the one before; NULL: none */
    size_t index, first;  /* of its streams */
    size_t n;
    bool is_ready;
} udpai_crowd_link;

struct udpai_crowd {
    const udpai_load_options *options;
    udpai_load_loop *loop;
    SSL_CTX *tls;
    udpai_crowd_stream *streams;
    udpai_crowd_link *links;
    udpai_load_space *spaces;
    size_t n_ready;     /* connections that can be used */
    size_t n_satisfied; /* streams that have what there is */
    uint64_t n_messages, n_resources, n_errors;
    uint64_t last_ns; /* when a message has come */
    udpa_err first_code;
    udpai_strbuf first_error;
    udpai_load_version *versions; /* of each resource; NULL: they are not wanted */
    udpai_mark_fn found;          /* marks; NULL: nobody looks for them */
    void *userdata;
};

udpa_err udpai_crowd_begin(udpai_crowd *crowd,
                           udpai_load_loop *loop,
                           const udpai_load_options *options,
                           udpa_error **ret_error);
void udpai_crowd_end(udpai_crowd *crowd);

/* Connects all. */
udpa_err udpai_crowd_connect(udpai_crowd *crowd, udpa_error **ret_error);
void udpai_crowd_disconnect(udpai_crowd *crowd);
/* Opens all streams; with versions they say what they hold. */
udpa_err udpai_crowd_subscribe(udpai_crowd *crowd, bool with_versions, udpa_error **ret_error);
/* Waits until all have what there is. */
udpa_err udpai_crowd_await(udpai_crowd *crowd, udpa_error **ret_error);
/* How many streams that read have asked for this one. */
size_t udpai_crowd_n_readers(const udpai_crowd *crowd, size_t resource);
/* UDPA_OK while none has gone wrong. */
udpa_err udpai_crowd_check(const udpai_crowd *crowd, udpa_error **ret_error);

#endif
