/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of udpad: its layers are loaded, and what of its values the node itself goes by is
 * put into use. Belongs to the loop's thread. */
#ifndef UDPAI_DAEMON_RUNTIME_H
#define UDPAI_DAEMON_RUNTIME_H

#include "daemon/switching.h"
#include "runtime/loader.h"

typedef struct udpai_daemon_runtime {
    udpai_runtime runtime;
    udpai_runtime_loader *loader;
    udpai_switching *switching;
} udpai_daemon_runtime;

/* To be closed, whatever comes. */
udpa_err udpai_daemon_runtime_open(udpai_daemon_runtime **ret_runtime,
                                   uv_loop_t *loop,
                                   const udpai_switching_env *env,
                                   udpa_error **ret_error);
/* Looks at the files again. */
void udpai_daemon_runtime_look(udpai_daemon_runtime *runtime);
/* The node ends: it goes by nothing any more. NULL is fine. */
void udpai_daemon_runtime_leave(udpai_daemon_runtime *runtime);
/* NULL is closed already. It goes when the loop has let go of it. */
void udpai_daemon_runtime_close(udpai_daemon_runtime *runtime);

#endif
