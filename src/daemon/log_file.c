/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE 0640

/* A pipe that nobody reads is no place for a log: opening one neither waits, nor does writing. */
udpa_err
udpai_log_file_open(udpai_log_file *ret_file, const char *path, udpa_error **ret_error)
{
    struct stat info;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, MODE);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "%s cannot be opened: %s: its directory must exist, and be one that this "
                          "user may write to",
                          path, strerror(errno));
    bool is_regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    *ret_file = (udpai_log_file){.path = path, .fd = fd, .is_regular = is_regular};
    return UDPA_OK;
}

void
udpai_log_file_close(udpai_log_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

udpa_err
udpai_log_file_reopen(udpai_log_file *file, udpa_error **ret_error)
{
    udpai_log_file next;
    udpa_err err = udpai_log_file_open(&next, file->path, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_log_file_close(file);
    *file = next;
    return UDPA_OK;
}

static ssize_t
write_once(int fd, const char *data, size_t len)
{
    ssize_t n;
    do
        n = write(fd, data, len);
    while (n < 0 && errno == EINTR);
    return n;
}

/* A piece of a line is no line to a program that reads it. Where another process has added
 * something behind it meanwhile it stays, and ends before the next line begins. */
static void
take_back(udpai_log_file *file, size_t n_written)
{
    struct stat info;
    off_t end = lseek(file->fd, 0, SEEK_CUR); /* behind what was written just now */
    file->is_torn = true;
    if (!file->is_regular || end < (off_t)n_written || fstat(file->fd, &info) != 0)
        return;
    if (info.st_size == end && ftruncate(file->fd, end - (off_t)n_written) == 0)
        file->is_torn = false;
}

static int
add(udpai_log_file *file, const char *data, size_t len)
{
    ssize_t n = write_once(file->fd, data, len);
    if (n < 0)
        return errno;
    if ((size_t)n == len)
        return 0;
    /* Why the rest is not there is what another attempt fails for. */
    ssize_t more = write_once(file->fd, data + n, len - (size_t)n);
    int number = more < 0 ? errno : 0;
    size_t in_all = (size_t)n + (size_t)(more < 0 ? 0 : more);
    if (in_all == len)
        return 0;
    take_back(file, in_all);
    return number ? number : ENOSPC;
}

int
udpai_log_file_add(udpai_log_file *file, const char *line, size_t len)
{
    if (file->is_torn) {
        int number = add(file, "\n", 1);
        if (number)
            return number;
        file->is_torn = false;
    }
    return add(file, line, len);
}
