/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/read_write.h"

#define NAME_MAX_LEN 64

static int
open_directory(const char *directory)
{
    return open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
close_quietly(int fd)
{
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
}

ssize_t
udpai_small_file_read(const char *directory,
                      const char *name,
                      char ret_text[UDPAI_SMALL_FILE_MAX + 1])
{
    int parent = open_directory(directory);
    int fd = parent < 0 ? -1 : openat(parent, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    close_quietly(parent);
    ssize_t n = fd < 0 ? -1 : udpai_read_all(fd, ret_text, UDPAI_SMALL_FILE_MAX);
    close_quietly(fd);
    ret_text[n > 0 ? n : 0] = '\0';
    return n;
}

static bool
write_to(int parent, const char *new_name, const char *name, udpai_str text)
{
    (void)unlinkat(parent, new_name, 0); /* of one that ended while it wrote */
    int fd = openat(parent, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = fd >= 0 && udpai_write_all(fd, text) && fsync(fd) == 0;
    close_quietly(fd);
    return is_written && renameat(parent, new_name, parent, name) == 0 && fsync(parent) == 0;
}

bool
udpai_small_file_write(const char *directory, const char *name, udpai_str text)
{
    char new_name[NAME_MAX_LEN];
    (void)snprintf(new_name, sizeof(new_name), "%s.new", name);
    int parent = open_directory(directory);
    bool is_written = parent >= 0 && write_to(parent, new_name, name, text);
    close_quietly(parent);
    return is_written;
}

bool
udpai_small_file_remove(const char *directory, const char *name)
{
    int parent = open_directory(directory);
    bool is_gone =
        parent >= 0 && (unlinkat(parent, name, 0) == 0 || errno == ENOENT) && fsync(parent) == 0;
    close_quietly(parent);
    return is_gone;
}
