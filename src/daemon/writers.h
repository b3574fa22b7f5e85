/* SPDX-License-Identifier: Apache-2.0 */
/* The directories that udpad writes for clients which only read files. */
#ifndef UDPAI_WRITERS_H
#define UDPAI_WRITERS_H

#include "daemon/plan.h"
#include "daemon/problems.h"

typedef struct udpai_writers udpai_writers;

/* Where they live; borrowed for good. */
typedef struct udpai_writers_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    udpai_schema *schema;
    udpai_problems *problems;
} udpai_writers_env;

udpa_err udpai_writers_open(udpai_writers **ret_writers,
                            const udpai_writers_env *env,
                            udpai_plan *plan,
                            udpa_error **ret_error);
/* While the endpoint is there. The loop frees it as it runs on. NULL does nothing. */
void udpai_writers_close(udpai_writers *writers);

/* ---- other ones, while the node runs ---- */

typedef struct udpai_writers_next udpai_writers_next;

/* Makes those that the plan has and the one before had not; nothing is written yet. To be ended by
 * one of the next two, before the loop runs on. */
udpa_err udpai_writers_prepare(udpai_writers *writers,
                               udpai_plan *plan,
                               udpai_writers_next **ret_next,
                               udpa_error **ret_error);
/* Those that the plan does not have any more end; their files stay. */
void udpai_writers_take(udpai_writers_next *next);
/* All is as before. NULL does nothing. */
void udpai_writers_leave(udpai_writers_next *next);

#endif
