/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of udpad: its layers are loaded, and what of its values the node itself goes by is
 * put into use. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_RUNTIME_H
#define UDPAI_DAEMON_RUNTIME_H

#include "daemon/rtds.h"
#include "daemon/tunables_follow.h"
#include "runtime/loader.h"

typedef struct udpai_daemon_runtime {
    udpai_runtime runtime;
    udpai_runtime_loader *loader;
    udpai_daemon_rtds *rtds; /* NULL: no layer comes by it */
    udpai_tunables_follower *follower;
} udpai_daemon_runtime;

/* The endpoint has not started; borrowed until it is closed. To be closed, whatever comes. */
udpa_err udpai_daemon_runtime_open(udpai_daemon_runtime **ret_runtime,
                                   uv_loop_t *loop,
                                   const udpai_tunables_follower_env *env,
                                   udpa_error **ret_error);
/* Looks at the files again. */
void udpai_daemon_runtime_look(udpai_daemon_runtime *runtime);
/* The node ends: it goes by nothing any more. NULL is fine. */
void udpai_daemon_runtime_leave(udpai_daemon_runtime *runtime);
/* Nothing changes any more; what it has can still be read. NULL is closed already. */
void udpai_daemon_runtime_close(udpai_daemon_runtime *runtime);
/* After it was closed and the loop has run to its end: nobody reads any more. */
void udpai_daemon_runtime_free(udpai_daemon_runtime *runtime);

#endif
