/* SPDX-License-Identifier: Apache-2.0 */
/* What speaks HTTP on one connection, without the connection: bytes go in, bytes come out, and in
 * between there are calls: a request and its answer. HTTP/1.1 (http1.c) and HTTP/2 (http2.c) look
 * the same from here. Pure: no socket, no thread, its time is handed in. Whatever a peer can make
 * grow is bounded.
 *
 * An engine belongs to one thread. It reports events while bytes are taken, given or it is freed;
 * an event may reply to its call at once, or give it the next piece of its answer, and do nothing
 * else with the engine. */
#ifndef UDPAI_HTTP_ENGINE_H
#define UDPAI_HTTP_ENGINE_H

#include <udpa/bytes.h>

#include "base/strbuf.h"
#include "transport/http/head.h"

#define UDPAI_HTTP_STREAMS 128       /* calls at a time on one connection of HTTP/2 */
#define UDPAI_HTTP_WAITING 256       /* more of one address, which wait for that; a head is 8 kB */
#define UDPAI_HTTP_ABANDONED_MAX 100 /* calls of one connection, more than were waited for */
#define UDPAI_HTTP_BODIES 4          /* bodies of the largest size that one connection may send */

typedef struct udpai_http_engine udpai_http_engine;
typedef struct udpai_http_call udpai_http_call;

typedef struct udpai_http_events {
    /* The head of a request has come, or it cannot be what was meant (head->wrong), which is to be
     * replied to at once. Returns what the other events are called with; NULL: there is no memory,
     * and the connection ends. */
    void *(*begin)(void *userdata, udpai_http_call *call, const udpai_http_head *head);
    /* All of its body, which the call takes over. Not if it was replied to before. */
    void (*complete)(void *request, udpai_strbuf *body);
    /* It has no good body, which is to be replied to at once. */
    void (*broken)(void *request, unsigned status, const udpa_error *error);
    /* A piece of the answer has been given. */
    void (*progress)(void *request);
    /* The last call for it: its answer was given, or it was dropped. The call is freed. */
    void (*over)(void *request, bool is_answered);
} udpai_http_events;

typedef struct udpai_http_engine_options {
    const udpai_http_events *events; /* static */
    void *userdata;
    size_t max_body_bytes;
    const char *body_setting; /* of the bootstrap file, for errors; NULL: it cannot be set */
    uint64_t now_ms;
} udpai_http_engine_options;

/* NULL without memory. */
udpai_http_engine *udpai_http1_new(const udpai_http_engine_options *options);
udpai_http_engine *udpai_http2_new(const udpai_http_engine_options *options);
/* NULL-safe; calls that are left are over. */
udpai_http_engine *udpai_http_engine_free(udpai_http_engine *engine);
UDPA_DEFINE_CLEANUP(udpai_http_engine, udpai_http_engine_free)

/* What came from the peer. What it takes beyond udpai_http_engine_may_read() is its own to keep:
 * hand in no more than a buffer's worth at a time. */
void udpai_http_engine_take(udpai_http_engine *engine, udpai_str bytes, uint64_t now_ms);
/* Appends what is to be sent, until there are @p max bytes in @p out or little more; nothing: there
 * is nothing now. Without memory the engine is broken(). */
void udpai_http_engine_give(udpai_http_engine *engine, udpai_strbuf *out, size_t max);
/* No call begins any more. It is over when those that are there have their answers. */
void udpai_http_engine_shut_down(udpai_http_engine *engine);

/* Should more be read? */
bool udpai_http_engine_may_read(const udpai_http_engine *engine);
/* Nothing is taken any more: when it has given all it has, the connection is to be closed. */
bool udpai_http_engine_is_over(const udpai_http_engine *engine);
/* There is no sense in giving either. */
bool udpai_http_engine_is_broken(const udpai_http_engine *engine);
/* In the middle of a head, which should not last long. */
bool udpai_http_engine_is_in_head(const udpai_http_engine *engine);
/* Heads so far: another number, another head. */
uint64_t udpai_http_engine_n_heads(const udpai_http_engine *engine);
size_t udpai_http_engine_n_calls(const udpai_http_engine *engine);
/* Of these, with an answer in pieces. */
size_t udpai_http_engine_n_streams(const udpai_http_engine *engine);
/* Of HTTP/2? */
bool udpai_http_engine_is_second(const udpai_http_engine *engine);

/* Before the reply: the client has sent how long it waits, and is sent that it was received. */
void udpai_http_call_confirm_wait(udpai_http_call *call);
/* Before the reply: what the text is, if it is no JSON; static. */
void udpai_http_call_set_type(udpai_http_call *call, const char *type);
/* Before a reply of 401: a token would be accepted. */
void udpai_http_call_ask_for_token(udpai_http_call *call);
/* Before a reply of 405: which methods there are, if that is not POST alone; static. */
void udpai_http_call_set_allowed(udpai_http_call *call, const char *methods);
/* In place of a reply: one that has no length, but pieces as they are made. */
void udpai_http_call_begin_stream(udpai_http_call *call, unsigned status);
/* Has all that there is been given? Only then … */
bool udpai_http_call_is_drained(const udpai_http_call *call);
/* … comes the next piece, which is not empty; a reference is taken. */
void udpai_http_call_push(udpai_http_call *call, udpa_bytes *piece);
/* There was the last one: the call is over when that was given. */
void udpai_http_call_end_stream(udpai_http_call *call);
/* Once for each call. @p text: a reference is taken; NULL: none. */
void udpai_http_call_reply(udpai_http_call *call, unsigned status, udpa_bytes *text);

#endif
