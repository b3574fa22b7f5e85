/* SPDX-License-Identifier: Apache-2.0 */
/* A stream thread with one client that has one call, for tests of when it is read and written. */
#ifndef UDPAI_TESTS_ONE_CALL_H
#define UDPAI_TESTS_ONE_CALL_H

#include "bed.h"
#include "raw.h"

#define TAGS_OF_LISTENER 32
#define FOR_EVER_MS 3600000

struct world {
    test_bed bed;
    raw_client client;
    raw_call call;
    uint64_t session;
};

/* The client has said `words`, and whatever answers them has come. */
struct world *one_call_begin(const udpai_stream_thread_options *options, const char *words);
/* Ends the call, and all of it. */
void one_call_end(struct world *world);
/* Has the session send "pushed"; and waits for it. */
void one_call_order_push(struct world *world);
void one_call_push(struct world *world);

#endif
