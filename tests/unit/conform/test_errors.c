/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kinds that are new to most servers, and what is said of names otherwise than by a
 * resource: aliases, resource_errors. */
#include "fake_peer.h"
#include "tests/harness/wire.h"
#include "tools/conform/cases.h"

typedef struct fixture {
    fake_peer fake;
    udpai_stage stage;
    udpai_script script;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    fake_peer_init(&self->fake);
    self->stage.peer = &self->fake.peer;
    self->stage.node_id = UDPAI_STR("tester");
    self->stage.timeout_ms = self->stage.quiet_ms = 100;
    udpai_xds_server_init(&self->stage.methods);
    udpai_world_init(&self->stage.world, "conform", &self->fake.changer);
    udpai_script_init(&self->script, &self->stage);
    self->script.kind = UDPAI_CLUSTER;
    self->script.is_aggregated = true;
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    udpai_script_done(&self->script);
    udpai_world_done(&self->stage.world);
    fake_peer_done(&self->fake);
    free(self);
    wire_free_all();
    return 0;
}

/* ---- names ---- */

static void
short_names_stand_for_long_ones(void **state)
{
    fixture *self = *state;
    udpai_world *world = &self->stage.world;
    assert_string_equal(udpai_world_name(world, UDPAI_CLUSTER, "a"), "conform-a");
    assert_string_equal(udpai_world_name(world, UDPAI_HOST, "a"), "conform-routes/a");
    assert_string_equal(udpai_world_name(world, UDPAI_HOST, "other/a"), "conform-other/a");
    assert_string_equal(udpai_world_name(world, UDPAI_CLUSTER, "xdstp:a?x=1"),
                        "xdstp://conform.example/envoy.config.cluster.v3.Cluster/conform/a?x=1");
    world->authority = "com.acme";
    assert_string_equal(udpai_world_name(world, UDPAI_CLUSTER, "xdstp-elsewhere:a"),
                        "xdstp://com.acme.elsewhere/envoy.config.cluster.v3.Cluster/conform/a");
    assert_string_equal(udpai_world_name(world, UDPAI_CLUSTER, "xdstp-mistyped:a"),
                        "xdstp://com.acme/envoy.config.listener.v3.Listener/conform/a");
    assert_string_equal(udpai_world_name(world, UDPAI_MEMBER, "a"),
                        "xdstp://com.acme/envoy.config.endpoint.v3.LbEndpoint/conform/a");
}

static void
spellings_are_one_name(void **state)
{
    (void)state;
    assert_true(udpai_world_same_name("a", "a"));
    assert_false(udpai_world_same_name("a", "%61"));
    assert_true(udpai_world_same_name("xdstp://x/t/a?p=1&q=2", "xdstp://x/t/%61?q=2&p=1"));
    assert_false(udpai_world_same_name("xdstp://x/t/a?p=1", "xdstp://x/t/a"));
    assert_false(udpai_world_same_name("xdstp://x/t/a", "xdstp://y/t/a"));
    assert_false(udpai_world_same_name("xdstp://x/t/a", "xdstp://x/u/a"));
}

static void
another_spelling_has_the_same_variant(void **state)
{
    fixture *self = *state;
    udpai_world *world = &self->stage.world;
    const char *other = udpai_world_name(world, UDPAI_CLUSTER, "xdstp:p?b=2&a=1");
    udpai_set(&self->script, UDPAI_CLUSTER, "xdstp:p?a=1&b=2");
    assert_true(udpai_is_running(&self->script));
    assert_int_equal(udpai_world_variant(world, UDPAI_CLUSTER, udpai_str_from(other)), 1);
}

static void
urls_that_are_given_are_told_from_plain_names(void **state)
{
    fixture *self = *state;
    udpai_world given;
    (void)self;
    udpai_world_init(&given, "conform", NULL);
    udpai_world_learn(&given, UDPAI_CLUSTER, UDPAI_STR("xdstp://x/envoy.x/1"));
    udpai_world_learn(&given, UDPAI_CLUSTER, UDPAI_STR("plain"));
    udpai_world_learn(&given, UDPAI_MEMBER, UDPAI_STR("xdstp://x/envoy.y/2"));
    assert_string_equal(udpai_world_name(&given, UDPAI_CLUSTER, "a"), "plain");
    assert_string_equal(udpai_world_name(&given, UDPAI_CLUSTER, "xdstp:a"), "xdstp://x/envoy.x/1");
    assert_string_equal(udpai_world_name(&given, UDPAI_MEMBER, "a"), "xdstp://x/envoy.y/2");
    assert_null(udpai_world_name(&given, UDPAI_CLUSTER, "xdstp:b"));
    assert_non_null(udpai_world_name(&given, UDPAI_CLUSTER, "xdstp:nobody"));
    udpai_world_done(&given);
}

static void
what_was_lazy_is_replaced(void **state)
{
    fixture *self = *state;
    udpai_strbuf why = {0};
    udpai_world_stage_begin(&self->stage.world, UDPAI_CLUSTER);
    assert_int_equal(udpai_world_commit(&self->stage.world, &why), UDPAI_CHANGE_MADE);
    udpai_set_as(&self->script, UDPAI_CLUSTER, "a", &(udpai_world_extra){.is_lazy = true});
    self->fake.changes.len = 0;
    (void)udpai_world_stage_restore(&self->stage.world);
    assert_int_equal(udpai_world_commit(&self->stage.world, &why), UDPAI_CHANGE_MADE);
    assert_str(udpai_strbuf_view(&self->fake.changes), " +cluster/conform-a +cluster/conform-s0;");
    udpai_strbuf_done(&why);
}

/* ---- what is told ---- */

/* A client that has asked for this, and hears that. */
static udpai_test_session *
receive(fixture *self, bool is_delta, const char *name, udpai_str message)
{
    uint8_t *room;
    self->script.is_delta = is_delta;
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_NAMES(name));
    fake_call *call = &self->fake.calls[0];
    call->queued[call->n_queued++] = udpai_bytes_make(message.len, &room);
    memcpy(room, message.data, message.len);
    return session;
}

static udpai_str
an_error(const char *name, unsigned code)
{
    return W_JOIN(W_MESSAGE(1, W_TEXT(1, name)), W_MESSAGE(2, W_VARINT(1, code)));
}

static void
errors_are_heard_in_both_protocols(void **state)
{
    fixture *self = *state;
    udpai_str type = W_TEXT(4, udpai_kind_url(UDPAI_CLUSTER).data);
    udpai_test_session *session =
        receive(self, true, "nobody",
                W_JOIN(type, W_TEXT(5, "n"), W_MESSAGE(9, an_error("conform-nobody", 5)),
                       W_MESSAGE(9, an_error("other", 7))));
    udpai_wait_for_error(session, UDPAI_CLUSTER, "nobody");
    const udpai_resource_error *noted = udpai_error_of(session, UDPAI_CLUSTER, "nobody");
    assert_non_null(noted);
    assert_int_equal(noted->code, 5);
    assert_null(udpai_error_of(session, UDPAI_ENDPOINTS, "nobody"));
    udpai_test_session_mark(session);
    assert_null(udpai_error_of(session, UDPAI_CLUSTER, "nobody"));
    assert_true(udpai_is_running(&self->script));
}

static void
errors_of_a_state_are_another_field(void **state)
{
    fixture *self = *state;
    udpai_str type = W_TEXT(4, udpai_kind_url(UDPAI_CLUSTER).data);
    udpai_test_session *session =
        receive(self, false, "nobody",
                W_JOIN(type, W_TEXT(5, "n"), W_MESSAGE(7, an_error("conform-nobody", 7))));
    udpai_wait_for_error(session, UDPAI_CLUSTER, "nobody");
    const udpai_resource_error *noted = udpai_error_of(session, UDPAI_CLUSTER, "nobody");
    assert_non_null(noted);
    assert_int_equal(noted->code, 7);
}

static void
an_alias_tells_of_its_name(void **state)
{
    fixture *self = *state;
    udpai_str type = W_TEXT(4, udpai_kind_url(UDPAI_CLUSTER).data);
    udpai_str resource =
        W_JOIN(W_TEXT(3, "conform-a"), W_TEXT(4, "conform-alia"), W_TEXT(4, "conform-alias"));
    udpai_test_session *session =
        receive(self, true, "alias", W_JOIN(type, W_MESSAGE(2, resource)));
    udpai_expect_update(session, UDPAI_CLUSTER, "alias");
    assert_true(udpai_is_running(&self->script));
    const udpai_update *update = udpai_update_of_any_name(session, UDPAI_CLUSTER, "alias");
    assert_string_equal(update->name, "conform-a");
    assert_true(udpai_has_alias(update, "conform-alia"));
    assert_false(udpai_has_alias(update, "conform-ali"));
    assert_false(update->has_payload);
    udpai_test_session_mark(session);
    udpai_expect_update(session, UDPAI_CLUSTER, "alias");
    assert_int_equal(self->script.verdict, UDPAI_FAILED);
    assert_non_null(strstr(self->script.why.data, "nothing was received for it"));
}

/* ---- what a changer must be able to do ---- */

static bool
is_url(void *userdata, const char *name)
{
    (void)userdata;
    return strcmp(name, "xdstp/sotw-aggregated/cluster-is-served") == 0 ||
           strcmp(name, "leds/delta-aggregated/by-name") == 0 || strcmp(name, "rest/cluster") == 0;
}

static void
what_cannot_be_tried_is_skipped(void **state)
{
    fixture *self = *state;
    udpai_suite suite = {.is_selected = is_url};
    suite.stage = self->stage;
    udpai_world_init(&suite.stage.world, "conform", &self->fake.changer);
    assert_ok(udpai_suite_begin(&suite, NULL));
    assert_null(strstr(self->fake.changes.data, "xdstp"));
    udpai_suite_run(&suite);
    assert_int_equal(suite.results.n, 3);
    for (size_t i = 0; i < suite.results.n; i++)
        assert_int_equal(suite.results.items[i].verdict, UDPAI_SKIPPED);
    assert_non_null(strstr(suite.results.items[0].why, "names of the form xdstp://"));
    assert_non_null(strstr(suite.results.items[2].why, "--rest-server HOST:PORT"));
    udpai_suite_done(&suite);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(short_names_stand_for_long_ones),
        TEST(spellings_are_one_name),
        TEST(another_spelling_has_the_same_variant),
        TEST(urls_that_are_given_are_told_from_plain_names),
        TEST(what_was_lazy_is_replaced),
        TEST(errors_are_heard_in_both_protocols),
        TEST(errors_of_a_state_are_another_field),
        TEST(an_alias_tells_of_its_name),
        TEST(what_cannot_be_tried_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
