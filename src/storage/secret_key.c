/* SPDX-License-Identifier: Apache-2.0 */
/* No part of the key, nor of a file that is none, ever gets into a message. */
#include "storage/secret_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/read_write.h"

enum {
    HEX_SIZE = 2 * UDPAI_SECRET_KEY_SIZE,
    FILE_MAX = HEX_SIZE + 2, /* with "\r\n" */
};

static udpa_err
check_mode(int fd, const char *path, udpa_error **ret_error)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot examine key file %s: %s", path,
                          strerror(errno));
    unsigned mode = info.st_mode & 07777;
    if (!S_ISREG(info.st_mode))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "key file %s is not a regular file", path);
    if (mode != 0600 && mode != 0400)
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "key file %s has mode %04o: it must belong to its owner alone, so run "
                          "'chmod 600 %s', and replace the key if others may have read it",
                          path, mode, path);
    return UDPA_OK;
}

static bool
parse_hex(udpai_str text, uint8_t key[UDPAI_SECRET_KEY_SIZE])
{
    if (text.len > HEX_SIZE && text.data[text.len - 1] == '\n')
        text.len--;
    if (text.len > HEX_SIZE && text.data[text.len - 1] == '\r')
        text.len--;
    if (text.len != HEX_SIZE)
        return false;
    for (size_t i = 0; i < UDPAI_SECRET_KEY_SIZE; i++) {
        int high = udpai_hex_value(text.data[2 * i]), low = udpai_hex_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool
parse(udpai_str text, uint8_t key[UDPAI_SECRET_KEY_SIZE])
{
    if (text.len != UDPAI_SECRET_KEY_SIZE)
        return parse_hex(text, key);
    memcpy(key, text.data, UDPAI_SECRET_KEY_SIZE);
    return true;
}

static udpa_err
read_key(int fd, const char *path, uint8_t key[UDPAI_SECRET_KEY_SIZE], udpa_error **ret_error)
{
    char text[FILE_MAX + 1]; /* one more, to notice a longer file */
    uint8_t found[UDPAI_SECRET_KEY_SIZE];
    udpa_err err = UDPA_OK;
    ssize_t n = udpai_read_all(fd, text, sizeof(text));
    if (n < 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot read key file %s: %s", path,
                         strerror(errno));
    else if (!parse((udpai_str){text, (size_t)n}, found))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "key file %s must hold 32 bytes, or 64 hexadecimal digits and at most a "
                         "line end; 'openssl rand -hex 32' makes such a key",
                         path);
    else
        memcpy(key, found, sizeof(found));
    OPENSSL_cleanse(text, sizeof(text));
    OPENSSL_cleanse(found, sizeof(found));
    return err;
}

udpa_err
udpai_secret_key_read(const char *path, uint8_t key[UDPAI_SECRET_KEY_SIZE], udpa_error **ret_error)
{
    /* Not to wait for a writer, should it be a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot open key file %s: %s", path,
                          strerror(errno));
    udpa_err err = check_mode(fd, path, ret_error);
    if (err == UDPA_OK)
        err = read_key(fd, path, key, ret_error);
    close(fd);
    return err;
}
