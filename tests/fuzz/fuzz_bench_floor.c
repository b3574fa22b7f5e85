/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may send to the floor of the benchmark, cut in two ways: the same answers and the
 * same streams, and no more is written than its windows allow. */
#include <fcntl.h>

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

/* Whatever is written goes nowhere. */
static floor_connection *
talk(udpai_str text, size_t step, bool *ret_is_wrong)
{
    floor_connection *connection =
        floor_connection_new(the_log(), open("/dev/null", O_WRONLY | O_CLOEXEC), NULL);
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

/* Each stream is sent all, but for its windows. */
static void
write_all(floor_connection *connection)
{
    floor_log_change(connection->log, 0, 1);
    floor_connection_flush(connection);
    FUZZ_CHECK(!connection->is_blocked && connection->output.len == 0);
    FUZZ_CHECK(connection->window >= 0);
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
    floor_connection *a = talk(text, 16384, &is_wrong);
    floor_connection *b = talk(text, data[0] % 16 + 1, &is_wrong_too);
    FUZZ_CHECK(is_wrong == is_wrong_too);
    compare(a, b);
    if (!is_wrong)
        write_all(a);
    floor_connection_free(a);
    floor_connection_free(b);
    return 0;
}
