/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that workers listen on. With udpad's own listener the node opens them all, and hands
 * each worker its own: of a port one each, among which the kernel divides connections; of a unix
 * socket, or one that was passed to the node, the same for all. gRPC's library opens its own; the
 * node then only keeps the ports from others. On the loop. */
#ifndef UDPAI_WORKER_SOCKETS_H
#define UDPAI_WORKER_SOCKETS_H

#include "base/strbuf.h"
#include "daemon/plan.h"

typedef struct udpai_worker_sockets udpai_worker_sockets;

/* For all sockets of the plan. Port 0 becomes the same one for all workers: @p ret_ports has those
 * of the sockets, and @p addresses each address, with a NUL. */
udpa_err udpai_worker_sockets_open(udpai_worker_sockets **ret_sockets,
                                   const udpai_plan *plan,
                                   int *ret_ports,
                                   udpai_strbuf *addresses,
                                   udpa_error **ret_error);
/* Closes what the node has of them, and removes the files of unix sockets. NULL is fine. */
void udpai_worker_sockets_close(udpai_worker_sockets *sockets);
/* Hands worker 0, 1, … its own, in the order of the plan, by this end of a pair. */
udpa_err udpai_worker_sockets_hand(const udpai_worker_sockets *sockets,
                                   size_t worker,
                                   int end,
                                   udpa_error **ret_error);
/* In a worker: its next one, which is the caller's. It must be the one for this address. */
udpa_err
udpai_worker_sockets_take(int end, const char *address, int *ret_socket, udpa_error **ret_error);

#endif
