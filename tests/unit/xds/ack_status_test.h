/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of who has acknowledged a resource share, of xDS clients. */
#ifndef UDPAI_TESTS_JUDGE_TEST_H
#define UDPAI_TESTS_JUDGE_TEST_H

#include "tests/unit/session/acknowledgement_test.h"
#include "xds_test.h"

static inline void
expect(xds_world *world, const char *type, const char *name, const char *expected)
{
    assert_string_equal(acknowledgement_of(world->hub.hub, xds_type_url(type), name), expected);
}

/* Acknowledges what there is, whatever it may be. */
static inline void
catch_up(xds_client *client)
{
    xds_ack_all(client);
    client->trace[0] = '\0';
}

#endif
