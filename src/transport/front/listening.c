/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/listening.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/front/listen_place.h"
#include "transport/grpc/listener.h"
#include "transport/socket_list.h"

#define BACKLOG 4096

static udpa_err
open_port(udpai_listening *listening, const char *address, bool is_shared, udpa_error **ret_error)
{
    udpa_err err = is_shared ? udpai_address_bind_shared(address, &listening->socket, ret_error)
                             : udpai_address_bind(address, &listening->socket, ret_error);
    if (err == UDPA_OK && listen(listening->socket, BACKLOG) != 0)
        err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot listen on %s", address);
    return err;
}

/* Its file, if it has one, is of those that have passed it. */
static udpa_err
open_passed(udpai_listening *listening, const char *name, udpa_error **ret_error)
{
    udpai_passed_socket passed;
    udpa_err err = udpai_passed_look(name, &passed, ret_error);
    return err == UDPA_OK ? udpai_listening_take(listening, passed.file, ret_error) : err;
}

static udpa_err
open_place(udpai_listening *listening, const char *address, bool is_shared, udpa_error **ret_error)
{
    const char *name = udpai_listen_place_name(address);
    switch (udpai_listen_place_of(address)) {
    case UDPAI_LISTEN_PLACE_PATH:
        listening->is_local = true;
        return udpai_local_socket_listen(name, UDPAI_LOCAL_SOCKET_MODE, BACKLOG, &listening->socket,
                                         &listening->file, ret_error);
    case UDPAI_LISTEN_PLACE_PASSED:
        return open_passed(listening, name, ret_error);
    default:
        return open_port(listening, address, is_shared, ret_error);
    }
}

/* By the process before this one; false: none was. */
static bool
take_handed(udpai_listening *listening, const char *use, const char *address)
{
    int handed = udpai_socket_list_take(use, address);
    if (handed < 0 || udpai_listening_take(listening, handed, NULL) != UDPA_OK)
        return false;
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PATH)
        udpai_local_file_adopt(&listening->file, udpai_listen_place_name(address));
    return true;
}

udpa_err
udpai_listening_open(udpai_listening *ret_listening,
                     const char *address,
                     bool is_shared,
                     udpa_error **ret_error)
{
    const char *use = is_shared ? UDPAI_LISTENING_SHARED_USE : UDPAI_LISTENING_USE;
    udpa_err err = UDPA_OK;
    *ret_listening = (udpai_listening){.socket = -1};
    if (!take_handed(ret_listening, use, address))
        err = open_place(ret_listening, address, is_shared, ret_error);
    if (err == UDPA_OK)
        udpai_socket_list_note(use, address, ret_listening->socket);
    else
        udpai_listening_close(ret_listening);
    return err;
}

udpa_err
udpai_listening_take(udpai_listening *ret_listening, int socket, udpa_error **ret_error)
{
    udpai_passed_socket passed;
    int flags = fcntl(socket, F_GETFL);
    *ret_listening = (udpai_listening){.socket = socket};
    if (udpai_passed_describe(socket, &passed) && flags >= 0 &&
        fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 &&
        fcntl(socket, F_SETFD, FD_CLOEXEC) == 0) {
        ret_listening->is_local = passed.is_local;
        return UDPA_OK;
    }
    udpai_listening_close(ret_listening);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "what was passed is no socket that listens");
}

void
udpai_listening_close(udpai_listening *listening)
{
    udpai_local_file_remove(&listening->file);
    udpai_socket_list_forget(listening->socket);
    if (listening->socket >= 0)
        close(listening->socket);
    listening->socket = -1;
}
