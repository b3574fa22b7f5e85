/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of resource files, and the trees of runtime layers, that udpad watches, handed to
 * its node. */
#ifndef UDPAI_DIRECTORIES_H
#define UDPAI_DIRECTORIES_H

#include "daemon/plan.h"
#include "daemon/problems.h"

typedef struct udpai_directories udpai_directories;

/* Reports to the node which directories there will be; before it is given what was kept of them. */
udpa_err
udpai_directories_expect(udpa_endpoint *endpoint, const udpai_plan *plan, udpa_error **ret_error);

/* Borrowed for good. */
typedef struct udpai_directories_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    udpai_schema *schema;
    const udpai_policy *policy; /* what is validated; NULL: nothing */
    udpai_problems *problems;
} udpai_directories_env;

/* Reads all of them once, so that nothing is served before they are there, and watches them. */
udpa_err udpai_directories_open(udpai_directories **ret_directories,
                                const udpai_directories_env *env,
                                const udpai_plan *plan,
                                udpa_error **ret_error);
/* From now on they are read when nothing has changed for so long. NULL is fine, here and below. */
void udpai_directories_set_quiet(udpai_directories *directories, uint64_t quiet_ms);
/* Files are validated by other rules now: looks at all of them. */
void udpai_directories_look(udpai_directories *directories);
/* The endpoint is given all of them again: it may have rejected some of what it takes now. */
void udpai_directories_report_again(udpai_directories *directories);
/* The loop frees it as it runs on; the endpoint is given nothing more. NULL does nothing. */
void udpai_directories_close(udpai_directories *directories);

#endif
