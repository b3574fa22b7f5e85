/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/mesh.h"

#include <stdio.h>
#include <string.h>

#include "daemon/certificates.h"
#include "daemon/plan_internal.h"
#include "store/replication.h"

typedef Udpa__Config__V1__ClientTls tls_message;

struct udpai_plan_mesh {
    const tls_message *tls; /* NULL: without */
    tls_message of_socket;  /* what that is by default */
    udpai_tls_files files;  /* what it leads to at the start */
    /* Those made last; references, for other certificates. */
    void *targets[2 * UDPAI_REPLICAS_MAX];
    size_t n_made;
};

/* ---- where this one is reached ---- */

static bool
is_anywhere(udpai_str host)
{
    return udpai_str_eq(host, UDPAI_STR("0.0.0.0")) || udpai_str_eq(host, UDPAI_STR("[::]"));
}

void
udpai_daemon_mesh_address(const udpai_plan *plan, char *room, size_t size)
{
    const Udpa__Config__V1__Store *store = plan->bootstrap.message->store;
    const char *address = plan->sockets.n ? plan->sockets.items[0].address : "";
    const char *colon = strrchr(address, ':');
    room[0] = '\0';
    if (store && *store->advertise) {
        (void)snprintf(room, size, "%s", store->advertise);
        return;
    }
    if (!colon || strcmp(colon, ":0") == 0)
        return; /* no port that others could know */
    const udpai_str host = {address, (size_t)(colon - address)};
    if (is_anywhere(host))
        (void)snprintf(room, size, "%s%s", plan->host, colon);
    else
        (void)snprintf(room, size, "%s", address);
}

/* ---- how others are reached ---- */

static udpa_err
make_target(void *userdata, udpai_str address, void **ret_target, udpa_error **ret_error)
{
    udpai_plan_mesh *mesh = userdata;
    char text[UDPAI_MESH_ADDRESS_MAX];
    const Udpa__Config__V1__UdpaSource peer = {.address = text};
    if (address.len >= sizeof(text))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "its address is too long");
    (void)snprintf(text, sizeof(text), "%.*s", (int)address.len, address.data);
    udpa_err err = udpai_dial_address_check(text, ret_error);
    if (err == UDPA_OK)
        err = udpai_plan_udpa_target(ret_target, &peer, mesh->tls, ret_error);
    if (err != UDPA_OK)
        return err;
    void **place = &mesh->targets[mesh->n_made++ % UDPAI_ARRAY_LEN(mesh->targets)];
    if (*place)
        udpai_grpc_target_drop(*place);
    *place = udpai_grpc_target_hold(*ret_target);
    return UDPA_OK;
}

/* That of the first socket, if others can be verified with what it has. */
static const tls_message *
tls_of_socket(udpai_plan_mesh *mesh, const udpai_plan *plan)
{
    const Udpa__Config__V1__ServerTls *tls = plan->sockets.n ? plan->sockets.items[0].tls : NULL;
    if (!tls || !*tls->client_ca_file)
        return NULL;
    udpa__config__v1__client_tls__init(&mesh->of_socket);
    mesh->of_socket.ca_file = tls->client_ca_file;
    mesh->of_socket.certificate_file = tls->certificate_file;
    mesh->of_socket.private_key_file = tls->private_key_file;
    mesh->of_socket.crl_file = tls->crl_file;
    return &mesh->of_socket;
}

static udpa_err
fill(udpai_plan *plan, udpa_error **ret_error)
{
    const Udpa__Config__V1__Store *store = plan->bootstrap.message->store;
    udpai_plan_mesh *mesh = plan->mesh;
    udpai_mesh_config *config = &plan->settings.node.mesh;
    mesh->tls = store->replica_tls ? store->replica_tls : tls_of_socket(mesh, plan);
    udpa_err err =
        mesh->tls ? udpai_certificates_read_client(mesh->tls, &mesh->files, ret_error) : UDPA_OK;
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_plan_words(plan, store->replica_names,
                                                          store->n_replica_names, &config->names));
    config->n_names = store->n_replica_names;
    config->identity = mesh->files.identity;
    config->make_target = make_target;
    config->ref_target = udpai_grpc_target_hold;
    config->release_target = udpai_grpc_target_drop;
    config->userdata = mesh;
    return err;
}

udpa_err
udpai_daemon_mesh_plan(udpai_plan *plan, udpa_error **ret_error)
{
    plan->mesh = udpai_alloc(sizeof(*plan->mesh));
    return plan->mesh ? fill(plan, ret_error) : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

void
udpai_daemon_mesh_done(udpai_plan *plan)
{
    udpai_plan_mesh *mesh = plan->mesh;
    if (!mesh)
        return;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mesh->targets); i++)
        if (mesh->targets[i])
            udpai_grpc_target_drop(mesh->targets[i]);
    udpai_tls_files_done(&mesh->files);
    udpai_free(mesh);
    plan->mesh = NULL;
}

/* ---- other certificates ---- */

const tls_message *
udpai_daemon_mesh_tls(const udpai_plan *plan)
{
    return plan->mesh ? plan->mesh->tls : NULL;
}

udpa_err
udpai_daemon_mesh_replace_tls(const udpai_plan *plan,
                              const udpai_tls_files *files,
                              udpa_error **ret_error)
{
    const udpai_plan_mesh *mesh = plan->mesh;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mesh->targets) && err == UDPA_OK; i++)
        if (mesh->targets[i])
            err = udpai_grpc_target_replace_tls(mesh->targets[i], files, ret_error);
    return err;
}
