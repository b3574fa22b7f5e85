/* SPDX-License-Identifier: Apache-2.0 */
/* The services: what can be called, streams of one type, and fetching. */
#include <stdio.h>

#include "xds_test.h"

/* ---- what can be called ---- */

static void
every_service_of_v3_is_there(void **state)
{
    xds_one *self = *state;
    static const char *const paths[] = {
        "discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
        "discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
        "listener.v3.ListenerDiscoveryService/StreamListeners",
        "listener.v3.ListenerDiscoveryService/DeltaListeners",
        "listener.v3.ListenerDiscoveryService/FetchListeners",
        "route.v3.RouteDiscoveryService/StreamRoutes",
        "route.v3.RouteDiscoveryService/DeltaRoutes",
        "route.v3.RouteDiscoveryService/FetchRoutes",
        "route.v3.ScopedRoutesDiscoveryService/StreamScopedRoutes",
        "route.v3.ScopedRoutesDiscoveryService/DeltaScopedRoutes",
        "route.v3.ScopedRoutesDiscoveryService/FetchScopedRoutes",
        "route.v3.VirtualHostDiscoveryService/DeltaVirtualHosts",
        "cluster.v3.ClusterDiscoveryService/StreamClusters",
        "cluster.v3.ClusterDiscoveryService/DeltaClusters",
        "cluster.v3.ClusterDiscoveryService/FetchClusters",
        "endpoint.v3.EndpointDiscoveryService/StreamEndpoints",
        "endpoint.v3.EndpointDiscoveryService/DeltaEndpoints",
        "endpoint.v3.EndpointDiscoveryService/FetchEndpoints",
        "endpoint.v3.LocalityEndpointDiscoveryService/DeltaLocalityEndpoints",
        "secret.v3.SecretDiscoveryService/StreamSecrets",
        "secret.v3.SecretDiscoveryService/DeltaSecrets",
        "secret.v3.SecretDiscoveryService/FetchSecrets",
        "runtime.v3.RuntimeDiscoveryService/StreamRuntime",
        "runtime.v3.RuntimeDiscoveryService/DeltaRuntime",
        "runtime.v3.RuntimeDiscoveryService/FetchRuntime",
        "extension.v3.ExtensionConfigDiscoveryService/StreamExtensionConfigs",
        "extension.v3.ExtensionConfigDiscoveryService/DeltaExtensionConfigs",
        "extension.v3.ExtensionConfigDiscoveryService/FetchExtensionConfigs",
    };
    static const char before[] = "/envoy.service.";
    assert_int_equal(UDPAI_ARRAY_LEN(paths), UDPAI_XDS_METHODS);
    for (size_t i = 0; i < UDPAI_XDS_METHODS; i++) {
        const char *path = self->world.xds_server.methods[i].path;
        assert_memory_equal(path, before, sizeof(before) - 1);
        assert_string_equal(path + sizeof(before) - 1, paths[i]);
    }
}

static void
each_method_is_found_by_its_type_and_variant(void **state)
{
    xds_one *self = *state;
    udpai_xds_server *xds_server = &self->world.xds_server;
    for (size_t i = 0; i < UDPAI_XDS_METHODS; i++) {
        udpai_xds_method *method = &xds_server->methods[i];
        assert_ptr_equal(udpai_xds_method_find(xds_server, method->type_url, method->variant),
                         method);
        assert_ptr_equal(method->server, xds_server);
    }
    assert_null(udpai_xds_method_find(xds_server, (udpai_str){0}, UDPAI_XDS_FETCH));
    assert_null(udpai_xds_method_find(xds_server, UDPAI_STR("x"), UDPAI_XDS_STREAM_SOTW));
    assert_null(udpai_xds_method_find(xds_server, udpai_str_from(xds_type_url("VHDS")),
                                      UDPAI_XDS_STREAM_SOTW));
}

/* ---- streams of one type ---- */

static void
on_a_stream_of_one_type_the_type_need_not_be_said(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +LDS/l=1");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        xds_client_call(&self->client, &self->world, "CDS",
                        is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW);
        XDS_SEND(&self->client, "", .names = "");
        xds_expect(&self->client, "CDS[a]");
        xds_ack(&self->client, "CDS");
        xds_change(&self->world, is_delta ? "+CDS/a=1" : "+CDS/a=2");
        xds_expect(&self->client, "CDS[a]");
        xds_client_close(&self->client);
    }
}

/* What the variant cannot be asked in: each client is told, no other notices. */
static void
another_type_ends_the_stream_with_words(void **state)
{
    xds_one *self = *state;
    xds_client other;
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1");
    xds_client_call(&other, &self->world, "EDS", UDPAI_XDS_STREAM_SOTW);
    XDS_SEND(&other, "EDS", .names = "a");
    xds_expect(&other, "EDS[a]");
    xds_client_call(&self->client, &self->world, "EDS", UDPAI_XDS_STREAM_SOTW);
    XDS_SEND(&self->client, "CDS", .names = "a");
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "ClusterLoadAssignment' alone");
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "envoy.config.cluster.v3.Cluster'");
    xds_client_close(&self->client);
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&other, "EDS[a]");
    xds_client_close(&other);
}

/* Envoy opens one such stream for each cluster. */
static void
many_streams_of_one_name_each(void **state)
{
    xds_one *self = *state;
    xds_client clients[2];
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++) {
        xds_client_call(&clients[i], &self->world, "EDS", UDPAI_XDS_STREAM_DELTA);
        xds_subscribe(&clients[i], "EDS", i ? "b" : "a");
        xds_expect(&clients[i], i ? "EDS[b]" : "EDS[a]");
        xds_ack(&clients[i], "EDS");
    }
    xds_change(&self->world, "+EDS/b=2");
    xds_expect(&clients[0], "");
    xds_expect(&clients[1], "EDS[b]");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clients); i++)
        xds_client_close(&clients[i]);
}

static void
virtual_hosts_and_endpoints_of_localities_are_of_one_type_too(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+VHDS/local/routes/host=1 +LEDS/e=1");
    xds_client_call(&self->client, &self->world, "VHDS", UDPAI_XDS_STREAM_DELTA);
    xds_subscribe(&self->client, "VHDS", "routes/host routes/other");
    xds_expect(&self->client, "VHDS[routes/host] VHDS[?routes/other]");
    xds_client_close(&self->client);
    xds_client_call(&self->client, &self->world, "LEDS", UDPAI_XDS_STREAM_DELTA);
    xds_subscribe(&self->client, "LEDS", "e");
    xds_expect(&self->client, "LEDS[e]");
    xds_client_close(&self->client);
}

/* ---- types of which nothing is sent that was not named ---- */

static void
a_wildcard_can_be_had_by_its_name_only(void **state)
{
    xds_one *self = *state;
    const udpai_str type = udpai_str_from(xds_type_url("CDS"));
    self->world.xds_server.explicit_wildcards = &type;
    self->world.xds_server.n_explicit_wildcards = 1;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +LDS/l=1");
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        xds_client_open(&self->client, &self->world, is_delta);
        XDS_SEND(&self->client, "CDS", .names = "");
        xds_expect(&self->client, "");
        XDS_SEND(&self->client, "LDS", .names = "");
        xds_expect(&self->client, "LDS[l]");
        XDS_SEND(&self->client, "CDS", .names = "a");
        xds_expect(&self->client, "CDS[a]");
        XDS_SEND(&self->client, "CDS", .names = "*");
        xds_expect(&self->client, "CDS[a b]");
        xds_client_close(&self->client);
    }
}

/* ---- fetching ---- */

static void
fetch(xds_one *self, const char *type, const char *names)
{
    xds_client_call(&self->client, &self->world, type, UDPAI_XDS_FETCH);
    XDS_SEND(&self->client, type, .names = names);
    udpai_session_ended(self->client.stream.session);
}

static void
is_done(xds_one *self)
{
    assert_true(self->client.stream.is_finished);
    assert_null(self->client.stream.status);
    xds_client_close(&self->client);
}

static void
a_fetch_is_answered_once_and_ends(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1 +EDS/b=1 +EDS/c=1");
    fetch(self, "CDS", "");
    xds_expect(&self->client, "CDS[a b]");
    is_done(self);
    fetch(self, "EDS", "c a missing");
    xds_expect(&self->client, "EDS[a c]");
    is_done(self);
}

static void
nothing_is_an_answer_too(void **state)
{
    xds_one *self = *state;
    fetch(self, "CDS", "");
    xds_expect(&self->client, "CDS[]");
    is_done(self);
    fetch(self, "RDS", "missing");
    xds_expect(&self->client, "RDS[]");
    is_done(self);
}

static void
equal_states_have_equal_versions(void **state)
{
    xds_one *self = *state;
    char first[64];
    xds_change(&self->world, "+RDS/a=1 +RDS/b=1");
    fetch(self, "RDS", "a b");
    xds_expect(&self->client, "RDS[a b]");
    snprintf(first, sizeof(first), "%s", xds_version(&self->client, "RDS"));
    is_done(self);
    fetch(self, "RDS", "b a");
    xds_expect(&self->client, "RDS[a b]");
    assert_string_equal(xds_version(&self->client, "RDS"), first);
    is_done(self);
    xds_change(&self->world, "+RDS/b=2");
    fetch(self, "RDS", "a b");
    xds_expect(&self->client, "RDS[a b]");
    assert_string_not_equal(xds_version(&self->client, "RDS"), first);
    is_done(self);
}

/* One response has all of it, however large. */
static void
a_fetch_is_never_cut(void **state)
{
    xds_one *self = *state;
    udpai_hub_options options = fake_hub_options();
    xds_world world;
    options.fanout.response_bytes = 10;
    xds_world_init_with(&world, &options);
    xds_settle(&world);
    xds_change(&world, "+EDS/a=1111111111 +EDS/b=2222222222 +EDS/c=3333333333");
    xds_client_call(&self->client, &world, "EDS", UDPAI_XDS_FETCH);
    XDS_SEND(&self->client, "EDS", .names = "a b c");
    xds_expect(&self->client, "EDS[a b c]");
    is_done(self);
    xds_world_done(&world);
}

static void
a_fetch_waits_until_its_answer_is_certain(void **state)
{
    xds_one *self = *state;
    xds_world world;
    xds_world_init(&world);
    xds_change(&world, "+CDS/a=1 +EDS/a=1");
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_FETCH);
    XDS_SEND(&self->client, "CDS", .names = "");
    udpai_session_ended(self->client.stream.session);
    xds_client named;
    xds_client_call(&named, &world, "EDS", UDPAI_XDS_FETCH);
    XDS_SEND(&named, "EDS", .names = "a b");
    xds_expect(&self->client, "");
    xds_expect(&named, "");
    xds_change(&world, "+CDS/b=1 +EDS/b=1");
    xds_settle(&world);
    xds_expect(&self->client, "CDS[a b]");
    xds_expect(&named, "EDS[a b]");
    is_done(self);
    xds_client_close(&named);
    xds_world_done(&world);
}

static void
a_fetch_is_one_request(void **state)
{
    xds_one *self = *state;
    xds_world world;
    xds_world_init(&world); /* nothing is certain, so it is not answered yet */
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_FETCH);
    XDS_SEND(&self->client, "CDS", .names = "");
    XDS_SEND(&self->client, "CDS", .names = "");
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "a Fetch is one request");
    xds_client_close(&self->client);
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_FETCH);
    udpai_session_ended(self->client.stream.session);
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "needs a DiscoveryRequest");
    xds_client_close(&self->client);
    xds_world_done(&world);
}

static void
a_stream_ends_when_the_client_will_ask_no_more(void **state)
{
    xds_one *self = *state;
    xds_client_call(&self->client, &self->world, "CDS", UDPAI_XDS_STREAM_SOTW);
    udpai_session_ended(self->client.stream.session);
    is_done(self);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, xds_one_setup, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_service_of_v3_is_there),
        CASE(each_method_is_found_by_its_type_and_variant),
        CASE(on_a_stream_of_one_type_the_type_need_not_be_said),
        CASE(another_type_ends_the_stream_with_words),
        CASE(many_streams_of_one_name_each),
        CASE(virtual_hosts_and_endpoints_of_localities_are_of_one_type_too),
        CASE(a_wildcard_can_be_had_by_its_name_only),
        CASE(a_fetch_is_answered_once_and_ends),
        CASE(nothing_is_an_answer_too),
        CASE(equal_states_have_equal_versions),
        CASE(a_fetch_is_never_cut),
        CASE(a_fetch_waits_until_its_answer_is_certain),
        CASE(a_fetch_is_one_request),
        CASE(a_stream_ends_when_the_client_will_ask_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
