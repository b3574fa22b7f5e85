/* SPDX-License-Identifier: Apache-2.0 */
/* A session as a whole: how it ends, its bounds, what it says of itself, and want of memory. */
#include <stdio.h>

#include "base/alloc.h"
#include "model/types.h"
#include "session/refused.h"
#include "tests/harness/sink_stream.h"
#include "tests/harness/wire.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds_test.h"

typedef struct fixture {
    xds_world world;
    xds_client clients[2]; /* delta, SotW */
} fixture;

static void
open_clients(fixture *self)
{
    xds_settle(&self->world);
    xds_client_open(&self->clients[0], &self->world, true);
    xds_client_open(&self->clients[1], &self->world, false);
}

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    xds_world_init(&self->world);
    open_clients(self);
    *state = self;
    return 0;
}

/* With room for little. */
static int
setup_small(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    udpai_hub_options options = fake_hub_options();
    options.fanout.max_names = 100;
    options.fanout.max_views = 1; /* that of one namespace gives way to the one of both */
    options.fanout.tombstones_min = 4;
    options.fanout.response_bytes = 2000;
    xds_world_init_with(&self->world, &options);
    open_clients(self);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    xds_client_close(&self->clients[0]);
    xds_client_close(&self->clients[1]);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

/* ---- ends ---- */

static void
a_request_without_a_type_ends_the_stream(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], "", .names = "a", .nonce = "");
        xds_expect_end(&self->clients[i], UDPA_ERR_INVAL, "must have a type_url");
    }
}

static void
a_type_that_is_too_long_ends_the_stream(void **state)
{
    fixture *self = *state;
    char type[UDPAI_TYPE_URL_MAX + 2];
    memset(type, 't', sizeof(type));
    type[sizeof(type) - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], type, .nonce = "");
        xds_expect_end(&self->clients[i], UDPA_ERR_INVAL, "longer than");
    }
}

static void
what_is_malformed_ends_the_stream(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 2; i++) {
        fake_stream_receive(&self->clients[i].stream, "\x0a\x7f", 2);
        xds_expect_end(&self->clients[i], UDPA_ERR_MALFORMED, "");
        fake_stream_receive(&self->clients[i].stream, "\x0a\x7f", 2); /* nobody listens */
    }
}

static void
a_node_with_an_endless_name_ends_the_stream(void **state)
{
    fixture *self = *state;
    char id[UDPAI_AUTHORITY_MAX + 2];
    memset(id, 'i', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], "CDS", .node_id = id);
        xds_expect_end(&self->clients[i], UDPA_ERR_INVAL, "id of the Node");
    }
}

static void
other_streams_live_on(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_subscribe(&self->clients[0], "CDS", "");
    xds_expect(&self->clients[0], "CDS[a]");
    fake_stream_receive(&self->clients[1].stream, "\x0a\x7f", 2);
    xds_expect_end(&self->clients[1], UDPA_ERR_MALFORMED, "");
    xds_change(&self->world, "+CDS/b=1");
    xds_expect(&self->clients[0], "CDS[b]");
}

/* ---- bounds ---- */

static void
the_first_request_of_an_envoy_is_taken(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], "CDS", .node_padding = 61000);
        xds_expect(&self->clients[i], "CDS[a]");
    }
}

static void
a_stream_has_so_many_types(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 2; i++) {
        char type[32];
        for (int n = 0; n < UDPAI_XDS_TYPES_MAX; n++) {
            snprintf(type, sizeof(type), "acme/T%d", n);
            XDS_SEND(&self->clients[i], type, .names = "x", .unsubscribed = "x", .nonce = "");
        }
        assert_false(self->clients[i].stream.is_finished);
        XDS_SEND(&self->clients[i], type, .names = "y", .nonce = ""); /* one that it has */
        assert_false(self->clients[i].stream.is_finished);
        XDS_SEND(&self->clients[i], "acme/another", .names = "x", .nonce = "");
        xds_expect_end(&self->clients[i], UDPA_ERR_LIMIT, "'acme/another' is one more");
    }
}

static void
a_stream_has_so_many_names(void **state)
{
    fixture *self = *state;
    char names[1024];
    for (int i = 0; i < 2; i++) {
        char *at = names;
        for (int n = 0; n < 100; n++)
            at += snprintf(at, 8, "n%02d ", n);
        XDS_SEND(&self->clients[i], "EDS", .names = names, .nonce = "");
        assert_false(self->clients[i].stream.is_finished);
        snprintf(at, 16, "one-more");
        XDS_SEND(&self->clients[i], "EDS", .names = names, .nonce = "");
        xds_expect_end(&self->clients[i], UDPA_ERR_LIMIT, "'local/one-more' is one more");
    }
}

static void
names_given_back_make_room(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        XDS_SEND(&self->clients[0], "EDS", .names = name, .nonce = "");
        XDS_SEND(&self->clients[0], "EDS", .unsubscribed = name, .nonce = "");
        XDS_SEND(&self->clients[1], "EDS", .names = name, .nonce = "");
    }
    xds_expect(&self->clients[0], "");
    xds_expect(&self->clients[1], "");
}

static void
a_node_has_so_many_views(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], "CDS", .nonce = "");
        xds_expect(&self->clients[i], "CDS[]");
        XDS_SEND(&self->clients[i], "LDS", .nonce = "");
        xds_expect_end(&self->clients[i], UDPA_ERR_LIMIT, "limits.max_views");
        xds_client_reopen(&self->clients[i]); /* what it had makes room for the next */
    }
}

static void
so_many_impossible_names_wait_for_an_answer(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < UDPAI_XDS_UNNAMEABLE_MAX; i++)
        XDS_SEND(&self->clients[0], "EDS", .names = "''", .nonce = "");
    assert_false(self->clients[0].stream.is_finished);
    XDS_SEND(&self->clients[0], "EDS", .names = "''", .nonce = "");
    xds_expect_end(&self->clients[0], UDPA_ERR_LIMIT, "names that are empty");
}

static void
who_is_too_far_behind_begins_anew(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1");
    xds_subscribe(&self->clients[0], "CDS", "");
    xds_write_one(&self->clients[0]); /* and this write takes long */
    for (int i = 0; i < 20; i++) {
        char change[32];
        snprintf(change, sizeof(change), "+CDS/c%d=1", i);
        xds_change(&self->world, change);
        *change = '-';
        fake_hub_advance(&self->world.hub, 1000); /* what comes within a second goes together */
        xds_change(&self->world, change);
    }
    xds_expect(&self->clients[0], "CDS[a]");
    xds_expect_end(&self->clients[0], UDPA_ERR_ABORTED, "initial_resource_versions");
}

/* A state is always whole, so nobody is ever too far behind for one. */
static void
nobody_is_too_far_behind_for_a_state(void **state)
{
    fixture *self = *state;
    xds_client *client = &self->clients[1];
    xds_change(&self->world, "+CDS/a=1#");
    xds_ask_for(client, "CDS", "");
    xds_write_one(client);
    for (int i = 0; i < 20; i++) {
        char change[32];
        snprintf(change, sizeof(change), "+CDS/c%d=1#", i);
        xds_change(&self->world, change);
        *change = '-';
        xds_change(&self->world, i < 19 ? change : "-CDS/a");
    }
    fake_stream_run(&client->stream, &self->world.hub);
    xds_write_one(client);
    const char *last = strrchr(client->trace, ' ');
    assert_non_null(last);
    assert_string_equal(last + 1, "CDS[c19]");
    client->trace[0] = '\0';
}

/* Responses are closed at a size; what is left comes in the next. */
static void
much_comes_in_many_responses(void **state)
{
    fixture *self = *state;
    xds_client *client = &self->clients[0];
    char change[600];
    for (int i = 0; i < 10; i++) {
        snprintf(change, sizeof(change), "+EDS/n%d=%0500d", i, 1);
        xds_change(&self->world, change);
    }
    xds_subscribe(client, "EDS", "*");
    fake_stream_run(&client->stream, &self->world.hub);
    assert_true(client->stream.written.n > 3);
    xds_write_one(client);
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof(name), "n%d", i);
        assert_non_null(strstr(client->trace, name));
    }
    client->trace[0] = '\0';
}

static void
a_large_payload_is_not_copied(void **state)
{
    fixture *self = *state;
    char change[5000];
    snprintf(change, sizeof(change), "+EDS/big=%04000d +EDS/small=1", 1);
    xds_change(&self->world, change);
    for (int i = 0; i < 2; i++) {
        XDS_SEND(&self->clients[i], "EDS", .names = "big small");
        xds_expect(&self->clients[i], "EDS[big small]");
        assert_int_equal(self->clients[i].stream.n_parts, 3); /* before, the payload, behind */
        assert_true(self->clients[i].stream.largest_part > 4000);
    }
}

/* ---- what it says of itself ---- */

typedef Udpa__Status__V1__SessionStatus session_status;

static session_status *
describe(xds_client *client)
{
    udpa_bytes *bytes = client->stream.session->ops->describe(client->stream.session);
    assert_non_null(bytes);
    session_status *status = udpa__status__v1__session_status__unpack(NULL, udpa_bytes_size(bytes),
                                                                      udpa_bytes_data(bytes));
    assert_non_null(status);
    udpa_bytes_unref(bytes);
    return status;
}

static void
a_stream_is_described(void **state)
{
    fixture *self = *state;
    static const char *const protocols[] = {"xds-delta", "xds-sotw"};
    xds_change(&self->world, "+CDS/a=1 +CDS/b=1");
    for (int i = 0; i < 2; i++) {
        xds_client *client = &self->clients[i];
        XDS_SEND(client, "CDS", .node_id = "envoy-7");
        XDS_SEND(client, "EDS", .names = "x y");
        session_status *status = describe(client);
        assert_string_equal(status->protocol, protocols[i]);
        assert_string_equal(status->peer_node_id, "envoy-7");
        assert_int_equal(status->n_subscriptions, 2);
        assert_string_equal(status->subscriptions[0]->type_url, UDPAI_TYPE_CLUSTER);
        assert_int_equal(status->subscriptions[0]->n_namespaces, 2);
        assert_string_equal(status->subscriptions[0]->version_sent, "");
        assert_false(status->subscriptions[0]->in_sync);
        assert_int_equal(status->subscriptions[1]->n_names, 2);
        udpa__status__v1__session_status__free_unpacked(status, NULL);
        xds_expect(client, i ? "CDS[a b]" : "CDS[a b] EDS[-x -y]");
        status = describe(client);
        assert_int_equal(status->subscriptions[0]->n_resources_sent, 2);
        assert_string_equal(status->subscriptions[0]->version_sent, xds_version(client, "CDS"));
        assert_string_equal(status->subscriptions[0]->version_acknowledged, "");
        assert_int_equal(status->subscriptions[1]->n_removals_sent, i ? 0 : 2);
        assert_true(status->subscriptions[0]->in_sync);
        udpa__status__v1__session_status__free_unpacked(status, NULL);
    }
}

static void
answers_are_counted(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    for (int i = 0; i < 2; i++) {
        xds_client *client = &self->clients[i];
        xds_send(client, &(xds_ask){.type = "CDS"});
        xds_expect(client, "CDS[a b]");
        xds_ack(client, "CDS");
        xds_ack(client, "CDS"); /* once more counts no more */
        session_status *status = describe(client);
        assert_int_equal(status->subscriptions[0]->n_acknowledged, 2);
        assert_int_equal(status->subscriptions[0]->n_refused, 0);
        assert_string_equal(status->subscriptions[0]->version_acknowledged,
                            xds_version(client, "CDS"));
        assert_string_equal(status->subscriptions[0]->last_error, "");
        udpa__status__v1__session_status__free_unpacked(status, NULL);
    }
}

static void
a_refusal_is_counted_and_says_why(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    for (int i = 0; i < 2; i++) {
        xds_send(&self->clients[i], &(xds_ask){.type = "CDS"});
        xds_expect(&self->clients[i], "CDS[a]");
        xds_ack(&self->clients[i], "CDS");
    }
    xds_change(&self->world, "+CDS/a=bad#");
    for (int i = 0; i < 2; i++) {
        xds_client *client = &self->clients[i];
        char accepted[64];
        snprintf(accepted, sizeof(accepted), "%s", xds_version(client, "CDS"));
        xds_expect(client, "CDS[a]");
        xds_nack(client, "CDS", "connect_timeout: must be above 0s");
        session_status *status = describe(client);
        const Udpa__Status__V1__SubscriptionStatus *clusters = status->subscriptions[0];
        assert_int_equal(clusters->n_acknowledged, 1);
        assert_int_equal(clusters->n_refused, 1);
        assert_string_equal(clusters->last_error, "connect_timeout: must be above 0s");
        assert_string_equal(clusters->version_acknowledged, accepted);
        assert_string_not_equal(clusters->version_sent, accepted);
        assert_int_equal(clusters->n_refused_resources, 1);
        assert_string_equal(clusters->refused_resources[0]->name, "local/a");
        assert_int_equal(clusters->refused_resources[0]->code, 3);
        udpa__status__v1__session_status__free_unpacked(status, NULL);
    }
}

/* By error_detail alone: not by a version that is another one, nor by one that is missing. */
static void
an_answer_without_an_error_is_no_refusal(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    xds_client *client = &self->clients[1];
    xds_ask_for(client, "CDS", "");
    xds_expect(client, "CDS[a]");
    XDS_SEND(client, "CDS", .version = "of before");
    session_status *status = describe(client);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, 1);
    assert_int_equal(status->subscriptions[0]->n_refused, 0);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

/* Nonces that were never given out, or answered already, count for nothing. */
static void
strange_nonces_are_no_answers(void **state)
{
    fixture *self = *state;
    static const char *const nonces[] = {"", "x", "00000000000z", "999999999999", "0", "-1"};
    xds_change(&self->world, "+CDS/a=1#");
    for (int i = 0; i < 2; i++) {
        xds_send(&self->clients[i], &(xds_ask){.type = "CDS"});
        xds_expect(&self->clients[i], "CDS[a]");
        for (size_t n = 0; n < UDPAI_ARRAY_LEN(nonces); n++)
            XDS_SEND(&self->clients[i], "CDS", .nonce = nonces[n], .error = "no");
        session_status *status = describe(&self->clients[i]);
        assert_int_equal(status->subscriptions[0]->n_acknowledged, 0);
        assert_int_equal(status->subscriptions[0]->n_refused, 0);
        udpa__status__v1__session_status__free_unpacked(status, NULL);
        xds_expect(&self->clients[i], "");
    }
}

static void
refused_resources_are_kept_up_to_a_bound(void **state)
{
    fixture *self = *state;
    xds_client *client = &self->clients[0];
    xds_subscribe(client, "CDS", "");
    xds_expect(client, "CDS[]");
    for (int i = 0; i < UDPAI_REFUSED_KEPT + 5; i++) {
        char change[32], response[32];
        snprintf(change, sizeof(change), "+CDS/c%02d=1#", i);
        snprintf(response, sizeof(response), "CDS[c%02d]", i);
        xds_change(&self->world, change);
        xds_expect(client, response);
        xds_nack(client, "CDS", "no");
    }
    session_status *status = describe(client);
    assert_int_equal(status->subscriptions[0]->n_refused, UDPAI_REFUSED_KEPT + 5);
    assert_int_equal(status->subscriptions[0]->n_refused_resources, UDPAI_REFUSED_KEPT);
    assert_string_equal(status->subscriptions[0]->refused_resources[0]->name, "local/c05");
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
change_and_ignore(fixture *self, int from, int to)
{
    for (int n = from; n < to; n++) {
        char change[64];
        snprintf(change, sizeof(change), "+CDS/a=%d# +CDS/b=%d#", n, n);
        xds_change(&self->world, change);
        for (int i = 0; i < 2; i++)
            xds_expect(&self->clients[i], "CDS[a b]");
        fake_hub_drop_reports(&self->world.hub);
    }
}

/* A client that never answers costs a bounded amount of memory: names and versions are kept for its
 * answer, not what was sent, neither its bytes nor the resources. The first ones are kept anyway,
 * for others who want the same. */
static void
a_silent_client_costs_little(void **state)
{
    fixture *self = *state;
    for (int i = 0; i < 2; i++) {
        xds_send(&self->clients[i], &(xds_ask){.type = "CDS"});
        xds_expect(&self->clients[i], "CDS[]");
    }
    change_and_ignore(self, 0, 40);
    unsigned long before = udpai_alloc_live();
    change_and_ignore(self, 40, 60);
    assert_int_equal(udpai_alloc_live() - before, 2 * 20 * 2);
    change_and_ignore(self, 60, UDPAI_XDS_IN_FLIGHT_MAX);
    before = udpai_alloc_live();
    change_and_ignore(self, UDPAI_XDS_IN_FLIGHT_MAX, 2 * UDPAI_XDS_IN_FLIGHT_MAX);
    assert_int_equal(udpai_alloc_live(), before);
}

/* Clients answer in order: what they passed over they do not come back to. */
static void
an_answer_makes_older_nonces_stale(void **state)
{
    fixture *self = *state;
    xds_client *client = &self->clients[0];
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    xds_subscribe(client, "CDS", "");
    xds_expect(client, "CDS[a b]");
    char first[32];
    snprintf(first, sizeof(first), "%s", xds_nonce(client, "CDS"));
    xds_change(&self->world, "+CDS/a=2#");
    xds_expect(client, "CDS[a]");
    xds_ack(client, "CDS");
    XDS_SEND(client, "CDS", .nonce = first, .error = "no");
    session_status *status = describe(client);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, 1);
    assert_int_equal(status->subscriptions[0]->n_refused, 0);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
expect_namesake(fixture *self, const char *changes, const char *response)
{
    xds_client *client = &self->clients[1];
    xds_change(&self->world, changes);
    xds_ask_for(client, "CDS", "");
    fake_stream_run(&client->stream, &self->world.hub);
    assert_int_equal(client->stream.written.n, 1);
    udpai_str message = udpai_bytes_view(client->stream.written.items[0]);
    assert_non_null(memmem(message.data, message.len, "right", 5));
    assert_null(memmem(message.data, message.len, "other", 5));
    session_status *status = describe(client);
    assert_int_equal(status->subscriptions[0]->n_hidden, 1);
    assert_int_equal(status->subscriptions[0]->n_resources_sent, 1);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    xds_expect(client, response);
    xds_ack(client, "CDS");
    status = describe(client);
    assert_int_equal(status->subscriptions[0]->n_acknowledged, 1);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
of_namesakes_the_one_that_is_called_so_is_sent(void **state)
{
    expect_namesake(*state, "+CDS/z=right# +CDS/a=other!z#", "CDS[z]");
}

static void
of_namesakes_that_are_not_the_first_is_sent(void **state)
{
    expect_namesake(*state, "+CDS/z=other!x# +CDS/a=right!x#", "CDS[x]");
}

/* ---- want of memory ---- */

static udpa_err
play(xds_world *world, bool is_delta, const udpai_str *requests, size_t n_requests)
{
    sink_stream stream = {0};
    const udpai_stream_info info = sink_stream_info(
        &stream, udpai_xds_method_find(&world->xds_server, (udpai_str){0},
                                       is_delta ? UDPAI_XDS_STREAM_DELTA : UDPAI_XDS_STREAM_SOTW));
    udpa_err err = udpai_xds_session_new(&stream.session, world->hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    for (size_t i = 0; i < n_requests; i++) {
        udpai_session_receive(stream.session, requests[i]);
        sink_stream_run(&stream, world->hub.hub);
    }
    if (!stream.is_finished)
        udpa_bytes_unref(stream.session->ops->describe(stream.session));
    udpai_session_closed(stream.session, NULL);
    return stream.is_finished ? stream.err : UDPA_OK;
}

/* Some things are worth less than a stream, and are left out when there is no memory for them; so a
 * success is not the end of the rounds. */
static void
torture(fixture *self, bool is_delta, const udpai_str *requests, size_t n_requests)
{
    unsigned n_failed = 0, n_good = 0;
    assert_ok(play(&self->world, is_delta, requests, n_requests)); /* tables grow once */
    fake_hub_advance(&self->world.hub, 60000);
    fake_hub_drop_reports(&self->world.hub);
    unsigned long before = udpai_alloc_live();
    for (long n = 0; n_good < 200; n++) {
        udpai_alloc_fail_after(n);
        udpa_err err = play(&self->world, is_delta, requests, n_requests);
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        n_failed += err != UDPA_OK;
        n_good = err == UDPA_OK ? n_good + 1 : 0;
        fake_hub_drop_reports(&self->world.hub);
        fake_hub_advance(&self->world.hub, 60000); /* views that nobody has any more go */
        assert_int_equal(udpai_alloc_live(), before);
    }
    assert_true(n_failed > 20);
}

static void
want_of_memory_ends_the_stream_and_no_more(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1 +CDS/com.acme/b=1 +EDS/a=1 +EDS/b=1");
    const udpai_str url = UDPAI_STR(UDPAI_TYPE_CLUSTER),
                    endpoints = UDPAI_STR(UDPAI_TYPE_ENDPOINTS),
                    node = W_JOIN(W_TEXT(1, "id"), W_TEXT(10, "xds.config.resource-in-sotw")),
                    error = W_JOIN(W_VARINT(1, 3), W_TEXT(2, "no"));
    const udpai_str delta[] = {
        W_JOIN(wire_bytes(1, node), wire_bytes(2, url), W_TEXT(3, "*"),
               W_MESSAGE(5, W_TEXT(1, "gone"), W_TEXT(2, "v"))),
        W_JOIN(wire_bytes(2, endpoints), W_TEXT(3, "a"), W_TEXT(3, "none"), W_TEXT(3, "")),
        W_JOIN(wire_bytes(2, url), W_TEXT(6, "000000000001"), wire_bytes(7, error)),
        W_JOIN(wire_bytes(2, endpoints), W_TEXT(3, "b"), W_TEXT(4, "a")),
        W_JOIN(wire_bytes(2, url), W_TEXT(4, "*"), W_TEXT(3, "a")),
    };
    const udpai_str sotw[] = {
        W_JOIN(wire_bytes(2, node), wire_bytes(4, url)),
        W_JOIN(wire_bytes(4, endpoints), W_TEXT(3, "a"), W_TEXT(3, "none"), W_TEXT(3, "")),
        W_JOIN(wire_bytes(4, url), W_TEXT(5, "000000000001"), wire_bytes(6, error)),
        W_JOIN(wire_bytes(4, endpoints), W_TEXT(3, "b")),
        W_JOIN(wire_bytes(4, url), W_TEXT(3, "a")),
    };
    torture(self, true, delta, UDPAI_ARRAY_LEN(delta));
    torture(self, false, sotw, UDPAI_ARRAY_LEN(sotw));
    for (int i = 0; i < 2; i++) { /* the others are served as before */
        xds_send(&self->clients[i], &(xds_ask){.type = "CDS"});
        xds_expect(&self->clients[i], "CDS[a com.acme/b]");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)
        TEST(a_request_without_a_type_ends_the_stream),
        TEST(a_type_that_is_too_long_ends_the_stream),
        TEST(what_is_malformed_ends_the_stream),
        TEST(a_node_with_an_endless_name_ends_the_stream),
        TEST(other_streams_live_on),
        TEST(the_first_request_of_an_envoy_is_taken),
        TEST(a_stream_has_so_many_types),
        SMALL(a_stream_has_so_many_names),
        SMALL(names_given_back_make_room),
        SMALL(a_node_has_so_many_views),
        TEST(so_many_impossible_names_wait_for_an_answer),
        SMALL(who_is_too_far_behind_begins_anew),
        SMALL(nobody_is_too_far_behind_for_a_state),
        SMALL(much_comes_in_many_responses),
        TEST(a_large_payload_is_not_copied),
        TEST(a_stream_is_described),
        TEST(answers_are_counted),
        TEST(a_refusal_is_counted_and_says_why),
        TEST(an_answer_without_an_error_is_no_refusal),
        TEST(strange_nonces_are_no_answers),
        TEST(refused_resources_are_kept_up_to_a_bound),
        TEST(a_silent_client_costs_little),
        TEST(an_answer_makes_older_nonces_stale),
        TEST(of_namesakes_the_one_that_is_called_so_is_sent),
        TEST(of_namesakes_that_are_not_the_first_is_sent),
        TEST(want_of_memory_ends_the_stream_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
