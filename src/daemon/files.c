/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "loop/clock.h"

const char *
udpai_files_where(char room[UDPAI_WHERE_MAX], const char *path)
{
    char here[PATH_MAX];
    room[0] = '\0';
    if (path[0] != '/' && access(path, F_OK) != 0 && getcwd(here, sizeof(here)))
        snprintf(room, UDPAI_WHERE_MAX, "; relative paths begin in %s", here);
    return room;
}

void
udpai_file_error(
    const udpai_value *value, const char *field, const char *file, const char *format, ...)
{
    char text[1024], room[UDPAI_WHERE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *where = udpai_files_where(room, file);
    if (value->path)
        udpai_value_error(value, field, "%s%s", text, where);
    else
        udpai_diagnostics_option(value->diagnostics, "%s: %s%s", field, text, where);
}

/* ---- certificates ---- */

static bool
can_open(const udpai_value *tls, const char *field, const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        udpai_file_error(tls, field, file, "%s: cannot be opened: %s", file, strerror(errno));
    else
        close(fd);
    return fd >= 0;
}

/* Rules, and what counts streams, know peers by their names. */
static void
check_name(const udpai_value *tls, const char *certificate, const udpai_tls_files *files)
{
    if (udpai_identity_name(files->identity).len == 0)
        udpai_value_warn(tls, "certificate_file",
                         "%s: has no common name, URI or DNS name that is clear: others cannot "
                         "identify this node by it",
                         certificate);
}

/* Of a pair the message names the bad file. */
static bool
read_tls(const udpai_value *tls, const udpai_tls_paths *paths, const char *blamed_field)
{
    udpai_tls_files files = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_tls_files_read(&files, paths, udpai_wall_us() / 1000000, &error);
    if (err == UDPA_OK && paths->certificate)
        check_name(tls, paths->certificate, &files);
    udpai_tls_files_done(&files);
    if (err == UDPA_OK)
        return true;
    const char *text = udpa_error_message(error),
               *file = paths->revocations ? paths->revocations : paths->authorities;
    if (!file) {
        size_t len = strlen(paths->private_key);
        bool is_key = strncmp(text, paths->private_key, len) == 0 && text[len] == ':';
        file = is_key ? paths->private_key : paths->certificate;
        blamed_field = is_key ? "private_key_file" : "certificate_file";
    }
    udpai_file_error(tls, blamed_field, file, "%s", text);
    return false;
}

void
udpai_tls_check_files(const udpai_value *tls, const char *ca_field, const udpai_tls_paths *files)
{
    bool has_authorities = false;
    if (*files->authorities && can_open(tls, ca_field, files->authorities))
        has_authorities =
            read_tls(tls, &(udpai_tls_paths){.authorities = files->authorities}, ca_field);
    if (*files->revocations && !*files->authorities)
        udpai_value_error(tls, "crl_file",
                          "revocation lists go with the authorities that issue them: %s is missing",
                          ca_field);
    if (*files->revocations && can_open(tls, "crl_file", files->revocations) && has_authorities)
        (void)read_tls(tls,
                       &(udpai_tls_paths){.authorities = files->authorities,
                                          .revocations = files->revocations},
                       "crl_file");
    bool has_certificate =
        *files->certificate && can_open(tls, "certificate_file", files->certificate);
    bool has_key = *files->private_key && can_open(tls, "private_key_file", files->private_key);
    if (has_certificate && has_key)
        (void)read_tls(tls,
                       &(udpai_tls_paths){.certificate = files->certificate,
                                          .private_key = files->private_key},
                       NULL);
}

/* ---- directories ---- */

bool
udpai_directory_is_read(const char *directory)
{
    DIR *found = opendir(directory);
    return found && closedir(found) == 0;
}

static void
check_directory(const udpai_value *value, const char *option, const char *directory)
{
    if (!udpai_directory_is_read(directory))
        udpai_file_error(value, option, directory, "%s: cannot be read: %s", directory,
                         strerror(errno));
}

void
udpai_directory_check_files(const udpai_value *value)
{
    check_directory(value, "", value->text);
}

void
udpai_directory_check_option(udpai_diagnostics *diagnostics,
                             const char *option,
                             const char *directory)
{
    check_directory(&(udpai_value){.diagnostics = diagnostics}, option, directory);
}

/* Permissions do not suffice: a file system may refuse (/proc, a quota, no room). So a directory is
 * made there, and removed at once. */
static int
errno_of_making_in(const char *directory)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/.udpad-check-XXXXXX", directory);
    int number = udpai_strbuf_failed(&path) ? ENOMEM : mkdtemp(path.data) ? 0 : errno;
    if (number == 0)
        rmdir(path.data);
    udpai_strbuf_done(&path);
    return number;
}

/* Of one that will be made. */
static int
errno_of_parent(const char *directory)
{
    UDPAI_AUTO_FREE char *copy = udpai_strdup(directory);
    size_t len = copy ? strlen(copy) : 0;
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    char *slash = copy ? strrchr(copy, '/') : NULL;
    if (slash)
        slash[slash == copy] = '\0';
    return errno_of_making_in(slash ? copy : ".");
}

void
udpai_state_check(const udpai_value *value, const char *option, const char *directory)
{
    struct stat info;
    int number;
    if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode)) {
        udpai_file_error(value, option, directory, "%s: is no directory", directory);
    } else if (faccessat(AT_FDCWD, directory, R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
        number = errno_of_making_in(directory);
        if (number != 0)
            udpai_file_error(value, option, directory, "%s: cannot be written to: %s", directory,
                             strerror(number));
    } else if (errno != ENOENT) {
        udpai_file_error(value, option, directory, "%s: cannot be written to: %s", directory,
                         strerror(errno));
    } else if ((number = errno_of_parent(directory)) != 0) {
        udpai_file_error(value, option, directory, "%s: is not there, and cannot be made: %s",
                         directory, strerror(number));
    }
}

/* ---- files that are written ---- */

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
udpai_output_file_check(const udpai_value *value)
{
    const char *what;
    int number = errno_of_file(value->text, &what);
    if (number)
        udpai_value_error(value, "", "%s: %s: %s", value->text, what, strerror(number));
}
