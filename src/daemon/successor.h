/* SPDX-License-Identifier: Apache-2.0 */
/* A process that takes the place of another one of the same node, which has started it: what it is
 * handed, and the steps in which it begins (docs/design/restart.md). In every other process all of
 * it does nothing, and each step is done at once. Belongs to the thread of main(). */
#ifndef UDPAI_SUCCESSOR_H
#define UDPAI_SUCCESSOR_H

#include <uv.h>

#include "daemon/options.h"
#include "daemon/plan.h"

/* At the beginning of main(), before any other thread: takes what was handed to it, and puts the
 * run that it goes on with into the options. UDPA_ERR_MALFORMED: it was handed something else. */
udpa_err udpai_successor_begin(udpai_options *options, udpa_error **ret_error);
/* Is it one that does not serve yet? */
bool udpai_successor_is(void);
/* The beginning has failed: the process before it goes on, and logs why. The first reason counts.
 */
void udpai_successor_fail(const char *why);

/* The file is checked, and this is the plan: runs the loop until the store is its own.
 * UDPA_ERR_CLOSED: the process before it has given it up, or @p is_stopping became true. */
udpa_err udpai_successor_take_store(uv_loop_t *loop,
                                    const udpai_plan *plan,
                                    const bool *is_stopping,
                                    udpa_error **ret_error);
/* It could accept: runs the loop until it may. */
udpa_err udpai_successor_take_sockets(uv_loop_t *loop, udpa_error **ret_error);
/* It accepts: it is none any more. Sockets that its file does not have are closed; what is
 * committed from now on is sent to the process before it, as long as that has clients. */
void udpai_successor_serves(udpa_endpoint *endpoint);

/* It will not serve, if it does not by now, and sends nothing to the process before it; the loop
 * runs until all is closed. */
void udpai_successor_end(void);

/* Which node this is: the process and its successor must be the same one. To be freed with
 * udpai_free(); NULL without memory. */
char *udpai_successor_identity(const udpai_plan *plan);

#endif
