/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of one symlink root, for loader.c: what is below it is read and watched together. */
#ifndef UDPAI_RUNTIME_ROOT_H
#define UDPAI_RUNTIME_ROOT_H

#include <uv.h>

#include "runtime/layers.h"

typedef struct udpai_runtime_root udpai_runtime_root;

/* Outlives its roots. */
typedef struct udpai_runtime_root_context {
    uv_loop_t *loop;
    udpai_runtime *runtime;
    uint64_t quiet_ms;
    void (*closed)(void *userdata); /* a root is freed */
    void *userdata;
} udpai_runtime_root_context;

/* NULL without memory. */
udpai_runtime_root *udpai_runtime_root_new(const udpai_runtime_root_context *context,
                                           const char *path);
const char *udpai_runtime_root_path(const udpai_runtime_root *root);
/* A layer that lies in this directory. Takes the path, unless there is no memory: false. */
bool udpai_runtime_root_add(udpai_runtime_root *root, size_t index, char *path, bool is_override);
/* Reads all of it before it returns, and watches it. */
void udpai_runtime_root_load_now(udpai_runtime_root *root);
/* Reads it again, soon, and takes over what has changed. */
void udpai_runtime_root_look(udpai_runtime_root *root);
/* Is it being read, or about to be? */
bool udpai_runtime_root_is_busy(const udpai_runtime_root *root);
/* It is freed when the loop has let go of it; calls context->closed. */
void udpai_runtime_root_close(udpai_runtime_root *root);

#endif
