/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that udpad serves on its HTTP sockets, for people and tools: what there is to see, and
 * for which peers. The HTTP thread asks, the loop answers. */
#ifndef UDPAI_DAEMON_PAGES_H
#define UDPAI_DAEMON_PAGES_H

#include "daemon/certificates.h"
#include "daemon/liveness.h"
#include "daemon/readiness.h"
#include "daemon/replicas.h"
#include "daemon/runtime.h"
#include "daemon/workers.h"
#include "loop/loop_inbox.h"

typedef struct udpai_pages udpai_pages;

#define UDPAI_PAGES 16
extern const udpai_http_page udpai_pages_all[UDPAI_PAGES];

/* Everything is borrowed until the end. */
typedef struct udpai_pages_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    udpai_daemon_runtime *runtime;
    udpai_replicas *replicas; /* NULL: none */
    const udpai_plan *plan;
    /* What they point to may be NULL, and change. */
    udpai_workers *const *workers;
    udpai_durable_engine *const *engine; /* SQLite */
    const udpai_liveness *liveness;
    udpai_readiness *readiness;
} udpai_pages_env;

udpa_err
udpai_pages_open(udpai_pages **ret_pages, const udpai_pages_env *env, udpa_error **ret_error);
/* The node's own, until others are set; NULL: none are known any more. */
void udpai_pages_set_certificates(udpai_pages *pages, const udpai_certificates *certificates);
/* A client asks for one; @p userdata: the pages. Any thread. */
void udpai_pages_read(void *userdata, udpai_http_reading *reading);
/* When nobody asks any more. NULL is closed already. */
void udpai_pages_close(udpai_pages *pages);

#endif
