/* SPDX-License-Identifier: Apache-2.0 */
/* One question to a server, and its answer, by something else than gRPC: what the stream thread
 * asks of whoever does it on a thread of its own (docs/design/threads.md). */
#ifndef UDPAI_ASKER_H
#define UDPAI_ASKER_H

#include <stdatomic.h>

#include <udpa/bytes.h>

#include "base/list.h"
#include "model/identity.h"

typedef struct udpai_inquiry udpai_inquiry;
typedef struct udpai_asker udpai_asker;

struct udpai_inquiry {
    /* Filled in by whoever asks, and his. */
    const char *path;    /* NULL: is somebody there, at all? */
    udpa_bytes *message; /* a serialised DiscoveryRequest; none without a path */
    uint64_t timeout_ms; /* until there must be an answer */
    size_t max_bytes;    /* of the answer */
    void (*over)(
        udpai_inquiry *inquiry); /* on the asker's thread, once; he does not touch it again */

    /* The answer, when it is over; of whoever has asked. */
    udpa_bytes *answer; /* a serialised DiscoveryResponse; NULL: nothing has changed, or an error */
    udpa_error *error;  /* NULL: none; of what was cancelled UDPA_ERR_CANCELLED */
    bool is_held;       /* the server says that it holds requests until something changes */
    udpai_identity *identity; /* without a path: who it is, by its certificate; NULL: it has none */

    /* The asker's. */
    udpai_list node;
    atomic_bool is_cancelled;
    void *state;
};

typedef struct udpai_asker_ops {
    /* Any thread. An error: it was not begun, and over() is not called. */
    udpa_err (*begin)(udpai_asker *asker, udpai_inquiry *inquiry, udpa_error **ret_error);
    /* Any thread, while the inquiry is there: nobody waits for the answer. over() is called soon.
     */
    void (*cancel)(udpai_asker *asker, udpai_inquiry *inquiry);
    /* Nothing is under way, and it is the last that is heard of it. */
    void (*free)(udpai_asker *asker);
} udpai_asker_ops;

/* Knows one server. */
struct udpai_asker {
    const udpai_asker_ops *ops;
};

#endif
