/* SPDX-License-Identifier: Apache-2.0 */
/* One request to a server, and its response, by something else than gRPC: the stream thread hands
 * it to a client with a thread of its own (docs/design/threads.md). */
#ifndef UDPAI_HTTP_CLIENT_H
#define UDPAI_HTTP_CLIENT_H

#include <stdatomic.h>

#include <udpa/bytes.h>

#include "base/list.h"
#include "model/identity.h"
#include "model/trace.h"

typedef struct udpai_http_request udpai_http_request;
typedef struct udpai_http_client udpai_http_client;

struct udpai_http_request {
    /* Filled in by the caller, which owns it. */
    const char *path;    /* NULL: is somebody there, at all? */
    udpa_bytes *message; /* a serialised DiscoveryRequest; none without a path */
    uint64_t timeout_ms; /* for the response */
    size_t max_bytes;    /* of the response */
    void (*over)(
        udpai_http_request *request); /* on the client's thread, once; it is not touched again */

    /* The response, when it is over; the caller's. */
    udpa_bytes *answer; /* a serialised DiscoveryResponse; NULL: nothing has changed, or an error */
    udpa_error *error;  /* NULL: none; of what was cancelled UDPA_ERR_CANCELLED */
    bool server_holds;  /* requests, until something changes, and states that */
    udpai_trace trace;  /* that the answer belongs to, by its header traceparent */
    udpai_identity
        *identity; /* without a path: its identity, by its certificate; NULL: it has none */

    /* The client's. */
    udpai_list node;
    atomic_bool is_cancelled;
    void *state;
};

typedef struct udpai_http_client_ops {
    /* Any thread. An error: it was not begun, and over() is not called. */
    udpa_err (*begin)(udpai_http_client *client,
                      udpai_http_request *request,
                      udpa_error **ret_error);
    /* Any thread, while the request is there: the response is ignored. over() is called soon.
     */
    void (*cancel)(udpai_http_client *client, udpai_http_request *request);
    /* Nothing is under way, and it is the last call for it. */
    void (*free)(udpai_http_client *client);
} udpai_http_client_ops;

/* Knows one server. */
struct udpai_http_client {
    const udpai_http_client_ops *ops;
};

#endif
