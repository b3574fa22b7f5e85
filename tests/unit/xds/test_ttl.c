/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that expire, as each kind of client can be told of them. */
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "xds_test.h"

static void
open_client(xds_one *self, bool is_delta, const char *feature, const char *other)
{
    xds_client_open(&self->client, &self->world, is_delta);
    self->client.features[0] = feature;
    self->client.features[1] = other;
}

static void
delta_renews_a_ttl_without_the_payload(void **state)
{
    xds_one *self = *state;
    open_client(self, true, NULL, NULL);
    xds_change(&self->world, "+CDS/a=1%60000 +CDS/b=1 +EDS/a=1%60000");
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a% b] EDS[a%]");
    xds_change(&self->world, "~CDS/a=1%60000 ~EDS/a=1%60000");
    xds_expect(&self->client, "CDS[~a%] EDS[~a%]");
    xds_change(&self->world, "+CDS/a=2%60000");
    xds_expect(&self->client, "CDS[a%] EDS[a%]");
}

static void
a_ttl_that_is_taken_away_takes_the_payload(void **state)
{
    xds_one *self = *state;
    open_client(self, true, NULL, NULL);
    xds_change(&self->world, "+RDS/r=1%60000");
    xds_subscribe(&self->client, "RDS", "r");
    xds_expect(&self->client, "RDS[r%]");
    xds_change(&self->world, "~RDS/r=1"); /* without it the client would let it expire */
    xds_expect(&self->client, "RDS[r]");
    xds_change(&self->world, "~RDS/r=1%60000");
    xds_expect(&self->client, "RDS[~r%]");
}

/* What is left of a ttl, in seconds, in the next response. */
static int64_t
ttl_left(xds_one *self)
{
    fake_stream_run(&self->client.stream, &self->world.hub);
    udpa_bytes *message = fake_stream_take(&self->client.stream);
    assert_non_null(message);
    Envoy__Service__Discovery__V3__DeltaDiscoveryResponse *response =
        envoy__service__discovery__v3__delta_discovery_response__unpack(
            NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    udpa_bytes_unref(message);
    assert_non_null(response);
    assert_int_equal(response->n_resources, 1);
    assert_non_null(response->resources[0]->ttl);
    int64_t seconds = response->resources[0]->ttl->seconds;
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
    return seconds;
}

static void
who_comes_late_gets_what_is_left(void **state)
{
    xds_one *self = *state;
    open_client(self, true, NULL, NULL);
    xds_change(&self->world, "+CDS/a=1%60000");
    xds_subscribe(&self->client, "CDS", "");
    assert_int_equal(ttl_left(self), 60);
    fake_hub_advance(&self->world.hub, 25000);
    xds_subscribe(&self->client, "CDS", "*");
    assert_int_equal(ttl_left(self), 35);
    xds_change(&self->world, "~CDS/a=1%60000");
    assert_int_equal(ttl_left(self), 60);
}

static void
sotw_without_the_feature_is_told_nothing_of_ttls(void **state)
{
    xds_one *self = *state;
    open_client(self, false, "xds.config.supports-resource-ttl", NULL);
    xds_change(&self->world, "+CDS/a=1%60000 +EDS/a=1%60000");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_expect(&self->client, "CDS[a] EDS[a]");
    xds_change(&self->world, "~CDS/a=1%60000 ~EDS/a=1%60000");
    xds_expect(&self->client, "");
}

/* As gRPC's clients say it: they take what is wrapped, and know no heartbeats. */
static void
sotw_with_wrapped_resources_gets_the_payload_again(void **state)
{
    xds_one *self = *state;
    open_client(self, false, "xds.config.resource-in-sotw", NULL);
    xds_change(&self->world, "+CDS/a=1%60000# +CDS/b=1# +EDS/a=1%60000 +EDS/b=1");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a b");
    xds_expect(&self->client, "CDS[a% b] EDS[a% b]");
    xds_change(&self->world, "~CDS/a=1%60000# ~EDS/a=1%60000");
    xds_expect(&self->client, "CDS[a% b] EDS[a%]");
}

/* Of whole types the state is whole: Envoy removes what a response does not have, be it only
 * heartbeats. */
static void
sotw_with_heartbeats_gets_these_where_a_missing_name_means_nothing(void **state)
{
    xds_one *self = *state;
    open_client(self, false, "xds.config.supports-resource-in-sotw",
                "xds.config.supports-resource-ttl");
    xds_change(&self->world, "+CDS/a=1%60000# +CDS/b=1# +EDS/a=1%60000 +LDS/l=1%60000");
    xds_ask_for(&self->client, "CDS", "");
    xds_ask_for(&self->client, "EDS", "a");
    xds_ask_for(&self->client, "LDS", "l");
    xds_expect(&self->client, "CDS[a% b] EDS[a%] LDS[l%]");
    const char *version = xds_version(&self->client, "CDS");
    char before[64];
    memcpy(before, version, sizeof(before));
    xds_change(&self->world, "~CDS/a=1%60000# ~EDS/a=1%60000 ~LDS/l=1%60000");
    xds_expect(&self->client, "CDS[a% b] EDS[~a%] LDS[l%]");
    assert_string_equal(xds_version(&self->client, "CDS"), before);
    xds_change(&self->world, "~CDS/a=1%60000# +CDS/b=2#");
    xds_expect(&self->client, "CDS[a% b]"); /* with news, the state is whole */
}

/* In each spelling of the feature, and with heartbeats or not: what is sent has no ttl any more, or
 * the client would let it expire. */
static void
sotw_is_told_when_a_ttl_is_taken_away(void **state)
{
    xds_one *self = *state;
    static const char *const features[][2] = {
        {"xds.config.resource-in-sotw", NULL},
        {"xds.config.supports-resource-in-sotw", NULL},
        {"xds.config.resource-in-sotw", "xds.config.supports-resource-ttl"},
        {"xds.config.supports-resource-in-sotw", "xds.config.supports-resource-ttl"},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(features); i++) {
        open_client(self, false, features[i][0], features[i][1]);
        xds_change(&self->world, "+CDS/a=1%60000# +EDS/a=1%60000");
        xds_ask_for(&self->client, "CDS", "");
        xds_ask_for(&self->client, "EDS", "a");
        xds_expect(&self->client, "CDS[a%] EDS[a%]");
        xds_change(&self->world, "~CDS/a=1# ~EDS/a=1");
        xds_expect(&self->client, "CDS[a] EDS[a]");
        xds_change(&self->world, "-CDS/a -EDS/a");
        xds_client_close(&self->client);
    }
}

static void
a_heartbeat_before_the_first_answer_is_part_of_it(void **state)
{
    xds_one *self = *state;
    open_client(self, false, "xds.config.resource-in-sotw", "xds.config.supports-resource-ttl");
    xds_change(&self->world, "+LDS/l=1%60000 +RDS/r=1%60000");
    xds_ask_for(&self->client, "LDS", "");
    xds_ask_for(&self->client, "RDS", "r");
    xds_change(&self->world, "~LDS/l=1%60000 ~RDS/r=1%60000");
    xds_expect(&self->client, "LDS[l%] RDS[r%]");
}

/* By name, too, when another authority has taken over with the same content before. */
static void
a_state_of_names_is_whole_as_well(void **state)
{
    xds_one *self = *state;
    open_client(self, false, "xds.config.resource-in-sotw", "xds.config.supports-resource-ttl");
    xds_change(&self->world, "+LDS/l=1%60000&one +LDS/m=1");
    xds_change(&self->world, "+LDS/l=1%60000&two");
    xds_ask_for(&self->client, "LDS", "l m");
    xds_expect(&self->client, "LDS[l% m]");
    xds_change(&self->world, "~LDS/l=1%60000&two");
    xds_expect(&self->client, "LDS[l% m]");
}

static void
nobody_renews_what_a_client_never_asked_for(void **state)
{
    xds_one *self = *state;
    open_client(self, true, NULL, NULL);
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1%60000");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    xds_change(&self->world, "~EDS/b=1%60000");
    xds_expect(&self->client, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, xds_one_setup, xds_one_teardown)
        TEST(delta_renews_a_ttl_without_the_payload),
        TEST(a_ttl_that_is_taken_away_takes_the_payload),
        TEST(who_comes_late_gets_what_is_left),
        TEST(sotw_without_the_feature_is_told_nothing_of_ttls),
        TEST(sotw_is_told_when_a_ttl_is_taken_away),
        TEST(sotw_with_wrapped_resources_gets_the_payload_again),
        TEST(sotw_with_heartbeats_gets_these_where_a_missing_name_means_nothing),
        TEST(a_heartbeat_before_the_first_answer_is_part_of_it),
        TEST(a_state_of_names_is_whole_as_well),
        TEST(nobody_renews_what_a_client_never_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
