/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/read_write.h"

typedef udpa_err (*parse_fn)(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error);

/* Not to wait for a writer, should it be a pipe. */
static int
open_file(const char *path, struct stat *ret_info, udpa_error **ret_error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, ret_info) != 0) {
        (void)udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(ret_info->st_mode)) {
        (void)udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: is not a regular file", path);
    } else if (ret_info->st_size > UDPAI_PEM_MAX) {
        (void)udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %lld bytes are more than %d", path,
                         (long long)ret_info->st_size, UDPAI_PEM_MAX);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The room has the size of the file from the beginning, and is wiped: growing it would leave copies
 * of a key in memory. */
static udpa_err
read_and_parse(
    int fd, const char *path, size_t size, parse_fn parse, udpai_key **ret_key, udpa_error **error)
{
    char *room = udpai_alloc(size + 1);
    if (!room)
        return udpai_fail_code(error, UDPA_ERR_NOMEM);
    ssize_t n = udpai_read_all(fd, room, size);
    udpa_err err =
        n < 0 ? udpai_fail(error, UDPA_ERR_IO, "%s: cannot be read: %s", path, strerror(errno))
              : parse(ret_key, (udpai_pem){path, {room, (size_t)n}}, error);
    OPENSSL_cleanse(room, size + 1);
    udpai_free(room);
    return err;
}

/* A group may be how the key is shared with us; everybody is too many. */
udpa_err
udpai_key_file_check_mode(const char *path, mode_t mode, udpa_error **ret_error)
{
    if (!(mode & S_IRWXO))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "%s: every user of this machine can use this private key (mode %04o): run "
                      "'chmod o= %s', in a volume of Kubernetes set defaultMode: 0440, and replace "
                      "the key if others may have read it",
                      path, (unsigned)(mode & 07777), path);
}

udpa_err
udpai_key_file_read_private(udpai_key **ret_key, const char *path, udpa_error **ret_error)
{
    struct stat info;
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    int fd = open_file(path, &info, ret_error);
    if (fd < 0)
        return UDPA_ERR_IO;
    udpa_err err =
        read_and_parse(fd, path, (size_t)info.st_size, udpai_key_new_private, &key, ret_error);
    close(fd);
    if (err == UDPA_OK)
        err = udpai_key_file_check_mode(path, info.st_mode, ret_error);
    if (err == UDPA_OK)
        *ret_key = UDPAI_TAKE(key);
    return err;
}

udpa_err
udpai_key_file_read_public(udpai_key **ret_key, const char *path, udpa_error **ret_error)
{
    struct stat info;
    int fd = open_file(path, &info, ret_error);
    if (fd < 0)
        return UDPA_ERR_IO;
    udpa_err err =
        read_and_parse(fd, path, (size_t)info.st_size, udpai_key_new_public, ret_key, ret_error);
    close(fd);
    return err;
}
