/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/door/door.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "transport/door/door_internal.h"
#include "transport/socket_list.h"

#define EVENTS_AT_ONCE 256
#define ARRIVALS_AT_ONCE 32
#define WAIT_MAX_MS 60000

/* ---- being woken ---- */

void
udpai_door_wake(void *userdata)
{
    const udpai_door *door = userdata;
    uint64_t one = 1;
    (void)!write(door->wakes, &one, sizeof(one));
}

/* Few in a turn: those that are there are served in between. */
static void
take_arrivals(udpai_door *door, size_t most)
{
    udpai_list *at;
    udpai_inbox_take(&door->arrivals, &door->arriving);
    for (size_t i = 0; i < most && (at = udpai_list_pop(&door->arriving)); i++)
        udpai_door_connection_enter(UDPAI_LIST_ENTRY(at, udpai_door_connection, node));
}

static void
take_wakes(udpai_door *door)
{
    uint64_t n;
    (void)!read(door->wakes, &n, sizeof(n));
    udpai_door_visits_answer(door);
    door->woken(door->userdata);
}

/* ---- the end of connections ---- */

static void
check_listener(udpai_door_listener *listener)
{
    if (!listener->is_closing || listener->n_connections)
        return;
    void (*closed)(void *userdata) = listener->options.closed;
    void *userdata = listener->options.userdata;
    udpai_list_remove(&listener->node);
    nghttp2_session_callbacks_del(listener->callbacks);
    nghttp2_option_del(listener->option);
    udpai_free(listener);
    closed(userdata);
}

/* To free one may break none. */
static void
free_broken(udpai_door *door)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&door->broken))) {
        udpai_door_connection *connection = UDPAI_LIST_ENTRY(at, udpai_door_connection, in_dirty);
        udpai_door_listener *listener = connection->listener;
        udpai_door_connection_leave(connection);
        (void)epoll_ctl(connection->is_parked ? door->parked_epoll : door->epoll, EPOLL_CTL_DEL,
                        connection->socket, NULL);
        if (listener->acceptor)
            udpai_acceptor_bury(listener->acceptor, connection);
        else
            udpai_door_connection_free(connection);
        listener->n_connections--;
        check_listener(listener);
    }
}

/* ---- a turn ---- */

static void
handle(udpai_door *door, const struct epoll_event *event)
{
    void *what = event->data.ptr;
    if (what == &door->parked_epoll) {
        door->has_more = true;
    } else if (what != &door->wakes) {
        udpai_door_connection *connection = what;
        if (event->events & EPOLLOUT)
            udpai_door_connection_resume(connection);
        if (event->events & ~(uint32_t)EPOLLOUT)
            udpai_door_connection_read(connection);
    }
}

static int
timeout_ms(const udpai_door *door, uint64_t due_ms)
{
    uint64_t now_ms = udpai_monotonic_ms();
    if (door->has_more || door->has_sent || !udpai_list_empty(&door->arriving) || due_ms <= now_ms)
        return 0;
    return due_ms - now_ms < WAIT_MAX_MS ? (int)(due_ms - now_ms) : WAIT_MAX_MS;
}

/* What this process has asked for before a peer asks is known then. */
void
udpai_door_wait(udpai_door *door, uint64_t due_ms, atomic_uint_fast64_t *ret_woken_ns)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(door->epoll, events, EVENTS_AT_ONCE, timeout_ms(door, due_ms));
    uint64_t woken_ns = udpai_monotonic_ns();
    if (ret_woken_ns)
        atomic_store_explicit(ret_woken_ns, woken_ns, memory_order_relaxed);
    door->has_sent = false;
    udpai_wheel_advance(door->wheel, woken_ns / 1000000);
    for (int i = 0; i < n; i++)
        if (events[i].data.ptr == &door->wakes)
            take_wakes(door);
    take_arrivals(door, ARRIVALS_AT_ONCE);
    for (int i = 0; i < n; i++)
        handle(door, &events[i]);
    if (door->has_more)
        udpai_door_parked_read(door);
    free_broken(door);
    udpai_meter_set(door->meters.memory, door->memory.bytes);
}

void
udpai_door_flush(udpai_door *door)
{
    udpai_list dirty, *at;
    udpai_list_init(&dirty);
    udpai_list_splice(&dirty, &door->dirty);
    door->has_sent |= !udpai_list_empty(&dirty);
    while ((at = udpai_list_pop(&dirty)))
        udpai_door_connection_flush(UDPAI_LIST_ENTRY(at, udpai_door_connection, in_dirty));
    free_broken(door);
}

/* ---- its life ---- */

static udpa_err
open_files(udpai_door *door)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &door->wakes};
    door->epoll = epoll_create1(EPOLL_CLOEXEC);
    door->parked_epoll = epoll_create1(EPOLL_CLOEXEC);
    door->wakes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (door->epoll < 0 || door->parked_epoll < 0 || door->wakes < 0)
        return UDPA_ERR_IO;
    return epoll_ctl(door->epoll, EPOLL_CTL_ADD, door->wakes, &event) == 0 ? UDPA_OK : UDPA_ERR_IO;
}

static udpa_err
make_parts(udpai_door *door, const udpai_door_options *options)
{
    udpa_err err = udpai_addresses_init(&door->addresses, options->max_connections,
                                        options->max_connections_per_address);
    if (err == UDPA_OK)
        err =
            udpai_addresses_init(&door->identities, SIZE_MAX, options->max_connections_per_address);
    if (err != UDPA_OK)
        return err;
    err = udpai_acceptor_meters_init(&door->meters);
    if (err == UDPA_OK)
        udpai_addresses_set_meter(&door->addresses, door->meters.used);
    if (err == UDPA_OK)
        err = udpai_inbox_init(&door->arrivals, udpai_door_wake, door);
    if (err == UDPA_OK)
        err = udpai_inbox_init(&door->answers, udpai_door_wake, door);
    door->has_answers = err == UDPA_OK;
    if (err == UDPA_OK)
        err = door->room ? open_files(door) : UDPA_ERR_NOMEM;
    return err;
}

udpa_err
udpai_door_new(udpai_door **ret_door, const udpai_door_options *options)
{
    udpai_door *door = udpai_alloc(sizeof(*door));
    if (!door)
        return UDPA_ERR_NOMEM;
    door->wheel = options->wheel;
    door->woken = options->woken;
    door->userdata = options->userdata;
    door->max_unfinished_bytes = options->max_unfinished_bytes;
    door->epoll = door->parked_epoll = door->wakes = -1;
    udpai_list_init(&door->listeners);
    udpai_list_init(&door->arriving);
    udpai_list_init(&door->dirty);
    udpai_list_init(&door->broken);
    udpai_door_parked_init(door);
    udpai_door_unfinished_init(door);
    door->room = udpai_realloc_array(NULL, UDPAI_DOOR_PIECE, 1);
    udpa_err err = make_parts(door, options);
    if (err != UDPA_OK) {
        udpai_door_free(door);
        return err;
    }
    *ret_door = door;
    return UDPA_OK;
}

static void
close_if_open(int file)
{
    if (file >= 0)
        close(file);
}

static void
drop_answers(udpai_door *door)
{
    udpai_list left, *at;
    if (!door->has_answers)
        return;
    udpai_list_init(&left);
    udpai_inbox_close(&door->answers, &left);
    while ((at = udpai_list_pop(&left)))
        udpai_visit_unref(UDPAI_LIST_ENTRY(at, udpai_visit, node));
    udpai_inbox_done(&door->answers);
}

udpai_door *
udpai_door_free(udpai_door *door)
{
    if (!door)
        return NULL;
    udpai_timer_cancel(&door->parked_look);
    udpai_timer_cancel(&door->waiting_look);
    close_if_open(door->epoll);
    close_if_open(door->parked_epoll);
    close_if_open(door->wakes);
    drop_answers(door);
    udpai_inbox_done(&door->arrivals);
    udpai_addresses_done(&door->addresses);
    udpai_addresses_done(&door->identities);
    udpai_acceptor_meters_done(&door->meters);
    udpai_strbuf_done(&door->plain);
    udpai_strbuf_done(&door->cipher);
    udpai_free(door->room);
    assert(door->memory.bytes == 0);
    udpai_free(door);
    return NULL;
}

void
udpai_door_set_max(udpai_door *door, size_t max, size_t max_per_address)
{
    udpai_addresses_set_max(&door->addresses, max, max_per_address);
    udpai_addresses_set_max(&door->identities, SIZE_MAX, max_per_address);
}

udpai_door_counts
udpai_door_count(udpai_door *door)
{
    return (udpai_door_counts){
        .n_refused = atomic_load_explicit(&door->n_refused, memory_order_relaxed),
        .n_failed = atomic_load_explicit(&door->n_failed, memory_order_relaxed),
        .n_floods = atomic_load_explicit(&door->n_floods, memory_order_relaxed),
    };
}

/* ---- listeners ---- */

static void
drop_socket(int socket)
{
    udpai_socket_list_forget(socket);
    close(socket);
}

udpa_err
udpai_door_listen(udpai_door *door,
                  const udpai_door_listen_options *options,
                  udpai_door_listener **ret_listener,
                  udpa_error **ret_error)
{
    udpai_door_listener *listener = udpai_alloc(sizeof(*listener));
    if (!listener) {
        drop_socket(options->socket);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    listener->door = door;
    listener->options = *options;
    udpai_list_init(&listener->node);
    udpai_list_init(&listener->connections);
    udpa_err err = udpai_door_http2_prepare(listener);
    if (err == UDPA_OK)
        err = udpai_acceptor_new(&listener->acceptor, listener);
    if (err != UDPA_OK) {
        nghttp2_session_callbacks_del(listener->callbacks);
        nghttp2_option_del(listener->option);
        drop_socket(options->socket);
        udpai_free(listener);
        return udpai_fail_code(ret_error, err);
    }
    *ret_listener = listener;
    return UDPA_OK;
}

void
udpai_door_listener_set_limits(udpai_door_listener *listener,
                               size_t max_message_bytes,
                               uint64_t age_ms)
{
    listener->options.max_message_bytes = max_message_bytes;
    listener->options.limits.age_ms = age_ms;
}

void
udpai_door_listener_close(udpai_door_listener *listener)
{
    if (listener->is_closing)
        return;
    listener->is_closing = true;
    listener->acceptor = udpai_acceptor_free(listener->acceptor);
    take_arrivals(listener->door, SIZE_MAX); /* which breaks its own */
    UDPAI_LIST_FOREACH_SAFE (at, &listener->connections) {
        udpai_door_connection *connection = UDPAI_LIST_ENTRY(at, udpai_door_connection, node);
        udpai_door_visits_hurry(connection);
        udpai_door_connection_go(connection);
    }
    check_listener(listener);
}
