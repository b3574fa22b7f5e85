/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sockets.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/banner.h"
#include "daemon/certificates.h"
#include "daemon/dynamic_sources.h"

#define LOG "daemon"

/* What it listens with is its own: the plan may be freed before it. */
typedef struct item {
    char *address;
    udpai_network *proxies;
    udpai_plan_socket like; /* as the plan had it, without its texts */
    bool has_tls, knows_clients, clients_are_optional;
    udpai_server_tls *tls;    /* NULL: none */
    udpai_listener *listener; /* NULL: others listen */
    int port;
    atomic_bool is_closed; /* set by the stream thread: the listener is no more */
} item;

typedef UDPAI_VECTOR(item *) item_list;

struct udpai_sockets {
    udpai_stream_thread *streams; /* NULL: others listen */
    const udpai_rest *rest;
    item_list items; /* as the present plan has them */
    item_list going; /* those that are drained, or were */
};

/* ---- one ---- */

static item *
item_free(item *self)
{
    if (!self)
        return NULL;
    udpai_server_tls_unref(self->tls);
    udpai_free(self->proxies);
    udpai_free(self->address);
    udpai_free(self);
    return NULL;
}

static bool
is_set(const char *text)
{
    return text && *text;
}

static void
take_facts(item *self, const udpai_plan_socket *from)
{
    self->like = *from;
    self->like.address = NULL;
    self->like.tls = NULL;
    self->like.proxies = NULL;
    self->has_tls = from->tls != NULL;
    self->knows_clients = from->tls && is_set(from->tls->client_ca_file);
    self->clients_are_optional = from->tls && from->tls->client_certificate_optional;
}

static udpa_err
item_new(item **ret_item, const udpai_plan_socket *from, udpa_error **ret_error)
{
    item *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    take_facts(self, from);
    self->address = udpai_strdup(from->address);
    self->proxies = udpai_alloc_array(from->n_proxies + 1, sizeof(*self->proxies));
    udpa_err err = self->address && self->proxies ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && from->n_proxies)
        memcpy(self->proxies, from->proxies, from->n_proxies * sizeof(*self->proxies));
    if (err == UDPA_OK)
        err = udpai_certificates_server(from->tls, &self->tls, ret_error);
    if (err == UDPA_OK)
        *ret_item = self;
    else
        item_free(self);
    return udpai_fail_code(ret_error, err);
}

/* Only its files may have other names. */
static bool
is_alike(const item *self, const udpai_plan_socket *socket)
{
    item other = {0};
    take_facts(&other, socket);
    return self->has_tls == other.has_tls && self->knows_clients == other.knows_clients &&
           self->clients_are_optional == other.clients_are_optional &&
           self->like.max_message_bytes == other.like.max_message_bytes &&
           self->like.keepalive.interval_ms == other.like.keepalive.interval_ms &&
           self->like.keepalive.timeout_ms == other.like.keepalive.timeout_ms &&
           self->like.has_rest == other.like.has_rest &&
           self->like.has_pages == other.like.has_pages &&
           self->like.n_proxies == socket->n_proxies &&
           (socket->n_proxies == 0 || memcmp(self->proxies, socket->proxies,
                                             socket->n_proxies * sizeof(*self->proxies)) == 0);
}

/* @p former: it listens there now; NULL: nobody does. */
static udpa_err
bind_item(const udpai_sockets *sockets, item *self, const item *former, udpa_error **ret_error)
{
    udpai_plan_socket socket = self->like;
    socket.proxies = self->proxies;
    udpai_listen_options options = udpai_plan_listen_options(&socket, self->address, self->tls);
    int there = former ? udpai_listener_socket(former->listener) : -1;
    options.socket = there >= 0 ? &there : NULL;
    options.visits = udpai_rest_visits(sockets->rest, &socket);
    udpa_err err = udpai_stream_thread_bind(sockets->streams, &options, &self->listener, ret_error);
    if (err == UDPA_OK)
        self->port = udpai_listener_port(self->listener);
    return err;
}

/* ---- all ---- */

udpa_err
udpai_sockets_new(udpai_sockets **ret_sockets)
{
    *ret_sockets = udpai_alloc(sizeof(**ret_sockets));
    return *ret_sockets ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
listen_on(udpai_sockets *sockets, const udpai_plan_socket *socket, udpa_error **ret_error)
{
    item *made = NULL;
    if (!udpai_vector_reserve(&sockets->items, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = item_new(&made, socket, ret_error);
    if (err == UDPA_OK)
        err = bind_item(sockets, made, NULL, ret_error);
    if (err != UDPA_OK) {
        item_free(made);
        return err;
    }
    udpai_listener_start(made->listener);
    sockets->items.items[sockets->items.n++] = made;
    return UDPA_OK;
}

udpa_err
udpai_sockets_listen(udpai_sockets *sockets,
                     udpai_stream_thread *streams,
                     const udpai_rest *rest,
                     const udpai_plan *plan,
                     udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    sockets->streams = streams;
    sockets->rest = rest;
    for (size_t i = 0; i < plan->sockets.n && err == UDPA_OK; i++)
        err = listen_on(sockets, &plan->sockets.items[i], ret_error);
    return err == UDPA_OK ? udpai_fail_code(ret_error, udpai_sockets_note(sockets, plan)) : err;
}

udpa_err
udpai_sockets_add(udpai_sockets *sockets,
                  const udpai_plan_socket *socket,
                  int port,
                  udpa_error **ret_error)
{
    item *made = NULL;
    udpa_err err = item_new(&made, socket, ret_error);
    if (err != UDPA_OK)
        return err;
    made->port = port;
    if (udpai_vector_push(&sockets->items, made))
        return UDPA_OK;
    item_free(made);
    return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static void
free_items(item_list *items)
{
    for (size_t i = 0; i < items->n; i++)
        item_free(items->items[i]);
    udpai_vector_done(items);
}

void
udpai_sockets_free(udpai_sockets *sockets)
{
    if (!sockets)
        return;
    free_items(&sockets->items);
    free_items(&sockets->going);
    udpai_free(sockets);
}

int
udpai_sockets_port(const udpai_sockets *sockets, size_t index)
{
    return sockets->items.items[index]->port;
}

udpai_server_tls *
udpai_sockets_tls(const udpai_sockets *sockets, size_t index)
{
    return sockets->items.items[index]->tls;
}

udpa_err
udpai_sockets_note(const udpai_sockets *sockets, const udpai_plan *plan)
{
    char address[300];
    udpa_err err = UDPA_OK;
    udpai_dynamic_sources_forget_sockets(plan);
    for (size_t i = 0; i < sockets->items.n && err == UDPA_OK; i++) {
        const item *at = sockets->items.items[i];
        udpai_banner_address(address, sizeof(address), at->address, at->port);
        err = udpai_dynamic_sources_note_socket(plan, address);
    }
    return err;
}

/* ---- other ones ---- */

typedef struct change {
    item *now, *former; /* NULL: it is removed; it is added */
} change;

struct udpai_sockets_next {
    item_list items; /* some of those before among them */
    UDPAI_VECTOR(change) changes;
    udpai_sockets_facts facts;
};

static bool
has(const item_list *list, const item *one)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i] == one)
            return true;
    return false;
}

static bool
is_replaced(const udpai_sockets_next *next, const item *one)
{
    for (size_t i = 0; i < next->changes.n; i++)
        if (next->changes.items[i].former == one)
            return true;
    return false;
}

/* At this address, and without a place among the next ones. */
static item *
find(const udpai_sockets *sockets, const udpai_sockets_next *next, const char *address)
{
    for (size_t i = 0; i < sockets->items.n; i++) {
        item *at = sockets->items.items[i];
        if (strcmp(at->address, address) == 0 && !has(&next->items, at) && !is_replaced(next, at))
            return at;
    }
    return NULL;
}

static udpa_err
prepare_one(udpai_sockets *sockets,
            udpai_sockets_next *next,
            const udpai_plan_socket *socket,
            udpa_error **ret_error)
{
    item *former = find(sockets, next, socket->address);
    change made = {.former = former};
    if (!udpai_vector_reserve(&next->items, 1) || !udpai_vector_reserve(&next->changes, 1))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (former && is_alike(former, socket)) {
        next->items.items[next->items.n++] = former;
        return UDPA_OK;
    }
    udpa_err err = item_new(&made.now, socket, ret_error);
    if (err == UDPA_OK)
        err = bind_item(sockets, made.now, former, ret_error);
    if (err != UDPA_OK) {
        item_free(made.now);
        return err;
    }
    next->items.items[next->items.n++] = made.now;
    next->changes.items[next->changes.n++] = made;
    return UDPA_OK;
}

static udpa_err
find_removed(const udpai_sockets *sockets, udpai_sockets_next *next)
{
    for (size_t i = 0; i < sockets->items.n; i++) {
        item *at = sockets->items.items[i];
        if (!has(&next->items, at) && !is_replaced(next, at) &&
            !udpai_vector_push(&next->changes, (change){.former = at}))
            return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

static void
count_ended(udpai_sockets_next *next)
{
    for (size_t i = 0; i < next->changes.n; i++)
        if (next->changes.items[i].former)
            next->facts.n_ended += udpai_listener_n_served(next->changes.items[i].former->listener);
}

/* Their listeners have closed. */
static void
forget_closed(udpai_sockets *sockets)
{
    for (size_t i = sockets->going.n; i-- > 0;)
        if (sockets->going.items[i]->is_closed) {
            item_free(sockets->going.items[i]);
            udpai_vector_remove_unordered(&sockets->going, i);
        }
}

static udpa_err
prepare_all(udpai_sockets *sockets,
            udpai_sockets_next *next,
            const udpai_plan *plan,
            udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->sockets.n && err == UDPA_OK; i++)
        err = prepare_one(sockets, next, &plan->sockets.items[i], ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, find_removed(sockets, next));
    if (err == UDPA_OK && !udpai_vector_reserve(&sockets->going, next->changes.n))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}

udpa_err
udpai_sockets_prepare(udpai_sockets *sockets,
                      const udpai_plan *plan,
                      udpai_sockets_next **ret_next,
                      udpa_error **ret_error)
{
    *ret_next = NULL;
    if (!sockets->streams)
        return UDPA_OK;
    forget_closed(sockets);
    udpai_sockets_next *next = udpai_alloc(sizeof(*next));
    udpa_err err = next ? prepare_all(sockets, next, plan, ret_error)
                        : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK) {
        count_ended(next);
        *ret_next = next;
    } else {
        udpai_sockets_leave(next);
    }
    return err;
}

const udpai_sockets_facts *
udpai_sockets_facts_of(const udpai_sockets_next *next)
{
    static const udpai_sockets_facts none;
    return next ? &next->facts : &none;
}

void
udpai_sockets_visit(const udpai_sockets_next *next, udpai_socket_fn visit, void *userdata)
{
    for (size_t i = 0; next && i < next->changes.n; i++) {
        const change *at = &next->changes.items[i];
        visit(userdata, (at->now ? at->now : at->former)->address,
              !at->former ? "added"
              : at->now   ? "edited"
                          : "removed");
    }
}

/* ---- taking them ---- */

/* On the stream thread. */
static void
on_closed(void *userdata)
{
    atomic_store(&((item *)userdata)->is_closed, true);
}

static void
log_change(const change *at, size_t n_ended, uint64_t drain_ms)
{
    char address[300];
    const item *one = at->now ? at->now : at->former;
    udpai_banner_address(address, sizeof(address), one->address, one->port);
    const udpai_log_field about = {UDPAI_LOG_ADDRESS, udpai_str_from(address)};
    if (at->former)
        udpai_log_about(UDPA_LOG_INFO, LOG, &about, 1,
                        "socket %s: %s; its %zu streams end within %g s", address,
                        at->now ? "has other settings" : "is closed", n_ended,
                        (double)drain_ms / 1000);
    else
        udpai_log_about(UDPA_LOG_INFO, LOG, &about, 1, "socket %s: listening", address);
}

static void
take_change(udpai_sockets *sockets, const change *at, uint64_t drain_ms)
{
    size_t n_ended = at->former ? udpai_listener_n_served(at->former->listener) : 0;
    log_change(at, n_ended, drain_ms);
    if (at->now)
        udpai_listener_start(at->now->listener);
    if (!at->former)
        return;
    sockets->going.items[sockets->going.n++] = at->former;
    udpai_stream_thread_drain_listener(sockets->streams, at->former->listener,
                                       &(udpai_listener_drain){drain_ms,
                                                               at->now ? at->now->listener : NULL,
                                                               on_closed, at->former});
}

static void
next_free(udpai_sockets_next *next)
{
    udpai_vector_done(&next->items);
    udpai_vector_done(&next->changes);
    udpai_free(next);
}

void
udpai_sockets_take(udpai_sockets *sockets, udpai_sockets_next *next, uint64_t drain_ms)
{
    if (!next)
        return;
    item_list before = sockets->items;
    sockets->items = next->items;
    next->items = before;
    for (size_t i = 0; i < next->changes.n; i++)
        take_change(sockets, &next->changes.items[i], drain_ms);
    next_free(next);
}

void
udpai_sockets_leave(udpai_sockets_next *next)
{
    if (!next)
        return;
    for (size_t i = 0; i < next->changes.n; i++) {
        item *made = next->changes.items[i].now;
        if (made)
            udpai_listener_discard(made->listener);
        item_free(made);
    }
    next_free(next);
}
