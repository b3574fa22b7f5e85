/* SPDX-License-Identifier: Apache-2.0 */
/* What a node and its workers send each other: frames on a pair of sockets that the worker has
 * inherited. A frame is the length of what follows as 4 bytes, the least first, a kind, and a
 * payload.
 *
 * All of it belongs to the loop's thread. */
#ifndef UDPAI_WORKER_LINK_H
#define UDPAI_WORKER_LINK_H

#include <uv.h>

#include "base/error.h"
#include "base/strbuf.h"

typedef enum udpai_frame_kind {
    UDPAI_FRAME_LISTEN = 1,   /* to a worker: the addresses of the sockets, each with a NUL */
    UDPAI_FRAME_LISTENING,    /* it does */
    UDPAI_FRAME_FAILED,       /* it cannot, and why */
    UDPAI_FRAME_ORDER,        /* to a worker: session/transfer.h */
    UDPAI_FRAME_REPORT,       /* from it */
    UDPAI_FRAME_CERTIFICATES, /* to a worker: read the certificates of the sockets again */
    UDPAI_FRAME_SWITCHES,     /* to a worker: the values of the runtime (tunables.h) */
    UDPAI_FRAME_SERVING,      /* to a worker: "1", or "0": the answer to health checks */
    UDPAI_FRAME_COUNTS,       /* from a worker: what its streams have counted so far */
    UDPAI_FRAME_REOPEN_LOG,   /* to a worker: its file was renamed */
    UDPAI_FRAME_BOOTSTRAP,    /* to a worker: the bootstrap file that is in effect now, packed */
    UDPAI_FRAME_ALIVE,        /* from a worker: it turns; "1", or "0": its stream thread does not */
    UDPAI_FRAME_MUTE,         /* to a worker: "1": another process accepts in its place, or "0" */
    UDPAI_FRAME_STEP,         /* between a process and its successor: restart_step.h */
    UDPAI_FRAME_BATCH,        /* from a successor: what it has committed (batch_text.h) */
    UDPAI_FRAME_KINDS,
} udpai_frame_kind;

typedef struct udpai_worker_link udpai_worker_link;

/* Both may close the link. */
typedef struct udpai_worker_link_env {
    void (*frame)(void *userdata, udpai_frame_kind kind, udpai_str payload);
    /* Once: the other side has closed, or sends nonsense, which the error has; NULL: it has closed.
     */
    void (*ended)(void *userdata, const udpa_error *why);
    void *userdata;
    size_t max_bytes; /* of a payload that comes in */
} udpai_worker_link_env;

/* @p fd: this side's socket, which is the link's from now on, whatever comes of it. */
udpa_err udpai_worker_link_open(udpai_worker_link **ret_link,
                                uv_loop_t *loop,
                                int fd,
                                const udpai_worker_link_env *env,
                                udpa_error **ret_error);
/* Freed by the loop's next turns. NULL is fine. */
void udpai_worker_link_close(udpai_worker_link *link);

/* Copies the payload. UDPA_ERR_NOMEM: it was not sent, and nothing can be sent any more: ended() is
 * called. */
udpa_err udpai_worker_link_send(udpai_worker_link *link, udpai_frame_kind kind, udpai_str payload);
/* Bytes that the other side has not taken yet. */
size_t udpai_worker_link_waiting(const udpai_worker_link *link);

#endif
