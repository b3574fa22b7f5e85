/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the hub on a stream. */
#include "transport/grpc/grpc_internal.h"

static void
receive(udpai_stream *stream, udpai_str message)
{
    udpai_session_receive(stream->context, message);
}

static void
written(udpai_stream *stream)
{
    udpai_session_written(stream->context);
}

static void
ended(udpai_stream *stream)
{
    udpai_session_ended(stream->context);
}

static void
closed(udpai_stream *stream, const udpa_error *why)
{
    udpai_session_closed(UDPAI_TAKE(stream->context), why);
}

static const udpai_stream_handler handler = {receive, written, ended, closed};

static const udpai_stream_ops ops = {
    .write = udpai_stream_write,
    .set_reading = udpai_stream_set_reading,
    .finish = udpai_stream_finish,
};

udpa_err
udpai_session_stream_open(udpai_stream *stream,
                          const udpai_grpc_method *method,
                          const udpai_caller *caller,
                          udpa_error **ret_error)
{
    const udpai_stream_info info = {
        .stream = stream,
        .ops = &ops,
        .identity = caller->identity,
        .address = caller->address,
        /* Federation reports that it is a source (UDPAI_ORDER_ATTACH) once it has asked it. */
        .link = stream->link,
        .is_secure = stream->is_secure,
        .tls = caller->tls,
        .context = method->context,
    };
    udpai_session *session = NULL;
    udpa_err err = method->open(&session, stream->thread->hub, &info);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_stream_open(stream, &handler, session);
    return UDPA_OK;
}

udpai_session *
udpai_session_of_stream(const udpai_stream *stream)
{
    return stream->handler == &handler ? stream->context : NULL;
}

udpai_stream *
udpai_stream_of_session(const udpai_session *session)
{
    return session->info.ops == &ops ? session->info.stream : NULL;
}
