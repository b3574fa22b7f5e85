/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of REST, and those of administration: their certificates, and their end, which comes
 * before the stream thread's. Each kind has a thread of its own, so that what is asked of the one
 * is not held up by the other. All of it belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_REST_H
#define UDPAI_DAEMON_REST_H

#include <uv.h>

#include "daemon/pages.h"

typedef struct udpai_rest udpai_rest;

/* All of it is borrowed until the end. */
typedef struct udpai_rest_env {
    uv_loop_t *loop;
    udpai_stream_thread *streams;
    udpai_schema *schema;
    udpai_pages *pages; /* NULL: a worker's, which has neither pages nor sockets of its own */
    const udpai_plan *plan;
} udpai_rest_env;

/* Listens where the plan has it, and serves what sockets of gRPC serve besides; *ret_rest stays
 * NULL if that is nowhere. */
udpa_err udpai_rest_open(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error);
/* The same of the plan's admin sockets, which have pages alone. One that nobody has asked for may
 * be missing, which is logged. */
udpa_err
udpai_rest_open_admin(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error);
/* Of connections; of NULL there are none. */
udpai_http_counts udpai_rest_counts(const udpai_rest *rest);
/* Of its plan's socket with this index. */
int udpai_rest_port(const udpai_rest *rest, size_t index);
/* Other certificates of it for handshakes from now on. */
udpa_err udpai_rest_replace_tls(udpai_rest *rest,
                                size_t index,
                                const udpai_tls_files *files,
                                udpa_error **ret_error);
/* What serves it at this socket of gRPC; NULL: nothing is. */
const struct udpai_visits *udpai_rest_visits(const udpai_rest *rest,
                                             const udpai_plan_socket *socket);
/* Answers what is held, then calls @p closed; of NULL at once. */
void udpai_rest_close(udpai_rest *rest, void (*closed)(void *userdata), void *userdata);
/* It has closed, and so has the stream thread. NULL is fine. */
udpai_rest *udpai_rest_free(udpai_rest *rest);

#endif
