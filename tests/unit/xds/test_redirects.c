/* SPDX-License-Identifier: Apache-2.0 */
/* Redirects: a locator in the place of a resource, for those who can read it there. */
#include "xds_test.h"

#define A "xdstp://com.acme/envoy.config.cluster.v3.Cluster/a"

static void
test_delta_has_the_locator_in_the_place_of_the_resource(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a>b +CDS/b#");
    xds_subscribe(&one->client, "CDS", "*");
    xds_expect(&one->client, "CDS[a> b]");
    xds_change(&one->world, "+CDS/a=1#");
    xds_expect(&one->client, "CDS[a]");
    xds_change(&one->world, "+CDS/a>c");
    xds_expect(&one->client, "CDS[a>]");
    xds_change(&one->world, "-CDS/a>c");
    xds_ack_all(&one->client);
    xds_expect(&one->client, "CDS[-a]");
}

static void
test_a_member_of_a_collection_may_be_redirected(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/com.acme/x/a>b +CDS/com.acme/a>b");
    xds_subscribe(&one->client, "CDS", "xdstp://com.acme/envoy.config.cluster.v3.Cluster/x/* " A);
    xds_expect(&one->client,
               "CDS[xdstp://com.acme/envoy.config.cluster.v3.Cluster/x/a>] CDS[" A ">]");
}

/* What it leads to is not known here: no endpoints are sent again behind it. */
static void
test_nothing_follows_a_redirect(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a>b +EDS/a=1");
    xds_subscribe(&one->client, "CDS", "*");
    xds_subscribe(&one->client, "EDS", "a");
    xds_expect(&one->client, "CDS[a>] EDS[a]");
    xds_change(&one->world, "+CDS/a>c");
    xds_expect(&one->client, "CDS[a>]");
}

static void
test_who_cannot_read_it_is_not_sent_it(void **state)
{
    xds_one *one = *state;
    xds_change(&one->world, "+CDS/a>b +CDS/b#");
    xds_ask_for(&one->client, "CDS", "");
    xds_expect(&one->client, "CDS[b]");
}

static void
test_in_the_state_of_the_world_it_is_wrapped(void **state)
{
    xds_one *one = *state;
    one->client.features[0] = "xds.config.resource-in-sotw";
    xds_change(&one->world, "+CDS/a>b +CDS/b# +CDS/com.acme/a>b");
    xds_ask_for(&one->client, "CDS", "* " A);
    xds_expect(&one->client, "CDS[a> b " A ">]");
    xds_ack(&one->client, "CDS");
    xds_change(&one->world, "-CDS/a>b");
    xds_expect(&one->client, "CDS[b " A ">]");
}

#define delta_test(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, xds_one_setup_delta, xds_one_teardown)
#define sotw_test(test) cmocka_unit_test_setup_teardown(test, xds_one_setup_sotw, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delta_test(test_delta_has_the_locator_in_the_place_of_the_resource),
        delta_test(test_a_member_of_a_collection_may_be_redirected),
        delta_test(test_nothing_follows_a_redirect),
        sotw_test(test_who_cannot_read_it_is_not_sent_it),
        sotw_test(test_in_the_state_of_the_world_it_is_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
