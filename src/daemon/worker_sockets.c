/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker_sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/banner.h"
#include "transport/front/handed_socket.h"
#include "transport/front/listen_place.h"
#include "transport/front/listening.h"
#include "transport/socket_address.h"
#include "transport/socket_list.h"

#define ADDRESS_MAX 300
#define RESERVED_USE "reserved" /* in the list of sockets of the process */

typedef struct shared_socket {
    char address[ADDRESS_MAX];
    udpai_listening *of; /* a worker each */
} shared_socket;

struct udpai_worker_sockets {
    size_t n_workers, n;
    bool is_own;
    UDPAI_VECTOR(int) reserved; /* by which gRPC's library finds the ports free */
    shared_socket *all;
};

/* ---- opening ---- */

/* Others that were not given the port cannot take it while nothing listens on this socket: first
 * alone, so that it is not shared with strangers that would share theirs, then for the workers. */
static udpa_err
bind_reserved(const char *address, int *ret_file, udpa_error **ret_error)
{
    udpa_err err = udpai_address_bind(address, ret_file, ret_error);
    if (err != UDPA_OK)
        return err;
    close(*ret_file);
    return udpai_address_bind_shared(address, ret_file, ret_error);
}

static udpa_err
reserve(udpai_worker_sockets *sockets, const char *address, int *ret_port, udpa_error **ret_error)
{
    int file = udpai_socket_list_take(RESERVED_USE, address);
    udpa_err err = file >= 0 ? UDPA_OK : bind_reserved(address, &file, ret_error);
    if (err != UDPA_OK)
        return err;
    *ret_port = udpai_socket_port(file);
    if (!udpai_vector_push(&sockets->reserved, file)) {
        close(file);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpai_socket_list_note(RESERVED_USE, address, file);
    return UDPA_OK;
}

/* The same socket for all. */
static udpa_err
copy_to_all(const udpai_worker_sockets *sockets, shared_socket *to, udpa_error **ret_error)
{
    for (size_t i = 1; i < sockets->n_workers; i++) {
        to->of[i].socket = fcntl(to->of[0].socket, F_DUPFD_CLOEXEC, 0);
        if (to->of[i].socket < 0)
            return udpai_fail(ret_error, UDPA_ERR_IO,
                              "cannot listen on %s: there are too many files", to->address);
    }
    return UDPA_OK;
}

static udpa_err
open_all(udpai_worker_sockets *sockets, shared_socket *to, udpa_error **ret_error)
{
    bool is_port = udpai_listen_place_of(to->address) == UDPAI_LISTEN_PLACE_PORT;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < (is_port ? sockets->n_workers : 1) && err == UDPA_OK; i++)
        err = udpai_listening_open(&to->of[i], to->address, is_port, ret_error);
    return err == UDPA_OK && !is_port ? copy_to_all(sockets, to, ret_error) : err;
}

static udpa_err
open_one(udpai_worker_sockets *sockets,
         size_t number,
         const char *address,
         int *ret_port,
         udpa_error **ret_error)
{
    shared_socket *to = &sockets->all[number];
    udpa_err err = UDPA_OK;
    *ret_port = 0;
    to->of = udpai_alloc_array(sockets->n_workers, sizeof(*to->of));
    if (!to->of)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < sockets->n_workers; i++)
        to->of[i].socket = -1;
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PORT) {
        err = reserve(sockets, address, ret_port, ret_error);
        udpai_banner_address(to->address, sizeof(to->address), address, *ret_port);
    } else {
        snprintf(to->address, sizeof(to->address), "%s", address);
    }
    return err == UDPA_OK && sockets->is_own ? open_all(sockets, to, ret_error) : err;
}

udpa_err
udpai_worker_sockets_open(udpai_worker_sockets **ret_sockets,
                          const udpai_plan *plan,
                          int *ret_ports,
                          udpai_strbuf *addresses,
                          udpa_error **ret_error)
{
    udpai_worker_sockets *sockets = *ret_sockets = udpai_alloc(sizeof(*sockets));
    if (!sockets || !(sockets->all = udpai_alloc_array(plan->sockets.n, sizeof(*sockets->all))))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    sockets->n_workers = plan->settings.n_workers;
    sockets->is_own = plan->settings.acceptance != NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->sockets.n && err == UDPA_OK; i++) {
        sockets->n++;
        err = open_one(sockets, i, plan->sockets.items[i].address, &ret_ports[i], ret_error);
        udpai_strbuf_append(addresses, sockets->all[i].address,
                            strlen(sockets->all[i].address) + 1);
    }
    if (err == UDPA_OK && udpai_strbuf_failed(addresses))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}

void
udpai_worker_sockets_close(udpai_worker_sockets *sockets)
{
    if (!sockets)
        return;
    for (size_t i = 0; i < sockets->reserved.n; i++) {
        udpai_socket_list_forget(sockets->reserved.items[i]);
        close(sockets->reserved.items[i]);
    }
    udpai_vector_done(&sockets->reserved);
    for (size_t i = 0; i < sockets->n; i++) {
        for (size_t j = 0; sockets->all[i].of && j < sockets->n_workers; j++)
            udpai_listening_close(&sockets->all[i].of[j]);
        udpai_free(sockets->all[i].of);
    }
    udpai_free(sockets->all);
    udpai_free(sockets);
}

/* ---- handing them over ---- */

static udpai_str
label_of(const char *address)
{
    return (udpai_str){address, udpai_min_size(strlen(address), UDPAI_HANDED_LABEL_MAX)};
}

udpa_err
udpai_worker_sockets_hand(const udpai_worker_sockets *sockets,
                          size_t worker,
                          int end,
                          udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < sockets->n && sockets->is_own && err == UDPA_OK; i++)
        err = udpai_socket_hand(end, label_of(sockets->all[i].address),
                                sockets->all[i].of[worker].socket, ret_error);
    return err;
}

udpa_err
udpai_worker_sockets_take(int end, const char *address, int *ret_socket, udpa_error **ret_error)
{
    char room[UDPAI_HANDED_LABEL_MAX];
    udpai_str label;
    udpa_err err = udpai_socket_take_handed(end, room, &label, ret_socket, ret_error);
    if (err != UDPA_OK || udpai_str_eq(label, label_of(address)))
        return err;
    close(*ret_socket);
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "the socket for %s is that for %.*s", address,
                      UDPAI_SHOWN(label));
}
