/* SPDX-License-Identifier: Apache-2.0 */
/* Whether each part of a node still turns: the loop, the stream thread, and each worker. The parts
 * note it themselves; the page /livez is answered by the HTTP thread, which turns if it answers.
 *
 * Made and fed on the loop's thread; looked at on any. */
#ifndef UDPAI_LIVENESS_H
#define UDPAI_LIVENESS_H

#include <uv.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "transport/grpc/stream_thread.h"

/* What has not turned for so long hangs. */
#define UDPAI_LIVENESS_MS 10000
/* How often the loop, and each worker, notes that it turns. */
#define UDPAI_LIVENESS_BEAT_MS 1000

typedef struct udpai_liveness udpai_liveness;

udpa_err udpai_liveness_new(udpai_liveness **ret_liveness, size_t n_workers);
/* When nothing looks at it any more, and the loop has ended. */
udpai_liveness *udpai_liveness_free(udpai_liveness *liveness);

/* The loop notes its turns from now on. The stream thread is borrowed until the end; it may be
 * NULL. */
void udpai_liveness_begin(udpai_liveness *liveness, uv_loop_t *loop, udpai_stream_thread *streams);
/* So that the loop can end. */
void udpai_liveness_end(udpai_liveness *liveness);
/* Worker number @p worker, from 1 on, turns; its stream thread does, or hangs. */
void udpai_liveness_note_worker(udpai_liveness *liveness, size_t worker, bool streams_turn);

/* Any thread: does everything turn? Appends what does not, a line each, or "alive". @p now_ms: by
 * udpai_monotonic_ms(). */
bool udpai_liveness_look(const udpai_liveness *liveness, uint64_t now_ms, udpai_strbuf *text);
/* Does this stream thread turn, or wait for something to do? */
bool udpai_liveness_streams_turn(const udpai_stream_thread *streams, uint64_t now_ms);

#endif
