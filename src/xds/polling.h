/* SPDX-License-Identifier: Apache-2.0 */
/* A server of xDS by REST as it looks to an upstream session: like a stream of the state of the
 * world. What the session writes says what to ask for; each type is asked for at its path again and
 * again, and what is new in the answers is what the session receives. Neither sockets nor JSON:
 * whoever owns this asks, and says what was answered (docs/design/xds.md). */
#ifndef UDPAI_XDS_POLLING_H
#define UDPAI_XDS_POLLING_H

#include "base/error.h"
#include "base/util.h"
#include "base/wheel.h"
#include "xds/server.h"

#define UDPAI_POLLING_REFRESH_MS 5000
#define UDPAI_POLLING_TIMEOUT_MS 30000
/* Between two requests of a type, whatever changes. */
#define UDPAI_POLLING_GAP_MS 100
/* On a new stream, from the last request of the old one; or less, if a refresh is. */
#define UDPAI_POLLING_AGAIN_MS 5000
#define UDPAI_POLLING_PATH_MAX 64

typedef struct udpai_polling_options {
    udpai_str node; /* serialised: who the server takes us for; with each request */
    /* 0: the defaults above. */
    uint64_t refresh_ms; /* from one request of a type to the next */
    uint64_t timeout_ms; /* how long an answer may take */
} udpai_polling_options;

/* A server, across streams: so that one which lets streams begin and fails then is not asked more
 * often than any other. It outlives its streams, and belongs to the stream thread while there are
 * any. */
typedef struct udpai_polled_server udpai_polled_server;

/* Copies everything; NULL without memory. */
udpai_polled_server *udpai_polled_server_new(const udpai_polling_options *options);
udpai_polled_server *udpai_polled_server_free(udpai_polled_server *server);
UDPA_DEFINE_CLEANUP(udpai_polled_server, udpai_polled_server_free)
const udpai_polling_options *udpai_polled_server_options(const udpai_polled_server *server);

/* To be asked by POST. */
typedef struct udpai_question {
    size_t index;        /* of the type; below UDPAI_XDS_POLLS, with one question at a time */
    const char *path;    /* valid as long as the polling */
    udpa_bytes *message; /* a DiscoveryRequest; borrowed */
} udpai_question;

typedef struct udpai_answer {
    enum {
        UDPAI_ANSWER_NEW,    /* a response */
        UDPAI_ANSWER_SAME,   /* nothing has changed */
        UDPAI_ANSWER_FAILED, /* or it was cancelled */
    } outcome;

    udpai_str response;      /* a DiscoveryResponse */
    bool is_held;            /* the server says that it holds requests until something changes */
    const udpa_error *error; /* of a failure; NULL: it was cancelled */
} udpai_answer;

/* What a polling asks of its owner. None of these may call back before it returns, but deliver().
 */
typedef struct udpai_polling_ops {
    /* Begins to ask; answered by udpai_polling_answered(), whatever happens. An error: it was not
     * begun, and is not answered. */
    udpa_err (*ask)(void *userdata, const udpai_question *question);
    /* Nobody waits for the answer; it comes all the same, and soon. */
    void (*cancel)(void *userdata, size_t index);
    /* The session receives this. */
    void (*deliver)(void *userdata, udpai_str response);
    /* The server has failed: the stream ends with this; consumed. */
    void (*fail)(void *userdata, udpa_error *error);
    uint64_t (*random)(void *userdata);
    void *userdata;
} udpai_polling_ops;

/* One stream. */
typedef struct udpai_polling udpai_polling;

/* NULL without memory. The server and the wheel are borrowed. */
udpai_polling *
udpai_polling_new(udpai_polled_server *server, udpai_wheel *wheel, const udpai_polling_ops *ops);
/* What was asked and not answered is not heard of any more. */
udpai_polling *udpai_polling_free(udpai_polling *polling);
UDPA_DEFINE_CLEANUP(udpai_polling, udpai_polling_free)

/* The session writes a DiscoveryRequest. */
udpa_err udpai_polling_say(udpai_polling *polling, udpai_str message);
/* The session receives nothing for a while, or again. */
void udpai_polling_set_reading(udpai_polling *polling, bool reading);
/* The session has ended: nothing is asked or delivered any more. */
void udpai_polling_stop(udpai_polling *polling);
/* To a question of this index. */
void udpai_polling_answered(udpai_polling *polling, size_t index, const udpai_answer *answer);

#endif
