/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that take long to read, on a thread of their own and one after the other: short ones wait
 * for none of them, and no more memory is taken at a time than one of them needs. */
#include <malloc.h>

#include "base/alloc.h"
#include "loop/thread.h"
#include "transport/http/http_internal.h"

/* One that is to be read. */
struct udpai_http_body {
    udpai_list node;
    udpai_http_message message;
    udpai_http *http;
    const udpai_http_route *route;
    udpai_http_exchange *exchange; /* the HTTP thread's; NULL: nobody waits for it any more */
    udpai_strbuf text;
    udpa_bytes *bytes;
    udpa_error *error; /* NULL with an error: there was no memory for its words */
    udpa_err err;
};

static void
free_body(udpai_http_body *body)
{
    udpai_strbuf_done(&body->text);
    udpa_bytes_unref(body->bytes);
    udpa_error_unref(body->error);
    udpai_free(body);
}

/* On the HTTP thread again. */
static void
run_read(udpai_http *http, udpai_http_message *message)
{
    udpai_http_body *body = UDPAI_CONTAINER_OF(message, udpai_http_body, message);
    http->bodies.n--;
    if (body->exchange) {
        body->exchange->body = NULL;
        udpai_http_exchange_read(body->exchange, body->err, body->bytes, body->error);
    }
    free_body(body);
    udpai_http_check_end(http);
}

/* ---- the thread ---- */

/* NULL: it is over. */
static udpai_http_body *
next_body(udpai_http_bodies *bodies)
{
    udpai_list *at = NULL;
    pthread_mutex_lock(&bodies->mutex);
    while (!bodies->is_over && !(at = udpai_list_pop(&bodies->waiting)))
        pthread_cond_wait(&bodies->has_more, &bodies->mutex);
    pthread_mutex_unlock(&bodies->mutex);
    return at ? UDPAI_LIST_ENTRY(at, udpai_http_body, node) : NULL;
}

/* What reading it took is given back: it may be a hundred times what stays. */
static void *
run(void *userdata)
{
    udpai_http *http = userdata;
    udpai_http_body *body;
    while ((body = next_body(&http->bodies))) {
        body->err = udpai_http_to_binary(http, body->route, udpai_strbuf_view(&body->text),
                                         &body->bytes, &body->error);
        udpai_strbuf_done(&body->text);
        malloc_trim(0);
        (void)udpai_inbox_push(&http->inbox, &body->message.node);
    }
    return NULL;
}

udpa_err
udpai_http_bodies_init(udpai_http_bodies *bodies)
{
    udpai_list_init(&bodies->waiting);
    if (pthread_mutex_init(&bodies->mutex, NULL) != 0)
        return UDPA_ERR_NOMEM;
    bodies->has_mutex = pthread_cond_init(&bodies->has_more, NULL) == 0;
    if (!bodies->has_mutex)
        pthread_mutex_destroy(&bodies->mutex);
    return bodies->has_mutex ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- the HTTP thread ---- */

bool
udpai_http_body_is_long(udpai_str body)
{
    return body.len > UDPAI_HTTP_SHORT_BODY_BYTES;
}

static udpa_err
begin_thread(udpai_http *http, udpa_error **ret_error)
{
    udpai_http_bodies *bodies = &http->bodies;
    int number =
        bodies->is_started ? 0 : udpai_thread_begin(&bodies->thread, "udpa-bodies", run, http);
    bodies->is_started = number == 0;
    return number == 0
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                            "cannot start the thread that reads long bodies: %s", strerror(number));
}

udpa_err
udpai_http_bodies_read(udpai_http_exchange *exchange, udpai_strbuf *text, udpa_error **ret_error)
{
    udpai_http *http = exchange->http;
    udpa_err err = begin_thread(http, ret_error);
    udpai_http_body *body = err == UDPA_OK ? udpai_alloc(sizeof(*body)) : NULL;
    if (!body)
        return err == UDPA_OK ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : err;
    udpai_list_init(&body->node);
    udpai_list_init(&body->message.node);
    body->message.run = run_read;
    body->http = http;
    body->route = exchange->route;
    body->exchange = exchange;
    body->text = *text;
    *text = (udpai_strbuf){0};
    exchange->body = body;
    http->bodies.n++;
    pthread_mutex_lock(&http->bodies.mutex);
    udpai_list_append(&http->bodies.waiting, &body->node);
    pthread_cond_signal(&http->bodies.has_more);
    pthread_mutex_unlock(&http->bodies.mutex);
    return UDPA_OK;
}

void
udpai_http_body_leave(udpai_http_exchange *exchange)
{
    if (exchange->body)
        exchange->body->exchange = NULL;
    exchange->body = NULL;
}

void
udpai_http_bodies_drop(udpai_http *http)
{
    udpai_list waiting, *at;
    udpai_list_init(&waiting);
    pthread_mutex_lock(&http->bodies.mutex);
    while ((at = udpai_list_pop(&http->bodies.waiting)))
        udpai_list_append(&waiting, at);
    pthread_mutex_unlock(&http->bodies.mutex);
    while ((at = udpai_list_pop(&waiting))) {
        udpai_http_body *body = UDPAI_LIST_ENTRY(at, udpai_http_body, node);
        if (body->exchange)
            body->exchange->body = NULL;
        http->bodies.n--;
        free_body(body);
    }
}

void
udpai_http_bodies_done(udpai_http *http)
{
    udpai_http_bodies *bodies = &http->bodies;
    if (!bodies->has_mutex)
        return;
    pthread_mutex_lock(&bodies->mutex);
    bodies->is_over = true;
    pthread_cond_signal(&bodies->has_more);
    pthread_mutex_unlock(&bodies->mutex);
    if (bodies->is_started)
        pthread_join(bodies->thread, NULL);
    pthread_cond_destroy(&bodies->has_more);
    pthread_mutex_destroy(&bodies->mutex);
}
