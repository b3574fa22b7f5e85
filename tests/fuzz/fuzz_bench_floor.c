/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may send to the floor of the benchmark, cut in two ways: the same answers and the
 * same streams, and no more is written than its windows allow. */
#include <sys/socket.h>
#include <unistd.h>

#include "floor/connection.h"
#include "tests/fuzz/fuzz.h"

#define N_RESOURCES 100

static floor_log *
the_log(void)
{
    static floor_log log;
    if (!log.last)
        floor_log_init(&log, N_RESOURCES, 300);
    return &log;
}

/* ret_client: the other end of its socket. */
static floor_connection *
talk(udpai_str text, size_t step, int *ret_client, bool *ret_is_wrong)
{
    const int small = 1; /* is rounded up to some kB */
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    floor_connection *connection = floor_connection_new(the_log(), ends[0], NULL);
    *ret_client = ends[1];
    *ret_is_wrong = false;
    while (text.len && !*ret_is_wrong)
        *ret_is_wrong = !floor_take_input(connection, fuzz_take(&text, step));
    return connection;
}

static void
compare(const floor_connection *a, const floor_connection *b)
{
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&a->output), udpai_strbuf_view(&b->output)));
    FUZZ_CHECK(a->window == b->window && a->streams.n == b->streams.n);
    for (size_t i = 0; i < a->streams.n; i++) {
        const floor_stream *one = &a->streams.items[i], *other = &b->streams.items[i];
        FUZZ_CHECK(one->id == other->id && one->window == other->window);
        FUZZ_CHECK(!one->at == !other->at);
        FUZZ_CHECK(i == 0 || one[-1].id < one->id);
    }
}

static bool
has_all(const floor_stream *stream)
{
    return !stream->at || (!stream->at->next && stream->offset == stream->at->size);
}

/* Each stream is sent all, but for its windows, however often the socket is full. */
static void
write_all(floor_connection *connection, int client)
{
    static char room[65536];
    floor_log_change(connection->log, 0, 1);
    do {
        floor_connection_flush(connection);
        FUZZ_CHECK(!connection->link.is_broken);
        while (recv(client, room, sizeof(room), 0) > 0)
            ;
    } while (connection->is_blocked);
    FUZZ_CHECK(connection->output.len == 0 && connection->window >= 0);
    for (size_t i = 0; i < connection->streams.n; i++) {
        const floor_stream *stream = &connection->streams.items[i];
        FUZZ_CHECK(has_all(stream) || stream->window <= 0 || connection->window == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    udpai_str text = {(const char *)data + 1, size - 1};
    bool is_wrong, is_wrong_too;
    int client, client_too;
    floor_connection *a = talk(text, 16384, &client, &is_wrong);
    floor_connection *b = talk(text, data[0] % 16 + 1, &client_too, &is_wrong_too);
    FUZZ_CHECK(is_wrong == is_wrong_too);
    compare(a, b);
    if (!is_wrong)
        write_all(a, client);
    floor_connection_free(a);
    floor_connection_free(b);
    close(client);
    close(client_too);
    return 0;
}
