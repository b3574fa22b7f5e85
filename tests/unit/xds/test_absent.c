/* SPDX-License-Identifier: Apache-2.0 */
/* An Envoy that starts is not told at once that routes do not exist: it would take that for an
 * update, and never serve anything. */
#include <stdio.h>

#include "model/types.h"
#include "xds_test.h"

#define DELAY_MS 20000

static int
setup_agent(void **state, bool is_delta, const char *user_agent)
{
    xds_one_setup(state);
    xds_one *self = *state;
    self->world.xds_server.absent_route_delay_ms = DELAY_MS;
    self->client.user_agent = user_agent;
    xds_client_open(&self->client, &self->world, is_delta);
    self->client.user_agent = user_agent;
    return 0;
}

static int
setup(void **state)
{
    return setup_agent(state, true, "envoy");
}

static int
setup_other(void **state)
{
    return setup_agent(state, true, "grpc");
}

static int
setup_nobody(void **state)
{
    return setup_agent(state, true, NULL);
}

static void
an_envoy_is_told_late_that_routes_do_not_exist(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+RDS/a=1");
    xds_subscribe(&self->client, "RDS", "a gone");
    xds_expect(&self->client, "RDS[a]");
    fake_hub_advance(&self->world.hub, DELAY_MS - 1);
    xds_expect(&self->client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(&self->client, "RDS[-gone]");
    xds_subscribe(&self->client, "RDS", "gone"); /* it was told once */
    xds_expect(&self->client, "RDS[-gone]");
}

static void
each_name_has_its_own_delay(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, "RDS", "a");
    fake_hub_advance(&self->world.hub, 5000);
    xds_subscribe(&self->client, "RDS", "b");
    xds_expect(&self->client, "");
    fake_hub_advance(&self->world.hub, DELAY_MS - 5000);
    xds_expect(&self->client, "RDS[-a]");
    fake_hub_advance(&self->world.hub, 4999);
    xds_expect(&self->client, "");
    fake_hub_advance(&self->world.hub, 1);
    xds_expect(&self->client, "RDS[-b]");
}

static void
routes_that_appear_meanwhile_are_sent_at_once(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, "RDS", "a");
    fake_hub_advance(&self->world.hub, 5000);
    xds_change(&self->world, "+RDS/a=1");
    xds_expect(&self->client, "RDS[a]");
    fake_hub_advance(&self->world.hub, DELAY_MS);
    xds_expect(&self->client, "");
}

static void
routes_that_it_has_had_are_removed_at_once(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+RDS/a=1");
    xds_subscribe(&self->client, "RDS", "a");
    xds_expect(&self->client, "RDS[a]");
    xds_change(&self->world, "-RDS/a");
    xds_expect(&self->client, "RDS[-a]");
    xds_subscribe(&self->client, "RDS", "a");
    xds_expect(&self->client, "RDS[-a]");
}

static void
routes_that_it_says_it_holds_are_removed_at_once(void **state)
{
    xds_one *self = *state;
    XDS_SEND(&self->client, "RDS", .names = "a b", .held = "a=old");
    xds_expect(&self->client, "RDS[-a]");
    fake_hub_advance(&self->world.hub, DELAY_MS);
    xds_expect(&self->client, "RDS[-b]");
}

static void
routes_by_xdstp_names_are_delayed_too(void **state)
{
    xds_one *self = *state;
    const char *name = "xdstp://local/envoy.config.route.v3.RouteConfiguration/gone";
    xds_subscribe(&self->client, "RDS", name);
    xds_expect(&self->client, "");
    fake_hub_advance(&self->world.hub, DELAY_MS);
    xds_expect(&self->client, "RDS[-xdstp://local/envoy.config.route.v3.RouteConfiguration/gone]");
}

static void
extensions_are_delayed_too(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, UDPAI_TYPE_EXTENSION, "gone");
    xds_expect(&self->client, "");
    fake_hub_advance(&self->world.hub, DELAY_MS);
    xds_expect(&self->client, UDPAI_TYPE_EXTENSION "[-gone]");
}

static void
other_types_are_told_at_once(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, "EDS", "gone");
    xds_subscribe(&self->client, "SDS", "gone");
    xds_expect(&self->client, "SDS[-gone] EDS[-gone]");
}

static void
other_clients_are_told_at_once(void **state)
{
    xds_one *self = *state;
    xds_subscribe(&self->client, "RDS", "gone");
    xds_expect(&self->client, "RDS[-gone]");
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, xds_one_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_envoy_is_told_late_that_routes_do_not_exist),
        TEST(each_name_has_its_own_delay),
        TEST(routes_that_appear_meanwhile_are_sent_at_once),
        TEST(routes_that_it_has_had_are_removed_at_once),
        TEST(routes_that_it_says_it_holds_are_removed_at_once),
        TEST(routes_by_xdstp_names_are_delayed_too),
        TEST(extensions_are_delayed_too),
        TEST(other_types_are_told_at_once),
        cmocka_unit_test_setup_teardown(other_clients_are_told_at_once, setup_other,
                                        xds_one_teardown),
        cmocka_unit_test_setup_teardown(other_clients_are_told_at_once, setup_nobody,
                                        xds_one_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
