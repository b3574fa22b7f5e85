/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/read_write.h"

static udpa_err
check_mode(int fd, const char *path, const char *secret, udpa_error **ret_error)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot examine %s file %s: %s", secret, path,
                          strerror(errno));
    unsigned mode = info.st_mode & 07777;
    if (!S_ISREG(info.st_mode))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s file %s is not a regular file", secret,
                          path);
    if (mode != 0600 && mode != 0400)
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "%s file %s has mode %04o: it must belong to its owner alone, so run "
                          "'chmod 600 %s', and replace the %s if others may have read it",
                          secret, path, mode, path, secret);
    return UDPA_OK;
}

udpa_err
udpai_private_file_read(
    const char *path, const char *secret, char *room, size_t *size, udpa_error **ret_error)
{
    /* Not to wait for a writer, should it be a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open %s file %s: %s", secret, path,
                          strerror(errno));
    udpa_err err = check_mode(fd, path, secret, ret_error);
    ssize_t n = err == UDPA_OK ? udpai_read_all(fd, room, *size) : 0;
    if (n < 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s file %s: %s", secret, path,
                         strerror(errno));
    else if (err == UDPA_OK)
        *size = (size_t)n;
    close(fd);
    return err;
}
