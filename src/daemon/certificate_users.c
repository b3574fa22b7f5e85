/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/certificate_users.h"

#include "base/alloc.h"
#include "daemon/dynamic_sources.h"
#include "daemon/mesh.h"
#include "transport/http/curl_client.h"

static udpa_err
replace_socket(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    return udpai_server_tls_replace(udpai_sockets_tls(self->sockets, index), files, ret_error);
}

static udpa_err
replace_http(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    return udpai_rest_replace_tls(self->rest, index, files, ret_error);
}

static udpa_err
replace_admin(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    return udpai_rest_replace_tls(self->admin, index, files, ret_error);
}

static udpa_err
replace_dialled(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    const udpai_plan_dialled *dialled =
        &udpai_effective_plan(self->effective)->dialled.items[index];
    return dialled->client ? udpai_curl_client_replace_tls(dialled->client, files, ret_error)
                           : udpai_grpc_target_replace_tls(dialled->target, files, ret_error);
}

/* Sources that come by resources: the credential lasts, they need not. */
static udpa_err
replace_credential(void *userdata,
                   size_t index,
                   const udpai_tls_files *files,
                   udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    return udpai_dynamic_sources_replace_tls(self->plan, index, files, ret_error);
}

static udpa_err
replace_store(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    (void)index;
    return udpai_replicas_replace_tls(self->replicas, files, ret_error);
}

static udpa_err
add_store(const udpai_certificate_users *self, udpai_certificates *certificates)
{
    const udpai_certificate_user store = {
        .kind = "store",
        .name = "etcd",
        .client = self->plan->bootstrap.message->store->tls,
        .replace = replace_store,
        .userdata = (void *)(uintptr_t)self,
    };
    return udpai_certificates_add(certificates, &store);
}

static udpa_err
replace_collector(void *userdata,
                  size_t index,
                  const udpai_tls_files *files,
                  udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    (void)index;
    return udpai_otlp_exporter_replace_tls(self->exporter, files, ret_error);
}

static udpa_err
add_collector(const udpai_certificate_users *self, udpai_certificates *certificates)
{
    const udpai_certificate_user collector = {
        .kind = "traces",
        .name = "collector",
        .client = self->plan->bootstrap.message->traces->tls,
        .replace = replace_collector,
        .userdata = (void *)(uintptr_t)self,
    };
    return udpai_certificates_add(certificates, &collector);
}

static udpa_err
replace_mesh(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_certificate_users *self = userdata;
    (void)index;
    return udpai_daemon_mesh_replace_tls(self->plan, files, ret_error);
}

static udpa_err
add_mesh(const udpai_certificate_users *self, udpai_certificates *certificates)
{
    const udpai_certificate_user mesh = {
        .kind = "store",
        .name = "replicas",
        .client = udpai_daemon_mesh_tls(self->plan),
        .replace = replace_mesh,
        .userdata = (void *)(uintptr_t)self,
    };
    return mesh.client ? udpai_certificates_add(certificates, &mesh) : UDPA_OK;
}

static udpa_err
add_credentials(const udpai_certificate_users *self, udpai_certificates *certificates)
{
    const Udpa__Config__V1__DynamicSources *all = self->plan->bootstrap.message->dynamic_sources;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; all && i < all->n_credentials && err == UDPA_OK; i++)
        err = udpai_certificates_add(certificates, &(udpai_certificate_user){
                                                       .kind = "credential",
                                                       .name = all->credentials[i]->name,
                                                       .client = all->credentials[i]->tls,
                                                       .replace = replace_credential,
                                                       .userdata = (void *)(uintptr_t)self,
                                                       .index = i,
                                                   });
    return err;
}

static udpa_err
add_sockets(const udpai_certificate_users *self,
            udpai_certificates *certificates,
            const udpai_plan_socket *sockets,
            size_t n,
            const udpai_certificate_user *like)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        udpai_certificate_user user = *like;
        user.name = sockets[i].address;
        user.server = sockets[i].tls;
        user.userdata = (void *)(uintptr_t)self;
        user.index = i;
        if (user.server)
            err = udpai_certificates_add(certificates, &user);
    }
    return err;
}

static udpa_err
add_dialled(const udpai_certificate_users *self,
            udpai_certificates *certificates,
            const udpai_plan *plan)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->dialled.n && err == UDPA_OK; i++) {
        const udpai_plan_dialled *dialled = &plan->dialled.items[i];
        err = udpai_certificates_add(certificates, &(udpai_certificate_user){
                                                       .kind = dialled->kind,
                                                       .name = dialled->name,
                                                       .client = dialled->tls,
                                                       .replace = replace_dialled,
                                                       .userdata = (void *)(uintptr_t)self,
                                                       .index = i,
                                                   });
    }
    return err;
}

/* Behind all others: these are made anew with each plan. */
static udpa_err
add_changing(const udpai_certificate_users *self,
             udpai_certificates *certificates,
             const udpai_plan *plan)
{
    const udpai_certificate_user socket = {.kind = "socket", .replace = replace_socket};
    udpa_err err = add_sockets(self, certificates, plan->sockets.items, plan->sockets.n, &socket);
    return err == UDPA_OK ? add_dialled(self, certificates, plan) : err;
}

static bool
is_changing(const udpai_certificate_user *user)
{
    return user->replace == replace_socket || user->replace == replace_dialled;
}

udpa_err
udpai_certificate_users_add(const udpai_certificate_users *self, udpai_certificates *certificates)
{
    const udpai_plan *plan = self->plan;
    const udpai_certificate_user http = {.kind = "HTTP socket", .replace = replace_http},
                                 admin = {.kind = "admin socket", .replace = replace_admin};
    udpa_err err = UDPA_OK;
    if (self->rest)
        err =
            add_sockets(self, certificates, plan->http_sockets.items, plan->http_sockets.n, &http);
    if (err == UDPA_OK && self->admin)
        err = add_sockets(self, certificates, plan->admin_sockets.items, plan->admin_sockets.n,
                          &admin);
    if (err == UDPA_OK && self->replicas && plan->etcd.tls)
        err = add_store(self, certificates);
    if (err == UDPA_OK && self->replicas)
        err = add_mesh(self, certificates);
    if (err == UDPA_OK && self->exporter && plan->traces.tls)
        err = add_collector(self, certificates);
    if (err == UDPA_OK)
        err = add_credentials(self, certificates);
    return err == UDPA_OK ? add_changing(self, certificates, plan) : err;
}

/* Of one that was there, by the same files, is known what was. */
static void
keep_known(udpai_certificate_user *user, udpai_certificate_user *before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_certificate_user *at = &before[i];
        if (strcmp(at->kind, user->kind) != 0 || strcmp(at->name, user->name) != 0 ||
            strcmp(at->files, user->files) != 0)
            continue;
        user->group = at->group;
        user->is_read = at->is_read;
        user->not_after_s = at->not_after_s;
        user->trust = UDPAI_TAKE(at->trust);
        user->refused = UDPAI_TAKE(at->refused);
        return;
    }
}

static void
forget_former(udpai_certificate_user *former, size_t n)
{
    for (size_t i = 0; i < n; i++)
        udpai_certificate_user_done(&former[i]);
}

udpa_err
udpai_certificate_users_take_plan(const udpai_certificate_users *self,
                                  udpai_certificates *certificates)
{
    const udpai_plan *plan = udpai_effective_plan(self->effective);
    size_t first = 0, n = certificates->users.n;
    while (first < n && !is_changing(&certificates->users.items[first]))
        first++;
    n -= first;
    UDPAI_AUTO_FREE udpai_certificate_user *former = udpai_alloc_array(n + 1, sizeof(*former));
    if (!former) {
        forget_former(&certificates->users.items[first], n);
        certificates->users.n = first;
        return UDPA_ERR_NOMEM;
    }
    if (n)
        memcpy(former, &certificates->users.items[first], n * sizeof(*former));
    certificates->users.n = first;
    udpa_err err = add_changing(self, certificates, plan);
    for (size_t i = first; i < certificates->users.n; i++)
        keep_known(&certificates->users.items[i], former, n);
    forget_former(former, n);
    return err;
}
