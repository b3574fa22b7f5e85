/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that were read, for watching them. */
#ifndef UDPAI_RUNTIME_DIRECTORIES_H
#define UDPAI_RUNTIME_DIRECTORIES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vector.h"

#define UDPAI_RUNTIME_DIRECTORIES_MAX 1024 /* that are listed */

typedef struct udpai_runtime_directory {
    char *path;
    dev_t dev;
    ino_t ino;
} udpai_runtime_directory;

typedef UDPAI_VECTOR(udpai_runtime_directory) udpai_runtime_directories;

void udpai_runtime_directories_done(udpai_runtime_directories *directories);
/* Forgets those that were listed after the first so many. */
void udpai_runtime_directories_cut(udpai_runtime_directories *directories, size_t n);
/* Lists a directory, unless it is not there, is none, or is listed. False without memory. */
bool udpai_runtime_directories_add(udpai_runtime_directories *directories, const char *path);

/* Lists those above a path, in which it may come and go, from the one on that the first so many
 * bytes name. False without memory. */
bool udpai_runtime_directories_add_above(udpai_runtime_directories *directories,
                                         const char *path,
                                         size_t len);

#endif
