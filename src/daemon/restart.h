/* SPDX-License-Identifier: Apache-2.0 */
/* A restart without a gap: this process starts its program anew, hands it the sockets and then the
 * store and the sources, and ends as soon as its clients have moved. Whatever fails before the
 * successor serves, this process goes on as before (docs/design/restart.md). On the loop. */
#ifndef UDPAI_DAEMON_RESTART_H
#define UDPAI_DAEMON_RESTART_H

#include <uv.h>

#include "daemon/effective.h"
#include "daemon/options.h"
#include "daemon/plan.h"
#include "daemon/storage.h"
#include "daemon/workers.h"

/* timing.hand_over_timeout, unless the file has another. */
#define UDPAI_HAND_OVER_TIMEOUT_MS 60000

typedef struct udpai_restart udpai_restart;

/* All borrowed. */
typedef struct udpai_restart_env {
    uv_loop_t *loop;
    const udpai_plan *plan; /* the first one */
    const udpai_effective *effective;
    const udpai_options *options;
    udpa_endpoint *endpoint;
    udpai_daemon_storage *storage;
    udpai_workers *workers; /* NULL: none */
    /* It begins, or has failed. */
    void (*under_way)(void *userdata, bool is_under_way);
    /* Another process serves: what is left is to end, in peace. */
    void (*handed_over)(void *userdata);
    void *userdata;
} udpai_restart_env;

udpa_err udpai_restart_open(udpai_restart **ret_restart, const udpai_restart_env *env);
/* Freed by the loop's next turns. NULL does nothing. */
void udpai_restart_close(udpai_restart *restart);

/* Begins. UDPA_ERR_PRECONDITION: this node cannot be restarted so, or a restart is under way; other
 * errors: the program cannot be started. Nothing has changed then. */
udpa_err udpai_restart_begin(udpai_restart *restart, uint64_t timeout_ms, udpa_error **ret_error);
/* Which process takes over; 0: none does, or it has failed. */
int udpai_restart_successor(const udpai_restart *restart);
/* Why the last one has failed; empty: none has since the last beginning. */
const char *udpai_restart_failure(const udpai_restart *restart);

#endif
