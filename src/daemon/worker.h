/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a process that has a stream side of a node, and nothing else. It serves the node's
 * sockets together with other workers; what it is sent, and what it reports, crosses a pair of
 * sockets. */
#ifndef UDPAI_WORKER_H
#define UDPAI_WORKER_H

#include "daemon/plan.h"

/* Where a worker finds its end of the pair; of the one by which it is handed its sockets; and the
 * bootstrap file that the node has checked, packed: it never reads the file itself, where another
 * version may lie by now. */
#define UDPAI_WORKER_FD 3
#define UDPAI_WORKER_SOCKETS_FD 4
#define UDPAI_WORKER_BOOTSTRAP_FD 5

udpa_err udpai_worker_read_bootstrap(udpai_bootstrap *ret_bootstrap, udpa_error **ret_error);

/* Runs until the node hangs up. The number of the worker is among the options. */
udpa_err
udpai_worker_run(const udpai_plan *plan, const udpai_options *options, udpa_error **ret_error);

#endif
