/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a server, and its answer, by something else than gRPC: what the stream thread
 * asks of whoever does it on a thread of its own (docs/design/threads.md). */
#ifndef UDPAI_HTTP_CLIENT_H
#define UDPAI_HTTP_CLIENT_H

#include <stdatomic.h>

#include <udpa/bytes.h>

#include "base/list.h"
#include "model/identity.h"

typedef struct udpai_http_request udpai_http_request;
typedef struct udpai_http_client udpai_http_client;

struct udpai_http_request {
    /* Filled in by whoever asks, and his. */
    const char *path;    /* NULL: is somebody there, at all? */
    udpa_bytes *message; /* a serialised DiscoveryRequest; none without a path */
    uint64_t timeout_ms; /* until there must be an answer */
    size_t max_bytes;    /* of the answer */
    void (*over)(
        udpai_http_request *request); /* on the client's thread, once; he does not touch it again */

    /* The answer, when it is over; of whoever has asked. */
    udpa_bytes *answer; /* a serialised DiscoveryResponse; NULL: nothing has changed, or an error */
    udpa_error *error;  /* NULL: none; of what was cancelled UDPA_ERR_CANCELLED */
    bool is_held;       /* the server says that it holds requests until something changes */
    udpai_identity *identity; /* without a path: who it is, by its certificate; NULL: it has none */

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
    /* Any thread, while the request is there: nobody waits for the answer. over() is called soon.
     */
    void (*cancel)(udpai_http_client *client, udpai_http_request *request);
    /* Nothing is under way, and it is the last that is heard of it. */
    void (*free)(udpai_http_client *client);
} udpai_http_client_ops;

/* Knows one server. */
struct udpai_http_client {
    const udpai_http_client_ops *ops;
};

#endif
