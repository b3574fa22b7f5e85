/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of gRPC that a node listens on; also other ones, while it runs. Belongs to the loop's
 * thread. */
#ifndef UDPAI_DAEMON_SOCKETS_H
#define UDPAI_DAEMON_SOCKETS_H

#include "daemon/plan.h"
#include "daemon/rest.h"

typedef struct udpai_sockets udpai_sockets;

/* Nothing is listened on yet. */
udpa_err udpai_sockets_new(udpai_sockets **ret_sockets);
/* Listens where the plan has it. @p rest: what else is served there; NULL: nothing. Both the thread
 * and that are borrowed until the end. */
udpa_err udpai_sockets_listen(udpai_sockets *sockets,
                              udpai_stream_thread *streams,
                              const udpai_rest *rest,
                              const udpai_plan *plan,
                              udpa_error **ret_error);
/* Others listen there, on this port; its certificates are read here to report errors, and when they
 * end. */
udpa_err udpai_sockets_add(udpai_sockets *sockets,
                           const udpai_plan_socket *socket,
                           int port,
                           udpa_error **ret_error);
/* When the stream thread has ended. NULL does nothing. */
void udpai_sockets_free(udpai_sockets *sockets);

/* By the index of the present plan's. */
int udpai_sockets_port(const udpai_sockets *sockets, size_t index);
/* NULL: it has none. */
udpai_server_tls *udpai_sockets_tls(const udpai_sockets *sockets, size_t index);
/* Tells sources of this plan that come by resources where the node itself listens. UDPA_ERR_NOMEM.
 */
udpa_err udpai_sockets_note(const udpai_sockets *sockets, const udpai_plan *plan);

/* ---- other ones, while the node runs ---- */

typedef struct udpai_sockets_facts {
    size_t n_ended; /* streams that would end */
} udpai_sockets_facts;

typedef struct udpai_sockets_next udpai_sockets_next;

/* Binds those of the plan that are new, and listens nowhere yet; NULL: it has the same. One that is
 * edited in anything but the names of files has its socket anew, without being closed. To be ended
 * by one of the next two. */
udpa_err udpai_sockets_prepare(udpai_sockets *sockets,
                               const udpai_plan *plan,
                               udpai_sockets_next **ret_next,
                               udpa_error **ret_error);
const udpai_sockets_facts *udpai_sockets_facts_of(const udpai_sockets_next *next);
/* "added", "removed", "edited". */
typedef void (*udpai_socket_fn)(void *userdata, const char *address, const char *change);
void udpai_sockets_visit(const udpai_sockets_next *next, udpai_socket_fn visit, void *userdata);
/* Accepts by them; those that the plan does not have any more are drained within so long. */
void udpai_sockets_take(udpai_sockets *sockets, udpai_sockets_next *next, uint64_t drain_ms);
/* All is as before. NULL does nothing. */
void udpai_sockets_leave(udpai_sockets_next *next);

#endif
