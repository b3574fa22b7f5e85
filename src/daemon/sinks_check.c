/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sinks_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define ENTRIES_MAX 1000000
#define RING_BYTES_MIN ((uint64_t)64 << 10)
#define RING_BYTES_MAX ((uint64_t)1 << 30)
#define FILE_BYTES_MIN ((uint64_t)4 << 10)
#define FILES_MAX 1000

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__Sink sink_message;

/* 0 is the default. */
static void
check_number(
    uint64_t number, uint64_t least, uint64_t most, const char *path, udpai_diagnostics *to)
{
    if (number && (number < least || number > most))
        udpai_diagnostics_error(to, path, "%" PRIu64 " must lie between %" PRIu64 " and %" PRIu64,
                                number, least, most);
}

static void
check_kind(const bootstrap_message *message, size_t index, const char *path, udpai_diagnostics *to)
{
    char room[UDPAI_FIELD_PATH_MAX];
    Udpa__Config__V1__Sink__Kind kind = message->sinks[index]->kind;
    udpai_path_field(room, path, "kind");
    if (kind == UDPA__CONFIG__V1__SINK__KIND__UNKNOWN)
        udpai_diagnostics_error(to, room, "is required: ACCESS_LOG, METRICS, TRACE, TAP or EVENT");
    for (size_t i = 0; i < index && kind; i++)
        if (message->sinks[i]->kind == kind)
            udpai_diagnostics_error(to, room, "sinks[%zu] is of this kind already: a kind has one",
                                    i);
}

/* With PATH.1 and so on, which the other one may come to write. */
static bool
may_meet(const Udpa__Config__V1__SinkFile *one, const Udpa__Config__V1__SinkFile *other)
{
    size_t len = strlen(one->path);
    if (strncmp(one->path, other->path, len) != 0)
        return false;
    const char *rest = other->path + len;
    return !*rest ||
           (rest[0] == '.' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

static void
check_file(const bootstrap_message *message, size_t index, const char *path, udpai_diagnostics *to)
{
    const Udpa__Config__V1__SinkFile *file = message->sinks[index]->file;
    char room[UDPAI_FIELD_PATH_MAX];
    udpai_diagnostics_require(to, path, "path", *file->path);
    check_number(file->max_bytes, FILE_BYTES_MIN, INT64_MAX,
                 udpai_path_field(room, path, "max_bytes"), to);
    check_number(file->max_files, 1, FILES_MAX, udpai_path_field(room, path, "max_files"), to);
    udpai_path_field(room, path, "path");
    for (size_t i = 0; i < index && *file->path; i++) {
        const Udpa__Config__V1__SinkFile *other = message->sinks[i]->file;
        if (other && *other->path && (may_meet(other, file) || may_meet(file, other)))
            udpai_diagnostics_error(to, room, "sinks[%zu] writes this file: choose another one", i);
    }
}

void
udpai_sinks_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX], room[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < message->n_sinks; i++) {
        const sink_message *sink = message->sinks[i];
        udpai_path_item(path, "sinks", i);
        check_kind(message, i, path, diagnostics);
        check_number(sink->max_entries, 1, ENTRIES_MAX, udpai_path_field(room, path, "max_entries"),
                     diagnostics);
        check_number(sink->max_bytes, RING_BYTES_MIN, RING_BYTES_MAX,
                     udpai_path_field(room, path, "max_bytes"), diagnostics);
        if (sink->file)
            check_file(message, i, udpai_path_field(room, path, "file"), diagnostics);
    }
}

/* ---- the disk ---- */

static const char *
directory_of(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    slash[slash == path] = '\0';
    return path;
}

/* Empty: it can be written. */
static int
errno_of_file(const char *path, const char **ret_what)
{
    struct stat info;
    *ret_what = "cannot be written";
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) {
            *ret_what = "is no file";
            return S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        }
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? 0 : errno;
    }
    UDPAI_AUTO_FREE char *copy = udpai_strdup(path);
    *ret_what = "cannot be made";
    return copy && faccessat(AT_FDCWD, directory_of(copy), W_OK | X_OK, AT_EACCESS) == 0 ? 0
                                                                                         : errno;
}

void
udpai_sinks_check_files(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < message->n_sinks; i++) {
        const Udpa__Config__V1__SinkFile *file = message->sinks[i]->file;
        const char *what;
        int number = file && *file->path ? errno_of_file(file->path, &what) : 0;
        udpai_path_item(path, "sinks", i);
        if (number)
            udpai_diagnostics_error(diagnostics, udpai_path_field(path, path, "file.path"),
                                    "%s: %s: %s", file->path, what, strerror(number));
    }
}
