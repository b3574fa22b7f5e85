/* SPDX-License-Identifier: Apache-2.0 */
/* What both engines have. */
#ifndef UDPAI_HTTP_ENGINE_INTERNAL_H
#define UDPAI_HTTP_ENGINE_INTERNAL_H

#include "transport/http/engine.h"

typedef struct udpai_http_engine_ops {
    bool is_second;
    void (*take)(udpai_http_engine *engine, udpai_str bytes, uint64_t now_ms);
    void (*give)(udpai_http_engine *engine, udpai_strbuf *out, size_t max);
    void (*shut_down)(udpai_http_engine *engine);
    void (*reply)(udpai_http_call *call);
    /* A stream has another piece, or its end; NULL: it is looked for anyway. */
    void (*resume)(udpai_http_call *call);
    void (*free)(udpai_http_engine *engine);
} udpai_http_engine_ops;

struct udpai_http_engine {
    const udpai_http_engine_ops *ops;
    udpai_http_engine_options options;
    udpai_http_head *head; /* that is coming; NULL: none */
    uint64_t n_heads;
    size_t n_calls, n_streams;
    bool is_full;   /* what comes is kept for later, so there should come no more */
    bool is_ending; /* no more calls */
    bool is_over, is_broken;
};

/* First in what an engine has for each. */
struct udpai_http_call {
    udpai_http_engine *engine;
    void *request; /* NULL: the user knows nothing of it any more */
    udpai_strbuf body;
    bool is_complete; /* the body */
    bool is_head;     /* the method HEAD: the text is not sent */
    bool is_old;      /* HTTP/1.0 */
    bool has_reply;
    bool is_stream;       /* the text is one piece of many … */
    bool is_stream_ended; /* … and the last */
    bool confirms_wait;   /* the client has sent how long it waits */
    bool asks_for_token;
    unsigned status;
    const char *type, *allowed; /* NULL: application/json, POST */
    udpa_bytes *text;
    size_t n_given; /* of the text */
};

/* A head begins; false without memory. */
bool udpai_http_engine_begin_head(udpai_http_engine *engine);
/* It has ended: a call begins. False: the engine is broken. */
bool udpai_http_engine_begin_call(udpai_http_engine *engine, udpai_http_call *call);
void udpai_http_engine_drop_head(udpai_http_engine *engine);
/* Its user is notified, and its memory is given back, but that of the call itself. */
void udpai_http_call_end(udpai_http_call *call, bool is_answered);
/* The body has come whole. */
void udpai_http_call_complete(udpai_http_call *call);
void udpai_http_call_broken(udpai_http_call *call, unsigned status, const udpa_error *error);
void udpai_http_call_too_large(udpai_http_call *call);
/* There is no other piece. */
bool udpai_http_call_is_last(const udpai_http_call *call);
/* Of the text, what is still to be sent. */
udpai_str udpai_http_call_rest(const udpai_http_call *call);

/* What comes before the text; valid as long as it is not moved. */
typedef struct udpai_http_answer {
    char status[16], length[24];

    struct {
        const char *name, *value;
    } fields[6];

    size_t n_fields;
} udpai_http_answer;

void udpai_http_call_answer(const udpai_http_call *call, udpai_http_answer *ret_answer);

#endif
