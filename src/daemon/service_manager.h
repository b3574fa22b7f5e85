/* SPDX-License-Identifier: Apache-2.0 */
/* What a node reports to the service manager that started it, such as systemd: that it is ready,
 * reloads and stops, that all its threads turn, and a line on its state. Where there is no service
 * manager, nothing happens. Belongs to the loop's thread.
 *
 * Sources: sd_notify(3), sd_watchdog_enabled(3) */
#ifndef UDPAI_SERVICE_MANAGER_H
#define UDPAI_SERVICE_MANAGER_H

#include <uv.h>

#include "base/error.h"
#include "daemon/liveness.h"

/* Bytes of the line on the state; what is longer is cut. */
#define UDPAI_SERVICE_STATUS_MAX 400

/* The variables of the environment; NULL: not there. */
typedef struct udpai_service_variables {
    const char *socket; /* NOTIFY_SOCKET */
    const char
        *watchdog_us; /* WATCHDOG_USEC: it takes a node for hung that is silent for so long */
    const char *watchdog_process; /* WATCHDOG_PID: which process is watched; all, if not there */
} udpai_service_variables;

typedef struct udpai_service_manager udpai_service_manager;

/* Borrowed until the end. */
typedef struct udpai_service_manager_env {
    uv_loop_t *loop;
    const udpai_liveness *liveness;
    /* Does the node serve, with all that it waits for? Appends a line on its state. */
    bool (*look)(void *userdata, udpai_strbuf *text);
    void *userdata;
    bool is_successor; /* the manager learns of this process by the one before it */
} udpai_service_manager_env;

udpai_service_variables udpai_service_variables_here(void);

/* Reports from now on: READY=1 once the node serves; until then, and while it stops, that it takes
 * longer; WATCHDOG=1 as long as everything turns. @p ret_manager is NULL where there is none, or
 * where its socket cannot be used, which is logged. UDPA_ERR_NOMEM. */
udpa_err udpai_service_manager_open(udpai_service_manager **ret_manager,
                                    const udpai_service_manager_env *env,
                                    const udpai_service_variables *variables);

/* NULL does nothing, in all of these. Around a reload, which ends before the second one: */
void udpai_service_manager_reloading(udpai_service_manager *manager);
void udpai_service_manager_reloaded(udpai_service_manager *manager);
/* The node begins to end. Again does nothing. */
void udpai_service_manager_stopping(udpai_service_manager *manager);
/* It has not much to do any more; or this process is managed in its place, 0: none. The loop frees
 * it as it runs on. */
void udpai_service_manager_close(udpai_service_manager *manager, int successor);

#endif
