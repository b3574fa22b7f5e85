/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define DIRECTORIES_MAX 20000 /* links can make many of few */

typedef struct level {
    DIR *stream;
    dev_t dev;
    ino_t ino;
    size_t path_len, key_len; /* of the directory */
} level;

typedef struct walk {
    udpai_runtime_walk *asked;
    udpai_strbuf path, key; /* of what is being looked at */
    char *contents;         /* room for a file */
    size_t n_directories, n_files;
    unsigned depth;
    level levels[UDPAI_RUNTIME_DEPTH_MAX];
} walk;

static udpa_err
fail_errno(const walk *self, int error, udpa_error **ret_error)
{
    if (error == ENOENT && self->depth > 0)
        return udpai_fail(ret_error, UDPA_ERR_ABORTED,
                          "%s went while the directory was read, or is a link to nothing",
                          self->path.data);
    if (error == ENOENT)
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND, "there is no %s", self->path.data);
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", self->path.data,
                      strerror(error));
}

/* ---- files ---- */

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

static bool
is_ours(const walk *self)
{
    bool is_odd = udpai_hash(udpai_strbuf_view(&self->key)) >> 63;
    return self->asked->part == UDPAI_RUNTIME_ALL_IF_FEW ||
           is_odd == (self->asked->part == UDPAI_RUNTIME_ODD);
}

/* In a walk over everything: are there more than a few files? */
static bool
is_enough(walk *self)
{
    self->asked->is_stopped =
        self->asked->part == UDPAI_RUNTIME_ALL_IF_FEW && ++self->n_files > UDPAI_RUNTIME_FEW;
    return self->asked->is_stopped;
}

/* So much as the file's size is all of it, if that is anything: it need not be read again to know.
 */
static udpa_err
read_all(walk *self, int file, off_t size, size_t *ret_len, udpa_error **ret_error)
{
    size_t len = 0;
    while (!len || len != (size_t)size) {
        ssize_t n = read(file, self->contents + len, UDPAI_RUNTIME_VALUE_MAX + 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(self, errno, ret_error);
        len += (size_t)n;
        if (len > UDPAI_RUNTIME_VALUE_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s has more than %zu bytes",
                              self->path.data, UDPAI_RUNTIME_VALUE_MAX);
        if (n == 0)
            break;
    }
    *ret_len = len;
    return UDPA_OK;
}

static udpa_err
take_file(walk *self, int file, off_t size, udpa_error **ret_error)
{
    size_t len = 0;
    udpa_error *cause = NULL;
    udpai_str key = udpai_strbuf_view(&self->key);
    if (!is_ours(self) || is_enough(self))
        return UDPA_OK;
    udpa_err err = read_all(self, file, size, &len, ret_error);
    if (err)
        return err;
    if (udpai_map_get(udpai_runtime_layer_entries(self->asked->layer), key))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is the key %.*s for the second time",
                          self->path.data, UDPAI_SHOWN(key));
    udpai_runtime_value value =
        udpai_runtime_value_read(udpai_runtime_file_value(self->contents, len));
    err = udpai_runtime_layer_put_found(self->asked->layer, key, &value, &cause);
    return err ? udpai_fail_because(ret_error, err, cause, "%s", self->path.data) : UDPA_OK;
}

/* ---- directories ---- */

static bool
is_above(const walk *self, const struct stat *status)
{
    for (unsigned i = 0; i < self->depth; i++)
        if (self->levels[i].dev == status->st_dev && self->levels[i].ino == status->st_ino)
            return true;
    return false;
}

/* One that is not listed is not watched: then its changes are found later. */
static void
list_directory(walk *self, const struct stat *status)
{
    udpai_runtime_directory found = {NULL, status->st_dev, status->st_ino};
    udpai_runtime_directories *list = self->asked->list;
    if (!list || list->n >= UDPAI_RUNTIME_DIRECTORIES_MAX)
        return;
    found.path = udpai_strdup(self->path.data);
    if (!found.path || !udpai_vector_push(list, found))
        udpai_free(found.path);
}

/* Consumes the file. */
static udpa_err
enter(walk *self, int file, const struct stat *status, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (is_above(self, status))
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s leads back to a directory above it",
                         self->path.data);
    else if (self->depth == UDPAI_RUNTIME_DEPTH_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s is more than %d directories deep",
                         self->path.data, UDPAI_RUNTIME_DEPTH_MAX);
    else if (++self->n_directories > DIRECTORIES_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are more than %d directories, with %s",
                         DIRECTORIES_MAX, self->path.data);
    DIR *stream = err ? NULL : fdopendir(file);
    if (!err && !stream)
        err = fail_errno(self, errno, ret_error);
    if (err) {
        (void)close(file);
        return err;
    }
    list_directory(self, status);
    self->levels[self->depth++] =
        (level){stream, status->st_dev, status->st_ino, self->path.len, self->key.len};
    return UDPA_OK;
}

/* Consumes the file. */
static udpa_err
take(walk *self, int file, udpa_error **ret_error)
{
    struct stat status;
    udpa_err err;
    if (fstat(file, &status) != 0)
        err = fail_errno(self, errno, ret_error);
    else if (S_ISDIR(status.st_mode))
        return enter(self, file, &status, ret_error);
    else if (self->depth == 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "%s is no directory", self->path.data);
    else if (S_ISREG(status.st_mode))
        err = take_file(self, file, status.st_size, ret_error);
    else
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is neither a file nor a directory",
                         self->path.data);
    (void)close(file);
    return err;
}

static udpa_err
take_entry(walk *self, const level *top, const struct dirent *entry, udpa_error **ret_error)
{
    const char *name = entry->d_name;
    udpai_strbuf_putc(&self->path, '/');
    udpai_strbuf_puts(&self->path, name);
    udpai_strbuf_puts(&self->key, self->depth > 1 ? "." : "");
    udpai_strbuf_puts(&self->key, name);
    if (udpai_strbuf_failed(&self->path) || udpai_strbuf_failed(&self->key))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (self->key.len > UDPAI_RUNTIME_KEY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s makes a key of more than %d bytes",
                          self->path.data, UDPAI_RUNTIME_KEY_MAX);
    if (entry->d_type == DT_REG && !is_ours(self))
        return UDPA_OK;
    /* A pipe must not keep us waiting for its writer. */
    int file = openat(dirfd(top->stream), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return file < 0 ? fail_errno(self, errno, ret_error) : take(self, file, ret_error);
}

/* The next name in the directory that was entered last, or back from it. */
static udpa_err
step(walk *self, udpa_error **ret_error)
{
    level *top = &self->levels[self->depth - 1];
    self->path.len = top->path_len;
    self->path.data[top->path_len] = '\0';
    self->key.len = top->key_len;
    errno = 0;
    const struct dirent *entry = readdir(top->stream);
    if (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
        return UDPA_OK;
    if (entry)
        return take_entry(self, top, entry, ret_error);
    if (errno)
        return fail_errno(self, errno, ret_error);
    (void)closedir(top->stream);
    self->depth--;
    return UDPA_OK;
}

static udpa_err
walk_all(walk *self, udpa_error **ret_error)
{
    const char *path = self->asked->path;
    udpai_strbuf_puts(&self->path, path);
    if (!self->asked->layer || !self->contents || udpai_strbuf_failed(&self->path))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    udpa_err err = file < 0 ? fail_errno(self, errno, ret_error) : take(self, file, ret_error);
    while (!err && self->depth > 0 && !self->asked->is_stopped)
        err = step(self, ret_error);
    while (self->depth > 0)
        (void)closedir(self->levels[--self->depth].stream);
    return err;
}

void
udpai_runtime_walk_run(udpai_runtime_walk *asked)
{
    walk self = {.asked = asked, .contents = udpai_alloc(UDPAI_RUNTIME_VALUE_MAX + 1)};
    asked->layer = udpai_runtime_layer_new(asked->name);
    asked->err = walk_all(&self, &asked->error);
    udpai_strbuf_done(&self.path);
    udpai_strbuf_done(&self.key);
    udpai_free(self.contents);
}

void
udpai_runtime_walk_done(udpai_runtime_walk *asked)
{
    asked->layer = udpai_runtime_layer_unref(asked->layer);
    asked->error = udpa_error_unref(asked->error);
    asked->is_stopped = false;
}
