/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the directory of a layer. Two can divide its files between them, by a hash of keys,
 * so that neither has to know of the other. Blocks; any thread. */
#ifndef UDPAI_RUNTIME_WALK_H
#define UDPAI_RUNTIME_WALK_H

#include "runtime/directories.h"
#include "runtime/layer.h"

#define UDPAI_RUNTIME_FEW 256 /* files that one thread reads */

typedef enum udpai_runtime_part {
    UDPAI_RUNTIME_ALL_IF_FEW,
    UDPAI_RUNTIME_EVEN,
    UDPAI_RUNTIME_ODD,
} udpai_runtime_part;

typedef struct udpai_runtime_walk {
    udpai_str name; /* of the layer */
    const char *path;
    udpai_runtime_part part;         /* of the files; directories are all looked at */
    udpai_runtime_directories *list; /* of the directories; NULL: it is not needed */
    /* What comes of it. */
    bool is_stopped; /* there are more files than few; nothing of the rest counts */
    udpai_runtime_layer *layer;
    udpa_error *error;
    udpa_err err; /* as udpai_runtime_directory_read() has them */
} udpai_runtime_walk;

/* While a directory stays as it is, so does the error that a part of it makes. */
void udpai_runtime_walk_run(udpai_runtime_walk *walk);
/* Forgets what came of it; it can run again. */
void udpai_runtime_walk_done(udpai_runtime_walk *walk);

/* The value in the contents of a file: without comments, empty lines and what is blank at its end.
 * Writes over the contents, and returns the part of them that is left. */
udpai_str udpai_runtime_file_value(char *contents, size_t len);

#endif
