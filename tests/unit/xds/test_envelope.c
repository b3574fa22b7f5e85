/* SPDX-License-Identifier: Apache-2.0 */
/* What a response says beside its resources: whether it is a canary, and the version of a state. */
#include <stdio.h>

#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "xds_test.h"

typedef Envoy__Service__Discovery__V3__DiscoveryResponse sotw_response;
typedef Envoy__Service__Discovery__V3__DeltaDiscoveryResponse delta_response;

#define VERSION_ROOM (UDPAI_CONTENT_HASH_HEX + 1)

static udpa_bytes *
take(xds_client *client)
{
    fake_stream_run(&client->stream, &client->world->hub);
    udpa_bytes *message = fake_stream_take(&client->stream);
    assert_non_null(message);
    return message;
}

static bool
next_is_canary(xds_client *client)
{
    udpa_bytes *message = take(client);
    sotw_response *response = envoy__service__discovery__v3__discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    assert_int_equal(response->n_resources, 1);
    bool is_canary = response->canary;
    envoy__service__discovery__v3__discovery_response__free_unpacked(response, NULL);
    udpa_bytes_unref(message);
    return is_canary;
}

/* "" if there is none. */
static const char *
next_system_version(xds_client *client, char room[VERSION_ROOM])
{
    udpa_bytes *message = take(client);
    delta_response *response = envoy__service__discovery__v3__delta_discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    assert_int_equal(response->base.n_unknown_fields, 0);
    snprintf(room, VERSION_ROOM, "%s", response->system_version_info);
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
    udpa_bytes_unref(message);
    return room;
}

static void
responses_of_a_canary_audience_are_marked(void **state)
{
    xds_one *self = *state;
    for (int is_canary = 0; is_canary < 2; is_canary++) {
        self->world.audience.is_canary = is_canary;
        xds_client_open(&self->client, &self->world, false);
        xds_change(&self->world, "+CDS/a=1# +EDS/a=1");
        xds_ask_for(&self->client, "CDS", "");
        assert_int_equal(next_is_canary(&self->client), is_canary);
        xds_ask_for(&self->client, "EDS", "a");
        assert_int_equal(next_is_canary(&self->client), is_canary);
        xds_client_close(&self->client);
    }
}

/* Delta has no field for it. */
static void
a_canary_audience_of_delta_is_served_as_ever(void **state)
{
    xds_one *self = *state;
    char version[VERSION_ROOM];
    self->world.audience.is_canary = true;
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+CDS/a=1#");
    xds_subscribe(&self->client, "CDS", "");
    assert_string_not_equal(next_system_version(&self->client, version), "");
}

/* In whatever order it came to be, and in either protocol. */
static void
one_state_has_one_version(void **state)
{
    xds_pair *pair = *state;
    xds_world *world = &pair->world;
    char delta[VERSION_ROOM], again[VERSION_ROOM];
    xds_change(world, "+CDS/a=1# +CDS/b=1#");
    xds_subscribe(&pair->delta, "CDS", "");
    next_system_version(&pair->delta, delta);
    xds_ask_for(&pair->sotw, "CDS", "");
    xds_expect(&pair->sotw, "CDS[a b]");
    assert_string_equal(delta, xds_version(&pair->sotw, "CDS"));
    xds_ack(&pair->sotw, "CDS");
    xds_change(world, "+CDS/a=2#");
    assert_string_not_equal(next_system_version(&pair->delta, again), delta);
    xds_expect(&pair->sotw, "CDS[a b]");
    assert_string_equal(again, xds_version(&pair->sotw, "CDS"));
    xds_change(world, "-CDS/a");
    next_system_version(&pair->delta, again);
    xds_change(world, "+CDS/a=1#");
    assert_string_equal(next_system_version(&pair->delta, again), delta); /* it is as it was */
    xds_expect(&pair->sotw, "CDS[b] CDS[a b]");
    assert_string_equal(delta, xds_version(&pair->sotw, "CDS"));
}

/* Each resource has its own. */
static void
what_was_asked_for_by_name_has_no_version_as_a_whole(void **state)
{
    xds_one *self = *state;
    char version[VERSION_ROOM];
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    assert_string_equal(next_system_version(&self->client, version), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(responses_of_a_canary_audience_are_marked, xds_one_setup,
                                        xds_one_teardown),
        cmocka_unit_test_setup_teardown(a_canary_audience_of_delta_is_served_as_ever, xds_one_setup,
                                        xds_one_teardown),
        cmocka_unit_test_setup_teardown(one_state_has_one_version, xds_pair_setup,
                                        xds_pair_teardown),
        cmocka_unit_test_setup_teardown(what_was_asked_for_by_name_has_no_version_as_a_whole,
                                        xds_one_setup, xds_one_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
