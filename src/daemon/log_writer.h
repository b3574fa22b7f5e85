/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the log to a file or to journald, in a thread of its own, so that a disk or a journald
 * that hangs holds up nothing else. Lines that a file does not take are lost, and counted; those
 * that journald does not take go to standard error. Both are reported when they begin, there, and
 * when they are over, in the log.
 *
 * Lines are added on any thread; the rest is for the one that has made it. */
#ifndef UDPAI_LOG_WRITER_H
#define UDPAI_LOG_WRITER_H

#include "base/error.h"
#include "daemon/log_format.h"

/* Where the log goes; without both paths it is standard error. */
typedef struct udpai_log_target {
    udpai_log_format format;
    const char *file;     /* NULL: no file */
    const char *journald; /* the path of its socket; NULL: it is not for journald */
} udpai_log_target;

typedef struct udpai_log_writer udpai_log_writer;

/* Of a target that is not standard error; borrows its texts. */
udpa_err udpai_log_writer_new(udpai_log_writer **ret_writer,
                              const udpai_log_target *target,
                              udpa_error **ret_error);
/* When nothing is added any more; waits, but not for ever, until all lines are written. NULL does
 * nothing. */
udpai_log_writer *udpai_log_writer_free(udpai_log_writer *writer);
/* The same. False: it hangs, and has the texts of its target for good. */
bool udpai_log_writer_end(udpai_log_writer *writer);

void udpai_log_writer_add(udpai_log_writer *writer,
                          const udpai_log_line *line,
                          const struct timespec *when);
/* Soon: another program has renamed the file. */
void udpai_log_writer_reopen(udpai_log_writer *writer);

#endif
