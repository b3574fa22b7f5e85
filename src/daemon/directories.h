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

/* ---- other ones, while the node runs ---- */

/* What a change of the list would do. */
typedef struct udpai_directories_facts {
    size_t n_added, n_removed, n_edited;
    size_t n_withdrawn; /* resources that clients have, and that would not be there any more */
} udpai_directories_facts;

typedef struct udpai_directories_next udpai_directories_next;

/* Reads those of the plan that are new or edited, without giving any of it to the node: an error is
 * as of a start. To be ended by one of the next two, before the loop runs on; NULL: it has the same
 * list as before. Not among replicas. */
udpa_err udpai_directories_prepare(udpai_directories *directories,
                                   const udpai_plan *plan,
                                   udpai_directories_next **ret_next,
                                   udpa_error **ret_error);
const udpai_directories_facts *udpai_directories_facts_of(const udpai_directories_next *next);
typedef void (*udpai_directories_fn)(void *userdata, const char *path, const char *change);
/* "added", "removed", "edited". */
void udpai_directories_visit(const udpai_directories_next *next,
                             udpai_directories_fn visit,
                             void *userdata);
/* The node is given those that were prepared, then those that the list does not have any more end.
 */
void udpai_directories_take(udpai_directories *directories, udpai_directories_next *next);
/* All is as before. NULL does nothing. */
void udpai_directories_leave(udpai_directories *directories, udpai_directories_next *next);
/* The plan that they are of is this one from now on, which has the same list. */
void udpai_directories_set_plan(udpai_directories *directories, const udpai_plan *plan);

/* ---- all of them ---- */

/* From now on they are read when nothing has changed for so long. NULL is fine, here and below. */
void udpai_directories_set_quiet(udpai_directories *directories, uint64_t quiet_ms);
/* Files are validated by other rules now: looks at all of them. */
void udpai_directories_look(udpai_directories *directories);
/* The endpoint is given all of them again: it may have rejected some of what it takes now. */
void udpai_directories_report_again(udpai_directories *directories);
/* The loop frees it as it runs on; the endpoint is given nothing more. NULL does nothing. */
void udpai_directories_close(udpai_directories *directories);

#endif
