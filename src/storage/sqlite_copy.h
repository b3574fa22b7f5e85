/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of an open database, in a file of its own. */
#ifndef UDPAI_SQLITE_COPY_H
#define UDPAI_SQLITE_COPY_H

#include <sqlite3.h>
#include <stdbool.h>

#include "base/error.h"

/* The whole of one moment, without what was deleted, on the disk, in a new file of mode 0600.
 * Others may write to the database meanwhile. On failure there is no file. UDPA_ERR_EXISTS: there
 * was one; UDPA_ERR_CLOSED: it was interrupted. */
udpa_err udpai_sqlite_copy(sqlite3 *handle, const char *path, udpa_error **ret_error);
/* What a process that was killed has left of one. */
void udpai_sqlite_copy_remove(const char *path);
/* What SQLite reported last, about this file; with what to do, where that is known. */
udpa_err
udpai_sqlite_copy_fail(sqlite3 *handle, const char *what, const char *path, udpa_error **ret_error);
/* The names in the directory of this file are on the disk. False, and errno. */
bool udpai_sqlite_sync_parent(const char *path);

#endif
