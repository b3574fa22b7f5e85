/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to a gRPC server, as functions that a test can replace. Everything blocks, because a script
 * does one thing after the other; no function here is called from any thread but one. */
#ifndef UDPAI_CLI_CALLS_H
#define UDPAI_CLI_CALLS_H

#include "base/util.h"

typedef enum udpai_received {
    UDPAI_RECEIVED_NOTHING, /* in the time given */
    UDPAI_RECEIVED_MESSAGE,
    UDPAI_RECEIVED_END, /* the call is over; its status is known */
} udpai_received;

typedef struct udpai_call_status {
    int code;       /* of gRPC */
    udpai_str text; /* a view that lasts as long as the call */
} udpai_call_status;

typedef struct udpai_peer {
    /* Begins a call of "/package.Service/Method"; that it cannot be is its end. NULL without
     * memory. */
    void *(*open)(void *self, const char *path);
    void (*send)(void *call, udpai_str message);
    /* Nothing more will be sent. */
    void (*end)(void *call);
    /* The next message, a view until the next call of this with the same @p call. */
    udpai_received (*receive)(void *call, uint64_t timeout_ms, udpai_str *ret_message);
    udpai_call_status (*status)(const void *call); /* of one that is over */
    void (*close)(void *call);                     /* cancels it if it is not over */
    uint64_t (*now_ms)(void *self);
    void *self;
} udpai_peer;

#endif
