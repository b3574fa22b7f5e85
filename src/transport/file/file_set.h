/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that single files have changed, wherever they lie: written anew, renamed over, or reached
 * by a symbolic link that leads elsewhere now. Files that belong together, such as a certificate
 * and its key, are one group: it is reported once, when it has been quiet for a moment.
 *
 * Their directories are watched; what that does not report is found by looking every minute.
 * Belongs to the loop's thread. */
#ifndef UDPAI_FILE_SET_H
#define UDPAI_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"

#define UDPAI_FILE_SET_QUIET_MS 300
#define UDPAI_FILE_SET_LATEST_MS 1500
#define UDPAI_FILE_SET_LOOK_MS 60000

typedef struct udpai_file_set udpai_file_set;

typedef struct udpai_file_set_options {
    uv_loop_t *loop;
    /* Something has changed in the group. False: what there is is of no use, so it is reported
     * again after look_ms, changed or not: a certificate may not be valid yet. */
    bool (*changed)(void *userdata, size_t group);
    void *userdata;
    /* 0: as above. */
    uint64_t quiet_ms, latest_ms, look_ms;
} udpai_file_set_options;

/* To be closed, whatever comes then. */
udpa_err udpai_file_set_new(udpai_file_set **ret_set,
                            const udpai_file_set_options *options,
                            udpa_error **ret_error);
/* Copies the path; NULL or an empty one is left out, and one that is in the group. The file need
 * not be there. Also behind the start: what is there then has been seen. */
udpa_err udpai_file_set_add(udpai_file_set *set, const char *path, size_t group);
/* What is there now has been seen. */
void udpai_file_set_start(udpai_file_set *set);
/* All of them were just read, on request. */
void udpai_file_set_forget(udpai_file_set *set);
/* NULL is closed already. The loop lets go of it later. */
void udpai_file_set_close(udpai_file_set *set);

#endif
