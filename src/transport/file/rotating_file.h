/* SPDX-License-Identifier: Apache-2.0 */
/* A file that lines are added to. When it would grow too large it is renamed to PATH.1, what was
 * there before to PATH.2, and so on, and a new one is begun; a line is never divided. Nothing is
 * brought to the disk line by line. One thread at a time; it blocks. */
#ifndef UDPAI_ROTATING_FILE_H
#define UDPAI_ROTATING_FILE_H

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_rotating_file {
    char *path;
    uint64_t max_bytes; /* of each file */
    unsigned max_files; /* with the one that is written; at least 1 */
    int fd;             /* -1: it is not open */
    bool is_regular;    /* else it has no size, as a terminal */
    bool is_torn;       /* it ends with a piece of a line */
    uint64_t size;
} udpai_rotating_file;

/* Copies the path; nothing is opened yet. UDPA_ERR_NOMEM. */
udpa_err udpai_rotating_file_init(udpai_rotating_file *file,
                                  const char *path,
                                  uint64_t max_bytes,
                                  unsigned max_files);
void udpai_rotating_file_done(udpai_rotating_file *file);

/* Adds whole lines, each with its end. *ret_size: the bytes of those that are in the file, also on
 * failure, after which it may be tried again. A file that somebody has moved away is made anew. */
udpa_err udpai_rotating_file_add(udpai_rotating_file *file,
                                 udpai_str lines,
                                 size_t *ret_size,
                                 udpa_error **ret_error);

#endif
