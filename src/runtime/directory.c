/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/directory.h"

#include "loop/thread.h"
#include "runtime/walk.h"

static void *
run_walk(void *walk)
{
    udpai_runtime_walk_run(walk);
    return NULL;
}

/* Nearly all of the time goes to the kernel, which takes it for each file. So a thread has half of
 * them for so long; without one, they come one after the other. Which of two errors is reported
 * must not depend on which thread was faster: else it would be news whenever the directory is read
 * again. */
static void
walk_by_two(udpai_runtime_walk *even)
{
    pthread_t thread;
    udpai_runtime_walk odd = {.name = even->name, .path = even->path, .part = UDPAI_RUNTIME_ODD};
    even->part = UDPAI_RUNTIME_EVEN;
    bool has_thread = udpai_thread_begin(&thread, "udpa-runtime", run_walk, &odd) == 0;
    udpai_runtime_walk_run(even);
    if (has_thread)
        pthread_join(thread, NULL);
    else
        udpai_runtime_walk_run(&odd);
    if (!even->err && !odd.err) {
        even->err = udpai_runtime_layer_merge(even->layer, odd.layer, &even->error);
    } else if (!even->err) {
        even->err = odd.err;
        even->error = UDPAI_TAKE(odd.error);
    }
    udpai_runtime_walk_done(&odd);
}

udpa_err
udpai_runtime_directory_read(udpai_runtime_layer **ret_layer,
                             udpai_str name,
                             const char *path,
                             udpai_runtime_directories *directories,
                             udpa_error **ret_error)
{
    size_t n_listed = directories ? directories->n : 0;
    udpai_runtime_walk walk = {.name = name, .path = path, .list = directories};
    udpai_runtime_walk_run(&walk);
    if (walk.is_stopped) {
        udpai_runtime_walk_done(&walk);
        if (directories)
            udpai_runtime_directories_cut(directories, n_listed);
        walk_by_two(&walk);
    }
    udpa_err err = walk.err;
    if (!err)
        *ret_layer = UDPAI_TAKE(walk.layer);
    else if (ret_error)
        *ret_error = UDPAI_TAKE(walk.error);
    udpai_runtime_walk_done(&walk);
    return err;
}

udpa_err
udpai_runtime_directory_read_whole(udpai_runtime_layer **ret_layer,
                                   udpai_str name,
                                   const char *path,
                                   udpai_runtime_directories *directories,
                                   udpa_error **ret_error)
{
    size_t n_listed = directories->n;
    udpa_err err = UDPA_ERR_ABORTED;
    for (int i = 0; i < UDPAI_RUNTIME_TRIES && err == UDPA_ERR_ABORTED; i++) {
        *ret_error = udpa_error_unref(*ret_error);
        udpai_runtime_directories_cut(directories, n_listed);
        err = udpai_runtime_directory_read(ret_layer, name, path, directories, ret_error);
    }
    return err;
}
