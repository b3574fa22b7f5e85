/* SPDX-License-Identifier: Apache-2.0 */
/* A server of which a test says what it answers, and a changer that notes what it is told. Time
 * goes on only while something is waited for in vain. */
#ifndef UDPAI_TESTS_FAKE_PEER_H
#define UDPAI_TESTS_FAKE_PEER_H

#include "tests/harness/test.h"
#include "tools/conform/script.h"
#include "wire/message.h"
#include "xds/request.h"

#define FAKE_CALLS 8
#define FAKE_MESSAGES 32

typedef struct fake_call {
    struct fake_peer *peer;
    char path[128];
    udpa_bytes *queued[FAKE_MESSAGES]; /* what the server will have said */
    size_t n_queued, at;
    udpa_bytes *said[FAKE_MESSAGES]; /* by the client */
    size_t n_waiting;
    bool is_ended, is_over, is_closed;
    int status;
} fake_call;

typedef struct fake_peer {
    udpai_peer peer;
    udpai_changer changer;
    fake_call calls[FAKE_CALLS];
    size_t n_calls;
    uint64_t now_ms;
    /* Called with each request; may answer. NULL: the server is silent. */
    void (*serve)(struct fake_peer *self, fake_call *call, udpai_str request);
    udpai_change_result result; /* of the next changes */
    udpai_strbuf changes;       /* "+cluster/conform-a -cluster/conform-b;" */
} fake_peer;

void fake_peer_init(fake_peer *self);
void fake_peer_done(fake_peer *self);

/* Has the client receive this; the strings are as on the wire, "a=1" a cluster's name and variant,
 * "!a=1" one that is said to be a listener. */
void fake_answer(fake_call *call,
                 bool is_delta,
                 udpai_kind kind,
                 const char *nonce,
                 const char *resources,
                 const char *removed);
/* The server ends the call when what was said before has been heard. */
void fake_end(fake_call *call, int status);

#endif
