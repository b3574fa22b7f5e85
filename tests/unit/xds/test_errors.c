/* SPDX-License-Identifier: Apache-2.0 */
/* resource_errors, for those who can read them; the others are answered as ever. */
#include <stdio.h>

#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "xds_test.h"

#define ROUTES "xdstp://com.acme/envoy.config.route.v3.RouteConfiguration/"
#define CLUSTERS "xdstp://com.acme/envoy.config.cluster.v3.Cluster/"
#define OTHERS "xdstp://org.other/envoy.config.cluster.v3.Cluster/"
#define OTHER_ROUTES "xdstp://org.other/envoy.config.route.v3.RouteConfiguration/"

typedef Envoy__Service__Discovery__V3__ResourceError error_message;
typedef Envoy__Service__Discovery__V3__DiscoveryResponse sotw_response;
typedef Envoy__Service__Discovery__V3__DeltaDiscoveryResponse delta_response;

/* "name: code", and each has a reason. */
static void
show(char text[1024], error_message *const *errors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(text);
        assert_true(strlen(errors[i]->error_detail->message) > 10);
        snprintf(text + len, 1024 - len, "%s%s%s: %d", len ? " " : "",
                 errors[i]->resource_name->name,
                 errors[i]->resource_name->dynamic_parameter_constraints ? "<" : "",
                 errors[i]->error_detail->code);
    }
}

static void
read_sotw(const udpa_bytes *message, char text[1024])
{
    sotw_response *response = envoy__service__discovery__v3__discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    show(text, response->resource_errors, response->n_resource_errors);
    envoy__service__discovery__v3__discovery_response__free_unpacked(response, NULL);
}

static void
read_delta(const udpa_bytes *message, char text[1024])
{
    delta_response *response = envoy__service__discovery__v3__delta_discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    show(text, response->resource_errors, response->n_resource_errors);
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

static void
expect(xds_client *client, const char *responses, const char *errors)
{
    char text[1024] = "";
    fake_stream_run(&client->stream, &client->world->hub);
    for (size_t i = 0; i < client->stream.written.n; i++)
        (client->is_delta ? read_delta : read_sotw)(client->stream.written.items[i], text);
    assert_string_equal(text, errors);
    xds_expect(client, responses);
}

static void
open_reader(xds_one *self, bool is_delta)
{
    xds_client_open(&self->client, &self->world, is_delta);
    self->client.features[0] = UDPAI_XDS_FEATURE_ERRORS;
}

/* ---- delta ---- */

/* What is replaced is no error. */
static void
delta_tells_for_whom_it_is_missing(void **state)
{
    xds_one *self = *state;
    open_reader(self, true);
    xds_change(&self->world, "+EDS/a.prod^local/a!a<env~prod");
    xds_subscribe(&self->client, "EDS", "a<env~prod a<env~qa");
    expect(&self->client, "EDS[a<env~prod] EDS[]", "a<: 5");
    xds_change(&self->world, "-EDS/a.prod +EDS/a.any^local/a!a<env~prod,-zone");
    expect(&self->client, "EDS[a<env~prod,-zone -a<env~prod]", "");
    xds_change(&self->world, "-EDS/a.any");
    xds_ack_all(&self->client);
    xds_unsubscribe(&self->client, "EDS", "a<env~qa a<env~prod");
    self->client.trace[0] = '\0';
    xds_subscribe(&self->client, "EDS", "a<env~x");
    expect(&self->client, "EDS[]", "a: 5");
}

static void
delta_tells_what_is_missing(void **state)
{
    xds_one *self = *state;
    open_reader(self, true);
    xds_change(&self->world, "+CDS/a=1");
    xds_subscribe(&self->client, "CDS", "a none " CLUSTERS "none " CLUSTERS "m/*");
    expect(&self->client, "CDS[a] CDS[] CDS[] CDS[]",
           CLUSTERS "none: 5 none: 5 " CLUSTERS "m/*: 5");
    xds_change(&self->world, "+CDS/none=1 -CDS/a");
    expect(&self->client, "CDS[none] CDS[]", "a: 5");
}

static void
delta_tells_what_is_not_for_the_client(void **state)
{
    xds_one *self = *state;
    open_reader(self, true);
    xds_change(&self->world, "+CDS/org.other/a=1");
    xds_subscribe(&self->client, "CDS", OTHERS "a " CLUSTERS "100% ''");
    expect(&self->client, "CDS[]", OTHERS "a: 7 " CLUSTERS "100%: 5 : 5");
    xds_subscribe(&self->client, "CDS", OTHERS "a");
    expect(&self->client, "CDS[]", OTHERS "a: 7");
}

/* Of a wildcard and of a collection the protocol has a way of its own. */
static void
delta_tells_the_end_of_others_as_ever(void **state)
{
    xds_one *self = *state;
    open_reader(self, true);
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/m/a=1$");
    xds_subscribe(&self->client, "CDS", "*");
    xds_subscribe(&self->client, "CDS", CLUSTERS "m/*");
    expect(&self->client, "CDS[a] CDS[]", CLUSTERS "m/*: 5");
    xds_change(&self->world, "+CDS/com.acme/m/a=1");
    expect(&self->client, "CDS[com.acme/m/a] CDS[" CLUSTERS "m/a]", "");
    xds_change(&self->world, "-CDS/a -CDS/com.acme/m/a");
    expect(&self->client, "CDS[-" CLUSTERS "m/a] CDS[-a -com.acme/m/a]", "");
}

static void
nothing_is_told_before_it_is_certain(void **state)
{
    xds_one *self = *state;
    open_reader(self, true);
    xds_settle_except(&self->world, "com.acme");
    xds_subscribe(&self->client, "CDS", CLUSTERS "a");
    expect(&self->client, "", "");
    xds_settle(&self->world);
    expect(&self->client, "CDS[]", CLUSTERS "a: 5");
}

/* ---- state of the world ---- */

static void
sotw_tells_once_what_is_missing(void **state)
{
    xds_one *self = *state;
    open_reader(self, false);
    xds_change(&self->world, "+RDS/a=1");
    xds_ask_for(&self->client, "RDS", "a none " ROUTES "none");
    expect(&self->client, "RDS[a] RDS[]", "none: 5 " ROUTES "none: 5");
    xds_ack(&self->client, "RDS");
    expect(&self->client, "", "");
    xds_change(&self->world, "+RDS/none=1 -RDS/a");
    expect(&self->client, "RDS[none] RDS[]", "a: 5");
    xds_ack(&self->client, "RDS");
    xds_change(&self->world, "+RDS/a=1");
    expect(&self->client, "RDS[a]", "");
}

static void
sotw_tells_once_what_is_not_for_the_client(void **state)
{
    xds_one *self = *state;
    open_reader(self, false);
    xds_ask_for(&self->client, "RDS", OTHER_ROUTES "a " ROUTES "m/*");
    expect(&self->client, "RDS[]", OTHER_ROUTES "a: 7 " ROUTES "m/*: 5");
    xds_ack(&self->client, "RDS");
    expect(&self->client, "", "");
    xds_ask_for(&self->client, "RDS", ROUTES "m/* " OTHER_ROUTES "b");
    expect(&self->client, "RDS[]", OTHER_ROUTES "b: 7");
    xds_ask_for(&self->client, "RDS", OTHER_ROUTES "a");
    expect(&self->client, "RDS[]", OTHER_ROUTES "a: 7"); /* it was given up meanwhile */
}

/* What comes by wildcard and goes is not told: an error is of a name. */
static void
sotw_says_nothing_of_a_wildcard(void **state)
{
    xds_one *self = *state;
    open_reader(self, false);
    xds_change(&self->world, "+RDS/a=1 +RDS/b=1");
    xds_ask_for(&self->client, "RDS", "* a");
    expect(&self->client, "RDS[a b]", "");
    xds_change(&self->world, "-RDS/a -RDS/b");
    expect(&self->client, "RDS[]", "a: 5");
}

static void
a_state_tells_what_it_does_not_hold(void **state)
{
    xds_one *self = *state;
    open_reader(self, false);
    xds_change(&self->world, "+CDS/a=1");
    xds_ask_for(&self->client, "CDS", "a none");
    expect(&self->client, "CDS[a]", "none: 5");
    xds_ack(&self->client, "CDS");
    xds_ask_for(&self->client, "CDS", "a none " OTHERS "x");
    expect(&self->client, "CDS[a]", "none: 5 " OTHERS "x: 7");
    xds_ack(&self->client, "CDS");
    expect(&self->client, "", "");
    xds_change(&self->world, "-CDS/a");
    expect(&self->client, "CDS[]", "a: 5 none: 5 " OTHERS "x: 7");
}

static void
a_state_of_nothing_tells_all(void **state)
{
    xds_one *self = *state;
    open_reader(self, false);
    xds_ask_for(&self->client, "CDS", OTHERS "x");
    expect(&self->client, "CDS[]", OTHERS "x: 7");
    xds_ack(&self->client, "CDS");
    expect(&self->client, "", "");
}

static void
a_fetch_tells_what_is_missing(void **state)
{
    xds_one *self = *state;
    xds_client_call(&self->client, &self->world, "RDS", UDPAI_XDS_FETCH);
    self->client.features[0] = UDPAI_XDS_FEATURE_ERRORS;
    xds_change(&self->world, "+RDS/a=1");
    xds_ask_for(&self->client, "RDS", "a none");
    expect(&self->client, "RDS[a]", "none: 5");
}

/* ---- who is told ---- */

static void
an_audience_may_say_so_for_all(void **state)
{
    xds_one *self = *state;
    self->world.audience.resource_errors = true;
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "CDS", "none");
    expect(&self->client, "CDS[]", "none: 5");
}

static void
others_are_told_as_ever(void **state)
{
    xds_one *self = *state;
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "CDS", "none " OTHERS "a " CLUSTERS "m/*");
    expect(&self->client, "CDS[-" OTHERS "a] CDS[-none] CDS[-" CLUSTERS "m/*]", "");
    xds_client_close(&self->client);
    xds_client_open(&self->client, &self->world, false);
    xds_ask_for(&self->client, "RDS", "none " OTHER_ROUTES "a");
    expect(&self->client, "", "");
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, xds_one_setup, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(delta_tells_for_whom_it_is_missing),
        ONE(delta_tells_what_is_missing),
        ONE(delta_tells_what_is_not_for_the_client),
        ONE(delta_tells_the_end_of_others_as_ever),
        ONE(nothing_is_told_before_it_is_certain),
        ONE(sotw_tells_once_what_is_missing),
        ONE(sotw_tells_once_what_is_not_for_the_client),
        ONE(sotw_says_nothing_of_a_wildcard),
        ONE(a_state_tells_what_it_does_not_hold),
        ONE(a_state_of_nothing_tells_all),
        ONE(a_fetch_tells_what_is_missing),
        ONE(an_audience_may_say_so_for_all),
        ONE(others_are_told_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
