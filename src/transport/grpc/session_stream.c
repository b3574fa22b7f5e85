/* SPDX-License-Identifier: Apache-2.0 */
/* A session of the hub on a stream. */
#include "base/bytes.h"
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

udpa_err
udpai_session_stream_open(udpai_stream *stream,
                          const udpai_grpc_method *method,
                          udpai_identity *identity,
                          udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *address = udpai_call_address(stream->call);
    if (!address)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_stream_info info = {
        .stream = stream,
        .ops = &udpai_grpc_stream_ops,
        .identity = identity,
        .address = address,
        /* Federation reports that it is a source (UDPAI_ORDER_ATTACH) once it has asked it. */
        .link = stream->dialled ? stream->dialled->link : 0,
        .is_secure = stream->is_secure,
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
