/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that takes what it is given and needs no memory for that, for tests in which there is
 * none. */
#ifndef UDPAI_TESTS_SINK_STREAM_H
#define UDPAI_TESTS_SINK_STREAM_H

#include "session/hub.h"

typedef struct sink_stream {
    udpai_session *session; /* the test's */
    bool is_writing, is_finished;
    udpa_err err; /* with which it was finished; without one there was no memory for it */
} sink_stream;

static inline void
sink_stream_on_write(udpai_stream *stream, const udpai_outgoing *message)
{
    (void)message;
    ((sink_stream *)(void *)stream)->is_writing = true;
}

static inline void
sink_stream_on_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading;
}

static inline void
sink_stream_on_finish(udpai_stream *stream, const udpa_error *status)
{
    sink_stream *self = (sink_stream *)(void *)stream;
    self->is_finished = true;
    self->err = status ? udpa_error_code(status) : UDPA_ERR_NOMEM;
}

/* For a session that serves it. */
static inline udpai_stream_info
sink_stream_info(sink_stream *stream, void *context)
{
    static const udpai_stream_ops ops = {
        .write = sink_stream_on_write,
        .set_reading = sink_stream_on_set_reading,
        .finish = sink_stream_on_finish,
    };

    return (udpai_stream_info){
        .stream = (udpai_stream *)(void *)stream, .ops = &ops, .context = context};
}

/* Until nothing more is to be written. */
static inline void
sink_stream_run(sink_stream *stream, udpai_hub *hub)
{
    udpai_hub_run(hub);
    while (stream->is_writing && !stream->is_finished) {
        stream->is_writing = false;
        udpai_session_written(stream->session);
        udpai_hub_run(hub);
    }
}

#endif
