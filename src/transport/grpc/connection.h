/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that streams come by. Belongs to the stream thread. */
#ifndef UDPAI_GRPC_CONNECTION_H
#define UDPAI_GRPC_CONNECTION_H

#include "base/map.h"
#include "transport/grpc/stream_thread.h"

typedef struct udpai_connection udpai_connection;
typedef struct udpai_call udpai_call;

typedef struct udpai_connections {
    udpai_map by_address;
    uint64_t looked_ms; /* their sockets were looked for last */
    udpai_list leaving; /* without streams, to be closed when their sockets are known */
    udpai_timer sweep;  /* set while there are any */
} udpai_connections;

/* What has come by a connection. */
typedef struct udpai_arrived {
    uint64_t bytes;  /* so far, as the kernel counts */
    uint64_t unread; /* of these, that may belong to messages that are not complete */
    uint64_t rtt_ms;
    size_t n_streams;  /* that share the connection */
    size_t n_reserved; /* of them, those for which something is reserved */
    size_t n_waiting;  /* and those that wait to be read */
} udpai_arrived;

void udpai_connections_init(udpai_connections *connections);
void udpai_connections_done(udpai_connections *connections);

/* An accepted call has come from this address, udpai_call_address(); leaves when it is freed. */
void udpai_connection_enter(udpai_call *call, udpai_str address);
void udpai_connection_leave(udpai_call *call);
/* Finds the sockets of all, so that none of them must be looked for later. */
void udpai_connections_look(udpai_connections *connections);
/* Only this stream has come by it; true also if that is not known. */
bool udpai_connection_is_alone(const udpai_call *call);
/* Once its last stream has ended, nothing more is sent on it: then its peer closes it, and its next
 * stream comes by another one. */
void udpai_connection_close_after(udpai_call *call);
/* It is not, after all. */
void udpai_connection_keep(udpai_call *call);
/* Does not wake us for little more than acknowledgements, until it is let go; false: it does. */
bool udpai_connection_hold(udpai_stream_thread *thread, udpai_connection *connection);
/* NULL and one that is not held are fine. */
void udpai_connection_let_go(udpai_connection *connection);
/* A message of so many bytes that came by it was read. */
void udpai_connection_took(udpai_connection *connection, size_t size);
/* False: it is not known. */
bool udpai_connection_look(udpai_stream_thread *thread,
                           udpai_connection *connection,
                           udpai_arrived *ret_arrived);
/* All that had come by then was read. */
void udpai_connection_is_read(udpai_connection *connection, const udpai_arrived *arrived);
/* Something is reserved for a stream of it, or is not any more. */
void udpai_connection_count_reserved(udpai_connection *connection, bool is_reserved);
/* A stream of it waits to be read, or does not any more. */
void udpai_connection_count_waiting(udpai_connection *connection, bool waits);
bool udpai_connection_has_waiting(const udpai_connection *connection);

#endif
