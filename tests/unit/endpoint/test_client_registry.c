/* SPDX-License-Identifier: Apache-2.0 */
/* What stream sides tell of clients becomes resources of the node, as long as somebody wants them.
 */
#include "endpoint/client_registry.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define LINGER_MS 1000
#define TTL_MS 10000
#define WORKERS 2

typedef struct world {
    udpai_wheel wheel;
    uint64_t now_ms;
    udpai_node *node;
    udpai_service *registry;
    size_t n_sides;
    uint64_t ticket; /* of the last order; 0: nobody is to tell */
    size_t n_orders;
    /* What the stream side was told: "+NAME -NAME", without udpa.clients/. */
    udpai_strbuf told;
    udpai_strbuf below; /* of the last resource of the node */
} world;

static int64_t
wall_us(void *userdata)
{
    return (int64_t)((const world *)userdata)->now_ms * 1000 + 1000000;
}

static void
show_below(world *self, const udpa_resource *resource)
{
    udpai_str value = udpai_resource_value(resource);
    Udpa__Status__V1__ClientStatus *status =
        udpa__status__v1__client_status__unpack(NULL, value.len, (const uint8_t *)value.data);
    assert_non_null(status);
    if (status->of_node) {
        assert_int_equal(status->epoch, self->ticket);
        self->below.len = 0;
        udpai_strbuf_printf(&self->below, "%d+%d", (int)status->of_node->n_clients,
                            (int)status->of_node->n_left_out);
        for (size_t i = 0; i < status->of_node->n_nodes_below; i++)
            udpai_strbuf_printf(&self->below, " %s", status->of_node->nodes_below[i]);
    }
    udpa__status__v1__client_status__free_unpacked(status, NULL);
}

static void
note_changes(world *self, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        const char *name = udpa_resource_name(change->resource);
        assert_int_equal(strncmp(name, "udpa.clients/", 13), 0);
        assert_int_equal(udpa_resource_ttl_ms(change->resource), TTL_MS);
        udpai_strbuf_printf(&self->told, "%s%c%s", self->told.len ? " " : "", "+~-"[change->kind],
                            name + 13);
        if (change->kind != UDPAI_CHANGE_REMOVE)
            show_below(self, change->resource);
    }
}

static void
on_order(void *userdata, udpai_order *order)
{
    world *self = userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        note_changes(self, order->changes);
    if (order->kind == UDPAI_ORDER_CENSUS) {
        self->n_orders++;
        self->ticket = order->ticket;
    }
    udpai_order_free(order);
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_service_demand(((world *)userdata)->registry, type_url, text, wanted);
}

static void
begin(world *self, size_t n_sides)
{
    const udpai_node_config config = node_bed_config("node", LINGER_MS);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .demand_changed = on_wanted,
                                .userdata = self};
    *self = (world){.n_sides = n_sides};
    udpai_wheel_init(&self->wheel, 0);
    assert_ok(udpai_node_new(&self->node, &self->wheel, &config, &env, NULL));
    const udpai_client_registry_options options = {
        .node = self->node,
        .wheel = &self->wheel,
        .node_id = UDPAI_STR("node"),
        .ttl_ms = TTL_MS,
        .n_stream_sides = n_sides,
        .order = on_order,
        .wall_us = wall_us,
        .userdata = self,
    };
    assert_ok(udpai_client_registry_new(&self->registry, &options));
    udpai_node_start(self->node);
    udpai_node_flush(self->node);
}

static void
end(world *self)
{
    udpai_service_free(self->registry);
    udpai_node_free(self->node);
    udpai_strbuf_done(&self->told);
    udpai_strbuf_done(&self->below);
}

/* As the loop does. */
static void
turn(world *self)
{
    self->registry->ops->run(self->registry);
    udpai_node_flush(self->node);
}

static void
report(world *self, uint64_t session, udpai_report *report)
{
    report->session = session;
    udpai_service_report(self->registry, report);
    udpai_node_report(self->node, report);
    turn(self);
}

static void
want(world *self, const char *prefix, bool wanted)
{
    report(self, 0, node_bed_interest(UDPAI_TYPE_CLIENT_STATUS, prefix, "", wanted));
}

/* "1=shop +": of this client, and that this is all; "-1": it has gone; "1=shop'" says something
 * else. */
static void
registry(world *self, uint64_t side, const char *text)
{
    udpai_report *one = node_bed_report(UDPAI_REPORT_CENSUS);
    char copy[200], *rest = copy;
    one->ticket = self->ticket;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        Udpa__Status__V1__ClientStatus status = UDPA__STATUS__V1__CLIENT_STATUS__INIT;
        Envoy__Service__Status__V3__ClientConfig config =
            ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__INIT;
        uint8_t room[300];
        udpa_bytes *bytes = NULL;
        if (*word == '+') {
            one->subscribed = true;
            continue;
        }
        status.number = strtoull(*word == '-' ? word + 1 : word, NULL, 10);
        if (*word != '-') {
            status.config = &config;
            status.client_id = strchr(word, '=') + 1;
            config.client_scope = status.client_id;
            status.client_id[strcspn(status.client_id, "'")] = '\0';
            status.n_resources = strchr(text, '\'') != NULL;
        }
        assert_ok(
            udpa_bytes_new(&bytes, room, udpa__status__v1__client_status__pack(&status, room)));
        assert_true(udpai_vector_push(&one->statuses, bytes));
    }
    report(self, side, one);
}

static void
pass(world *self, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i++) {
        udpai_wheel_advance(&self->wheel, ++self->now_ms);
        turn(self);
    }
}

static void
expect(world *self, const char *told)
{
    assert_string_equal(self->told.len ? self->told.data : "", told);
    udpai_strbuf_done(&self->told);
}

static void
nothing_is_told_that_nobody_wants(void **state)
{
    (void)state;
    world self;
    begin(&self, 1);
    want(&self, "com.acme", true);
    want(&self, "udpa.clients/other", true);
    assert_int_equal(self.n_orders, 0);
    registry(&self, 0, "1=shop +");
    expect(&self, "");
    want(&self, "udpa.clients", true);
    assert_int_equal(self.ticket, 1000000); /* the time, in microseconds */
    registry(&self, 0, "1=shop +");
    expect(&self, "+node/shop/1/node +node/node");
    assert_string_equal(self.below.data, "1+0");
    want(&self, "udpa.clients/node", true);
    want(&self, "udpa.clients", false);
    pass(&self, LINGER_MS + 1);
    assert_int_equal(self.n_orders, 1);
    expect(&self, "");
    want(&self, "udpa.clients/node", false);
    pass(&self, LINGER_MS + 1);
    assert_int_equal(self.ticket, 0);
    assert_int_equal(self.n_orders, 2);
    expect(&self, "-node/shop/1/node -node/node");
    registry(&self, 0, "3=shop +");
    expect(&self, "");
    end(&self);
}

static void
what_changes_is_told(void **state)
{
    (void)state;
    world self;
    begin(&self, 1);
    want(&self, "", true);
    registry(&self, 0, "1=shop");
    expect(&self, "+node/shop/1/node"); /* that this is all is not known yet */
    registry(&self, 0, "+");
    expect(&self, "+node/node");
    registry(&self, 0, "1=shop'");
    expect(&self, "+node/shop/1/node");
    registry(&self, 0, "1=other'"); /* it says that it is another one */
    expect(&self, "+node/other/1/node -node/shop/1/node");
    registry(&self, 0, "-1 -7");
    expect(&self, "-node/other/1/node");
    pass(&self, 1000);
    expect(&self, "+node/node");
    assert_string_equal(self.below.data, "0+0");
    end(&self);
}

static void
it_is_said_again_before_its_ttl_is_over(void **state)
{
    (void)state;
    world self;
    begin(&self, 1);
    want(&self, "", true);
    registry(&self, 0, "1=shop +");
    expect(&self, "+node/shop/1/node +node/node");
    pass(&self, TTL_MS * 3);
    assert_null(self.told.len ? strchr(self.told.data, '-') : NULL);
    assert_non_null(strstr(self.told.data, "~node/shop/1/node"));
    assert_non_null(strstr(self.told.data, "~node/node"));
    end(&self);
}

static void
all_stream_sides_are_waited_for(void **state)
{
    (void)state;
    world self;
    begin(&self, 1 + WORKERS);
    want(&self, "", true);
    registry(&self, 0, "+");
    registry(&self, 2, "66=b +");
    expect(&self, "+node/b/66/node");
    registry(&self, 1, "65=a +");
    expect(&self, "+node/a/65/node +node/node");
    assert_string_equal(self.below.data, "2+0");
    registry(&self, 1, "66=b' -66 0=x"); /* of another one's clients */
    expect(&self, "");
    end(&self);
}

static void
arrive(world *self, uint64_t session, const char *id, bool is_node)
{
    report(self, session, node_bed_report(UDPAI_REPORT_OPENED));
    report(self, session, node_bed_introduction(id, is_node));
}

static void
it_is_told_which_nodes_are_below(void **state)
{
    (void)state;
    world self;
    begin(&self, 1);
    arrive(&self, 11, "edge", true);
    arrive(&self, 12, "shop", false);
    want(&self, "", true);
    registry(&self, 0, "+");
    assert_string_equal(self.below.data, "0+0 edge");
    arrive(&self, 13, "other", true);
    pass(&self, 1000);
    assert_non_null(strstr(self.below.data, "edge"));
    assert_non_null(strstr(self.below.data, "other"));
    report(&self, 11, node_bed_report(UDPAI_REPORT_CLOSED));
    pass(&self, 1000);
    assert_string_equal(self.below.data, "0+0 other");
    end(&self);
}

/* It is wanted and told that nobody is there, long enough ago that it looks at once. */
static void
begin_without_clients(world *self)
{
    begin(self, 1);
    want(self, "", true);
    registry(self, 0, "+");
    pass(self, 100);
}

static void
a_node_that_comes_or_goes_is_reported_in_that_turn(void **state)
{
    (void)state;
    world self;
    begin_without_clients(&self);
    arrive(&self, 11, "edge", true);
    assert_string_equal(self.below.data, "0+0 edge");
    pass(&self, 100);
    report(&self, 11, node_bed_report(UDPAI_REPORT_CLOSED));
    assert_string_equal(self.below.data, "0+0");
    end(&self);
}

/* Of many that come it looks 20 times a second, and also while they come. */
static void
nodes_that_come_are_looked_at_together(void **state)
{
    (void)state;
    world self;
    begin_without_clients(&self);
    arrive(&self, 11, "a", true);
    arrive(&self, 12, "b", true);
    pass(&self, 49);
    assert_string_equal(self.below.data, "0+0 a");
    udpai_wheel_advance(&self.wheel, ++self.now_ms); /* nothing else happens */
    udpai_node_flush(self.node);
    assert_int_equal(strlen(self.below.data), strlen("0+0 a b"));
    for (uint64_t i = 0; i < 50; i++) {
        pass(&self, 1);
        arrive(&self, 20 + i, "c", true);
    }
    assert_int_equal(strlen(self.below.data), strlen("0+0 a b c"));
    end(&self);
}

static void
what_cannot_be_told_is_counted(void **state)
{
    (void)state;
    world self;
    begin(&self, 1);
    want(&self, "", true);
    for (int i = 1; i <= 1100; i++) { /* more than the store takes */
        char word[32];
        snprintf(word, sizeof(word), "%d=shop", i);
        registry(&self, 0, word);
    }
    registry(&self, 0, "+");
    unsigned n = 0, n_left_out = 0;
    udpai_strbuf_done(&self.told);
    if (self.below.len)
        assert_int_equal(sscanf(self.below.data, "%u+%u", &n, &n_left_out), 2);
    for (int i = 1; i <= 200; i++) {
        char word[32];
        snprintf(word, sizeof(word), "-%d", i);
        registry(&self, 0, word);
    }
    pass(&self, 1000);
    assert_int_equal(sscanf(self.below.data, "%u+%u", &n, &n_left_out), 2);
    assert_int_equal(n + n_left_out, 900);
    assert_true(n_left_out > 0);
    end(&self);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_told_that_nobody_wants),
        cmocka_unit_test(what_changes_is_told),
        cmocka_unit_test(it_is_said_again_before_its_ttl_is_over),
        cmocka_unit_test(all_stream_sides_are_waited_for),
        cmocka_unit_test(it_is_told_which_nodes_are_below),
        cmocka_unit_test(a_node_that_comes_or_goes_is_reported_in_that_turn),
        cmocka_unit_test(nodes_that_come_are_looked_at_together),
        cmocka_unit_test(what_cannot_be_told_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
