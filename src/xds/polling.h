/* SPDX-License-Identifier: Apache-2.0 */
/* A server of xDS by REST as it looks to an upstream session: like a stream of the state of the
 * world. What the session sends are its subscriptions; each type is requested at its path again and
 * again, and the session receives the responses that are new. Neither sockets nor JSON: the owner
 * of this carries requests and responses (docs/design/xds.md). */
#ifndef UDPAI_XDS_POLLING_H
#define UDPAI_XDS_POLLING_H

#include "base/error.h"
#include "base/util.h"
#include "base/wheel.h"
#include "model/trace.h"
#include "xds/server.h"

#define UDPAI_POLLING_REFRESH_MS 5000
#define UDPAI_POLLING_TIMEOUT_MS 30000
/* Between two requests of a type, whatever changes. */
#define UDPAI_POLLING_GAP_MS 100
/* On a new stream, from the last request of the old one; or less, if a refresh is. */
#define UDPAI_POLLING_RECONNECT_MS 5000
#define UDPAI_POLLING_PATH_MAX 64

typedef struct udpai_polling_options {
    udpai_str node; /* serialised: our Node for the server; with each request */
    /* 0: the defaults above. */
    uint64_t refresh_ms; /* from one request of a type to the next */
    uint64_t timeout_ms; /* how long a response may take */
} udpai_polling_options;

/* A server, across streams: so that one which lets streams begin and fails then gets no more
 * requests than any other. It outlives its streams, and belongs to the stream thread while there
 * are any. */
typedef struct udpai_polled_server udpai_polled_server;

/* Copies everything; NULL without memory. */
udpai_polled_server *udpai_polled_server_new(const udpai_polling_options *options);
udpai_polled_server *udpai_polled_server_free(udpai_polled_server *server);
UDPA_DEFINE_CLEANUP(udpai_polled_server, udpai_polled_server_free)
const udpai_polling_options *udpai_polled_server_options(const udpai_polled_server *server);

/* To be sent by POST. */
typedef struct udpai_polling_request {
    size_t index;        /* of the type; below UDPAI_XDS_POLLS, with one request at a time */
    const char *path;    /* valid as long as the polling */
    udpa_bytes *message; /* a DiscoveryRequest; borrowed */
} udpai_polling_request;

typedef struct udpai_polling_response {
    enum {
        UDPAI_POLLING_NEW,    /* a response */
        UDPAI_POLLING_SAME,   /* nothing has changed */
        UDPAI_POLLING_FAILED, /* or the request was cancelled */
    } outcome;

    udpai_str message;       /* a DiscoveryResponse */
    bool server_holds;       /* requests, until something changes, and states that */
    udpai_trace trace;       /* that the message belongs to */
    const udpa_error *error; /* of a failure */
} udpai_polling_response;

/* What a polling needs of its owner. None of these may call back before it returns, but deliver().
 */
typedef struct udpai_polling_ops {
    /* Begins a request; udpai_polling_receive() follows, whatever happens. An error: it was not
     * begun, and nothing follows. */
    udpa_err (*begin)(void *userdata, const udpai_polling_request *request);
    /* The response is ignored; it is received all the same, and soon. */
    void (*cancel)(void *userdata, size_t index);
    /* The session receives this, which belongs to a trace if that is set. */
    void (*deliver)(void *userdata, udpai_str response, const udpai_trace *trace);
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
/* Requests under way are not touched. */
udpai_polling *udpai_polling_free(udpai_polling *polling);
UDPA_DEFINE_CLEANUP(udpai_polling, udpai_polling_free)

/* The session sends a DiscoveryRequest. */
udpa_err udpai_polling_send(udpai_polling *polling, udpai_str message);
/* The session receives nothing for a while, or again. */
void udpai_polling_set_reading(udpai_polling *polling, bool reading);
/* The session has ended: nothing is requested or delivered any more. */
void udpai_polling_stop(udpai_polling *polling);
/* The response to the request of this index. */
void
udpai_polling_receive(udpai_polling *polling, size_t index, const udpai_polling_response *response);

#endif
