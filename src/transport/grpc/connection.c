/* SPDX-License-Identifier: Apache-2.0 */
/* The connections that others have opened to us, and how soon the kernel wakes us for them.
 *
 * To read an acknowledgement costs more than its hundred bytes deserve: a wake-up, a system call,
 * and a way through the library that is cold again each time. Where a peer acknowledges all the
 * time and has nothing else to send, its socket can be set to keep still until more has come
 * together (SO_RCVLOWAT), and then all of it is read at once. gRPC does not report which socket a
 * call has come by; but it reports the address of the peer, and by that the socket is found among
 * our own files. It stays gRPC's: nothing is kept but its number, and before each use it is asked
 * whether it still leads to that peer. */
#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "transport/grpc/grpc_internal.h"
#include "transport/socket_address.h"

/* So much wakes us all the same; a peer that asks for something new, with much to send for it, is
 * read. */
#define LOW_WATER_BYTES 4096
/* The files are looked through for all connections at once, at most so often … */
#define LOOK_AGAIN_MS 1000
#define LOOK_AGAIN_SOON_MS 50 /* streams that wait to be read cannot wait for that */
/* … and for one connection, if it is not found, so many times. */
#define MOST_LOOKS 2
#define SWEEP_MS 100 /* between looks for those that are to be closed */
#define NO_FILE (-1)
#define AROUND_PART 8 /* of a message comes beside it: frames, acknowledgements, TLS */

struct udpai_connection {
    udpai_list in_leaving;
    size_t n_streams, n_waiting, n_reserved;
    uint64_t base;   /* so much had come when all that had come was read; at first nothing had */
    uint64_t n_read; /* bytes of messages since then */
    int file;
    uint8_t n_looks;
    bool is_ambiguous; /* several sockets lead to such an address */
    bool is_held;
    bool is_closing; /* when its last stream has ended */
    uint8_t n_sweeps;

    union udpai_peer_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;

    size_t len;
    char address[];
};

typedef union udpai_peer_address peer_address;

static void on_sweep(udpai_timer *timer);

static udpai_str
connection_key(const void *item)
{
    const udpai_connection *connection = item;
    return (udpai_str){connection->address, connection->len};
}

void
udpai_connections_init(udpai_connections *connections)
{
    udpai_map_init(&connections->by_address, connection_key);
    connections->looked_ms = 0;
    udpai_list_init(&connections->leaving);
    udpai_timer_init(&connections->sweep, on_sweep);
}

void
udpai_connections_done(udpai_connections *connections)
{
    udpai_list *at;
    udpai_timer_cancel(&connections->sweep);
    while ((at = udpai_list_pop(&connections->leaving)))
        udpai_free(UDPAI_LIST_ENTRY(at, udpai_connection, in_leaving));
    udpai_map_done(&connections->by_address);
}

/* ---- which socket it is ---- */

static bool
ask_peer(int file, peer_address *ret_peer)
{
    socklen_t size = sizeof(*ret_peer);
    memset(ret_peer, 0, sizeof(*ret_peer));
    if (getpeername(file, &ret_peer->any, &size) != 0)
        return false;
    return ret_peer->any.sa_family == AF_INET || ret_peer->any.sa_family == AF_INET6;
}

static void
note_file(udpai_connections *connections, int file)
{
    peer_address peer;
    char room[UDPAI_SOCKET_ADDRESS_TEXT];
    if (!ask_peer(file, &peer))
        return;
    udpai_connection *connection =
        udpai_map_get(&connections->by_address, udpai_socket_address_text(&peer.any, room));
    if (!connection)
        return;
    connection->is_ambiguous |= connection->file != NO_FILE && connection->file != file;
    connection->file = file;
    connection->peer = peer;
}

void
udpai_connections_look(udpai_connections *connections)
{
    DIR *files = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (files && (entry = readdir(files)))
        if (entry->d_name[0] != '.')
            note_file(connections, (int)strtol(entry->d_name, NULL, 10));
    if (files)
        closedir(files);
}

static bool
find_file(udpai_connections *connections,
          udpai_connection *connection,
          uint64_t now_ms,
          uint64_t again_ms)
{
    if (connection->file == NO_FILE && connection->n_looks < MOST_LOOKS &&
        now_ms - connections->looked_ms >= again_ms) {
        connections->looked_ms = now_ms;
        connection->n_looks++;
        udpai_connections_look(connections);
    }
    return connection->file != NO_FILE && !connection->is_ambiguous;
}

/* gRPC may have closed it, and the number may be somebody else's by now. */
static bool
is_still_it(const udpai_connection *connection)
{
    peer_address peer;
    return ask_peer(connection->file, &peer) && memcmp(&peer, &connection->peer, sizeof(peer)) == 0;
}

static bool
set_low_water(udpai_connection *connection, int bytes)
{
    if (is_still_it(connection))
        return setsockopt(connection->file, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) == 0;
    connection->file = NO_FILE;
    return false;
}

/* ---- closing ---- */

static void
forget(udpai_connections *connections, udpai_connection *connection)
{
    udpai_list_remove(&connection->in_leaving);
    udpai_map_remove(&connections->by_address, connection_key(connection));
    udpai_free(connection);
}

/* Behind what was written. gRPC closes it when the peer has. */
static bool
close_now(udpai_connection *connection)
{
    if (connection->file == NO_FILE || connection->is_ambiguous || !is_still_it(connection))
        return false;
    (void)shutdown(connection->file, SHUT_WR);
    return true;
}

static void
close_later(udpai_stream_thread *thread, udpai_connection *connection)
{
    if (!udpai_list_linked(&connection->in_leaving))
        udpai_list_append(&thread->connections.leaving, &connection->in_leaving);
    if (!udpai_timer_is_set(&thread->connections.sweep))
        udpai_timer_set(&thread->wheel, &thread->connections.sweep,
                        thread->wheel.now_ms + SWEEP_MS);
}

/* What is not found is gone, or is not to be found: it may stay. With a new stream it waits for the
 * end of that. */
static void
on_sweep(udpai_timer *timer)
{
    udpai_connections *connections = UDPAI_CONTAINER_OF(timer, udpai_connections, sweep);
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(connections, udpai_stream_thread, connections);
    udpai_connections_look(connections);
    UDPAI_LIST_FOREACH_SAFE (at, &connections->leaving) {
        udpai_connection *connection = UDPAI_LIST_ENTRY(at, udpai_connection, in_leaving);
        if (connection->n_streams)
            udpai_list_remove(&connection->in_leaving);
        else if (close_now(connection) || ++connection->n_sweeps == MOST_LOOKS)
            forget(connections, connection);
        else
            close_later(thread, connection);
    }
}

bool
udpai_connection_is_alone(const udpai_call *call)
{
    return !call->connection || call->connection->n_streams == 1;
}

void
udpai_connection_close_after(udpai_call *call)
{
    if (call->connection)
        call->connection->is_closing = true;
}

void
udpai_connection_keep(udpai_call *call)
{
    if (call->connection)
        call->connection->is_closing = false;
}

/* ---- for streams ---- */

static udpai_connection *
make_connection(udpai_map *all, udpai_str address)
{
    udpai_connection *connection = udpai_alloc(sizeof(*connection) + address.len);
    if (!connection)
        return NULL;
    connection->file = NO_FILE;
    udpai_list_init(&connection->in_leaving);
    connection->len = address.len;
    if (address.len)
        memcpy(connection->address, address.data, address.len);
    if (udpai_map_add(all, connection))
        return connection;
    udpai_free(connection);
    return NULL;
}

void
udpai_connection_enter(udpai_call *call, udpai_str address)
{
    udpai_map *all = &call->stream.thread->connections.by_address;
    udpai_connection *connection = udpai_map_get(all, address);
    if (!connection)
        connection = make_connection(all, address);
    if (!connection)
        return; /* it is not held back then */
    /* Each of several streams has others' messages behind its own. */
    if (++connection->n_streams > 1)
        udpai_connection_let_go(connection);
    call->connection = connection;
}

void
udpai_connection_leave(udpai_call *call)
{
    udpai_connection *connection = UDPAI_TAKE(call->connection);
    if (!connection)
        return;
    udpai_connection_let_go(connection);
    if (--connection->n_streams > 0)
        return;
    if (connection->is_closing && !close_now(connection))
        close_later(call->stream.thread, connection);
    else
        forget(&call->stream.thread->connections, connection);
}

bool
udpai_connection_hold(udpai_stream_thread *thread, udpai_connection *connection)
{
    if (!connection || connection->n_streams != 1)
        return false;
    if (!connection->is_held &&
        find_file(&thread->connections, connection, thread->wheel.now_ms, LOOK_AGAIN_MS))
        connection->is_held = set_low_water(connection, LOW_WATER_BYTES);
    return connection->is_held;
}

void
udpai_connection_let_go(udpai_connection *connection)
{
    if (connection && connection->is_held)
        (void)set_low_water(connection, 1);
    if (connection)
        connection->is_held = false;
}

/* ---- how much has come ---- */

void
udpai_connection_took(udpai_connection *connection, size_t size)
{
    if (connection)
        connection->n_read += size;
}

bool
udpai_connection_look(udpai_stream_thread *thread,
                      udpai_connection *connection,
                      udpai_arrived *ret_arrived)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    if (!connection ||
        !find_file(&thread->connections, connection, thread->wheel.now_ms, LOOK_AGAIN_SOON_MS) ||
        !is_still_it(connection))
        return false;
    memset(&info, 0, sizeof(info));
    if (getsockopt(connection->file, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return false;
    uint64_t known = connection->base + connection->n_read + connection->n_read / AROUND_PART;
    ret_arrived->bytes = info.tcpi_bytes_received;
    ret_arrived->unread = ret_arrived->bytes > known ? ret_arrived->bytes - known : 0;
    ret_arrived->rtt_ms = info.tcpi_rtt / 1000;
    ret_arrived->n_streams = connection->n_streams;
    ret_arrived->n_reserved = connection->n_reserved;
    ret_arrived->n_waiting = connection->n_waiting;
    return true;
}

void
udpai_connection_is_read(udpai_connection *connection, const udpai_arrived *arrived)
{
    connection->base = arrived->bytes;
    connection->n_read = 0;
}

void
udpai_connection_count_reserved(udpai_connection *connection, bool is_reserved)
{
    if (connection)
        connection->n_reserved += is_reserved ? 1 : (size_t)-1;
}

void
udpai_connection_count_waiting(udpai_connection *connection, bool waits)
{
    if (connection)
        connection->n_waiting += waits ? 1 : (size_t)-1;
}

bool
udpai_connection_has_waiting(const udpai_connection *connection)
{
    return connection && connection->n_waiting > 0;
}
