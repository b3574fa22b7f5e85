/* SPDX-License-Identifier: Apache-2.0 */
/* A directory, most often behind a symbolic link, and what is below it: read on a thread of the
 * pool, watched, and read again when something has changed. At once when the link leads elsewhere;
 * a moment after something below it was moved, made, written or removed. */
#ifndef UDPAI_RUNTIME_FOLLOWER_H
#define UDPAI_RUNTIME_FOLLOWER_H

#include <uv.h>

#include "runtime/directories.h"

typedef struct udpai_runtime_follower udpai_runtime_follower;

/* All but read() on the loop's thread. */
typedef struct udpai_runtime_follower_ops {
    /* Reads all of it, on a thread of the pool; never twice at a time, nor while take() runs.
     * @p directories, empty at first: those that are to be watched. */
    void (*read)(void *userdata, udpai_runtime_directories *directories);
    /* It was read; `is_change`: because something was changed. May close the follower. */
    void (*take)(void *userdata, bool is_change);
    /* The follower is freed. */
    void (*closed)(void *userdata);
    void *userdata;
} udpai_runtime_follower_ops;

/* NULL without memory. Copies everything. */
udpai_runtime_follower *udpai_runtime_follower_new(uv_loop_t *loop,
                                                   const char *path,
                                                   uint64_t quiet_ms,
                                                   const udpai_runtime_follower_ops *ops);
const char *udpai_runtime_follower_path(const udpai_runtime_follower *follower);
/* Reads and takes before it returns, and watches from now on; once. */
void udpai_runtime_follower_start(udpai_runtime_follower *follower);
/* Reads it again, soon. */
void udpai_runtime_follower_look(udpai_runtime_follower *follower);
/* Is it being read, or about to be? */
bool udpai_runtime_follower_is_busy(const udpai_runtime_follower *follower);
/* It is freed when the loop has let go of it, and closed() is called. Takes nothing any more. */
void udpai_runtime_follower_close(udpai_runtime_follower *follower);

#endif
