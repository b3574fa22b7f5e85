/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer has reported of its clients before it is asked anew: the peer does not send which of
 * them have left meanwhile. */
#include "federation/node_internal.h"
#include "federation/reports.h"
#include "tests/harness/resources.h"
#include "tests/unit/federation/federation_test.h"

#define STATUS "type.googleapis.com/udpa.status.v1.ClientStatus"
#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define CLIENT "udpa.clients/edge/shop/1/edge"
#define OTHER "udpa.clients/edge/till/2/edge"
#define BELOW "udpa.clients/leaf/shop/1/leaf"
#define COUNTS "com.acme/backend/edge"

static const fed_peer edge = {.id = "edge", .instance = "E", .has_reports = true},
                      neighbour = {.id = "neighbour", .instance = "N", .has_reports = true};

static void
begin(fed_bed *bed)
{
    bed->config.n_sources = 0;
    fed_start(bed);
}

static void
subscribe(fed_bed *bed, const char *text, bool subscribed)
{
    udpai_reports_subscribe(bed->node->parts.interest, UDPAI_STR(STATUS), udpai_str_from(text),
                            subscribed);
    udpai_node_flush(bed->node);
}

/* Its peers are asked for it no more. */
static void
end_subscription(fed_bed *bed, const char *text)
{
    subscribe(bed, text, false);
    fed_advance(bed, bed->config.timing.interest_linger_ms + 1);
}

static void
report(fed_bed *bed, uint64_t session, const char *type, const char *name, const char *node)
{
    assert_string_equal(
        fed_put(bed, session,
                RESOURCE(name, .type = type, .version = "1", .value = "1", .ttl_ms = 600000,
                         .generation = 1, .authority = node, .hops = {{node, node, node}}),
                false),
        "");
}

#define assert_there(bed, name) assert_value(bed, STATUS, name, "1")
#define assert_gone(bed, name) assert_value(bed, STATUS, name, "")

static void
what_was_reported_before_it_is_asked_again_is_forgotten(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &edge);
    subscribe(bed, "*udpa.clients", true);
    report(bed, session, STATUS, CLIENT, "edge");
    report(bed, session, STATUS, OTHER, "edge");
    end_subscription(bed, "*udpa.clients");
    assert_there(bed, CLIENT);
    subscribe(bed, "*udpa.clients", true);
    assert_gone(bed, CLIENT);
    assert_gone(bed, OTHER);
    report(bed, session, STATUS, CLIENT, "edge"); /* one has left */
    assert_there(bed, CLIENT);
    assert_gone(bed, OTHER);
}

static void
what_is_not_asked_for_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &edge);
    report(bed, session, STATUS, CLIENT, "edge");
    report(bed, session, STATUS, OTHER, "edge");
    report(bed, session, STATUS, BELOW, "edge");
    subscribe(bed, CLIENT, true);
    assert_gone(bed, CLIENT);
    subscribe(bed, "*udpa.clients/leaf", true);
    assert_gone(bed, BELOW);
    assert_there(bed, OTHER);
}

/* A subscriber that comes, goes or is farther away changes nothing. */
static void
while_it_is_asked_it_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &edge);
    subscribe(bed, "*udpa.clients", true);
    report(bed, session, STATUS, CLIENT, "edge");
    subscribe(bed, "*udpa.clients", true);
    subscribe(bed, "*udpa.clients", false);
    subscribe(bed, "*udpa.clients", false);
    fed_advance(bed, bed->config.timing.interest_linger_ms - 1);
    subscribe(bed, "*udpa.clients", true);
    assert_there(bed, CLIENT);
}

static void
what_another_subscription_has_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &edge);
    subscribe(bed, "*udpa.clients/edge", true);
    report(bed, session, STATUS, CLIENT, "edge");
    report(bed, session, STATUS, BELOW, "edge");
    subscribe(bed, "*udpa.clients", true);
    assert_there(bed, CLIENT);
    assert_gone(bed, BELOW);
    report(bed, session, STATUS, BELOW, "edge");
    subscribe(bed, "*udpa.clients/leaf", true);
    subscribe(bed, BELOW, true);
    assert_there(bed, BELOW);
}

/* The end of a stream ends nothing; the next one begins anew. But load and health hold until their
 * ttl ends. */
static void
with_a_new_stream_clients_are_forgotten_alone(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &edge), other = fed_arrive(bed, &neighbour);
    subscribe(bed, "*udpa.clients", true);
    report(bed, session, STATUS, CLIENT, "edge");
    report(bed, session, LOAD, COUNTS, "edge");
    report(bed, other, STATUS, BELOW, "neighbour");
    udpai_reports_subscribe(bed->node->parts.interest, UDPAI_STR(LOAD), UDPAI_STR("*com.acme"),
                            true);
    fed_leave(bed, session, false);
    assert_there(bed, CLIENT);
    (void)fed_arrive(bed, &edge);
    assert_gone(bed, CLIENT);
    assert_value(bed, LOAD, COUNTS, "1");
    assert_there(bed, BELOW);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_was_reported_before_it_is_asked_again_is_forgotten),
        fed_test(what_is_not_asked_for_stays),
        fed_test(while_it_is_asked_it_stays),
        fed_test(what_another_subscription_has_stays),
        fed_test(with_a_new_stream_clients_are_forgotten_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
