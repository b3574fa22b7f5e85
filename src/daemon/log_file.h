/* SPDX-License-Identifier: Apache-2.0 */
/* The file that the log goes to: whole lines are added, and another program rotates it. Several
 * processes add to one file, a node and its workers. One thread at a time. */
#ifndef UDPAI_LOG_FILE_H
#define UDPAI_LOG_FILE_H

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_log_file {
    const char *path; /* borrowed */
    int fd;           /* -1: it is not open */
    bool is_regular;  /* else it has no size, as a terminal */
    bool is_torn;     /* it ends with a piece of a line */
} udpai_log_file;

/* Makes it if it is not there. */
udpa_err udpai_log_file_open(udpai_log_file *ret_file, const char *path, udpa_error **ret_error);
void udpai_log_file_close(udpai_log_file *file);

/* By its name, for the one of before was renamed; on failure that one stays. */
udpa_err udpai_log_file_reopen(udpai_log_file *file, udpa_error **ret_error);
/* 0, or why nothing of the line is in the file. */
int udpai_log_file_add(udpai_log_file *file, const char *line, size_t len);

#endif
