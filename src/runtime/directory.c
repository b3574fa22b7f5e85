/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/directory.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "loop/thread.h"
#include "runtime/walk.h"

/* ---- the value in a file ---- */

udpai_str
udpai_runtime_file_value(char *contents, size_t len)
{
    udpai_str rest = {contents, len}, line;
    size_t n = 0;
    bool is_last;
    do {
        is_last = !udpai_str_cut(&rest, '\n', &line);
        if (is_last)
            line = rest;
        if (line.len == 0 || line.data[0] == '#')
            continue;
        memmove(contents + n, line.data, line.len);
        n += line.len;
        if (!is_last)
            contents[n++] = '\n';
    } while (!is_last);
    while (n > 0 && strchr(" \t\n\v\f\r", contents[n - 1]) && contents[n - 1])
        n--;
    return (udpai_str){contents, n};
}

/* ---- lists of directories ---- */

void
udpai_runtime_directories_done(udpai_runtime_directories *directories)
{
    for (size_t i = 0; i < directories->n; i++)
        udpai_free(directories->items[i].path);
    udpai_vector_done(directories);
}

static bool
is_listed(const udpai_runtime_directories *directories, const char *path)
{
    for (size_t i = 0; i < directories->n; i++)
        if (strcmp(directories->items[i].path, path) == 0)
            return true;
    return false;
}

bool
udpai_runtime_directories_add(udpai_runtime_directories *directories, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode) || is_listed(directories, path))
        return true;
    const udpai_runtime_directory found = {udpai_strdup(path), status.st_dev, status.st_ino};
    if (found.path && udpai_vector_push(directories, found))
        return true;
    udpai_free(found.path);
    return false;
}

void
udpai_runtime_directories_cut(udpai_runtime_directories *directories, size_t n)
{
    while (directories->n > n)
        udpai_free(directories->items[--directories->n].path);
}

bool
udpai_runtime_directories_add_above(udpai_runtime_directories *directories,
                                    const char *path,
                                    size_t len)
{
    bool has_memory = true;
    for (const char *slash = path + len; has_memory && (slash = strchr(slash, '/')); slash++) {
        UDPAI_AUTO_FREE char *above =
            slash > path ? udpai_strndup(path, (size_t)(slash - path)) : NULL;
        if (slash > path)
            has_memory = above && udpai_runtime_directories_add(directories, above);
    }
    return has_memory;
}

/* ---- reading ---- */

static void *
run_walk(void *walk)
{
    udpai_runtime_walk_run(walk);
    return NULL;
}

/* Nearly all of the time goes to the kernel, which takes it for each file. So a thread has half of
 * them for so long; without one, they come one after the other. Which of two errors is told must
 * not depend on who was faster: else it would be news whenever the directory is read again. */
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
