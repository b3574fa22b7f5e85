/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP thread's inside, for the files of this folder. Everything here belongs to the HTTP
 * thread, but where it is stated otherwise. */
#ifndef UDPAI_HTTP_INTERNAL_H
#define UDPAI_HTTP_INTERNAL_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <uv.h>

#include "base/list.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/inbox.h"
#include "loop/loop_wheel.h"
#include "model/digest.h"
#include "transport/admission.h"
#include "transport/front/local_socket.h"
#include "transport/http/engine.h"
#include "transport/http/http.h"
#include "transport/tls.h"
#include "transport/visit.h"

#define UDPAI_LOG_HTTP "http"

#define UDPAI_HTTP_HEADERS_S 10 /* until a handshake, or the headers, must have come */
#define UDPAI_HTTP_BODY_S 20    /* until the body must */
#define UDPAI_HTTP_IDLE_S 300   /* a connection without a request */
#define UDPAI_HTTP_STALL_S 20   /* until a piece of the answer must have been taken, and … */
#define UDPAI_HTTP_REPLY_S 300  /* … all of it */
#define UDPAI_HTTP_STOP_S 3     /* until a client that has not taken it at a stop is cut */
#define UDPAI_HTTP_LINGER_S 2   /* until a client that was sent the last is cut */
#define UDPAI_HTTP_READ_BYTES 16384

/* ---- messages to the thread ---- */

typedef struct udpai_http_message udpai_http_message;

/* What other threads send; its sender owns it until it is run. */
struct udpai_http_message {
    udpai_list node;
    void (*run)(udpai_http *http, udpai_http_message *message);
};

/* What is served at a socket, of this thread or of the stream thread. */
typedef struct udpai_http_place {
    udpai_http *http;
    bool has_rest, has_pages;
    bool is_local; /* a unix socket */
} udpai_http_place;

/* ---- listener.c ---- */

typedef struct udpai_http_listener {
    udpai_http_place place;
    udpai_http *http;
    int fd;                 /* -1: none */
    udpai_local_file file;  /* of a unix socket */
    int port;               /* any thread */
    bool asks, is_optional; /* for certificates of clients; any thread */
    SSL_CTX *current;       /* NULL: plaintext */
    udpai_trust *trust;     /* beside it; any thread */
    uv_poll_t poll;
    udpai_timer rest; /* while the system has no more descriptors */
} udpai_http_listener;

/* Logs that a connection exceeds a limit; other errors are not logged. */
void udpai_http_log_refused(udpai_http *http, const udpa_error *error);

/* Binds and listens; any thread. */
udpa_err udpai_http_listener_open(udpai_http_listener *listener,
                                  const char *address,
                                  udpa_error **ret_error);
/* Has the loop watch it. */
udpa_err udpai_http_listener_start(udpai_http_listener *listener, udpa_error **ret_error);
void udpai_http_listener_stop(udpai_http_listener *listener);
/* Of one that the loop does not watch. */
void udpai_http_listener_close(udpai_http_listener *listener);

/* ---- connection.c ---- */

typedef struct udpai_http_connection udpai_http_connection;

/* Who asks. */
typedef struct udpai_http_guest {
    const udpai_http_place *place;
    udpai_http_connection *connection; /* NULL: it has come by a visit */
    udpai_visitor visitor; /* what certificates show may have yet to be looked at, until … */
    bool is_known;         /* … it was, and the connection counts as that client's */
} udpai_http_guest;

struct udpai_http_connection {
    udpai_http *http;
    udpai_http_guest guest;
    udpai_list node, due;
    int fd;
    uv_poll_t poll;
    int watched; /* events of libuv */
    udpai_admitted *admitted;
    void *taken[UDPAI_HANDED_PLACES]; /* among the connections of the stream thread's listener */
    void (*leave)(void *taken);       /* NULL: it was accepted here */
    udpai_tls_session *tls;           /* NULL: plaintext */
    udpai_http_engine *engine;        /* NULL: the first bytes have yet to show what is spoken */
    char greeting[4];
    size_t n_greeting;
    udpai_strbuf out;
    size_t n_sent; /* of it */
    udpai_timer timer;
    uint64_t n_heads;       /* the number of the head that … */
    uint64_t head_since_ms; /* … has been coming since; at first the time of acceptance */
    uint64_t received_ms, lingers_since_ms;
    uint64_t moved_ms, emptied_ms; /* something, and all, of what was to be sent has been */
    size_t n_dropped;              /* bytes that came behind the last */
    bool is_done;                  /* nothing is read any more: what is to be sent is the last */
    bool is_cut;                   /* nothing is sent either */
    bool lingers;                  /* the last was sent: the client shall have time to read it */
    bool is_closed;                /* libuv has yet to let go of it */
};

/* Takes all of it over, and the admission, whatever comes. */
void udpai_http_connection_begin(const udpai_http_place *place,
                                 udpai_handed *handed,
                                 udpai_admitted *admitted);
/* There may be something to do; it is done before the loop waits again. */
void udpai_http_connection_touch(udpai_http_connection *connection);
/* Ends it at once, but not within this call. */
void udpai_http_connection_cut(udpai_http_connection *connection);
void udpai_http_connection_shut_down(udpai_http_connection *connection);
/* Ends the one without a request from which nothing has come for longest. False: each has one. */
bool udpai_http_connections_end_idle(udpai_http *http);
/* Does what is to be done, for all that were touched. */
void udpai_http_connections_run(udpai_http *http);

/* ---- exchange.c: a request and its answer ---- */

typedef struct udpai_http_bridged udpai_http_bridged;
typedef struct udpai_http_stream udpai_http_stream;
typedef struct udpai_http_exchange udpai_http_exchange;

/* What an answer that goes on does with its exchange (streaming.c), which is above all others here.
 */
typedef struct udpai_http_stream_ops {
    /* All of it is sent, and @p why, if that is not NULL. */
    void (*end)(udpai_http_exchange *exchange, const udpa_error *why);
    /* The exchange has ended. */
    void (*leave)(udpai_http_exchange *exchange);
    void (*progress)(udpai_http_exchange *exchange);
    /* The time of the exchange has come. */
    void (*tick)(udpai_http_exchange *exchange);
} udpai_http_stream_ops;

/* Takes it, whatever comes. */
typedef void (*udpai_http_stream_begin_fn)(udpai_http_exchange *exchange,
                                           udpai_http_streaming *how);
typedef struct udpai_http_body udpai_http_body;

typedef enum udpai_http_stage {
    UDPAI_HTTP_READING,
    UDPAI_HTTP_ASKING, /* the stream thread */
    UDPAI_HTTP_REPLYING,
    UDPAI_HTTP_STREAMING,
} udpai_http_stage;

struct udpai_http_exchange {
    udpai_http *http;
    udpai_http_guest *guest;
    udpai_http_call *call;
    udpai_list node;
    udpai_http_stage stage;
    udpai_timer timer;
    const udpai_http_route *route; /* NULL: none */
    const udpai_http_page *page;   /* NULL: none */
    udpai_strbuf query, accept;    /* of a page */
    udpai_strbuf last_event_id;    /* the same */
    udpai_strbuf authorization;    /* the same */
    bool has_authorization;
    bool refuses_body; /* of a page: what comes is no JSON */
    uint64_t patience_ms;
    udpai_http_bridged *bridged;             /* what is asked; NULL: nothing */
    struct udpai_http_page_visit *reading;   /* the same, of a page */
    udpai_http_stream *stream;               /* of a page that goes on; NULL: it is none, … */
    const udpai_http_stream_ops *stream_ops; /* … beside it */
    udpai_http_body *body;                   /* that is being read; NULL: none */
    /* See refused.c. */
    bool is_question;
    udpai_content_hash question;
    char version[UDPAI_CONTENT_HASH_HEX]; /* of the answer */
    size_t version_len;
    uint64_t reply_until_ms;
};

/* What engines report; their userdata is the guest. */
extern const udpai_http_events udpai_http_exchange_events;

/* Replies with an error, in the words of @p error. */
void
udpai_http_exchange_fail(udpai_http_exchange *exchange, unsigned status, const udpa_error *error);

void udpai_http_exchange_reply(udpai_http_exchange *exchange, unsigned status, udpa_bytes *text);
/* It is known by its certificate from now on, and its connection counts as its. UDPA_ERR_LIMIT: it
 * has too many. */
udpa_err udpai_http_know_client(udpai_http_guest *guest, udpa_error **ret_error);

/* How its body was read. */
void udpai_http_exchange_read(udpai_http_exchange *exchange,
                              udpa_err err,
                              udpa_bytes *message,
                              const udpa_error *error);

/* ---- bodies.c: bodies that take long to read ---- */

/* What is longer is read on a thread of its own. */
#define UDPAI_HTTP_SHORT_BODY_BYTES ((size_t)16384)
/* More in one body are refused before any is read. */
#define UDPAI_HTTP_BODY_VALUES_MAX ((size_t)250000)

typedef struct udpai_http_bodies {
    size_t n; /* under way, and waiting; the HTTP thread's */
    pthread_t thread;
    bool is_started, has_mutex;
    pthread_mutex_t mutex;
    pthread_cond_t has_more;
    /* under the mutex */
    udpai_list waiting;
    bool is_over;
} udpai_http_bodies;

udpa_err udpai_http_bodies_init(udpai_http_bodies *bodies);
bool udpai_http_body_is_long(udpai_str body);
/* Takes the text, and has it read; udpai_http_exchange_read() is called. */
udpa_err
udpai_http_bodies_read(udpai_http_exchange *exchange, udpai_strbuf *text, udpa_error **ret_error);
/* Nobody waits for the exchange's. */
void udpai_http_body_leave(udpai_http_exchange *exchange);
/* What was not begun is not read any more. */
void udpai_http_bodies_drop(udpai_http *http);
/* None is under way. */
void udpai_http_bodies_done(udpai_http *http);

/* ---- page.c ---- */

/* Asks for the exchange's page. */
udpa_err udpai_http_page_ask(udpai_http_exchange *exchange, udpai_str body, udpa_error **ret_error);
/* Nobody waits for the answer. */
void udpai_http_page_leave(udpai_http_exchange *exchange);
/* The answer of a page goes on: takes it; begun by this on the HTTP thread. Any thread. */
void udpai_http_page_go_on(udpai_http_reading *reading,
                           const udpai_http_streaming *streaming,
                           udpai_http_stream_begin_fn begin);
void udpai_http_streaming_done(udpai_http_streaming *how);

/* ---- request.c: what a request is for ---- */

/* Reads the headers; an error is answered with @p ret_status. */
udpa_err udpai_http_request_read(udpai_http_exchange *exchange,
                                 const udpai_http_head *head,
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
                            const udpai_bridged_stream *bridged,
                            udpa_bytes **ret_json,
                            udpa_error **ret_error);
/* An error: google.rpc.Status; NULL without memory. */
udpa_bytes *udpai_http_error_json(const udpa_error *error);
unsigned udpai_http_status_of(udpa_err err);
void udpai_http_made_done(udpai_http *http);

/* ---- leave_out.c ---- */

/* An answer that cannot be put into JSON, without those of its resources that cannot, and with an
 * error for each. False: that is not what is wrong, or there is no memory. */
bool udpai_http_leave_out(udpai_http *http,
                          const udpai_http_route *route,
                          udpai_str answer,
                          udpai_strbuf *out);

/* ---- refused.c ---- */

/* Which client was answered what; a question is of one client, and of one version that it has. */
typedef struct udpai_http_answered {
    udpai_content_hash question;
    size_t version_len; /* 0: none */
    char version[UDPAI_CONTENT_HASH_HEX];
} udpai_http_answered;

#define UDPAI_HTTP_ANSWERED 1024

/* A request is about to be asked: as if its client had what it was sent for the same before. */
void udpai_http_question_note(udpai_http_exchange *exchange, udpa_bytes **message);
/* There is an answer; … */
void udpai_http_question_answer(udpai_http_exchange *exchange, const udpai_bridged_stream *bridged);
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
    const udpai_http_page *pages;
    size_t n_pages, n_moved;
    const char *moved;
    const char *body_setting, *thread_name;
    bool replaces_idle;
    const udpai_str *hosts;
    size_t n_hosts;
    void (*read_page)(void *userdata, udpai_http_reading *reading);
    udpai_schema *schema;
    udpai_stream_thread *streams;
    void (*stopped)(void *userdata);
    void *userdata;

    uv_loop_t loop;
    uv_async_t async; /* that the inbox wakes it by */
    bool has_loop, has_async;
    udpai_loop_wheel *wheel;
    udpai_http_listener *listeners;
    size_t n_listeners;
    udpai_inbox inbox; /* any thread */
    udpai_http_message stop_message;

    udpai_list connections, exchanges;
    udpai_list at_end;       /* messages, to be run when no other will be */
    atomic_size_t n_waiting; /* visits that have come and have not begun; any thread */
    /* Of sockets of the stream thread: by what they serve. */
    udpai_http_place places[4];
    udpai_visits place_visits[4];
    udpai_list due;            /* connections */
    udpai_admission admission; /* of connections */
    udpai_log_limit refusals;  /* of warnings about connections beyond a limit */
    size_t n_bridged;
    size_t n_asked;     /* pages */
    size_t n_streams;   /* pages that go on */
    udpai_list unasked; /* readings of pages that wait for those */
    /* Any thread. */
    atomic_size_t n_connections;
    atomic_uint_least64_t n_rejected, n_replaced;
    udpai_http_bodies bodies;
    bool is_stopping, is_done;
    udpai_timer stop_timer;
    char room[UDPAI_HTTP_READ_BYTES]; /* what was just read */
    udpai_strbuf plain;               /* what TLS makes of it, or is to make into something */
    udpai_http_made made[UDPAI_HTTP_MADE];
    unsigned next_made;
    size_t made_bytes;
    udpai_http_answered answered[UDPAI_HTTP_ANSWERED];
    unsigned next_answered;
    udpai_log_limit failures; /* of warnings about what cannot be put into JSON */
};

/* A connection or a bridged stream has ended: is that all that the stop waited for? */
void udpai_http_check_end(udpai_http *http);

void udpai_http_set_timer(udpai_http *http, udpai_timer *timer, uint64_t due_ms);

#endif
