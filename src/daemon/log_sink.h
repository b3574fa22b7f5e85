/* SPDX-License-Identifier: Apache-2.0 */
/* The log of udpad: where its lines go, and in which form. There is one in a process. */
#ifndef UDPAI_LOG_SINK_H
#define UDPAI_LOG_SINK_H

#include "daemon/log_writer.h"

/* Borrows the texts of the target until udpai_log_end(). Before anything else runs; again only
 * where it was standard error before. */
udpa_err
udpai_log_begin(udpa_log_level level, const udpai_log_target *target, udpa_error **ret_error);
/* Another target while it runs, of which the texts are copied: from the first line after it on.
 * What waits for the one before is written there. An error: the log stays where it was. */
udpa_err udpai_log_change(const udpai_log_target *target, udpa_error **ret_error);
/* The same in two steps, of which the second cannot fail: *ret_next, to be ended by one of the two
 * below. NULL: it is the target of before. */
typedef struct udpai_log_next udpai_log_next;
udpa_err udpai_log_prepare(udpai_log_next **ret_next,
                           const udpai_log_target *target,
                           udpa_error **ret_error);
/* NULL does nothing, for both. */
void udpai_log_take(udpai_log_next *next);
void udpai_log_leave(udpai_log_next *next);
/* SIGUSR1: opens the file anew. Nothing else has anything to open. */
void udpai_log_reopen(void);
/* Writes what waits. Later lines go to standard error. */
void udpai_log_end(void);

#endif
