/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/rest.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/certificates.h"
#include "transport/token_file.h"
#include "transport/visit.h"

#define MOVED                                                                                      \
    "on the admin socket of this node: udpactl asks there with --admin unix:PATH or HOST:PORT; "   \
    "where that is, the node prints at its start, and admin.sockets in its bootstrap file sets "   \
    "it. "                                                                                         \
    "'http: {admin_pages: true}' serves it here, too"

static const udpai_admission_words admin_words = {"connections to administer it",
                                                  "admin.max_connections", "admin.max_connections"};

struct udpai_rest {
    udpai_rest_env env;
    bool is_admin;
    udpai_token_file *token; /* its thread's, once that runs; NULL: none */
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
        udpai_rest_free(self); /* it was not opened */
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
    udpai_token_file_free(self->token);
    udpai_free(self);
    return NULL;
}

/* ---- the begin ---- */

/* Where there is a token, only that or a proved name is good enough to be looked at by the rules.
 */
static udpai_page_access
access_of(const udpai_rest *self, const udpai_http_reading *reading)
{
    if (!self->token)
        return UDPAI_PAGE_BY_RULES;
    if (reading->has_authorization)
        return udpai_token_file_accepts(self->token, reading->authorization)
                   ? UDPAI_PAGE_BY_TOKEN
                   : UDPAI_PAGE_WRONG_TOKEN;
    return reading->identity ? UDPAI_PAGE_BY_RULES : UDPAI_PAGE_NO_TOKEN;
}

/* On the HTTP thread. */
static void
on_page(void *userdata, udpai_http_reading *reading)
{
    const udpai_rest *self = userdata;
    reading->access = access_of(self, reading);
    udpai_pages_read(self->env.pages, reading);
}

typedef UDPAI_VECTOR(udpai_http_socket) socket_list;

/* The files are read into @p files, one for each socket. */
static udpa_err
list_sockets(const udpai_plan_socket *from_plan,
             size_t n,
             udpai_tls_files *files,
             socket_list *sockets,
             udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        const udpai_plan_socket *from = &from_plan[i];
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

/* What both kinds of sockets have alike. */
static udpai_http_options
common_options(udpai_rest *self)
{
    const udpai_plan *plan = self->env.plan;
    return (udpai_http_options){
        .pages = udpai_pages_all,
        .read_page = on_page,
        .schema = self->env.schema,
        .streams = self->env.streams,
        .hosts = plan->http_hosts,
        .n_hosts = plan->n_http_hosts,
        .stopped = on_stopped,
        .userdata = self,
    };
}

static udpai_http_options
rest_options(udpai_rest *self)
{
    const udpai_plan *plan = self->env.plan;
    const size_t n_moved = UDPAI_PAGES_AT_HTTP - UDPAI_PAGES_FOR_ALL;
    udpai_http_options options = common_options(self);
    options.routes = plan->http_routes;
    options.n_routes = UDPAI_ARRAY_LEN(plan->http_routes);
    options.limits = plan->http_limits;
    options.body_setting = "http.max_body_bytes";
    if (self->env.pages) {
        options.n_moved = plan->has_admin_pages ? 0 : n_moved;
        options.n_pages = UDPAI_PAGES_AT_HTTP - options.n_moved;
        options.moved = MOVED;
    }
    return options;
}

static udpai_http_options
admin_options(udpai_rest *self)
{
    udpai_http_options options = common_options(self);
    options.n_pages = UDPAI_PAGES;
    options.limits = self->env.plan->admin_limits;
    options.words = &admin_words;
    options.replaces_idle = true;
    options.thread_name = "udpa-admin";
    return options;
}

static const udpai_plan_socket *
sockets_of(const udpai_rest *self, size_t *ret_n)
{
    const udpai_plan *plan = self->env.plan;
    *ret_n = !self->env.pages ? 0 : self->is_admin ? plan->admin_sockets.n : plan->http_sockets.n;
    return self->is_admin ? plan->admin_sockets.items : plan->http_sockets.items;
}

static udpa_err
start(udpai_rest *self, udpai_tls_files *files, udpa_error **ret_error)
{
    socket_list sockets = {0};
    size_t n;
    const udpai_plan_socket *from = sockets_of(self, &n);
    const char *token_file = self->is_admin ? self->env.plan->admin_token_file : NULL;
    udpai_http_options options = self->is_admin ? admin_options(self) : rest_options(self);
    udpa_err err = list_sockets(from, n, files, &sockets, ret_error);
    options.sockets = sockets.items;
    options.n_sockets = sockets.n;
    if (err == UDPA_OK && token_file)
        err = udpai_token_file_open(&self->token, token_file, ret_error);
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

static udpa_err
open_kind(udpai_rest **ret_rest, const udpai_rest_env *env, bool is_admin, udpa_error **ret_error)
{
    size_t n = is_admin ? env->plan->admin_sockets.n : env->plan->http_sockets.n;
    udpai_rest *self = udpai_alloc(sizeof(*self));
    udpai_tls_files *files = udpai_alloc_array(n, sizeof(*files));
    udpa_err err = self && files ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK) {
        self->env = *env;
        self->is_admin = is_admin;
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
        udpai_rest_free(self);
    return err;
}

udpa_err
udpai_rest_open(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error)
{
    bool listens = env->pages && env->plan->http_sockets.n;
    return listens || serves_beside_grpc(env->plan) ? open_kind(ret_rest, env, false, ret_error)
                                                    : UDPA_OK;
}

/* Not every place for data can have a socket: its path may be too long, or be of another machine.
 */
udpa_err
udpai_rest_open_admin(udpai_rest **ret_rest, const udpai_rest_env *env, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (env->plan->admin_sockets.n == 0)
        return UDPA_OK;
    udpa_err err = open_kind(ret_rest, env, true, &error);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM && env->plan->is_admin_chosen) {
        udpai_log(UDPA_LOG_WARNING, "admin",
                  "there is no admin socket: %s; set admin.sockets in the bootstrap file",
                  udpa_error_message(error));
        return UDPA_OK;
    }
    if (ret_error)
        *ret_error = UDPAI_TAKE(error);
    return err;
}

udpai_http_counts
udpai_rest_counts(const udpai_rest *self)
{
    return self ? udpai_http_counts_of(self->http) : (udpai_http_counts){0};
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
