/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

#define FILE_NAME "instance"
#define NEW_NAME "instance.new"
#define TEXT_MAX 128

static udpa_err
fail(const char *directory, const char *what, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot %s %s/" FILE_NAME ": %s", what, directory,
                      strerror(errno));
}

/* What the file holds: the number, and where the file that it was written to lay. */
static int
format(char text[TEXT_MAX], const char *instance, const struct stat *file)
{
    return snprintf(text, TEXT_MAX, "%s %" PRIuMAX " %" PRIuMAX "\n", instance,
                    (uintmax_t)file->st_dev, (uintmax_t)file->st_ino);
}

/* Is it this very file that was written, and not a copy? */
static bool
is_at_home(int fd, char ret_instance[UDPAI_INSTANCE_LEN + 1])
{
    char text[TEXT_MAX] = "", expected[TEXT_MAX];
    struct stat file;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    if (n < UDPAI_INSTANCE_LEN || fstat(fd, &file) != 0)
        return false;
    memcpy(ret_instance, text, UDPAI_INSTANCE_LEN);
    ret_instance[UDPAI_INSTANCE_LEN] = '\0';
    format(expected, ret_instance, &file);
    return strspn(ret_instance, "0123456789abcdef") == UDPAI_INSTANCE_LEN &&
           strcmp(text, expected) == 0;
}

bool
udpai_instance_draw(char ret_instance[UDPAI_INSTANCE_LEN + 1])
{
    unsigned char bytes[UDPAI_INSTANCE_LEN / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_instance + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* The file keeps its inode when it is renamed. */
static bool
write_whole(int fd, const char *instance)
{
    char text[TEXT_MAX];
    struct stat file;
    if (fstat(fd, &file) != 0)
        return false;
    int len = format(text, instance, &file);
    return write(fd, text, (size_t)len) == len && fsync(fd) == 0;
}

static bool
write_anew(int directory_fd, const char *instance)
{
    (void)unlinkat(directory_fd, NEW_NAME, 0); /* of one that ended while it wrote */
    int fd =
        openat(directory_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool is_written = write_whole(fd, instance);
    int cause = errno;
    close(fd);
    errno = cause;
    return is_written && renameat(directory_fd, NEW_NAME, directory_fd, FILE_NAME) == 0 &&
           fsync(directory_fd) == 0;
}

static udpa_err
get(int directory_fd, const char *directory, char *ret_instance, udpa_error **ret_error)
{
    int fd = openat(directory_fd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        return fail(directory, "read", ret_error);
    bool is_there = fd >= 0, is_ours = is_there && is_at_home(fd, ret_instance);
    if (is_there)
        close(fd);
    if (is_ours)
        return UDPA_OK;
    if (!udpai_instance_draw(ret_instance) || !write_anew(directory_fd, ret_instance))
        return fail(directory, "write", ret_error);
    udpai_log(is_there ? UDPA_LOG_WARNING : UDPA_LOG_INFO, "storage",
              is_there ? "state directory %s was copied, restored or moved from where it was "
                         "made: this node is another instance from now on, %s"
                       : "state directory %s is of instance %s from now on",
              directory, ret_instance);
    return UDPA_OK;
}

udpa_err
udpai_instance_get(const char *directory,
                   char ret_instance[UDPAI_INSTANCE_LEN + 1],
                   udpa_error **ret_error)
{
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return fail(directory, "make the directory of", ret_error);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail(directory, "open the directory of", ret_error);
    udpa_err err = get(fd, directory, ret_instance, ret_error);
    close(fd);
    return err;
}
