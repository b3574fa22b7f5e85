/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker_link.h"

#include <unistd.h>

#include "base/alloc.h"

#define HEAD 5
#define READ_ROOM ((size_t)256 << 10)
#define MOST_BYTES ((size_t)1 << 30) /* that go out */

struct udpai_worker_link {
    uv_pipe_t pipe;
    udpai_worker_link_env env;
    udpai_strbuf in; /* what has come of frames that are not whole yet */
    bool has_ended;
};

typedef struct write_request {
    uv_write_t request;
    char data[];
} write_request;

static void
end(udpai_worker_link *link, const udpa_error *why)
{
    if (link->has_ended)
        return;
    link->has_ended = true;
    uv_read_stop((uv_stream_t *)&link->pipe);
    link->env.ended(link->env.userdata, why);
}

static void
end_with(udpai_worker_link *link, udpa_err err, const char *what)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpa_error_new(err, NULL, "%s", what);
    end(link, why);
}

/* ---- reading ---- */

static size_t
length_of(const uint8_t *head)
{
    return (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
}

/* How much of the text was frames. */
static size_t
take_frames(udpai_worker_link *link, udpai_str text)
{
    size_t at = 0;
    while (text.len - at >= HEAD && !link->has_ended) {
        const uint8_t *head = (const uint8_t *)text.data + at;
        size_t len = length_of(head);
        if (len > link->env.max_bytes || head[4] == 0 || head[4] >= UDPAI_FRAME_KINDS) {
            end_with(link, UDPA_ERR_MALFORMED, "it sends what is no frame");
            break;
        }
        if (text.len - at - HEAD < len)
            break;
        link->env.frame(link->env.userdata, head[4], (udpai_str){text.data + at + HEAD, len});
        at += HEAD + len;
    }
    return at;
}

/* What is long comes in many pieces, and is copied once it is whole. */
static void
keep_rest(udpai_worker_link *link, size_t taken)
{
    udpai_strbuf rest = {0};
    if (taken == 0)
        return;
    udpai_str all = udpai_strbuf_view(&link->in);
    udpai_strbuf_append(&rest, all.data + taken, all.len - taken);
    udpai_strbuf_done(&link->in);
    link->in = rest;
    if (udpai_strbuf_failed(&rest))
        end_with(link, UDPA_ERR_NOMEM, "out of memory");
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    udpai_worker_link *link = stream->data;
    if (n > 0) {
        udpai_strbuf_append(&link->in, buffer->base, (size_t)n);
        if (udpai_strbuf_failed(&link->in))
            end_with(link, UDPA_ERR_NOMEM, "out of memory");
        else
            keep_rest(link, take_frames(link, udpai_strbuf_view(&link->in)));
    }
    udpai_free(buffer->base);
    if (n < 0)
        end(link, NULL);
}

static void
make_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
    (void)handle;
    (void)suggested;
    char *room = udpai_alloc(READ_ROOM);
    *ret_buffer = uv_buf_init(room, room ? READ_ROOM : 0); /* without room: UV_ENOBUFS */
}

/* ---- writing ---- */

static void
on_written(uv_write_t *request, int status)
{
    udpai_worker_link *link = request->handle->data;
    udpai_free(UDPAI_CONTAINER_OF(request, write_request, request));
    if (status != 0 && status != UV_ECANCELED)
        end(link, NULL);
}

udpa_err
udpai_worker_link_send(udpai_worker_link *link, udpai_frame_kind kind, udpai_str payload)
{
    size_t size = HEAD + payload.len;
    write_request *writing =
        payload.len <= MOST_BYTES ? udpai_alloc(sizeof(*writing) + size) : NULL;
    if (!writing) {
        end_with(link, UDPA_ERR_NOMEM, "out of memory");
        return UDPA_ERR_NOMEM;
    }
    for (int i = 0; i < 4; i++)
        writing->data[i] = (char)(payload.len >> (8 * i) & 0xff);
    writing->data[4] = (char)kind;
    if (payload.len)
        memcpy(writing->data + HEAD, payload.data, payload.len);
    const uv_buf_t buffer = uv_buf_init(writing->data, (unsigned)size);
    if (link->has_ended ||
        uv_write(&writing->request, (uv_stream_t *)&link->pipe, &buffer, 1, on_written) != 0) {
        udpai_free(writing);
        end(link, NULL);
    }
    return UDPA_OK;
}

size_t
udpai_worker_link_waiting(const udpai_worker_link *link)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&link->pipe);
}

/* ---- coming and going ---- */

udpa_err
udpai_worker_link_open(udpai_worker_link **ret_link,
                       uv_loop_t *loop,
                       int fd,
                       const udpai_worker_link_env *env,
                       udpa_error **ret_error)
{
    udpai_worker_link *link = udpai_alloc(sizeof(*link));
    if (!link) {
        close(fd);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    link->env = *env;
    uv_pipe_init(loop, &link->pipe, 0); /* cannot fail */
    link->pipe.data = link;
    *ret_link = link;
    int number = uv_pipe_open(&link->pipe, fd);
    if (number != 0)
        close(fd);
    if (number == 0)
        number = uv_read_start((uv_stream_t *)&link->pipe, make_room, on_read);
    if (number == 0)
        return UDPA_OK;
    link->has_ended = true;
    return udpai_fail(ret_error, UDPA_ERR_IO, "cannot talk to a worker: %s", uv_strerror(number));
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_worker_link *link = handle->data;
    udpai_strbuf_done(&link->in);
    udpai_free(link);
}

void
udpai_worker_link_close(udpai_worker_link *link)
{
    if (!link)
        return;
    link->has_ended = true;
    uv_close((uv_handle_t *)&link->pipe, on_closed);
}
