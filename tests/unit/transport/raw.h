/* SPDX-License-Identifier: Apache-2.0 */
/* A gRPC client that sends and receives bytes, for tests: every call waits until it is done, or
 * fails the test. */
#ifndef UDPAI_TESTS_RAW_H
#define UDPAI_TESTS_RAW_H

#include <grpc/grpc.h>

#include "tests/harness/test.h"

typedef struct raw_client {
    grpc_completion_queue *cq;
    grpc_channel *channel;
} raw_client;

typedef struct raw_call {
    raw_client *client;
    grpc_call *call;
    grpc_metadata_array headers, trailers;
    grpc_byte_buffer *received;
    bool has_headers, has_status;
    char *data; /* of the last message */
    size_t len;
    grpc_status_code code;
    char text[2048];
} raw_call;

/* Takes the credentials; NULL: plaintext. Extra channel arguments may be NULL. */
void raw_connect(raw_client *self,
                 int port,
                 grpc_channel_credentials *credentials,
                 const grpc_channel_args *args);
void raw_disconnect(raw_client *self);
/* Waits until the other side has ended the connection that stands. */
void raw_wait_disconnected(raw_client *self);
void raw_begin(raw_client *self, raw_call *call, const char *path);
/* Begins to send; true when it was sent, false when it could not be. */
bool raw_send(raw_call *call, const void *data, size_t len);
bool raw_say(raw_call *call, const char *text);
/* The next message, in data and len; false: there is no more. */
bool raw_receive(raw_call *call);
void raw_expect(raw_call *call, const char *text);
void raw_half_close(raw_call *call);
void raw_cancel(raw_call *call);
/* Waits for the end of the call; its status is then in code and text. */
grpc_status_code raw_status(raw_call *call);
void raw_end(raw_call *call);

#endif
