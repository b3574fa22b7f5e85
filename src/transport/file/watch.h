/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that something may have changed in a directory, or that there is another directory of its
 * name now, which is why its parent is watched too. Belongs to the loop's thread. */
#ifndef UDPAI_FILE_WATCH_H
#define UDPAI_FILE_WATCH_H

#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/util.h"

typedef struct udpai_file_watch udpai_file_watch;

struct udpai_file_watch {
    uv_fs_event_t events, parent_events;
    const char *root; /* borrowed */
    char *parent;     /* NULL: it is not watched */
    const char *base; /* the root's name in it */
    bool is_watching, is_warned;
    dev_t dev; /* what is watched */
    ino_t ino;
    unsigned n_open;
    void (*changed)(udpai_file_watch *watch);
    void (*closed)(udpai_file_watch *watch);
};

/* After success it must be closed. */
udpa_err udpai_file_watch_init(udpai_file_watch *watch,
                               uv_loop_t *loop,
                               const char *root,
                               void (*changed)(udpai_file_watch *watch),
                               udpa_error **ret_error);
void udpai_file_watch_start(udpai_file_watch *watch);
/* The directory was read, and was this one. True: it is watched only since now, so that it must be
 * read once more. */
bool udpai_file_watch_confirm(udpai_file_watch *watch, dev_t dev, ino_t ino);
/* The directory could not be read: whatever is watched is not it. */
void udpai_file_watch_lose(udpai_file_watch *watch);
/* Calls @p closed when the loop has let go of it. */
void udpai_file_watch_close(udpai_file_watch *watch, void (*closed)(udpai_file_watch *watch));

#endif
