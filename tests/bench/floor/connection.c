/* SPDX-License-Identifier: Apache-2.0 */
#include "floor/connection.h"

#define READ_SIZE (256 * 1024)
#define DEFAULT_WINDOW 65535

floor_connection *
floor_connection_new(floor_log *log, int fd, SSL_CTX *tls)
{
    floor_connection *connection = udpai_alloc(sizeof(*connection));
    if (!connection)
        peer_fail("no memory for a connection");
    floor_link_open(&connection->link, fd, tls);
    connection->log = log;
    connection->window = connection->stream_window = DEFAULT_WINDOW;
    udpai_list_init(&connection->node);
    return connection;
}

void
floor_connection_free(floor_connection *connection)
{
    for (size_t i = 0; i < connection->streams.n; i++)
        floor_message_unref(connection->streams.items[i].at);
    udpai_vector_done(&connection->streams);
    udpai_strbuf_done(&connection->input);
    udpai_strbuf_done(&connection->output);
    udpai_list_remove(&connection->node);
    floor_link_close(&connection->link);
    udpai_free(connection);
}

floor_stream *
floor_find_stream(floor_connection *connection, uint32_t id)
{
    floor_stream *streams = connection->streams.items;
    size_t begin = 0, end = connection->streams.n;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (streams[middle].id == id)
            return &streams[middle];
        if (streams[middle].id < id)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

void
floor_connection_read(floor_connection *connection)
{
    static uint8_t room[READ_SIZE];
    floor_link *link = &connection->link;
    do {
        size_t n = floor_link_read(link, room, sizeof(room));
        if (n && !floor_take_input(connection, (udpai_str){(char *)room, n}))
            link->is_broken = true;
    } while (!link->is_broken && floor_link_has_more(link) && !link->wants_out);
}
