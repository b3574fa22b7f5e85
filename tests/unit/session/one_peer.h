/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of tests with one hub and one peer, which are variables of the test. */
#ifndef UDPAI_TESTS_ONE_PEER_H
#define UDPAI_TESTS_ONE_PEER_H

#include "session_test.h"

static fake_hub hub;
static test_peer peer;

/* The test opens the peer. */
static inline int
begin_alone(void **state)
{
    (void)state;
    session_hub_init(&hub);
    return 0;
}

static inline int
begin(void **state)
{
    begin_alone(state);
    peer_open(&peer, &hub, PEER_ENDPOINT);
    return 0;
}

/* Whatever the peer was sent and nobody looked at. */
static inline int
end_anyhow(void **state)
{
    (void)state;
    fake_stream_close(&peer.stream);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

static inline int
end(void **state)
{
    peer_close(&peer);
    return end_anyhow(state);
}

#endif
