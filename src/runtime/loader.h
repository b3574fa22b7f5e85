/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the layers of a runtime that lie on disk, and loads them again when they change: when the
 * symbolic link that is their root leads elsewhere (ln -s v2 new && mv -T new current), when
 * something below it was moved, written or removed, and, where that cannot be watched, when it is
 * looked at every minute. Layers of one root are loaded together, once.
 *
 * Directories are read on a thread of the pool; a layer counts when it is whole. Belongs to the
 * loop's thread. */
#ifndef UDPAI_RUNTIME_LOADER_H
#define UDPAI_RUNTIME_LOADER_H

#include <uv.h>

#include "runtime/layers.h"

#define UDPAI_RUNTIME_QUIET_MS 50
#define UDPAI_RUNTIME_LOOK_MS 60000

typedef struct udpai_runtime_loader udpai_runtime_loader;

/* All borrowed for the call. */
typedef struct udpai_runtime_disk {
    size_t index;             /* of the layer in the runtime */
    const char *symlink_root; /* need be no link */
    const char *subdirectory; /* below it; "": itself */
    /* Below that, the directory that is called as service_cluster; there it need not be. */
    bool append_service_cluster;
} udpai_runtime_disk;

/* The runtime is borrowed until it is closed; the rest for the call. */
typedef struct udpai_runtime_loader_options {
    uv_loop_t *loop;
    udpai_runtime *runtime;
    const udpai_runtime_disk *disks;
    size_t n_disks;
    const char *service_cluster; /* may be empty, if no layer appends it */
    uint64_t quiet_ms, look_ms;  /* 0: as above */
} udpai_runtime_loader_options;

/* Loads all, at once, and watches from now on. A layer that is in error is no failure.
 * UDPA_ERR_INVAL: a name that may not be; UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_loader_new(udpai_runtime_loader **ret_loader,
                                  const udpai_runtime_loader_options *options,
                                  udpa_error **ret_error);
/* Looks at all again, now. */
void udpai_runtime_loader_look(udpai_runtime_loader *loader);
/* Is something being read, or about to be? */
bool udpai_runtime_loader_is_busy(const udpai_runtime_loader *loader);
/* NULL is closed already. Calls @p closed, if there is one, when the loop has let go of it; until
 * then the runtime must be there. */
void udpai_runtime_loader_close(udpai_runtime_loader *loader,
                                void (*closed)(void *userdata),
                                void *userdata);

#endif
