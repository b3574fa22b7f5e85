/* SPDX-License-Identifier: Apache-2.0 */
/* A hub without threads, and streams without a network: a test hands messages in, sees what comes
 * out, and says when a write is done. Works for sessions of every protocol. */
#ifndef UDPAI_TESTS_FAKE_STREAM_H
#define UDPAI_TESTS_FAKE_STREAM_H

#include "session/hub.h"

/* ---- the hub ---- */

typedef struct fake_hub {
    udpai_wheel wheel;
    udpai_hub *hub;
    int64_t wall_us;
    udpai_list reports; /* of udpai_report; the oldest first */
    size_t n_reports, n_wakes;
    uint64_t mark;                  /* of the next change set, for its last change; 0: none */
    udpai_trace trace;              /* that it belongs to */
    UDPAI_VECTOR(uint64_t) dialled; /* links, in order */
} fake_hub;

/* Limits as small as tests like them, times as in production. */
udpai_hub_options fake_hub_options(void);
/* With a Node called "node". Asserts success. */
void fake_hub_init(fake_hub *self, const udpai_hub_options *options);
/* Every stream must have been closed. */
void fake_hub_done(fake_hub *self);
/* The oldest report of this kind, taken off the list; NULL: there is none. */
udpai_report *fake_hub_take_report(fake_hub *self, udpai_report_kind kind);
void fake_hub_drop_reports(fake_hub *self);
/* Moves the clock on and fires what is due. */
void fake_hub_advance(fake_hub *self, uint64_t ms);
/* Orders, as the loop side gives them; each takes over the reference. */
void fake_hub_apply(fake_hub *self, udpai_change_set *changes);
void fake_hub_settle(fake_hub *self, const udpai_settled_facts *facts);

/* ---- a stream ---- */

/* What the transport would be. Never moved while a session has it. */
typedef struct fake_stream {
    udpai_session *session;             /* NULL: not begun, or closed */
    UDPAI_VECTOR(udpa_bytes *) written; /* whole messages; the oldest first */
    size_t largest_part;                /* of the last message */
    size_t n_parts;
    bool is_last; /* the last message was the last of a stream that we dialled */
    bool is_writing, is_paused, is_finished;
    udpa_error *status; /* with which it was finished; NULL: OK */
} fake_stream;

typedef udpa_err (*fake_session_fn)(udpai_session **ret_session,
                                    udpai_hub *hub,
                                    const udpai_stream_info *info);

/* Begins a session; `info` (or NULL) says what else the transport knows. Asserts success. */
void fake_stream_open(fake_stream *stream,
                      fake_hub *hub,
                      fake_session_fn session_new,
                      const udpai_stream_info *info);
/* A message comes. The session sees memory of exactly its size. */
void fake_stream_receive(fake_stream *stream, const void *message, size_t size);
/* The write that is under way is done. */
void fake_stream_complete(fake_stream *stream);
/* Runs the hub and completes writes until nothing is written any more. */
void fake_stream_run(fake_stream *stream, fake_hub *hub);
/* The oldest message not taken yet, to be unreferenced; NULL: none. */
udpa_bytes *fake_stream_take(fake_stream *stream);
/* The stream has ended; frees what was written. Harmless twice. */
void fake_stream_close(fake_stream *stream);

#endif
