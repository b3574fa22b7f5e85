/* SPDX-License-Identifier: Apache-2.0 */
/* The asker's life, and its thread, which has libcurl do what it does for several questions at a
 * time. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "loop/thread.h"
#include "transport/http/asker_internal.h"

#define IDLE_MS 60000 /* whoever has something to say wakes it */
#define LOOK_MS 1000  /* how often those are looked at that are asked just now */

static udpai_http_asker *
asker_of(udpai_asker *base)
{
    return (udpai_http_asker *)base;
}

/* ---- the thread ---- */

static void
begin_new(udpai_http_asker *self)
{
    udpai_list inquiries, *at;
    udpai_list_init(&inquiries);
    udpai_inbox_take(&self->inbox, &inquiries);
    while ((at = udpai_list_pop(&inquiries)))
        udpai_http_inquiry_begin(self, UDPAI_LIST_ENTRY(at, udpai_inquiry, node));
}

static void
end_cancelled(udpai_http_asker *self)
{
    UDPAI_LIST_FOREACH_SAFE (at, &self->active) {
        udpai_inquiry *inquiry = UDPAI_LIST_ENTRY(at, udpai_inquiry, node);
        if (atomic_load(&inquiry->is_cancelled))
            udpai_http_inquiry_end(self, inquiry, CURLE_ABORTED_BY_CALLBACK);
    }
}

/* The server's certificate was revoked, or has expired, while it holds the answer back. */
static void
end_distrusted(udpai_http_asker *self)
{
    UDPAI_LIST_FOREACH_SAFE (at, &self->active) {
        udpai_inquiry *inquiry = UDPAI_LIST_ENTRY(at, udpai_inquiry, node);
        if (!udpai_http_inquiry_is_trusted(inquiry))
            udpai_http_inquiry_end(self, inquiry, CURLE_ABORTED_BY_CALLBACK);
    }
}

static void
end_done(udpai_http_asker *self)
{
    int n_left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(self->multi, &n_left)))
        if (message->msg == CURLMSG_DONE)
            udpai_http_inquiry_end(self, udpai_http_inquiry_of(message->easy_handle),
                                   message->data.result);
}

static void *
run(void *userdata)
{
    udpai_http_asker *self = userdata;
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
start(udpai_http_asker *self, udpa_error **ret_error)
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

/* ---- what others say to it ---- */

static void
wake(void *userdata)
{
    const udpai_http_asker *self = userdata;
    (void)curl_multi_wakeup(self->multi);
}

static udpa_err
begin(udpai_asker *base, udpai_inquiry *inquiry, udpa_error **ret_error)
{
    udpai_http_asker *self = asker_of(base);
    udpa_err err = start(self, ret_error);
    if (err == UDPA_OK)
        (void)udpai_inbox_push(&self->inbox, &inquiry->node); /* it is closed by nobody */
    return err;
}

static void
cancel(udpai_asker *base, udpai_inquiry *inquiry)
{
    atomic_store(&inquiry->is_cancelled, true);
    wake(asker_of(base));
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
udpai_http_asker_tls(udpai_http_asker *self)
{
    pthread_mutex_lock(&self->mutex);
    udpai_http_tls *tls = self->tls;
    if (tls)
        atomic_fetch_add_explicit(&tls->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&self->mutex);
    return tls;
}

static void
free_asker(udpai_asker *base)
{
    udpai_http_asker *self = asker_of(base);
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

static const udpai_asker_ops ops = {.begin = begin, .cancel = cancel, .free = free_asker};

/* ---- making it ---- */

/* What a host may consist of that stands in a URL as it is. */
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
copy_name(udpai_http_asker *self, const char *server_name, udpa_error **ret_error)
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
copy_files(const udpai_http_asker *self,
           const udpai_tls_files *files,
           udpai_http_tls **ret_tls,
           udpa_error **ret_error)
{
    if (!files->authorities)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "to ask %s with TLS, name who may vouch for its certificate (ca_file)",
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
make_multi(udpai_http_asker *self, udpa_error **ret_error)
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
fill(udpai_http_asker *self, const udpai_http_asker_options *options, udpa_error **ret_error)
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
udpai_http_asker_new(udpai_asker **ret_asker,
                     const udpai_http_asker_options *options,
                     udpa_error **ret_error)
{
    udpai_http_asker *self = udpai_alloc(sizeof(*self));
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
        *ret_asker = &self->base;
    else
        free_asker(&self->base);
    return err;
}

udpa_err
udpai_http_asker_replace_tls(udpai_asker *base,
                             const udpai_tls_files *files,
                             udpa_error **ret_error)
{
    udpai_http_asker *self = asker_of(base);
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
    wake(self); /* who is being asked is looked at again */
    return UDPA_OK;
}
