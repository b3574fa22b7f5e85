/* SPDX-License-Identifier: Apache-2.0 */
/* The client's life, and its thread, which has libcurl do what it does for several questions at a
 * time. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "loop/thread.h"
#include "transport/http/curl_client_internal.h"

#define IDLE_MS 60000 /* new requests wake it */
#define LOOK_MS 1000  /* how often those are looked at that are asked just now */

static udpai_curl_client *
client_of(udpai_http_client *base)
{
    return (udpai_curl_client *)base;
}

/* ---- the thread ---- */

static void
begin_new(udpai_curl_client *self)
{
    udpai_list requests, *at;
    udpai_list_init(&requests);
    udpai_inbox_take(&self->inbox, &requests);
    while ((at = udpai_list_pop(&requests)))
        udpai_curl_request_begin(self, UDPAI_LIST_ENTRY(at, udpai_http_request, node));
}

static void
end_cancelled(udpai_curl_client *self)
{
    UDPAI_LIST_FOREACH_SAFE (at, &self->active) {
        udpai_http_request *request = UDPAI_LIST_ENTRY(at, udpai_http_request, node);
        if (atomic_load(&request->is_cancelled))
            udpai_curl_request_end(self, request, CURLE_ABORTED_BY_CALLBACK);
    }
}

/* The server's certificate was revoked, or has expired, while it holds the answer back. */
static void
end_distrusted(udpai_curl_client *self)
{
    UDPAI_LIST_FOREACH_SAFE (at, &self->active) {
        udpai_http_request *request = UDPAI_LIST_ENTRY(at, udpai_http_request, node);
        if (!udpai_curl_request_is_trusted(request))
            udpai_curl_request_end(self, request, CURLE_ABORTED_BY_CALLBACK);
    }
}

static void
end_done(udpai_curl_client *self)
{
    int n_left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(self->multi, &n_left)))
        if (message->msg == CURLMSG_DONE)
            udpai_curl_request_end(self, udpai_curl_request_of(message->easy_handle),
                                   message->data.result);
}

static void *
run(void *userdata)
{
    udpai_curl_client *self = userdata;
    int n_running;
    while (!atomic_load(&self->is_ending)) {
        begin_new(self);
        end_cancelled(self);
        end_distrusted(self);
        (void)curl_multi_perform(self->multi, &n_running);
        end_done(self);
        (void)curl_multi_poll(self->multi, NULL, 0,
                              udpai_list_empty(&self->active) ? IDLE_MS : LOOK_MS, NULL);
    }
    return NULL;
}

static udpa_err
start(udpai_curl_client *self, udpa_error **ret_error)
{
    int number = 0;
    pthread_mutex_lock(&self->mutex);
    if (!self->is_started) {
        number = udpai_thread_begin(&self->pthread, "udpa-rest", run, self);
        self->is_started = number == 0;
    }
    pthread_mutex_unlock(&self->mutex);
    return number == 0
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_IO, "cannot start the thread that asks %s: %s",
                            self->address, strerror(number));
}

/* ---- what others send to it ---- */

static void
wake(void *userdata)
{
    const udpai_curl_client *self = userdata;
    (void)curl_multi_wakeup(self->multi);
}

static udpa_err
begin(udpai_http_client *base, udpai_http_request *request, udpa_error **ret_error)
{
    udpai_curl_client *self = client_of(base);
    udpa_err err = start(self, ret_error);
    if (err == UDPA_OK)
        (void)udpai_inbox_push(&self->inbox, &request->node); /* it is closed by nobody */
    return err;
}

static void
cancel(udpai_http_client *base, udpai_http_request *request)
{
    atomic_store(&request->is_cancelled, true);
    wake(client_of(base));
}

/* ---- certificates ---- */

void
udpai_http_tls_unref(udpai_http_tls *tls)
{
    if (!tls || atomic_fetch_sub_explicit(&tls->refs, 1, memory_order_acq_rel) != 1)
        return;
    udpai_tls_files_done(&tls->files);
    udpai_free(tls);
}

udpai_http_tls *
udpai_curl_client_tls(udpai_curl_client *self)
{
    pthread_mutex_lock(&self->mutex);
    udpai_http_tls *tls = self->tls;
    if (tls)
        atomic_fetch_add_explicit(&tls->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&self->mutex);
    return tls;
}

static void
free_client(udpai_http_client *base)
{
    udpai_curl_client *self = client_of(base);
    atomic_store(&self->is_ending, true);
    if (self->is_started) {
        wake(self);
        pthread_join(self->pthread, NULL);
    }
    if (self->has_inbox)
        udpai_inbox_done(&self->inbox);
    if (self->multi) {
        curl_multi_cleanup(self->multi);
        curl_global_cleanup();
    }
    if (self->codec.release)
        self->codec.release(self->codec.userdata);
    pthread_mutex_destroy(&self->mutex);
    udpai_http_tls_unref(self->tls);
    udpai_free(self->address);
    udpai_free(self->url);
    udpai_free(self->connect_to);
    udpai_free(self);
}

static const udpai_http_client_ops ops = {.begin = begin, .cancel = cancel, .free = free_client};

/* ---- making it ---- */

/* The characters of a host that are not escaped in a URL. */
#define HOST_CHARACTERS                                                                            \
    "abcdefghijklmnopqrstuvwxyz"                                                                   \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"                                                                   \
    "0123456789.-_"
#define IPV6_CHARACTERS "0123456789abcdefABCDEF:."

static bool
is_host(const char *text, size_t len)
{
    bool in_brackets = len > 2 && text[0] == '[' && text[len - 1] == ']';
    if (in_brackets)
        return strspn(text + 1, IPV6_CHARACTERS) == len - 2;
    return len > 0 && strspn(text, HOST_CHARACTERS) >= len;
}

static bool
is_port(const char *text)
{
    size_t len = strlen(text);
    long port = strtol(text, NULL, 10);
    return len > 0 && len <= 5 && strspn(text, "0123456789") == len && port > 0 &&
           port <= UINT16_MAX;
}

udpa_err
udpai_http_address_check(const char *address, udpa_error **ret_error)
{
    const char *colon = strrchr(address, ':');
    if (colon && is_host(address, (size_t)(colon - address)) && is_port(colon + 1))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no address to ask by HTTP: write HOST:PORT, such as "
                      "control.example.com:18080 or [2001:db8::1]:18080",
                      address);
}

static char *
text_of(const char *format, const char *one, const char *other)
{
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, format);
    udpai_strbuf_puts(&text, one);
    udpai_strbuf_puts(&text, other);
    return udpai_strbuf_take(&text);
}

static udpa_err
copy_name(udpai_curl_client *self, const char *server_name, udpa_error **ret_error)
{
    const char *scheme = self->is_secure ? "https://" : "http://";
    bool has_name = self->is_secure && server_name && *server_name;
    if (has_name && !is_host(server_name, strlen(server_name)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "server_name '%s' cannot be the name of a host", server_name);
    self->url = has_name ? text_of(scheme, server_name, strrchr(self->address, ':'))
                         : text_of(scheme, self->address, "");
    if (has_name)
        self->connect_to = text_of("::", self->address, "");
    return self->url && (self->connect_to || !has_name)
               ? UDPA_OK
               : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static bool
copy_text(char **to, const char *from)
{
    *to = from ? udpai_strdup(from) : NULL;
    return *to || !from;
}

static udpa_err
copy_files(const udpai_curl_client *self,
           const udpai_tls_files *files,
           udpai_http_tls **ret_tls,
           udpa_error **ret_error)
{
    if (!files->authorities)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "to ask %s with TLS, set ca_file: the CAs that its certificate may be signed by",
            self->address);
    udpai_http_tls *tls = udpai_alloc(sizeof(*tls));
    if (!tls)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&tls->refs, 1);
    if (copy_text(&tls->files.certificate, files->certificate) &&
        copy_text(&tls->files.private_key, files->private_key) &&
        copy_text(&tls->files.authorities, files->authorities)) {
        tls->files.trust = udpai_trust_store_ref(files->trust);
        *ret_tls = tls;
        return UDPA_OK;
    }
    udpai_http_tls_unref(tls);
    return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
make_multi(udpai_curl_client *self, udpa_error **ret_error)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return udpai_fail(ret_error, UDPA_ERR_INTERNAL, "libcurl cannot be set up");
    self->multi = curl_multi_init();
    if (self->multi)
        return UDPA_OK;
    curl_global_cleanup();
    return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
fill(udpai_curl_client *self, const udpai_curl_client_options *options, udpa_error **ret_error)
{
    udpa_err err = udpai_http_address_check(options->address, ret_error);
    self->is_secure = options->tls != NULL;
    if (err == UDPA_OK && !(self->address = udpai_strdup(options->address)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = copy_name(self, options->server_name, ret_error);
    if (err == UDPA_OK && options->tls)
        err = copy_files(self, options->tls, &self->tls, ret_error);
    if (err == UDPA_OK)
        err = make_multi(self, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_inbox_init(&self->inbox, wake, self));
    self->has_inbox = err == UDPA_OK;
    return err;
}

udpa_err
udpai_curl_client_new(udpai_http_client **ret_client,
                      const udpai_curl_client_options *options,
                      udpa_error **ret_error)
{
    udpai_curl_client *self = udpai_alloc(sizeof(*self));
    if (!self) {
        if (options->codec.release)
            options->codec.release(options->codec.userdata);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    self->base.ops = &ops;
    self->codec = options->codec;
    atomic_init(&self->is_ending, false);
    pthread_mutex_init(&self->mutex, NULL);
    udpai_list_init(&self->active);
    udpa_err err = fill(self, options, ret_error);
    if (err == UDPA_OK)
        *ret_client = &self->base;
    else
        free_client(&self->base);
    return err;
}

udpa_err
udpai_curl_client_replace_tls(udpai_http_client *base,
                              const udpai_tls_files *files,
                              udpa_error **ret_error)
{
    udpai_curl_client *self = client_of(base);
    udpai_http_tls *tls = NULL;
    if (!self->is_secure)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION, "%s is asked without TLS",
                          self->address);
    udpa_err err = copy_files(self, files, &tls, ret_error);
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&self->mutex);
    udpai_http_tls *before = self->tls;
    self->tls = tls;
    pthread_mutex_unlock(&self->mutex);
    udpai_http_tls_unref(before);
    wake(self); /* servers that are being asked are verified again */
    return UDPA_OK;
}
