/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of REST: their certificates, and their end, which comes before the stream thread's.
 * All of it belongs to the loop's thread. */
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
    udpai_pages *pages;
    const udpai_plan *plan;
} udpai_rest_env;

/* Listens where the plan has it; *ret_rest stays NULL if that is nowhere. */
udpa_err udpai_rest_open(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error);
/* Of the plan's socket with this index. */
int udpai_rest_port(const udpai_rest *rest, size_t index);
/* Other certificates of it for handshakes from now on. */
udpa_err udpai_rest_replace_tls(udpai_rest *rest,
                                size_t index,
                                const udpai_tls_files *files,
                                udpa_error **ret_error);
/* Answers what is held, then calls @p closed, and is freed; of NULL at once. */
void udpai_rest_close(udpai_rest *rest, void (*closed)(void *userdata), void *userdata);

#endif
