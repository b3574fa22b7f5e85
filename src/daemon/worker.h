/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a process that has a stream side of a node, and nothing else. It serves the node's
 * sockets together with other workers; what it is sent, and what it reports, crosses a pair of
 * sockets. */
#ifndef UDPAI_WORKER_H
#define UDPAI_WORKER_H

#include "daemon/plan.h"

/* Where a worker finds its end of the pair; and of the one by which it is handed its sockets. */
#define UDPAI_WORKER_FD 3
#define UDPAI_WORKER_SOCKETS_FD 4

/* Runs until the node hangs up. */
udpa_err udpai_worker_run(const udpai_plan *plan, size_t number, udpa_error **ret_error);

#endif
