/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of the benchmark: what it costs to write the bytes at all. One thread, epoll, HTTP/2
 * frames made by hand; every stream is sent all resources and then each change, whatever it has
 * asked. What a server costs above this is what it does besides writing. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "floor/connection.h"
#include "peers/control.h"

#define EVENTS_AT_ONCE 512
#define CHANGES_BETWEEN_CHECKS 256

struct server {
    int epoll, listener, signals;
    bool is_over;
    SSL_CTX *tls;
    floor_log log;
    peer_control control;
    size_t n_changes; /* since it was looked who is late */
    udpai_list connections;
    udpai_list broken; /* freed between events: one that is still to come may be of them */
};

/* ---- connections ---- */

static void
watch(struct server *server, int fd, uint32_t events, void *who)
{
    struct epoll_event event = {.events = events, .data.ptr = who};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        peer_fail("a descriptor cannot be watched: %s", strerror(errno));
}

/* After whatever was done with it. */
static void
settle(struct server *server, floor_connection *connection)
{
    bool wants_out = connection->is_blocked || connection->link.wants_out;
    uint32_t wanted = wants_out ? EPOLLIN | EPOLLOUT : EPOLLIN;
    struct epoll_event event = {.events = wanted, .data.ptr = connection};
    if (connection->link.is_broken) {
        udpai_list_remove(&connection->node);
        udpai_list_append(&server->broken, &connection->node);
    } else if (wanted != connection->events) {
        connection->events = wanted;
        epoll_ctl(server->epoll, EPOLL_CTL_MOD, connection->link.fd, &event);
    }
}

static void
accept_all(struct server *server)
{
    int fd;
    while ((fd = peer_accept(server->listener)) >= 0) {
        floor_connection *connection = floor_connection_new(&server->log, fd, server->tls);
        connection->events = EPOLLIN;
        udpai_list_append(&server->connections, &connection->node);
        watch(server, fd, EPOLLIN, connection);
    }
}

static void
serve(struct server *server, floor_connection *connection)
{
    floor_connection_read(connection);
    floor_connection_flush(connection);
    settle(server, connection);
}

static void
free_all(udpai_list *connections)
{
    UDPAI_LIST_FOREACH_SAFE (node, connections)
        floor_connection_free(UDPAI_LIST_ENTRY(node, floor_connection, node));
}

/* ---- changes ---- */

static void
cut_off_late(struct server *server)
{
    UDPAI_LIST_FOREACH_SAFE (node, &server->connections) {
        floor_connection *connection = UDPAI_LIST_ENTRY(node, floor_connection, node);
        connection->link.is_broken = floor_connection_is_late(connection);
        settle(server, connection);
    }
}

static void
flush_all(struct server *server)
{
    UDPAI_LIST_FOREACH_SAFE (node, &server->connections) {
        floor_connection *connection = UDPAI_LIST_ENTRY(node, floor_connection, node);
        if (connection->is_blocked)
            continue;
        floor_connection_flush(connection);
        settle(server, connection);
    }
}

static void
on_change(void *userdata, size_t index, uint64_t serial)
{
    struct server *server = userdata;
    floor_log_change(&server->log, index, serial);
    server->n_changes++;
}

/* All that has come at once goes out at once: a message for each change, in one write. */
static void
on_control(struct server *server)
{
    peer_control_read(&server->control);
    flush_all(server);
    if (server->n_changes < CHANGES_BETWEEN_CHECKS)
        return;
    server->n_changes = 0;
    cut_off_late(server);
}

static void
on_control_listener(struct server *server)
{
    if (peer_control_accept(&server->control))
        watch(server, server->control.connection, EPOLLIN, &server->control.connection);
    flush_all(server);
}

/* ---- the program ---- */

static void
on_event(struct server *server, void *who)
{
    if (who == &server->signals)
        server->is_over = true;
    else if (who == &server->listener)
        accept_all(server);
    else if (who == &server->control.listener)
        on_control_listener(server);
    else if (who == &server->control.connection)
        on_control(server);
    else
        serve(server, who);
}

static void
run(struct server *server)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    while (!server->is_over) {
        int n = epoll_wait(server->epoll, events, EVENTS_AT_ONCE, -1);
        for (int i = 0; i < n; i++)
            on_event(server, events[i].data.ptr);
        free_all(&server->broken);
    }
}

static void
begin(struct server *server, const peer_options *options)
{
    unsigned port, control_port;
    udpai_list_init(&server->connections);
    udpai_list_init(&server->broken);
    server->tls = floor_tls_new(options);
    floor_log_init(&server->log, options->n_resources, options->size_bytes);
    server->control = (peer_control){
        .n_resources = options->n_resources,
        .change = on_change,
        .userdata = server,
    };
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->listener = peer_listen(&port);
    peer_control_open(&server->control, &control_port);
    watch(server, server->signals, EPOLLIN, &server->signals);
    watch(server, server->listener, EPOLLIN, &server->listener);
    watch(server, server->control.listener, EPOLLIN, &server->control.listener);
    peer_announce(port, control_port);
}

static void
end(struct server *server)
{
    free_all(&server->connections);
    peer_control_close(&server->control);
    floor_log_done(&server->log);
    SSL_CTX_free(server->tls);
    close(server->listener);
    close(server->epoll);
    close(server->signals);
}

int
main(int argc, char **argv)
{
    peer_options options;
    peer_options_read(&options, argc, argv);
    struct server server = {.signals = peer_begin()};
    begin(&server, &options);
    run(&server);
    end(&server);
    return 0;
}
