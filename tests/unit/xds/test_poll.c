/* SPDX-License-Identifier: Apache-2.0 */
/* REST: a request that is answered once, when there is something other than what the client holds.
 */
#include <stdio.h>

#include "xds_test.h"

static void
begin(xds_client *client, xds_world *world, const char *type, const char *names, const char *held)
{
    xds_client_call(client, world, type, UDPAI_XDS_POLL);
    XDS_SEND(client, type, .names = names, .version = held, .nonce = "");
    udpai_session_ended(client->stream.session);
}

static void
poll(xds_one *self, const char *type, const char *names, const char *held)
{
    begin(&self->client, &self->world, type, names, held);
}

/* It was answered, or is told that nothing has changed. */
static void
is_done(xds_client *client)
{
    assert_true(client->stream.is_finished);
    assert_null(client->stream.status);
    xds_client_close(client);
}

static void
is_held(xds_client *client)
{
    xds_expect(client, "");
    assert_false(client->stream.is_finished);
}

/* Polls, and notes the version that it is told. */
static const char *
poll_version(xds_one *self, const char *type, const char *names, const char *expected)
{
    static char version[64];
    poll(self, type, names, "");
    xds_expect(&self->client, expected);
    snprintf(version, sizeof(version), "%s", xds_version(&self->client, type));
    is_done(&self->client);
    return version;
}

static void
the_paths_are_those_of_the_protocol(void **state)
{
    xds_one *self = *state;
    static const char *const paths[][2] = {{"LDS", "listeners"}, {"RDS", "routes"},
                                           {"CDS", "clusters"},  {"EDS", "endpoints"},
                                           {"SDS", "secrets"},   {"RTDS", "runtime"}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(paths); i++) {
        const udpai_xds_method *method = udpai_xds_method_find(
            &self->world.xds_server, udpai_str_from(xds_type_url(paths[i][0])), UDPAI_XDS_POLL);
        assert_non_null(method);
        assert_memory_equal(method->path, "/v3/discovery:", 14);
        assert_string_equal(method->path + 14, paths[i][1]);
    }
    assert_string_equal(self->world.xds_server.polls[2].path, "/v3/discovery:scoped-routes");
    assert_string_equal(self->world.xds_server.polls[7].path, "/v3/discovery:extension_configs");
    assert_null(udpai_xds_method_find(&self->world.xds_server, udpai_str_from(xds_type_url("VHDS")),
                                      UDPAI_XDS_POLL));
}

static void
who_holds_nothing_or_something_else_is_answered_at_once(void **state)
{
    static const char *const others[] = {"", "1", "0123456789abcdef0123456789abcdef",
                                         "0123456789abcdef0123456789abcdef0"};
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        poll(self, "CDS", "", others[i]);
        xds_expect(&self->client, "CDS[a b]");
        is_done(&self->client);
    }
}

static void
who_holds_it_waits_for_a_change(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    const char *version = poll_version(self, "CDS", "", "CDS[a]");
    poll(self, "CDS", "", version);
    is_held(&self->client);
    fake_hub_advance(&self->world.hub, XDS_TEST_PATIENCE_MS - 1);
    xds_change(&self->world, "+EDS/a=1"); /* of another type */
    is_held(&self->client);
    xds_change(&self->world, "+CDS/b=1");
    xds_expect(&self->client, "CDS[a b]");
    is_done(&self->client);
}

static void
when_patience_ends_nothing_has_changed(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+RDS/a=1");
    const char *version = poll_version(self, "RDS", "a missing", "RDS[a]");
    poll(self, "RDS", "a missing", version);
    is_held(&self->client);
    fake_hub_advance(&self->world.hub, XDS_TEST_PATIENCE_MS);
    xds_expect(&self->client, "");
    is_done(&self->client);
}

/* Nobody is kept by a node that is to end; who holds nothing is told what there is as ever. */
static void
nobody_waits_for_a_node_that_drains(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    const char *version = poll_version(self, "CDS", "", "CDS[a]");
    poll(self, "CDS", "", version);
    is_held(&self->client);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DRAIN);
    assert_non_null(order);
    udpai_hub_order(self->world.hub.hub, order);
    xds_expect(&self->client, "");
    is_done(&self->client);
    poll(self, "CDS", "", version);
    xds_expect(&self->client, "");
    is_done(&self->client);
    poll(self, "CDS", "", "");
    xds_expect(&self->client, "CDS[a]");
    is_done(&self->client);
}

static void
a_removal_is_a_change_and_so_is_a_name_that_appears(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1 +EDS/a=1");
    poll(self, "CDS", "", poll_version(self, "CDS", "", "CDS[a b]"));
    is_held(&self->client);
    xds_change(&self->world, "-CDS/a");
    xds_expect(&self->client, "CDS[b]");
    is_done(&self->client);
    poll(self, "EDS", "a late", poll_version(self, "EDS", "a late", "EDS[a]"));
    is_held(&self->client);
    xds_change(&self->world, "+EDS/late=1");
    xds_expect(&self->client, "EDS[a late]");
    is_done(&self->client);
}

/* The names are part of the question: the version that fits other names does not fit these. */
static void
other_names_are_answered_at_once(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
    const char *version = poll_version(self, "EDS", "a", "EDS[a]");
    poll(self, "EDS", "a b", version);
    xds_expect(&self->client, "EDS[a b]");
    is_done(&self->client);
}

/* What comes and goes back while it is held is no news, nor is a refresh. */
static void
a_change_of_what_is_not_asked_for_is_none(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1%60000 +EDS/b=1");
    const char *version = poll_version(self, "EDS", "a", "EDS[a]");
    poll(self, "EDS", "a", version);
    xds_change(&self->world, "+EDS/b=2");
    is_held(&self->client);
    xds_change(&self->world, "~EDS/a=1%60000");
    is_held(&self->client);
    xds_change(&self->world, "+EDS/a=1");
    is_held(&self->client);
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->client, "EDS[a]");
    is_done(&self->client);
}

static void
a_ttl_is_not_said_for_nobody_would_renew_it(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+EDS/a=1%60000");
    xds_client_call(&self->client, &self->world, "EDS", UDPAI_XDS_POLL);
    self->client.features[0] = "xds.config.resource-in-sotw";
    self->client.features[1] = "xds.config.supports-resource-ttl";
    XDS_SEND(&self->client, "EDS", .names = "a", .nonce = "");
    xds_expect(&self->client, "EDS[a]");
    is_done(&self->client);
}

static void
equal_answers_have_equal_bytes(void **state)
{
    xds_one *self = *state;
    udpa_bytes *answers[2];
    xds_change(&self->world, "+CDS/a=1");
    const char *version = poll_version(self, "CDS", "", "CDS[a]");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(answers); i++) {
        poll(self, "CDS", "", i ? version : "");
        if (i) { /* it has passed over one that the client holds */
            fake_stream_run(&self->client.stream, &self->world.hub);
            xds_change(&self->world, "+CDS/a=2");
            xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
        } else {
            xds_change(&self->world, "+CDS/b=1");
        }
        fake_stream_run(&self->client.stream, &self->world.hub);
        answers[i] = fake_stream_take(&self->client.stream);
        assert_non_null(answers[i]);
        is_done(&self->client);
    }
    assert_true(udpai_str_eq(udpai_bytes_view(answers[0]), udpai_bytes_view(answers[1])));
    udpa_bytes_unref(answers[0]);
    udpa_bytes_unref(answers[1]);
}

static void
while_nothing_is_certain_it_waits_and_is_never_told_that_nothing_changed(void **state)
{
    xds_one *self = *state;
    xds_world world;
    xds_client asks, holds;
    xds_world_init(&world);
    xds_change(&world, "+CDS/a=1");
    begin(&asks, &world, "CDS", "", "");
    begin(&holds, &world, "CDS", "", "0123456789abcdef0123456789abcdef");
    is_held(&asks);
    is_held(&holds);
    begin(&self->client, &world, "CDS", "", "");
    fake_hub_advance(&world.hub, XDS_TEST_PATIENCE_MS / 2);
    xds_client_close(&self->client); /* its client has gone */
    fake_hub_advance(&world.hub, XDS_TEST_PATIENCE_MS / 2);
    xds_expect(&asks, "");
    xds_expect_end(&asks, UDPA_ERR_UNAVAILABLE, "ask again");
    xds_client_close(&asks);
    xds_expect(&holds, "");
    is_done(&holds);
    begin(&self->client, &world, "CDS", "", "");
    xds_settle(&world);
    xds_expect(&self->client, "CDS[a]");
    is_done(&self->client);
    xds_world_done(&world);
}

static void
without_a_limit_it_waits_for_ever(void **state)
{
    xds_one *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    const char *version = poll_version(self, "CDS", "", "CDS[a]");
    xds_client_call(&self->client, &self->world, "CDS", UDPAI_XDS_POLL);
    self->client.stream.session->info.patience_ms = 0;
    XDS_SEND(&self->client, "CDS", .names = "", .version = version, .nonce = "");
    fake_hub_advance(&self->world.hub, 10ULL * XDS_TEST_PATIENCE_MS);
    is_held(&self->client);
    xds_client_close(&self->client);
}

static void
a_poll_is_one_request_of_its_type(void **state)
{
    xds_one *self = *state;
    xds_world world;
    xds_world_init(&world);
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_POLL);
    XDS_SEND(&self->client, "CDS", .names = "");
    XDS_SEND(&self->client, "CDS", .names = "");
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "a poll is one request");
    xds_client_close(&self->client);
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_POLL);
    udpai_session_ended(self->client.stream.session);
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "needs a DiscoveryRequest");
    xds_client_close(&self->client);
    xds_client_call(&self->client, &world, "CDS", UDPAI_XDS_POLL);
    XDS_SEND(&self->client, "EDS", .names = "");
    xds_expect_end(&self->client, UDPA_ERR_INVAL, "for the type");
    xds_client_close(&self->client);
    xds_world_done(&world);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, xds_one_setup, xds_one_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_paths_are_those_of_the_protocol),
        CASE(who_holds_nothing_or_something_else_is_answered_at_once),
        CASE(who_holds_it_waits_for_a_change),
        CASE(when_patience_ends_nothing_has_changed),
        CASE(nobody_waits_for_a_node_that_drains),
        CASE(a_removal_is_a_change_and_so_is_a_name_that_appears),
        CASE(other_names_are_answered_at_once),
        CASE(a_change_of_what_is_not_asked_for_is_none),
        CASE(a_ttl_is_not_said_for_nobody_would_renew_it),
        CASE(equal_answers_have_equal_bytes),
        CASE(while_nothing_is_certain_it_waits_and_is_never_told_that_nothing_changed),
        CASE(without_a_limit_it_waits_for_ever),
        CASE(a_poll_is_one_request_of_its_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
