/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS about clients that sessions of this hub are not: as other processes and nodes tell of them
 * by resources that are in the mirror. */
#include "csds_test.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "model/acl.h"
#include "reports/client_names.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define WAIT_MS 3000

typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

typedef struct fixture {
    xds_world world;
    xds_client client;
    csds_asker asker;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    xds_world_init(&self->world);
    xds_settle(&self->world);
    self->asker.csds = (udpai_csds){.asks_tree = true, .wait_ms = WAIT_MS};
    csds_open(&self->asker, &self->world, false);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    csds_close(&self->asker);
    xds_client_close(&self->client);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static char *
text(const char *literal)
{
    return (char *)(uintptr_t)literal;
}

/* ---- what others tell ---- */

/* By way of these nodes, the one that was asked last. */
static void
change(fixture *self, const char *name, udpai_str value, const char *path, bool removes)
{
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), value);
    udpai_hop hops[4];
    udpai_resource_parts parts = {
        .name = udpai_str_from(name), .any = any, .ttl_ms = 30000, .hops = hops};
    udpai_str rest = udpai_str_from(path), id;
    while (udpai_str_cut(&rest, '>', &id))
        hops[parts.n_hops++] = (udpai_hop){.node_id = id, .time_us = 1000000};
    hops[parts.n_hops++] = (udpai_hop){.node_id = rest, .time_us = 1000000};
    udpai_change one = {.kind = removes ? UDPAI_CHANGE_REMOVE : UDPAI_CHANGE_SET};
    udpai_change_set *set = udpai_change_set_new();
    assert_ok(udpai_resource_make(&one.resource, &parts));
    assert_ok(udpai_change_set_add(set, &one));
    udpa_resource_unref(one.resource);
    udpa_bytes_unref(any);
    fake_hub_apply(&self->world.hub, set);
}

static void
tell(fixture *self, const char *name, const ProtobufCMessage *message, const char *path)
{
    uint8_t room[4096];
    assert_true(protobuf_c_message_get_packed_size(message) <= sizeof(room));
    size_t size = protobuf_c_message_pack(message, room);
    change(self, name, (udpai_str){(const char *)room, size}, path, false);
}

/* A client of the last node on the path, which is the first in time. */
static void
tell_client(fixture *self, const char *node, const char *id, int number, const char *path)
{
    char name[200];
    Envoy__Config__Core__V3__Node of = ENVOY__CONFIG__CORE__V3__NODE__INIT;
    entry_message entry = ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__GENERIC_XDS_CONFIG__INIT;
    entry_message *entries[] = {&entry};
    csds_config config = ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__INIT;
    Udpa__Status__V1__ClientStatus status = UDPA__STATUS__V1__CLIENT_STATUS__INIT;
    of.id = text(id);
    entry.type_url = text(TEST_CDS);
    entry.name = text("x");
    entry.config_status = ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__SYNCED;
    config.node = &of;
    config.generic_xds_configs = entries;
    config.n_generic_xds_configs = 1;
    config.client_scope = text("of another world");
    status.config = &config;
    snprintf(name, sizeof(name), "udpa.clients/%s/%s/%d/%s", node, id, number, node);
    tell(self, name, &status.base, path);
}

static void
tell_node(fixture *self, const char *node, unsigned n_clients, const char *below, const char *path)
{
    char name[200], *nodes[] = {text(below)};
    Udpa__Status__V1__NodeClients of_node = UDPA__STATUS__V1__NODE_CLIENTS__INIT;
    Udpa__Status__V1__ClientStatus status = UDPA__STATUS__V1__CLIENT_STATUS__INIT;
    of_node.n_clients = n_clients;
    of_node.nodes_below = nodes;
    of_node.n_nodes_below = below != NULL;
    status.of_node = &of_node;
    snprintf(name, sizeof(name), "udpa.clients/%s/%s", node, node);
    tell(self, name, &status.base, path);
}

/* The wildcard's prefix that the loop side is told of; NULL: nothing. */
static const char *
take_interest(fixture *self, bool wanted)
{
    static char prefix[200];
    udpai_report *report;
    prefix[0] = '\0';
    while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_INTEREST))) {
        const udpai_subscription_message *message = report->subscription;
        if (report->subscribed == wanted &&
            udpai_str_eq(message->type_url, UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS)))
            snprintf(prefix, sizeof(prefix), "%.*s", (int)message->name_space.len,
                     message->name_space.data);
        udpai_report_free(report);
    }
    return prefix;
}

static void
send(fixture *self)
{
    csds_request request = CSDS_REQUEST_INIT;
    request.exclude_resource_contents = true;
    csds_send(&self->asker, &request);
}

#define X "Cluster x SYNCED/UNKNOWN"

static void
open_own(fixture *self)
{
    xds_change(&self->world, "+CDS/a=1#");
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "CDS", "");
    xds_ack_all(&self->client);
    self->client.trace[0] = '\0';
}

/* ---- all nodes ---- */

static void
clients_of_all_nodes_are_told_of(void **state)
{
    fixture *self = *state;
    open_own(self);
    tell_node(self, "node", 1, "mid", "node");
    tell_client(self, "node", "client", 1, "node"); /* of this hub: told of by itself */
    tell_node(self, "mid", 0, "edge", "mid>node");
    tell_node(self, "edge", 2, NULL, "edge>mid>node");
    tell_client(self, "edge", "far", 1, "edge>mid>node");
    tell_client(self, "edge", "far", 2, "edge>mid>node");
    assert_string_equal(csds_ask(&self->asker, false),
                        "client@node{Cluster a SYNCED/ACKED =1} far@node/mid/edge{" X "} "
                        "far@node/mid/edge{" X "}");
}

static void
they_are_asked_while_somebody_wants_to_know(void **state)
{
    fixture *self = *state;
    assert_string_equal(take_interest(self, true), "");
    tell_node(self, "node", 0, NULL, "node");
    (void)csds_ask(&self->asker, false);
    assert_string_equal(take_interest(self, true), "udpa.clients");
    (void)csds_ask(&self->asker, false);
    assert_string_equal(take_interest(self, true), "");
    csds_close(&self->asker);
    fake_hub_advance(&self->world.hub, 2000);
    assert_string_equal(take_interest(self, false), "udpa.clients");
}

static void
an_answer_waits_for_those_that_are_connected(void **state)
{
    fixture *self = *state;
    send(self);
    fake_hub_advance(&self->world.hub, 500);
    fake_stream_run(&self->asker.stream, &self->world.hub);
    assert_null(fake_stream_take(&self->asker.stream));
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 1, NULL, "edge>node");
    fake_hub_advance(&self->world.hub, 500);
    fake_stream_run(&self->asker.stream, &self->world.hub);
    assert_null(fake_stream_take(&self->asker.stream));
    tell_client(self, "edge", "far", 1, "edge>node");
    fake_hub_advance(&self->world.hub, 500);
    assert_string_equal(csds_take(&self->asker), "far@node/edge{" X "}");
}

static void
but_not_for_ever(void **state)
{
    fixture *self = *state;
    tell_node(self, "node", 0, "edge", "node");
    tell_client(self, "gone", "far", 1, "gone>node");
    uint64_t begin_ms = self->world.hub.wheel.now_ms;
    const char *told = csds_ask(&self->asker, false);
    assert_in_range(self->world.hub.wheel.now_ms - begin_ms, WAIT_MS, WAIT_MS + 300);
    assert_non_null(strstr(told, "edge@missing: "));
    assert_non_null(strstr(told, "far@node/gone{" X "}"));
    assert_non_null(strstr(told, "gone@stale: "));
    assert_int_equal(self->asker.n_configs, 3);
    csds_close(&self->asker);
}

static void
who_leaves_while_it_waits_leaves_nothing(void **state)
{
    fixture *self = *state;
    send(self);
    fake_hub_advance(&self->world.hub, 100);
    csds_close(&self->asker);
    assert_int_equal(self->asker.csds.n_answers, 0);
}

static void
matchers_choose_among_all(void **state)
{
    fixture *self = *state;
    Envoy__Type__Matcher__V3__StringMatcher id = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__INIT;
    Envoy__Type__Matcher__V3__NodeMatcher matcher = ENVOY__TYPE__MATCHER__V3__NODE_MATCHER__INIT,
                                          *matchers[] = {&matcher};
    csds_request request = CSDS_REQUEST_INIT;
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 2, NULL, "edge>node");
    tell_client(self, "edge", "far", 1, "edge>node");
    tell_client(self, "edge", "near", 2, "edge>node");
    id.match_pattern_case = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__MATCH_PATTERN_PREFIX;
    id.prefix = text("f");
    matcher.node_id = &id;
    request.node_matchers = matchers;
    request.n_node_matchers = 1;
    csds_send(&self->asker, &request);
    assert_string_equal(csds_take(&self->asker), "far@node/edge{" X "}");
}

static void
large_answers_come_in_pieces(void **state)
{
    fixture *self = *state;
    const int n = 8000;
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", (unsigned)n, NULL, "edge>node");
    for (int i = 1; i <= n; i++) {
        char id[100];
        snprintf(id, sizeof(id), "far-away-and-with-a-name-that-is-not-so-short-%d", i);
        tell_client(self, "edge", id, i, "edge>node");
    }
    (void)csds_ask(&self->asker, false);
    assert_int_equal(self->asker.n_configs, n);
    assert_true(self->asker.n_responses > 1);
    assert_true(self->asker.largest <= UDPAI_CSDS_RESPONSE_BYTES + 8192);
}

static void
what_is_left_out_and_from_before_is_known(void **state)
{
    fixture *self = *state;
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 1, NULL, "edge>node");
    /* config {node {id: "x"}}, n_resources: 9, n_left_out: 7 */
    change(self, "udpa.clients/edge/x/1/edge",
           UDPAI_STR("\x42\x05\x0a\x03\x0a\x01x\x48\x09\x60\x07"), "edge>node", false);
    /* config {node {id: "y"}}, epoch: 5 */
    change(self, "udpa.clients/edge/y/1/edge", UDPAI_STR("\x42\x05\x0a\x03\x0a\x01y\x68\x05"),
           "edge>node", false);
    assert_string_equal(csds_ask(&self->asker, false),
                        "x@cut: 7 of 9 resources of this client are left out: ask the node that "
                        "serves it{} x@node/edge{}");
}

static void
what_is_malformed_is_not_told_of(void **state)
{
    fixture *self = *state;
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 1, NULL, "edge>node");
    change(self, "udpa.clients/edge/x/1/edge", UDPAI_STR("\x42\x7f"), "edge>node", false);
    change(self, "udpa.clients/edge/x/2/edge", (udpai_str){0}, "edge>node", false);
    /* config {generic_xds_configs {xds_config {}}} */
    change(self, "udpa.clients/edge/x/3/edge", UDPAI_STR("\x42\x04\x1a\x02\x22\x00"), "edge>node",
           false);
    /* config {node {id: "\xff"}} */
    change(self, "udpa.clients/edge/x/4/edge", UDPAI_STR("\x42\x05\x0a\x03\x0a\x01\xff"),
           "edge>node", false);
    assert_string_equal(csds_ask(&self->asker, false), "");
}

/* ---- other processes ---- */

static void
clients_of_other_processes_are_told_of(void **state)
{
    fixture *self = *state;
    csds_asker asker = {.csds = {.has_workers = true, .wait_ms = WAIT_MS}};
    udpai_hub_options options = fake_hub_options();
    csds_close(&self->asker);
    xds_world_done(&self->world);
    options.first_session = 2;
    options.session_step = 64;
    xds_world_init_with(&self->world, &options);
    xds_settle(&self->world);
    csds_open(&asker, &self->world, false);
    open_own(self);
    tell_node(self, "node", 3, "edge", "node");
    tell_client(self, "node", "client", 66, "node");
    tell_client(self, "node", "client", 67, "node");
    tell_client(self, "node", "other", 129, "node");
    tell_client(self, "edge", "far", 1, "edge>node");
    assert_string_equal(csds_ask(&asker, false), "client@node{Cluster a SYNCED/ACKED =1} "
                                                 "client@node{" X "} "
                                                 "other@node{" X "}");
    assert_string_equal(take_interest(self, true), "udpa.clients/node");
    csds_close(&asker);
}

/* ---- rules ---- */

static void
who_may_not_see_them_is_not_told(void **state)
{
    fixture *self = *state;
    const udpai_str everybody[] = {{"*", 1}}, of_node[] = {{"udpa.node", 9}},
                    of_edge[] = {{"udpa.clients/edge", 17}};
    const udpai_acl_rule rules[] = {
        {{"admins", 6}, everybody, 1, UDPAI_ACL_ADMIN, NULL, 0, of_node, 1, NULL, 0},
        {{"edge", 4}, everybody, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_edge, 1, NULL, 0},
    };
    const udpai_acl_options options = {.rules = rules, .n_rules = 2, .trusts_node_ids = true};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_ok(udpai_acl_new(&order->acl, &options));
    udpai_hub_order(self->world.hub.hub, order);
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 2, NULL, "edge>node");
    tell_client(self, "edge", "far", 1, "edge>node");
    tell_client(self, "secret", "far", 1, "secret>node");
    const char *told = csds_ask(&self->asker, false);
    assert_non_null(strstr(told, "far@node/edge{"));
    assert_non_null(strstr(told, "edge@partial: "));
    assert_null(strstr(told, "secret"));
}

/* ---- memory ---- */

static udpa_err
ask_once(void *context)
{
    fixture *self = context;
    return csds_fetch_sinking(&self->asker, 'f');
}

static void
without_memory_there_is_no_answer(void **state)
{
    fixture *self = *state;
    tell_node(self, "node", 0, "edge", "node");
    tell_node(self, "edge", 1, NULL, "edge>node");
    tell_client(self, "edge", "far", 1, "edge>node");
    tell_client(self, "gone", "far", 1, "gone>node");
    oom_torture(ask_once, self);
}

int
main(void)
{
    csds_know("CDS/a=1#");
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(clients_of_all_nodes_are_told_of),
        CASE(they_are_asked_while_somebody_wants_to_know),
        CASE(an_answer_waits_for_those_that_are_connected),
        CASE(but_not_for_ever),
        CASE(who_leaves_while_it_waits_leaves_nothing),
        CASE(matchers_choose_among_all),
        CASE(large_answers_come_in_pieces),
        CASE(what_is_left_out_and_from_before_is_known),
        CASE(what_is_malformed_is_not_told_of),
        CASE(clients_of_other_processes_are_told_of),
        CASE(who_may_not_see_them_is_not_told),
        CASE(without_memory_there_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
