/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/directories.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

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
