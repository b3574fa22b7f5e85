/* SPDX-License-Identifier: Apache-2.0 */
/* What connections take, for the metrics. nghttp2 does not say how large a piece is that it gives
 * back; the allocator knows. */
#include <malloc.h>

#include "transport/door/door_internal.h"
#include "transport/nghttp2_memory.h"

/* A connection that has left is freed on another thread. */
static void
count(udpai_door_connection *connection, size_t before, size_t now)
{
    connection->memory.bytes += now - before;
    if (connection->is_counted)
        connection->listener->door->memory.bytes += now - before;
}

static void *
allocate(size_t size, void *connection)
{
    void *piece = udpai_nghttp2_allocate(size, NULL);
    count(connection, 0, malloc_usable_size(piece));
    return piece;
}

static void *
allocate_zeroed(size_t n, size_t size, void *connection)
{
    void *pieces = udpai_nghttp2_allocate_zeroed(n, size, NULL);
    count(connection, 0, malloc_usable_size(pieces));
    return pieces;
}

static void *
reallocate(void *memory, size_t size, void *connection)
{
    size_t before = malloc_usable_size(memory);
    void *piece = udpai_nghttp2_reallocate(memory, size, NULL);
    if (piece)
        count(connection, before, malloc_usable_size(piece));
    return piece;
}

static void
release(void *memory, void *connection)
{
    count(connection, malloc_usable_size(memory), 0);
    udpai_nghttp2_release(memory, NULL);
}

nghttp2_mem
udpai_door_memory_of(udpai_door_connection *connection)
{
    return (nghttp2_mem){connection, allocate, release, allocate_zeroed, reallocate};
}

void
udpai_door_count_connection(udpai_door_connection *connection, bool is_counted)
{
    udpai_memory *all = &connection->listener->door->memory;
    if (connection->is_counted == is_counted)
        return;
    connection->is_counted = is_counted;
    if (is_counted)
        udpai_memory_add(all, sizeof(*connection));
    else
        udpai_memory_subtract(all, sizeof(*connection));
    all->bytes += is_counted ? connection->memory.bytes : -connection->memory.bytes;
}
