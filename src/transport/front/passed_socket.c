/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/passed_socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "transport/socket_address.h"
#include "transport/socket_list.h"

udpai_passed
udpai_passed_here(void)
{
    return (udpai_passed){getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES")};
}

udpa_err
udpai_passed_name_check(const char *name, udpa_error **ret_error)
{
    size_t len = strlen(name);
    bool is_good = len > 0 && len <= UDPAI_PASSED_NAME_MAX;
    for (size_t i = 0; i < len && is_good; i++)
        is_good = name[i] > ' ' && name[i] <= '~' && name[i] != ':';
    return is_good ? UDPA_OK
                   : udpai_fail(ret_error, UDPA_ERR_INVAL,
                                "'%s' is no name of a socket that is passed: write fd:NAME, with "
                                "the name of FileDescriptorName= in its socket unit",
                                name);
}

/* -1: it is none. */
static long
number_of(const char *text, long most)
{
    long number = 0;
    if (!text || !*text)
        return -1;
    for (; *text >= '0' && *text <= '9' && number <= most; text++)
        number = number * 10 + (*text - '0');
    return *text == '\0' && number <= most ? number : -1;
}

static udpai_str
cut_name(udpai_str *rest)
{
    udpai_str name = *rest;
    if (!udpai_str_cut(rest, ':', &name))
        *rest = UDPAI_STR("");
    return name;
}

static udpa_err
fail_missing(const udpai_passed *passed, const char *name, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "none of the sockets that were passed to this process is called '%s': they "
                      "are called '%s' (FileDescriptorName= in each socket unit)",
                      name, passed->names ? passed->names : "");
}

udpa_err
udpai_passed_find(const udpai_passed *passed,
                  long process,
                  const char *name,
                  int *ret_file,
                  udpa_error **ret_error)
{
    long n = number_of(passed->count, UDPAI_PASSED_MAX);
    if (n <= 0 || number_of(passed->process, 0x7fffffff) != process)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "no socket was passed to this process (LISTEN_FDS): 'fd:%s' takes a "
                          "socket unit of systemd with FileDescriptorName=%s",
                          name, name);
    udpai_str rest = udpai_str_from(passed->names ? passed->names : "");
    int file = -1;
    for (long i = 0; i < n; i++) {
        if (!udpai_str_eq(cut_name(&rest), udpai_str_from(name)))
            continue;
        if (file >= 0)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "more than one of the sockets that were passed is called '%s': let "
                              "each have a socket unit with a FileDescriptorName= of its own",
                              name);
        file = UDPAI_PASSED_FIRST + (int)i;
    }
    if (file < 0)
        return fail_missing(passed, name, ret_error);
    *ret_file = file;
    return UDPA_OK;
}

static int
option_of(int file, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(file, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

static bool
put_address(udpai_passed_socket *socket)
{
    struct sockaddr_storage own = {0};
    const struct sockaddr_un *local = (const struct sockaddr_un *)&own;
    socklen_t size = sizeof(own);
    char room[UDPAI_SOCKET_ADDRESS_TEXT];
    if (getsockname(socket->file, (struct sockaddr *)&own, &size) != 0)
        return false;
    socket->is_local = own.ss_family == AF_UNIX;
    if (socket->is_local) {
        snprintf(socket->address, sizeof(socket->address), "unix:%.*s",
                 (int)sizeof(local->sun_path), local->sun_path);
        return true;
    }
    if (own.ss_family != AF_INET && own.ss_family != AF_INET6)
        return false;
    udpai_str text = udpai_socket_address_text((const struct sockaddr *)&own, room);
    snprintf(socket->address, sizeof(socket->address), "%.*s", (int)text.len, text.data);
    return true;
}

bool
udpai_passed_describe(int file, udpai_passed_socket *ret_socket)
{
    *ret_socket = (udpai_passed_socket){.file = file};
    return option_of(file, SO_TYPE) == SOCK_STREAM && option_of(file, SO_ACCEPTCONN) == 1 &&
           put_address(ret_socket);
}

/* The process before this one was started with it, and has handed it on; -1: no. */
static int
find_handed(const char *name)
{
    char address[UDPAI_SOCKET_USE_MAX];
    int len = snprintf(address, sizeof(address), "fd:%s", name);
    return len > 0 && (size_t)len < sizeof(address)
               ? udpai_socket_list_peek(UDPAI_PASSED_USE, address)
               : -1;
}

udpa_err
udpai_passed_look(const char *name, udpai_passed_socket *ret_socket, udpa_error **ret_error)
{
    const udpai_passed passed = udpai_passed_here();
    int file = find_handed(name);
    udpa_err err =
        file >= 0 ? UDPA_OK : udpai_passed_find(&passed, getpid(), name, &file, ret_error);
    if (err != UDPA_OK)
        return err;
    (void)fcntl(file, F_SETFD, FD_CLOEXEC);
    udpai_passed_socket found;
    if (!udpai_passed_describe(file, &found))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "what was passed as '%s' is no socket that listens for TCP or on a unix "
                          "socket: let its socket unit have ListenStream= and Accept=no",
                          name);
    *ret_socket = found;
    return UDPA_OK;
}
