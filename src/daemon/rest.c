/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/rest.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/certificates.h"
#include "transport/visit.h"

struct udpai_rest {
    udpai_rest_env env;
    bool has_handle;
    udpai_http *http;
    uv_async_t ended;
    void (*closed)(void *userdata);
    void *userdata;
};

/* ---- certificates ---- */

udpa_err
udpai_rest_replace_tls(udpai_rest *self,
                       size_t index,
                       const udpai_tls_files *files,
                       udpa_error **ret_error)
{
    return udpai_http_replace_tls(self->http, index, files, ret_error);
}

/* ---- the end ---- */

/* On the HTTP thread. */
static void
on_stopped(void *userdata)
{
    uv_async_send(&((udpai_rest *)userdata)->ended);
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_rest *self = handle->data;
    if (self->http)
        self->closed(self->userdata);
    else
        udpai_free(self); /* it was not opened */
}

static void
on_ended(uv_async_t *handle)
{
    udpai_rest *self = handle->data;
    udpai_http_end(self->http);
    uv_close((uv_handle_t *)handle, on_closed);
}

void
udpai_rest_close(udpai_rest *self, void (*closed)(void *userdata), void *userdata)
{
    if (!self) {
        closed(userdata);
        return;
    }
    self->closed = closed;
    self->userdata = userdata;
    udpai_http_stop(self->http);
}

udpai_rest *
udpai_rest_free(udpai_rest *self)
{
    if (!self)
        return NULL;
    udpai_http_free(self->http);
    udpai_free(self);
    return NULL;
}

/* ---- the begin ---- */

/* On the HTTP thread. */
static void
on_page(void *userdata, udpai_http_reading *reading)
{
    const udpai_rest *self = userdata;
    udpai_pages_read(self->env.pages, reading);
}

typedef UDPAI_VECTOR(udpai_http_socket) socket_list;

/* The files are read into @p files, one for each socket. */
static udpa_err
list_sockets(const udpai_plan *plan,
             udpai_tls_files *files,
             socket_list *sockets,
             udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->http_sockets.n && err == UDPA_OK; i++) {
        const udpai_plan_socket *from = &plan->http_sockets.items[i];
        if (from->tls)
            err = udpai_certificates_read(from->tls, &files[i], ret_error);
        const udpai_http_socket socket = {
            .address = from->address,
            .tls = from->tls ? &files[i] : NULL,
            .client_certificate_optional = from->tls && from->tls->client_certificate_optional,
        };
        if (err == UDPA_OK && !udpai_vector_push(sockets, socket))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    return err;
}

static udpa_err
start(udpai_rest *self, udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_plan *plan = self->env.plan;
    bool has_pages = self->env.pages != NULL;
    socket_list sockets = {0};
    udpa_err err = has_pages ? list_sockets(plan, files, &sockets, ret_error) : UDPA_OK;
    const udpai_http_options options = {
        .sockets = sockets.items,
        .n_sockets = sockets.n,
        .routes = plan->http_routes,
        .n_routes = UDPAI_ARRAY_LEN(plan->http_routes),
        .pages = udpai_pages_all,
        .n_pages = has_pages ? UDPAI_PAGES : 0,
        .read_page = on_page,
        .schema = self->env.schema,
        .streams = self->env.streams,
        .limits = plan->http_limits,
        .body_setting = "http.max_body_bytes",
        .hosts = plan->http_hosts,
        .n_hosts = plan->n_http_hosts,
        .stopped = on_stopped,
        .userdata = self,
    };
    if (err == UDPA_OK)
        err = udpai_http_new(&self->http, &options, ret_error);
    udpai_vector_done(&sockets);
    return err;
}

static bool
serves_beside_grpc(const udpai_plan *plan)
{
    for (size_t i = 0; i < plan->sockets.n; i++)
        if (plan->sockets.items[i].has_rest || plan->sockets.items[i].has_pages)
            return true;
    return false;
}

udpa_err
udpai_rest_open(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error)
{
    size_t n = env->pages ? env->plan->http_sockets.n : 0;
    if (n == 0 && !serves_beside_grpc(env->plan))
        return UDPA_OK;
    udpai_rest *self = udpai_alloc(sizeof(*self));
    udpai_tls_files *files = udpai_alloc_array(n, sizeof(*files));
    udpa_err err = self && files ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK) {
        self->env = *env;
        self->has_handle = uv_async_init(env->loop, &self->ended, on_ended) == 0;
        self->ended.data = self;
        err = start(self, files, ret_error);
    }
    for (size_t i = 0; files && i < n; i++)
        udpai_tls_files_done(&files[i]);
    udpai_free(files);
    if (err == UDPA_OK)
        *ret_rest = self;
    else if (self && self->has_handle)
        uv_close((uv_handle_t *)&self->ended, on_closed);
    else
        udpai_free(self);
    return err;
}

int
udpai_rest_port(const udpai_rest *self, size_t index)
{
    return udpai_http_port(self->http, index);
}

const udpai_visits *
udpai_rest_visits(const udpai_rest *self, const udpai_plan_socket *socket)
{
    return socket->has_rest || socket->has_pages
               ? udpai_http_visits(self->http, socket->has_rest, socket->has_pages)
               : NULL;
}
