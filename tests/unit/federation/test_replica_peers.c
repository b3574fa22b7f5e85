/* SPDX-License-Identifier: Apache-2.0 */
/* Several replicas of one node dial this one: each is a peer of its own, and none a twin. */
#include "federation/problems.h"
#include "federation/reporting.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define SET "5e705e705e705e705e705e705e705e70"
#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define NAME "com.acme/backend/me"

static const fed_peer
    first = {.id = "edge", .name = "edge", .instance = SET, .run = SET, .replica = "edge~aaaaaaaa"},
    second = {
        .id = "edge", .name = "edge", .instance = SET, .run = SET, .replica = "edge~bbbbbbbb"};

static char text[4096];

static void
note_line(void *userdata, const char *line)
{
    (void)userdata;
    size_t len = strlen(text);
    snprintf(text + len, sizeof(text) - len, "%s\n", line);
}

static const char *
problems_of(fed_bed *bed)
{
    *text = '\0';
    udpai_node_visit_problems(bed->node, note_line, NULL);
    return text;
}

static udpa_resource *
load(const fed_peer *by, const char *value, uint64_t generation)
{
    return RESOURCE(NAME, .type = LOAD, .version = value, .value = value, .ttl_ms = 60000,
                    .generation = generation, .authority = "me",
                    .hops = {{by->replica, "me", by->replica}});
}

static void
put(fed_bed *bed, uint64_t session, const fed_peer *by, const char *value, uint64_t generation)
{
    assert_string_equal(fed_put(bed, session, load(by, value, generation), false), "");
}

static void
none_is_sent_away(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t a = fed_arrive(bed, &first), b = fed_arrive(bed, &second);
    assert_null(strstr(fed_orders(bed), "hangup"));
    put(bed, a, &first, "1", 1);
    put(bed, b, &second, "2", 2);
    assert_string_equal(fed_value(bed, LOAD, NAME), "2");
    assert_string_equal(problems_of(bed), "");
}

/* The client has moved from the first to the second, which reports it; then the first reports that
 * it has left. */
static void
each_has_reports_of_its_own(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t a = fed_arrive(bed, &first), b = fed_arrive(bed, &second);
    put(bed, a, &first, "1", 1);
    put(bed, b, &second, "2", 2);
    assert_string_equal(fed_publish_at(bed, a, LOAD, "-" NAME), "");
    assert_string_equal(fed_value(bed, LOAD, NAME), "2");
    assert_string_equal(fed_publish_at(bed, b, LOAD, "-" NAME), "");
    assert_string_equal(fed_value(bed, LOAD, NAME), "");
}

/* By the id of the replica, and not by that of the node. */
static void
each_is_known_by_its_id(void **state)
{
    fed_bed *bed = *state;
    uint64_t since_ms;
    fed_start(bed);
    uint64_t a = fed_arrive(bed, &first);
    fed_advance(bed, 100);
    (void)fed_arrive(bed, &second);
    assert_true(udpai_node_peer_since(bed->node, UDPAI_STR("edge~bbbbbbbb"), &since_ms));
    assert_int_equal(since_ms, bed->wheel.now_ms);
    assert_false(udpai_node_peer_since(bed->node, UDPAI_STR("edge"), &since_ms));
    fed_leave(bed, a, false);
    assert_false(udpai_node_peer_since(bed->node, UDPAI_STR("edge~aaaaaaaa"), &since_ms));
}

/* Only its own node has replicas: the id of another one is not believed. */
static void
a_replica_of_another_node_is_none(void **state)
{
    fed_bed *bed = *state;
    uint64_t since_ms;
    const fed_peer liar = {.id = "liar", .name = "liar", .replica = "edge~aaaaaaaa"};
    fed_start(bed);
    (void)fed_arrive(bed, &liar);
    assert_true(udpai_node_peer_since(bed->node, UDPAI_STR("liar"), &since_ms));
    assert_false(udpai_node_peer_since(bed->node, UDPAI_STR("edge~aaaaaaaa"), &since_ms));
}

/* A node that has the id of a set is reported, whichever came first. */
static void
a_namesake_of_a_set_is_reported(void **state)
{
    fed_bed *bed = *state;
    const fed_peer other = {.id = "edge", .name = "edge", .instance = "other", .run = "x"};
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &other);
    (void)fed_arrive(bed, &first);
    assert_non_null(strstr(problems_of(bed), "two nodes have the id 'edge'"));
    fed_leave(bed, session, false);
    assert_string_equal(problems_of(bed), "");
    (void)fed_arrive(bed, &other);
    assert_non_null(strstr(problems_of(bed), "two nodes have the id 'edge'"));
}

/* ---- as a ConfigSource ---- */

static void
listen_for_edge(fed_bed *bed)
{
    bed->sources[0].kind = UDPAI_SOURCE_UDPA_LISTEN;
    bed->sources[0].peer = UDPAI_STR("edge");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

static void
one_of_them_is_the_source(void **state)
{
    fed_bed *bed = *state;
    listen_for_edge(bed);
    uint64_t a = fed_arrive(bed, &first);
    assert_string_equal(fed_publish_at(bed, a, "CDS", "x=1 !com.acme"), "");
    (void)fed_orders(bed);
    uint64_t b = fed_arrive(bed, &second);
    assert_string_equal(fed_orders(bed), "");
    assert_value(bed, "CDS", "x", "1");
    fed_leave(bed, a, false);
    assert_string_equal(fed_publish_at(bed, b, "CDS", "x=2 !com.acme"), "");
    assert_value(bed, "CDS", "x", "2");
    assert_string_equal(problems_of(bed), "");
}

/* One that dials again takes the place of its own former stream, as any source does. */
static void
the_same_one_takes_its_own_place(void **state)
{
    fed_bed *bed = *state;
    listen_for_edge(bed);
    (void)fed_arrive(bed, &first);
    (void)fed_orders(bed);
    uint64_t again = fed_arrive(bed, &first);
    assert_non_null(strstr(fed_orders(bed), "hangup"));
    assert_string_equal(fed_publish_at(bed, again, "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
}

/* ---- a replica itself ---- */

static bool
take_hop(void *userdata, const udpai_contribution *contribution)
{
    const udpai_hop hop = udpai_resource_hop(contribution->resource,
                                             udpa_resource_n_hops(contribution->resource) - 1);
    snprintf(userdata, 200, "%.*s %.*s", UDPAI_SHOWN(hop.node_id), UDPAI_SHOWN(hop.instance));
    return true;
}

static const char *
last_hop(fed_bed *bed, const char *type, const char *name)
{
    static char hop[200];
    *hop = '\0';
    udpai_store_visit_name(udpai_node_store(bed->node), udpai_str_from(type), udpai_str_from(name),
                           take_hop, hop);
    return hop;
}

static void
its_reports_have_its_own_id(void **state)
{
    fed_bed *bed = *state;
    const fed_peer client = {.id = "me", .name = "me", .is_plain = true};
    bed->config.instance = UDPAI_STR(SET);
    bed->config.replica = UDPAI_STR("cccccccc0123");
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &client);
    assert_string_equal(
        fed_put(bed, session, RESOURCE(NAME, .type = LOAD, .value = "1", .ttl_ms = 60000), false),
        "");
    assert_string_equal(last_hop(bed, LOAD, NAME), "node~cccccccc cccccccc0123");
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    assert_string_equal(last_hop(bed, TEST_CDS, "com.acme/x"), "node " SET);
}

/* What it has reported does not come back to it, by whatever way. */
static void
its_reports_are_a_loop(void **state)
{
    fed_bed *bed = *state;
    const fed_peer self = {.replica = "cccccccc0123"};
    bed->config.instance = UDPAI_STR(SET);
    bed->config.replica = UDPAI_STR("cccccccc0123");
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &first);
    (void)fed_put(bed, session, load(&self, "1", 1), false);
    assert_string_equal(fed_value(bed, LOAD, NAME), "");
    assert_int_equal(udpai_node_n_loops(bed->node), 1);
    put(bed, session, &first, "2", 2);
    assert_string_equal(fed_value(bed, LOAD, NAME), "2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(none_is_sent_away),
        fed_test(each_has_reports_of_its_own),
        fed_test(each_is_known_by_its_id),
        fed_test(a_replica_of_another_node_is_none),
        fed_test(a_namesake_of_a_set_is_reported),
        fed_test(one_of_them_is_the_source),
        fed_test(the_same_one_takes_its_own_place),
        fed_test(its_reports_have_its_own_id),
        fed_test(its_reports_are_a_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
