/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/local_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "transport/socket_list.h"

udpa_err
udpai_local_path_check(const char *path, udpa_error **ret_error)
{
    size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;
    if (path[0] != '/' || path[1] == '\0' || path[strlen(path) - 1] == '/')
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' is no path of a unix socket: write unix:/PATH, such as "
                          "unix:/run/udpa/udpad.sock",
                          path);
    if (strlen(path) > most)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' has %zu bytes, and the path of a unix socket at most %zu", path,
                          strlen(path), most);
    return UDPA_OK;
}

static udpa_err
fail(const char *path, int number, udpa_error **ret_error)
{
    char text[128];
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen on unix:%s: %s%s", path,
                      strerror_r(number, text, sizeof(text)),
                      number == ENOENT ? "; make its directory first" : "");
}

static int
new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static struct sockaddr_un
address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

/* 0, or an errno. With the rights that it will have at most: those of the directory may be wider.
 */
static int
try_to_bind(int file, const char *path, mode_t mode)
{
    const struct sockaddr_un address = address_of(path);
    if (fchmod(file, mode) != 0 ||
        bind(file, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return errno;
    return 0;
}

/* 0: a process listens there; else why not. */
static int
try_to_connect(const char *path)
{
    const struct sockaddr_un address = address_of(path);
    int number = 0, file = new_socket();
    if (file < 0)
        return errno;
    if (connect(file, (const struct sockaddr *)&address, sizeof(address)) != 0)
        number = errno == EAGAIN ? 0 : errno; /* it has many connections to take */
    close(file);
    return number;
}

/* What a process has left. */
static udpa_err
remove_stale(const char *path, udpa_error **ret_error)
{
    struct stat found;
    if (lstat(path, &found) != 0)
        return errno == ENOENT ? UDPA_OK : fail(path, errno, ret_error);
    if (!S_ISSOCK(found.st_mode))
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot listen on unix:%s: there is a file that is no socket: move it "
                          "away, or take another path",
                          path);
    int number = try_to_connect(path);
    if (number == 0)
        return udpai_fail(ret_error, UDPA_ERR_IO,
                          "cannot listen on unix:%s: a process listens there already; 'ss -xlp' "
                          "shows which",
                          path);
    if (number != ECONNREFUSED)
        return fail(path, number, ret_error);
    return unlink(path) == 0 || errno == ENOENT ? UDPA_OK : fail(path, errno, ret_error);
}

/* Nothing can connect before it listens, so that nobody does with other rights. */
static udpa_err
begin(int file,
      const char *path,
      mode_t mode,
      int backlog,
      udpai_local_file *ret_file,
      udpa_error **ret_error)
{
    int number = try_to_bind(file, path, mode);
    struct stat made;
    if (number == EADDRINUSE) {
        udpa_err err = remove_stale(path, ret_error);
        if (err != UDPA_OK)
            return err;
        number = try_to_bind(file, path, mode);
    }
    if (number != 0)
        return fail(path, number, ret_error);
    if (chmod(path, mode) != 0 || lstat(path, &made) != 0 || listen(file, backlog) != 0) {
        number = errno;
        (void)unlink(path);
        return fail(path, number, ret_error);
    }
    *ret_file = (udpai_local_file){.device = made.st_dev, .number = made.st_ino};
    memcpy(ret_file->path, path, strlen(path) + 1);
    return UDPA_OK;
}

udpa_err
udpai_local_socket_listen(const char *path,
                          mode_t mode,
                          int backlog,
                          int *ret_socket,
                          udpai_local_file *ret_file,
                          udpa_error **ret_error)
{
    udpa_err err = udpai_local_path_check(path, ret_error);
    if (err != UDPA_OK)
        return err;
    int file = new_socket();
    if (file < 0)
        return fail(path, errno, ret_error);
    err = begin(file, path, mode, backlog, ret_file, ret_error);
    if (err != UDPA_OK)
        close(file);
    else
        *ret_socket = file;
    return err;
}

void
udpai_local_file_adopt(udpai_local_file *ret_file, const char *path)
{
    struct stat found;
    *ret_file = (udpai_local_file){.path = ""};
    if (strlen(path) >= sizeof(ret_file->path) || lstat(path, &found) != 0 ||
        !S_ISSOCK(found.st_mode))
        return;
    ret_file->device = found.st_dev;
    ret_file->number = found.st_ino;
    memcpy(ret_file->path, path, strlen(path) + 1);
}

/* Another process may have replaced it meanwhile. */
void
udpai_local_file_remove(udpai_local_file *file)
{
    struct stat found;
    if (*file->path && !udpai_socket_list_has_left_files() && lstat(file->path, &found) == 0 &&
        found.st_dev == file->device && found.st_ino == file->number)
        (void)unlink(file->path);
    file->path[0] = '\0';
}
