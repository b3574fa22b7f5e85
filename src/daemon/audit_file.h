/* SPDX-License-Identifier: Apache-2.0 */
/* The audit of a node that keeps nothing else: an engine of the store that keeps records alone, as
 * lines of a file. What they are about takes effect, and has its receipt, when they are on the
 * disk; those that wait are synced together. */
#ifndef UDPAI_DAEMON_AUDIT_FILE_H
#define UDPAI_DAEMON_AUDIT_FILE_H

#include "store/durable.h"

/* Goes on behind the last line of the file. Its functions are called as those of the engine of
 * SQLite (storage/sqlite.h); there is nothing to load. */
udpa_err
udpai_audit_file_open(udpai_durable_engine **ret_engine, const char *path, udpa_error **ret_error);
/* Another program has renamed the file. NULL does nothing. */
void udpai_audit_file_reopen(udpai_durable_engine *engine);

#endif
