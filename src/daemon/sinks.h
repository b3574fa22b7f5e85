/* SPDX-License-Identifier: Apache-2.0 */
/* Where what is streamed to sinks goes. */
#ifndef UDPAI_DAEMON_SINKS_H
#define UDPAI_DAEMON_SINKS_H

#include "daemon/plan.h"

/* Before streams are served. *ret_writer is NULL if nothing is written. */
udpa_err udpai_daemon_sinks_open(udpai_event_writer **ret_writer,
                                 const udpai_plan *plan,
                                 const udpai_schema *schema,
                                 udpa_error **ret_error);
/* When no streams are served any more: writes what has come. */
void udpai_daemon_sinks_close(const udpai_plan *plan, udpai_event_writer *writer);

#endif
