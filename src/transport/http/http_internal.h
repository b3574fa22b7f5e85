/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP thread's inside, for the files of this folder. Everything here belongs to the HTTP
 * thread, but where it is said otherwise. */
#ifndef UDPAI_HTTP_INTERNAL_H
#define UDPAI_HTTP_INTERNAL_H

#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "base/list.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/inbox.h"
#include "model/digest.h"
#include "transport/http/chunked.h"
#include "transport/http/http.h"

#define UDPAI_LOG_HTTP "http"

#define UDPAI_HTTP_HEADERS_MAX 8192  /* bytes of the headers of one request */
#define UDPAI_HTTP_STREAMS 128       /* requests at a time on one connection of HTTP/2 */
#define UDPAI_HTTP_HEADERS_S 10      /* until a handshake, or the headers, must have come */
#define UDPAI_HTTP_BODY_S 20         /* until the body must */
#define UDPAI_HTTP_IDLE_S 300        /* a connection without a request */
#define UDPAI_HTTP_STALL_S 20        /* until a piece of the answer must have been taken, and … */
#define UDPAI_HTTP_REPLY_S 300       /* … all of it */
#define UDPAI_HTTP_STOP_S 3          /* until who has not taken it at a stop is cut */
#define UDPAI_HTTP_ABANDONED_MAX 100 /* requests of one connection, more than were waited for */

/* ---- messages to the thread ---- */

typedef struct udpai_http_message udpai_http_message;

/* What other threads say; whoever sends it owns it until it is run. */
struct udpai_http_message {
    udpai_list node;
    void (*run)(udpai_http *http, udpai_http_message *message);
};

/* ---- tls.c ---- */

typedef struct udpai_http_listener udpai_http_listener;

/* A context with these certificates; any thread. */
udpa_err
udpai_http_tls_new(SSL_CTX **ret_context, const udpai_tls_files *files, udpa_error **ret_error);
/* Has handshakes that begin with libwebsockets' context go on with the listener's. */
void udpai_http_tls_adopt(SSL_CTX *context, udpai_http_listener *listener);

/* ---- listener.c ---- */

struct udpai_http_listener {
    udpai_http *http;
    int fd;                                /* -1: none, or libwebsockets' */
    int port;                              /* any thread */
    bool asks, is_optional;                /* for certificates of clients; any thread */
    SSL_CTX *current;                      /* NULL: plaintext */
    struct lws_vhost *vhost, *prior_vhost; /* the latter of HTTP/2 without TLS */
    struct lws *wsi;                       /* that accepts */
};

/* Binds and listens; any thread. */
udpa_err udpai_http_listener_open(udpai_http_listener *listener,
                                  const char *address,
                                  udpa_error **ret_error);
/* Makes its vhosts in the context, and has it accept. */
udpa_err udpai_http_listener_start(udpai_http_listener *listener, udpa_error **ret_error);
void udpai_http_listener_stop(udpai_http_listener *listener);

/* A connection, from its acceptance on; the opaque user data of its network wsi. */
typedef struct udpai_http_connection {
    udpai_http_listener *listener;
    udpai_list node;
    struct lws *wsi;
    udpa_bytes *address;
    udpai_identity *identity; /* once it was looked for */
    bool is_known;            /* it was */
    unsigned n_exchanges;     /* now */
    unsigned n_abandoned;     /* less those that were answered */
} udpai_http_connection;

/* Of any wsi; NULL: it is none. */
udpai_http_connection *udpai_http_connection_of(struct lws *wsi);
/* The wsi of a connection has gone. */
void udpai_http_connection_gone(struct lws *wsi);

int udpai_http_on_listen(
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);
int udpai_http_on_greeting(
    struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t len);

/* ---- exchange.c: a request and its answer ---- */

typedef struct udpai_http_visit udpai_http_visit;

typedef enum udpai_http_stage {
    UDPAI_HTTP_READING,
    UDPAI_HTTP_ASKING, /* the stream thread */
    UDPAI_HTTP_REPLYING,
    UDPAI_HTTP_DONE,
} udpai_http_stage;

typedef struct udpai_http_exchange {
    udpai_http *http;
    udpai_http_connection *connection;
    struct lws *wsi;
    udpai_list node;
    udpai_http_stage stage;
    bool is_second; /* HTTP/2 */
    bool closes;    /* the connection, behind the answer */
    bool is_chunked;
    const udpai_http_route *route; /* NULL: none */
    uint64_t patience_ms;
    bool prefers_wait; /* the client has said how long */
    size_t left;       /* of the body, if it is not chunked */
    udpai_chunked chunked;
    udpai_strbuf body;
    udpai_http_visit *visit; /* what is asked; NULL: nothing */
    /* See refused.c. */
    bool is_question;
    udpai_content_hash question;
    char version[UDPAI_CONTENT_HASH_HEX]; /* of the answer */
    size_t version_len;
    /* The answer. */
    unsigned status;
    uint64_t reply_until_ms;
    bool is_head_sent;
    udpa_bytes *text; /* JSON, shared by all who are answered the same; NULL: none */
    size_t n_sent;
} udpai_http_exchange;

/* The headers of a request have come. NULL without memory. */
udpai_http_exchange *udpai_http_exchange_begin(struct lws *wsi, udpai_str path);
void udpai_http_exchange_take(udpai_http_exchange *exchange, udpai_str piece);
/* The body has come whole. */
void udpai_http_exchange_ask(udpai_http_exchange *exchange);
/* Writes the next piece; true: that was all. Below 0: the connection is broken. */
int udpai_http_exchange_write(udpai_http_exchange *exchange, bool *ret_all);
/* Its client has gone, or has its answer. */
void udpai_http_exchange_end(udpai_http_exchange *exchange);
/* Replies with an error, in the words of @p error. */
void
udpai_http_exchange_fail(udpai_http_exchange *exchange, unsigned status, const udpa_error *error);
/* Time is up for what it does now. */
void udpai_http_exchange_late(udpai_http_exchange *exchange);

/* ---- request.c: what a request is for ---- */

/* Reads the headers; an error is answered with @p ret_status. */
udpa_err udpai_http_request_read(udpai_http_exchange *exchange,
                                 udpai_str path,
                                 unsigned *ret_status,
                                 udpa_error **ret_error);

/* ---- rest.c: JSON and bytes ---- */

udpa_err udpai_http_to_binary(const udpai_http *http,
                              const udpai_http_route *route,
                              udpai_str json,
                              udpa_bytes **ret_bytes,
                              udpa_error **ret_error);
udpa_err udpai_http_to_json(udpai_http *http,
                            const udpai_http_route *route,
                            const udpai_visit *visit,
                            udpa_bytes **ret_json,
                            udpa_error **ret_error);
/* An error: google.rpc.Status; NULL without memory. */
udpa_bytes *udpai_http_error_json(const udpa_error *error);
unsigned udpai_http_status_of(udpa_err err);
void udpai_http_made_done(udpai_http *http);

/* ---- refused.c ---- */

/* Who was answered what; a question is of one client, and of one version that he has. */
typedef struct udpai_http_answered {
    udpai_content_hash question;
    size_t version_len; /* 0: none */
    char version[UDPAI_CONTENT_HASH_HEX];
} udpai_http_answered;

#define UDPAI_HTTP_ANSWERED 1024

/* A request is about to be asked: as if its client had what he was sent for the same before. */
void udpai_http_question_note(udpai_http_exchange *exchange, udpa_bytes **message);
/* There is an answer; … */
void udpai_http_question_answer(udpai_http_exchange *exchange, const udpai_visit *visit);
/* … and now the client has it. */
void udpai_http_question_taken(udpai_http_exchange *exchange);

/* ---- thread.c ---- */

/* JSON that was made already: many clients wait for the same. */
typedef struct udpai_http_made {
    const udpai_http_route *route; /* NULL: none */
    udpai_strbuf bytes;            /* what it was made of */
    udpa_bytes *json;
} udpai_http_made;

#define UDPAI_HTTP_MADE 16
#define UDPAI_HTTP_MADE_MAX_BYTES ((size_t)128 << 20) /* of all */

struct udpai_http {
    pthread_t pthread;
    bool is_started, is_stop_asked, has_inbox; /* the owner's */
    udpai_http_limits limits;
    const udpai_http_route *routes;
    size_t n_routes;
    udpai_schema *schema;
    udpai_stream_thread *streams;
    void (*stopped)(void *userdata);
    void *userdata;

    struct lws_context *context;
    udpai_http_listener *listeners;
    size_t n_listeners;
    udpai_inbox inbox; /* any thread */
    udpai_http_message stop_message;

    udpai_list connections, exchanges;
    size_t n_connections, n_visits;
    bool is_stopping, is_done;
    lws_sorted_usec_list_t stop_timer;
    udpai_http_made made[UDPAI_HTTP_MADE];
    unsigned next_made;
    size_t made_bytes;
    udpai_http_answered answered[UDPAI_HTTP_ANSWERED];
    unsigned next_answered;
    udpai_log_limit failures; /* of warnings about what cannot be put into JSON */
};

/* Handles what has come from other threads. */
void udpai_http_receive(udpai_http *http);
/* A connection or a visit has gone: is that all that the stop waited for? */
void udpai_http_check_end(udpai_http *http);

void *udpai_http_lws_memory(void *at, size_t size, const char *reason);

extern const struct lws_protocols udpai_http_protocols[];

#endif
