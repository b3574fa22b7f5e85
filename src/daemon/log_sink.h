/* SPDX-License-Identifier: Apache-2.0 */
/* The log of udpad: where its lines go, and in which form. There is one in a process. */
#ifndef UDPAI_LOG_SINK_H
#define UDPAI_LOG_SINK_H

#include "daemon/log_writer.h"

/* Borrows the texts of the target until udpai_log_end(). Before anything else runs; again only
 * where it was standard error before. */
udpa_err
udpai_log_begin(udpa_log_level level, const udpai_log_target *target, udpa_error **ret_error);
/* SIGUSR1: opens the file anew. Nothing else has anything to open. */
void udpai_log_reopen(void);
/* Writes what waits. Later lines go to standard error. */
void udpai_log_end(void);

#endif
