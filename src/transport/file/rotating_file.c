/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/rotating_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MODE 0640
#define NUMBER_ROOM 16 /* behind the path */

udpa_err
udpai_rotating_file_init(udpai_rotating_file *file,
                         const char *path,
                         uint64_t max_bytes,
                         unsigned max_files)
{
    *file = (udpai_rotating_file){
        .path = udpai_strdup(path),
        .max_bytes = max_bytes,
        .max_files = max_files,
        .fd = -1,
    };
    return file->path ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
close_file(udpai_rotating_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void
udpai_rotating_file_done(udpai_rotating_file *file)
{
    close_file(file);
    udpai_free(file->path);
    file->path = NULL;
}

static udpa_err
fail(const udpai_rotating_file *file, const char *what, udpa_error **ret_error)
{
    udpa_err code =
        errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? UDPA_ERR_LIMIT : UDPA_ERR_IO;
    return udpai_fail(ret_error, code, "%s: %s: %s", file->path, what, strerror(errno));
}

/* ---- opening ---- */

static bool
ends_with_line(const udpai_rotating_file *file)
{
    char last;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true; /* not to be read: nothing is known */
    bool ends = pread(fd, &last, 1, (off_t)file->size - 1) != 1 || last == '\n';
    close(fd);
    return ends;
}

static udpa_err
open_file(udpai_rotating_file *file, udpa_error **ret_error)
{
    struct stat info;
    file->fd = open(file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, MODE);
    if (file->fd < 0)
        return fail(file, "cannot be opened", ret_error);
    if (fstat(file->fd, &info) != 0) {
        udpa_err err = fail(file, "cannot be looked at", ret_error);
        close_file(file);
        return err;
    }
    file->is_regular = S_ISREG(info.st_mode);
    file->size = file->is_regular ? (uint64_t)info.st_size : 0;
    file->is_torn = file->size && !ends_with_line(file);
    return UDPA_OK;
}

/* Is it still what its name leads to? */
static bool
is_in_place(const udpai_rotating_file *file)
{
    struct stat named, own;
    return stat(file->path, &named) == 0 && fstat(file->fd, &own) == 0 &&
           named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

/* ---- rotating ---- */

static void
put_name(const udpai_rotating_file *file, unsigned number, char *room, size_t size)
{
    if (number)
        snprintf(room, size, "%s.%u", file->path, number);
    else
        snprintf(room, size, "%s", file->path);
}

/* Which is one less when there were none, or somebody has taken some away. */
static udpa_err
rename_all(const udpai_rotating_file *file, udpa_error **ret_error)
{
    size_t size = strlen(file->path) + NUMBER_ROOM;
    UDPAI_AUTO_FREE char *from = udpai_alloc(size);
    UDPAI_AUTO_FREE char *to = udpai_alloc(size);
    if (!from || !to)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (unsigned number = file->max_files - 1; number > 0; number--) {
        put_name(file, number - 1, from, size);
        put_name(file, number, to, size);
        if (rename(from, to) != 0 && errno != ENOENT)
            return fail(file, "cannot be renamed", ret_error);
    }
    if (file->max_files == 1 && unlink(file->path) != 0 && errno != ENOENT)
        return fail(file, "cannot be removed", ret_error);
    return UDPA_OK;
}

static udpa_err
begin_anew(udpai_rotating_file *file, udpa_error **ret_error)
{
    udpa_err err = rename_all(file, ret_error);
    close_file(file);
    return err == UDPA_OK ? open_file(file, ret_error) : err;
}

/* ---- writing ---- */

/* How much of the lines goes into the file as it is: at least one if it is empty. */
static size_t
size_that_fits(const udpai_rotating_file *file, udpai_str lines)
{
    uint64_t left = file->max_bytes > file->size ? file->max_bytes - file->size : 0;
    if (!file->is_regular || lines.len <= left)
        return lines.len;
    const char *end = left ? memrchr(lines.data, '\n', (size_t)left) : NULL;
    if (!end && file->size == 0)
        end = memchr(lines.data, '\n', lines.len);
    return end ? (size_t)(end - lines.data) + 1 : 0;
}

/* Takes a piece of a line back; what cannot be taken back is closed by the end of a line later. */
static size_t
keep_whole_lines(udpai_rotating_file *file, const char *data, size_t size)
{
    const char *end = size ? memrchr(data, '\n', size) : NULL;
    size_t whole = end ? (size_t)(end - data) + 1 : 0;
    if (whole < size)
        file->is_torn = ftruncate(file->fd, (off_t)(file->size + whole)) != 0;
    file->size += file->is_torn ? size : whole;
    return whole;
}

/* Until it fails; the bytes of whole lines. */
static size_t
write_lines(udpai_rotating_file *file, const char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(file->fd, data + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    int number = errno;
    size_t whole = keep_whole_lines(file, data, done);
    errno = number;
    return whole;
}

static udpa_err
mend(udpai_rotating_file *file, udpa_error **ret_error)
{
    if (!file->is_torn)
        return UDPA_OK;
    if (write(file->fd, "\n", 1) != 1)
        return fail(file, "cannot be written", ret_error);
    file->size++;
    file->is_torn = false;
    return UDPA_OK;
}

static udpa_err
make_ready(udpai_rotating_file *file, udpa_error **ret_error)
{
    if (file->fd >= 0 && !is_in_place(file))
        close_file(file);
    udpa_err err = file->fd >= 0 ? UDPA_OK : open_file(file, ret_error);
    return err == UDPA_OK ? mend(file, ret_error) : err;
}

udpa_err
udpai_rotating_file_add(udpai_rotating_file *file,
                        udpai_str lines,
                        size_t *ret_size,
                        udpa_error **ret_error)
{
    *ret_size = 0;
    udpa_err err = make_ready(file, ret_error);
    while (err == UDPA_OK && *ret_size < lines.len) {
        const udpai_str rest = {lines.data + *ret_size, lines.len - *ret_size};
        size_t size = size_that_fits(file, rest);
        if (size == 0) {
            err = begin_anew(file, ret_error);
            continue;
        }
        size_t written = write_lines(file, rest.data, size);
        *ret_size += written;
        if (written < size)
            err = fail(file, "cannot be written", ret_error);
    }
    return err;
}
