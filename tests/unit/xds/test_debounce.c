/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that wait so that others can join them, as clients see it: in both protocols, by REST,
 * with a stream for each type, and beside clusters that warm. */
#include <stdio.h>

#include "xds_test.h"

#define QUIET_MS 100
#define MAX_MS 1000

typedef struct bed {
    xds_world world;
    xds_client delta, sotw;
} bed;

static const udpai_debounce_rule endpoints[] = {
    {UDPAI_STR(UDPAI_TYPE_ENDPOINTS), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule all[] = {{UDPAI_STR(""), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule listeners[] = {{UDPAI_STR(UDPAI_TYPE_LISTENER), QUIET_MS, MAX_MS}};
static const udpai_debounce_rule clusters[] = {{UDPAI_STR(UDPAI_TYPE_CLUSTER), QUIET_MS, MAX_MS}};

static int
setup(void **state)
{
    *state = calloc(1, sizeof(bed));
    assert_non_null(*state);
    return 0;
}

static void
begin(bed *self, const udpai_debounce_rule *rule)
{
    udpai_hub_options options = fake_hub_options();
    assert_ok(udpai_debounce_rules_new(&options.debounce, rule, 1));
    xds_world_init_with(&self->world, &options);
    udpai_debounce_rules_unref(options.debounce);
    xds_settle(&self->world);
    self->world.xds_server.warm_timeout_ms = 5000;
    self->world.xds_server.removal_patience_ms = 20;
    self->world.address = udpai_bytes_cstring(UDPAI_STR("192.0.2.1:4242"));
}

static int
teardown(void **state)
{
    bed *self = *state;
    xds_client_close(&self->delta);
    xds_client_close(&self->sotw);
    xds_world_done(&self->world);
    udpa_bytes_unref(self->world.address);
    free(self);
    return 0;
}

static void
advance(bed *self, uint64_t ms)
{
    fake_hub_advance(&self->world.hub, ms);
}

/* ---- both protocols ---- */

static void
ask(xds_client *client, const char *type, const char *names)
{
    if (client->is_delta)
        xds_subscribe(client, type, names);
    else
        xds_ask_for(client, type, names);
}

static void
expect(xds_client *client, const char *delta, const char *sotw)
{
    xds_expect(client, client->is_delta ? delta : sotw);
}

static void
open_with(bed *self, xds_client *client, bool is_delta)
{
    xds_client_open(client, &self->world, is_delta);
    ask(client, "CDS", "");
    xds_expect(client, "CDS[a]");
    ask(client, "EDS", "a");
    xds_expect(client, "EDS[a]");
    xds_ack(client, "CDS");
    xds_ack(client, "EDS");
    ask(client, "LDS", "");
    xds_expect(client, "LDS[l]");
    xds_ack(client, "LDS");
}

static void
a_client_takes_a_turn_for_many_changes(void **state)
{
    bed *self = *state;
    char change[64];
    begin(self, endpoints);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1");
    open_with(self, &self->delta, true);
    open_with(self, &self->sotw, false);
    advance(self, MAX_MS);
    for (unsigned ms = 0; ms < MAX_MS; ms++) {
        snprintf(change, sizeof(change), "+EDS/a=%u", ms);
        xds_change(&self->world, change);
        xds_expect(&self->delta, "");
        xds_expect(&self->sotw, "");
        advance(self, 1);
    }
    xds_expect(&self->delta, "EDS[a]");
    xds_expect(&self->sotw, "EDS[a]");
}

/* A node that has its configuration by xDS. */
static void
a_node_does_not_wait(void **state)
{
    bed *self = *state;
    begin(self, all);
    xds_change(&self->world, "+CDS/a=1");
    xds_client_open(&self->delta, &self->world, true);
    self->delta.features[0] = UDPAI_FEATURE_NODE;
    xds_subscribe(&self->delta, "CDS", "");
    xds_expect(&self->delta, "CDS[a]");
    advance(self, MAX_MS);
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->delta, "CDS[a]");
}

/* ---- make before break ---- */

static void
a_cluster_warms_as_ever(xds_client *client, bed *self)
{
    xds_change(&self->world, "+CDS/b=1 +EDS/b=1 +EDS/a=2 +LDS/l=to-b");
    expect(client, "CDS[b]", "CDS[a b]");
    ask(client, "EDS", client->is_delta ? "b" : "a b");
    expect(client, "EDS[a b]", "EDS[a b]"); /* the cluster needs it */
    xds_ack(client, "EDS");
    xds_expect(client, "");
    xds_ack(client, "CDS");
    xds_expect(client, "LDS[l]");
    xds_ack(client, "LDS");
}

static void
endpoints_of_a_new_cluster_do_not_wait(void **state)
{
    bed *self = *state;
    begin(self, endpoints);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1");
    open_with(self, &self->delta, true);
    advance(self, MAX_MS);
    a_cluster_warms_as_ever(&self->delta, self);
}

static void
nor_in_the_state_of_the_world(void **state)
{
    bed *self = *state;
    begin(self, endpoints);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1");
    open_with(self, &self->sotw, false);
    advance(self, MAX_MS);
    a_cluster_warms_as_ever(&self->sotw, self);
}

/* A changed cluster waits for its endpoints again, which are sent behind it. */
static void
endpoints_of_a_changed_cluster_do_not_wait(void **state)
{
    bed *self = *state;
    begin(self, endpoints);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1");
    open_with(self, &self->delta, true);
    advance(self, MAX_MS);
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->delta, "");
    xds_change(&self->world, "+CDS/a=2");
    xds_expect(&self->delta, "CDS[a] EDS[a]");
}

static void
a_listener_waits_for_clusters_that_wait(void **state)
{
    bed *self = *state;
    begin(self, clusters);
    xds_change(&self->world, "+CDS/a=1 +EDS/a=1 +LDS/l=1");
    open_with(self, &self->delta, true);
    open_with(self, &self->sotw, false);
    advance(self, MAX_MS);
    xds_change(&self->world, "+LDS/l=to-b +CDS/b=1#");
    xds_expect(&self->delta, "");
    xds_expect(&self->sotw, "");
    advance(self, QUIET_MS);
    xds_expect(&self->delta, "CDS[b]");
    xds_expect(&self->sotw, "CDS[a b]");
    xds_ack(&self->delta, "CDS");
    xds_ack(&self->sotw, "CDS");
    xds_expect(&self->delta, "LDS[l]");
    xds_expect(&self->sotw, "LDS[l]");
}

/* ---- a stream for each type ---- */

static void
begin_streams(bed *self, const udpai_debounce_rule *rule)
{
    begin(self, rule);
    xds_change(&self->world, "+CDS/a=1# +LDS/l=to-a");
    xds_client_call(&self->delta, &self->world, "CDS", UDPAI_XDS_STREAM_DELTA);
    xds_subscribe(&self->delta, "CDS", "");
    xds_client_call(&self->sotw, &self->world, "LDS", UDPAI_XDS_STREAM_SOTW);
    xds_ask_for(&self->sotw, "LDS", "");
    xds_expect(&self->delta, "CDS[a]");
    xds_ack(&self->delta, "CDS");
    xds_expect(&self->sotw, "LDS[l]");
    xds_ack(&self->sotw, "LDS");
    advance(self, MAX_MS);
}

static void
on_other_streams_no_removal_overtakes(void **state)
{
    bed *self = *state;
    begin_streams(self, listeners);
    xds_change(&self->world, "-LDS/l -CDS/a");
    xds_expect(&self->delta, "");
    advance(self, QUIET_MS - 1); /* longer than answers are waited for */
    xds_expect(&self->delta, "");
    xds_expect(&self->sotw, "");
    advance(self, 1);
    xds_expect(&self->sotw, "LDS[]");
    xds_ack(&self->sotw, "LDS");
    xds_expect(&self->delta, "CDS[-a]");
}

static void
on_other_streams_no_listener_overtakes(void **state)
{
    bed *self = *state;
    begin_streams(self, clusters);
    xds_change(&self->world, "+LDS/l=to-b +CDS/b=1#");
    xds_expect(&self->sotw, "");
    xds_expect(&self->delta, "");
    advance(self, QUIET_MS);
    xds_expect(&self->sotw, "");
    xds_expect(&self->delta, "CDS[b]");
    xds_ack(&self->delta, "CDS");
    xds_expect(&self->sotw, "LDS[l]");
}

/* ---- REST ---- */

static void
poll_with(bed *self, const char *names, const char *version)
{
    xds_client_call(&self->sotw, &self->world, "CDS", UDPAI_XDS_POLL);
    XDS_SEND(&self->sotw, "CDS", .names = names, .version = version, .nonce = "");
    udpai_session_ended(self->sotw.stream.session);
}

static void
poll_all_the_time(bed *self, const char *names)
{
    char version[64] = "", change[64];
    size_t n_answers = 0;
    begin(self, all);
    xds_change(&self->world, "+CDS/a=1#");
    poll_with(self, names, "");
    for (unsigned ms = 0; ms < 3 * MAX_MS; ms++) {
        fake_stream_run(&self->sotw.stream, &self->world.hub);
        if (self->sotw.stream.is_finished) {
            xds_expect(&self->sotw, "CDS[a]");
            snprintf(version, sizeof(version), "%s", xds_version(&self->sotw, "CDS"));
            n_answers++;
            xds_client_close(&self->sotw);
            poll_with(self, names, version);
        }
        snprintf(change, sizeof(change), "+CDS/a=%u#", ms + 2);
        xds_change(&self->world, change);
        advance(self, 1);
    }
    assert_in_range(n_answers, 3, 4);
}

static void
a_poll_takes_a_turn_for_many_changes(void **state)
{
    poll_all_the_time(*state, "");
}

static void
by_name_too(void **state)
{
    poll_all_the_time(*state, "a");
}

/* One that has nothing is answered. */
static void
a_first_poll_does_not_wait(void **state)
{
    bed *self = *state;
    begin(self, all);
    xds_change(&self->world, "+CDS/a=1#");
    poll_with(self, "", "");
    xds_expect(&self->sotw, "CDS[a]");
    assert_true(self->sotw.stream.is_finished);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_client_takes_a_turn_for_many_changes),
        CASE(a_node_does_not_wait),
        CASE(endpoints_of_a_new_cluster_do_not_wait),
        CASE(nor_in_the_state_of_the_world),
        CASE(endpoints_of_a_changed_cluster_do_not_wait),
        CASE(a_listener_waits_for_clusters_that_wait),
        CASE(on_other_streams_no_removal_overtakes),
        CASE(on_other_streams_no_listener_overtakes),
        CASE(a_poll_takes_a_turn_for_many_changes),
        CASE(by_name_too),
        CASE(a_first_poll_does_not_wait),
    };
    return cmocka_run_group_tests_name("xds debounce", tests, NULL, NULL);
}
