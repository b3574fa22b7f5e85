/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"
#include "loop/read_write.h"

/* A file that was changed just now may change once more without another time or size. */
#define RECENT_US 2000000

/* How a file looks that is still the same. */
typedef struct look {
    dev_t device;
    ino_t number;
    off_t size;
    struct timespec modified, changed;
} look;

struct udpai_token_file {
    const char *path;
    look seen;
    bool is_settled; /* what has the same look has the same token */
    size_t len;      /* 0: there is none */
    char token[UDPAI_TOKEN_MAX];
    udpai_log_limit log;
};

/* ---- the file ---- */

static look
look_of(const struct stat *info)
{
    return (look){info->st_dev, info->st_ino, info->st_size, info->st_mtim, info->st_ctim};
}

static bool
is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool
is_same_look(const look *a, const look *b)
{
    return a->device == b->device && a->number == b->number && a->size == b->size &&
           is_same_time(a->modified, b->modified) && is_same_time(a->changed, b->changed);
}

static udpa_err
check_file(const char *path, const struct stat *info, udpa_error **ret_error)
{
    if (!S_ISREG(info->st_mode))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: is not a regular file", path);
    if (!(info->st_mode & S_IRWXO))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "%s: every user of this machine can use this token (mode %04o): run 'chmod "
                      "o= %s', and replace the token if others may have read it",
                      path, (unsigned)(info->st_mode & 07777), path);
}

static bool
is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

/* The room is one byte larger than the largest token with an end of line. */
static udpa_err
take_text(udpai_token_file *self, const char *text, size_t len, udpa_error **ret_error)
{
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    if (len < UDPAI_TOKEN_MIN || len > UDPAI_TOKEN_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: a token has %d to %d bytes: make one with 'openssl rand -hex 32'",
                          self->path, UDPAI_TOKEN_MIN, UDPAI_TOKEN_MAX);
    if (!is_token(text, len))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: a token is one line, of printable ASCII without blanks", self->path);
    memcpy(self->token, text, len);
    self->len = len;
    return UDPA_OK;
}

static udpa_err
read_text(udpai_token_file *self, int fd, udpa_error **ret_error)
{
    char room[UDPAI_TOKEN_MAX + 3];
    ssize_t n = udpai_read_all(fd, room, sizeof(room));
    udpa_err err = n < 0 ? udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be read: %s", self->path,
                                      strerror(errno))
                         : take_text(self, room, (size_t)n, ret_error);
    OPENSSL_cleanse(room, sizeof(room));
    return err;
}

static void
note_look(udpai_token_file *self, const struct stat *info)
{
    int64_t age_us = udpai_wall_us() - (int64_t)info->st_mtim.tv_sec * 1000000;
    self->seen = look_of(info);
    self->is_settled = age_us > RECENT_US;
}

/* In an error there is no token. Not to wait for a writer, should it be a pipe. */
static udpa_err
read_file(udpai_token_file *self, udpa_error **ret_error)
{
    struct stat info;
    int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    self->len = 0;
    self->seen = (look){0};
    self->is_settled = false;
    if (fd < 0)
        return udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be opened: %s", self->path,
                          strerror(errno));
    udpa_err err = fstat(fd, &info) == 0
                       ? check_file(self->path, &info, ret_error)
                       : udpai_fail(ret_error, UDPA_ERR_IO, "%s: %s", self->path, strerror(errno));
    if (err == UDPA_OK)
        err = read_text(self, fd, ret_error);
    if (err == UDPA_OK)
        note_look(self, &info);
    close(fd);
    return err;
}

static void
follow(udpai_token_file *self)
{
    struct stat info;
    unsigned n_suppressed;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (self->is_settled && stat(self->path, &info) == 0) {
        look now = look_of(&info);
        if (is_same_look(&now, &self->seen))
            return;
    }
    if (read_file(self, &error) != UDPA_OK &&
        udpai_log_allow(&self->log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, "admin", "no token is accepted until this is fixed: %s",
                  udpa_error_message(error));
}

/* ---- questions ---- */

/* "Bearer TOKEN", the scheme in any case. */
static bool
read_header(udpai_str header, udpai_str *ret_token)
{
    static const char scheme[] = "Bearer ";
    const size_t len = sizeof(scheme) - 1;
    if (header.len <= len || strncasecmp(header.data, scheme, len) != 0)
        return false;
    *ret_token = (udpai_str){header.data + len, header.len - len};
    while (ret_token->len && *ret_token->data == ' ')
        *ret_token = (udpai_str){ret_token->data + 1, ret_token->len - 1};
    return ret_token->len && ret_token->len <= UDPAI_TOKEN_MAX;
}

bool
udpai_token_file_accepts(udpai_token_file *self, udpai_str authorization)
{
    udpai_str token;
    char given[UDPAI_TOKEN_MAX] = {0}, right[UDPAI_TOKEN_MAX] = {0};
    follow(self);
    if (!self->len || !read_header(authorization, &token))
        return false;
    memcpy(given, token.data, token.len);
    memcpy(right, self->token, self->len);
    bool is_right = CRYPTO_memcmp(given, right, sizeof(right)) == 0 && token.len == self->len;
    OPENSSL_cleanse(given, sizeof(given));
    OPENSSL_cleanse(right, sizeof(right));
    return is_right;
}

udpai_str
udpai_token_file_token(const udpai_token_file *self)
{
    return (udpai_str){self->token, self->len};
}

udpa_err
udpai_token_file_open(udpai_token_file **ret_file, const char *path, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_token_file_free) udpai_token_file *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->path = path;
    udpa_err err = read_file(self, ret_error);
    if (err == UDPA_OK)
        *ret_file = UDPAI_TAKE(self);
    return err;
}

udpai_token_file *
udpai_token_file_free(udpai_token_file *self)
{
    if (self)
        OPENSSL_cleanse(self->token, sizeof(self->token));
    udpai_free(self);
    return NULL;
}
