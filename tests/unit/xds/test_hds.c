/* SPDX-License-Identifier: Apache-2.0 */
/* HDS sessions: what a client is sent to check, and what becomes of its answers. */
#include "xds/hds.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/unit/reports/health_test.h"
#include "udpa/health/v1/health.pb-c.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds/hds_internal.h"
#include "xds_test.h"

#define SPECIFIER UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE)

typedef struct fixture {
    xds_world world;
    udpai_hds_service service;
    fake_stream stream;
} fixture;

static int
setup_with(void **state, const udpai_hub_options *options)
{
    fixture *self = calloc(1, sizeof(*self));
    xds_world_init_with(&self->world, options);
    udpai_hds_init(&self->service, &self->world.shim);
    xds_settle(&self->world);
    *state = self;
    return 0;
}

static int
setup(void **state)
{
    udpai_hub_options options = fake_hub_options();
    return setup_with(state, &options);
}

static int
teardown(void **state)
{
    fixture *self = *state;
    fake_stream_close(&self->stream);
    xds_world_done(&self->world);
    wire_free_all();
    free(self);
    return 0;
}

static void
open_stream(fixture *self, bool is_fetch)
{
    const udpai_stream_info info = {.context = &self->service.methods[is_fetch]};
    fake_stream_close(&self->stream);
    fake_stream_open(&self->stream, &self->world.hub, udpai_hds_session_new, &info);
}

static udpai_str
request_of(const char *id, unsigned capability)
{
    udpai_str protocols = W_NOTHING;
    for (unsigned i = 0; i < 3; i++)
        if (capability & 1u << i)
            protocols = W_JOIN(protocols, W_VARINT(1, i));
    return W_MESSAGE(1, W_MESSAGE(1, W_TEXT(1, id), W_TEXT(10, "udpa.node.v1")),
                     wire_bytes(2, protocols));
}

static void
send_message(fixture *self, udpai_str message)
{
    fake_stream_receive(&self->stream, message.data, message.len);
    fake_stream_run(&self->stream, &self->world.hub);
}

static void
say_hello(fixture *self, const char *id)
{
    open_stream(self, false);
    send_message(self, request_of(id, UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP));
}

/* ---- specifiers ---- */

static udpai_str
cluster_of(const char *name, uint32_t check, const char *endpoint)
{
    return W_MESSAGE(1, W_TEXT(1, name), W_MESSAGE(2, W_EMPTY(check)),
                     W_MESSAGE(3, health_endpoint(2, endpoint)));
}

static udpa_resource *
make_specifier(const char *name, udpai_str payload)
{
    udpa_resource *resource = NULL;
    udpa_bytes *any = udpai_any_make(SPECIFIER, payload);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    assert_ok(udpai_resource_make(&resource, &parts));
    udpa_bytes_unref(any);
    return resource;
}

static void
change(fixture *self, udpai_change_kind kind, const char *name, udpai_str payload)
{
    udpai_change_set *set = udpai_change_set_new();
    const udpai_change one = {.kind = kind, .resource = make_specifier(name, payload)};
    assert_ok(udpai_change_set_add(set, &one));
    udpa_resource_unref(one.resource);
    fake_hub_apply(&self->world.hub, set);
    if (self->stream.session)
        fake_stream_run(&self->stream, &self->world.hub);
}

static void
publish(fixture *self, const char *name, udpai_str payload)
{
    change(self, UDPAI_CHANGE_SET, name, payload);
}

static void
withdraw(fixture *self, const char *name)
{
    change(self, UDPAI_CHANGE_REMOVE, name, W_NOTHING);
}

/* Was just this written, and nothing else? */
static void
expect_sent(fixture *self, udpai_str specifier)
{
    udpa_bytes *message = fake_stream_take(&self->stream);
    assert_non_null(message);
    assert_true(udpai_str_eq(udpai_bytes_view(message), specifier));
    udpa_bytes_unref(message);
    assert_null(fake_stream_take(&self->stream));
}

static void
expect_nothing_sent(fixture *self)
{
    assert_false(self->stream.is_finished);
    assert_null(fake_stream_take(&self->stream));
}

static void
expect_end(fixture *self, udpa_err code, const char *words)
{
    assert_true(self->stream.is_finished);
    assert_non_null(self->stream.status);
    assert_int_equal(udpa_error_code(self->stream.status), code);
    if (!strstr(udpa_error_message(self->stream.status), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(self->stream.status), words);
}

static void
a_client_is_sent_the_default(void **state)
{
    fixture *self = *state;
    udpai_str first = cluster_of("a", 8, "x:1"), second = cluster_of("a", 9, "x:1");
    say_hello(self, "checker");
    expect_nothing_sent(self);
    publish(self, "local/default", first);
    expect_sent(self, first);
    publish(self, "local/default", second);
    expect_sent(self, second);
    publish(self, "local/default", second);
    expect_nothing_sent(self);
    withdraw(self, "local/default");
    expect_sent(self, W_NOTHING);
}

static void
its_own_counts_before_the_default(void **state)
{
    fixture *self = *state;
    udpai_str shared = cluster_of("a", 8, "x:1"), own = cluster_of("own", 8, "x:2");
    publish(self, "local/default", shared);
    publish(self, "local/other", own);
    publish(self, "com.acme/checker", own);
    say_hello(self, "checker");
    expect_sent(self, shared);
    publish(self, "local/checker", own);
    expect_sent(self, own);
    publish(self, "local/default", cluster_of("a", 8, "x:9"));
    expect_nothing_sent(self);
    withdraw(self, "local/checker");
    expect_sent(self, cluster_of("a", 8, "x:9"));
}

static void
what_may_come_back_is_not_given_up(void **state)
{
    fixture *self = *state;
    udpai_str own = cluster_of("own", 8, "x:2");
    xds_settle_except(&self->world, "local");
    publish(self, "local/checker", own);
    say_hello(self, "checker");
    expect_sent(self, own);
    withdraw(self, "local/checker");
    publish(self, "local/default", cluster_of("a", 8, "x:1"));
    expect_nothing_sent(self);
    xds_settle(&self->world);
    fake_stream_run(&self->stream, &self->world.hub);
    expect_sent(self, cluster_of("a", 8, "x:1"));
}

static void
checks_that_it_cannot_do_are_left_out(void **state)
{
    fixture *self = *state;
    udpai_str http = cluster_of("a", 8, "x:1"), tcp = cluster_of("b", 9, "x:1");
    publish(self, "local/default", W_JOIN(http, tcp));
    open_stream(self, false);
    send_message(self, request_of("checker", UDPAI_HEALTH_TCP));
    expect_sent(self, tcp);
    send_message(self, request_of("checker", UDPAI_HEALTH_TCP | UDPAI_HEALTH_HTTP));
    expect_sent(self, W_JOIN(http, tcp));
    send_message(self, request_of("checker", UDPAI_HEALTH_TCP | UDPAI_HEALTH_HTTP));
    expect_nothing_sent(self);
}

static void
one_that_cannot_be_used_changes_nothing(void **state)
{
    fixture *self = *state;
    udpai_str good = cluster_of("a", 8, "x:1");
    publish(self, "local/default", UDPAI_STR("\x0a\x05"));
    say_hello(self, "checker");
    expect_nothing_sent(self);
    publish(self, "local/default", good);
    expect_sent(self, good);
    publish(self, "local/default", W_JOIN(good, good)); /* a cluster twice */
    expect_nothing_sent(self);
    publish(self, "local/default", good);
    expect_nothing_sent(self); /* it has it */
    publish(self, "local/default", cluster_of("b", 8, "x:1"));
    expect_sent(self, cluster_of("b", 8, "x:1"));
}

static void
a_fetch_is_one_answer(void **state)
{
    fixture *self = *state;
    udpai_str shared = cluster_of("a", 8, "x:1");
    publish(self, "local/default", shared);
    xds_settle_except(&self->world, "local");
    open_stream(self, true);
    send_message(self, request_of("checker", UDPAI_HEALTH_HTTP));
    expect_nothing_sent(self); /* its own may come yet */
    xds_settle(&self->world);
    fake_stream_run(&self->stream, &self->world.hub);
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    expect_sent(self, shared);
    assert_null(fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED));
}

static void
a_fetch_is_told_that_there_is_none(void **state)
{
    fixture *self = *state;
    xds_settle(&self->world);
    open_stream(self, true);
    send_message(self, request_of("checker", UDPAI_HEALTH_HTTP));
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    expect_sent(self, W_NOTHING);
}

static void
a_fetch_takes_no_answers(void **state)
{
    fixture *self = *state;
    open_stream(self, true);
    send_message(self, W_MESSAGE(2, health_said(1, "x:1", 1)));
    expect_end(self, UDPA_ERR_INVAL, "StreamHealthCheck");
    open_stream(self, true);
    udpai_session_ended(self->stream.session);
    expect_end(self, UDPA_ERR_INVAL, "Node");
}

/* ---- who it is ---- */

static void
a_client_must_say_who_it_is(void **state)
{
    fixture *self = *state;
    open_stream(self, false);
    send_message(self, W_MESSAGE(2, health_said(1, "x:1", 1)));
    expect_end(self, UDPA_ERR_PRECONDITION, "health_check_request");
    open_stream(self, false);
    send_message(self, W_MESSAGE(1, W_MESSAGE(2, W_VARINT(1, 0))));
    expect_end(self, UDPA_ERR_PRECONDITION, "Node");
    say_hello(self, "");
    expect_end(self, UDPA_ERR_INVAL, "id");
    open_stream(self, false);
    send_message(self, UDPAI_STR("\x0a\x09"));
    expect_end(self, UDPA_ERR_MALFORMED, "");
    say_hello(self, "one");
    send_message(self, request_of("another", 1));
    expect_end(self, UDPA_ERR_ABORTED, "'another'");
}

static void
strangers_are_refused(void **state)
{
    fixture *self = *state;
    static const udpai_str ids[] = {{"friend-*", 8}};
    self->world.audience.match.node_ids = (udpai_xds_patterns){ids, 1};
    say_hello(self, "checker");
    expect_end(self, UDPA_ERR_DENIED, "audience");
    assert_null(fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED));
    say_hello(self, "friend-1");
    expect_nothing_sent(self);
}

static void
the_loop_side_knows_it_as_a_publisher(void **state)
{
    fixture *self = *state;
    say_hello(self, "checker");
    udpai_report *opened = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED);
    udpai_report *node = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_NODE);
    assert_non_null(opened);
    assert_non_null(node);
    assert_int_equal(opened->session, self->stream.session->id);
    assert_str(udpai_node_info_parts(node->info)->id, "checker");
    assert_false(node->is_extended);
    /* It has said that it is a management node, which it is not here. */
    assert_false(udpai_node_info_has_feature(node->info, UDPAI_FEATURE_NODE));
    fake_stream_close(&self->stream);
    udpai_report *closed = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CLOSED);
    assert_non_null(closed);
    assert_int_equal(closed->session, opened->session);
    udpai_report_free(opened);
    udpai_report_free(node);
    udpai_report_free(closed);
}

/* ---- answers ---- */

static void
say(fixture *self, const char *cluster, const char *endpoint, uint64_t status)
{
    send_message(self, W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, cluster),
                                              W_MESSAGE(2, health_said(2, endpoint, status)))));
}

static udpai_publication *
take_publication(fixture *self)
{
    udpai_report *report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_PUBLICATION);
    if (!report)
        return NULL;
    assert_int_equal(report->session, self->stream.session->id);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    return publication;
}

static void
judge(fixture *self, udpai_publication *publication)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_JUDGED);
    order->session = self->stream.session->id;
    order->publication = publication;
    udpai_hub_order(self->world.hub.hub, order);
}

/* "local/a/checker x:1=2; -local/b/checker": what was published; it is judged to be good. */
static void
expect_published(fixture *self, const char *wanted)
{
    char text[1024] = "";
    udpai_publication *publication = take_publication(self);
    assert_non_null(publication);
    assert_str(publication->type_url, UDPAI_HEALTH_TYPE);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        udpai_str value = udpai_resource_value(resource);
        assert_false(publication->entries.items[i].is_refresh);
        assert_int_equal(udpa_resource_ttl_ms(resource), 13000);
        assert_str(udpai_resource_type_url(resource), UDPAI_HEALTH_TYPE);
        Udpa__Health__V1__EndpointHealth *health =
            udpa__health__v1__endpoint_health__unpack(NULL, value.len, (const uint8_t *)value.data);
        assert_non_null(health);
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%s %s:%u=%d", len ? "; " : "",
                 udpa_resource_name(resource), health->localities[0]->endpoints[0]->address,
                 health->localities[0]->endpoints[0]->port,
                 health->localities[0]->endpoints[0]->health_status);
        udpa__health__v1__endpoint_health__free_unpacked(health, NULL);
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s-%s", len ? "; " : "",
                 publication->removals.items[i].name.data);
    }
    assert_string_equal(text, wanted);
    judge(self, publication);
}

static void
expect_nothing_published(fixture *self)
{
    assert_false(self->stream.is_finished);
    assert_null(take_publication(self));
}

static void
begin_checking(fixture *self, udpai_str specifier)
{
    publish(self, "local/default", specifier);
    say_hello(self, "checker");
    expect_sent(self, specifier);
}

static void
an_answer_becomes_a_resource(void **state)
{
    fixture *self = *state;
    begin_checking(self, W_JOIN(cluster_of("a", 8, "x:1"), cluster_of("com.acme/b", 9, "y:2")));
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
    say(self, "com.acme/b", "y:2", 2);
    expect_published(self, "com.acme/b/checker y:2=2");
    say(self, "a", "x:1", 1);
    expect_nothing_published(self); /* nothing new */
    say(self, "a", "x:1", 4);
    expect_published(self, "local/a/checker x:1=4");
    expect_nothing_sent(self);
}

static void
an_id_is_one_segment(void **state)
{
    fixture *self = *state;
    publish(self, "local/default", cluster_of("a", 8, "x:1"));
    say_hello(self, "router~10.0.0.1/pod ns%");
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/router~10.0.0.1%2Fpod%20ns%25 x:1=1");
}

static void
what_does_not_change_is_said_again_in_time(void **state)
{
    fixture *self = *state;
    begin_checking(self, cluster_of("a", 8, "x:1"));
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
    fake_hub_advance(&self->world.hub, 6499);
    say(self, "a", "x:1", 1);
    expect_nothing_published(self);
    fake_hub_advance(&self->world.hub, 1);
    expect_nothing_published(self); /* not by itself */
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
}

static void
one_publication_is_on_its_way_and_the_newest_wins(void **state)
{
    fixture *self = *state;
    begin_checking(self, W_JOIN(cluster_of("a", 8, "x:1"), cluster_of("b", 8, "x:1")));
    say(self, "a", "x:1", 1);
    udpai_publication *first = take_publication(self);
    assert_non_null(first);
    for (uint64_t i = 0; i < 100; i++)
        say(self, "a", "x:1", 1 + i % 2);
    say(self, "b", "x:1", 5);
    expect_nothing_published(self);
    judge(self, first);
    expect_published(self, "local/a/checker x:1=2; local/b/checker x:1=5");
    expect_nothing_published(self);
}

static void
a_judgement_that_never_comes_is_not_waited_for(void **state)
{
    fixture *self = *state;
    begin_checking(self, cluster_of("a", 8, "x:1"));
    say(self, "a", "x:1", 1);
    udpai_publication_free(take_publication(self));
    fake_hub_advance(&self->world.hub, 59999);
    say(self, "a", "x:1", 2);
    expect_nothing_published(self);
    fake_hub_advance(&self->world.hub, 1);
    say(self, "a", "x:1", 2);
    expect_published(self, "local/a/checker x:1=2");
}

static Udpa__Status__V1__SessionStatus *
describe(fixture *self)
{
    udpa_bytes *bytes = self->stream.session->ops->describe(self->stream.session);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    udpa_bytes_unref(bytes);
    return status;
}

static void
what_was_not_asked_is_ignored_and_counted(void **state)
{
    fixture *self = *state;
    say_hello(self, "checker");
    say(self, "a", "x:1", 1); /* nothing was asked */
    publish(self, "local/default", cluster_of("a", 8, "x:1"));
    expect_sent(self, cluster_of("a", 8, "x:1"));
    say(self, "b", "x:1", 1);
    say(self, "a", "x:2", 1);
    expect_nothing_published(self);
    Udpa__Status__V1__SessionStatus *status = describe(self);
    assert_int_equal(status->n_unasked, 3);
    assert_string_equal(status->protocol, "hds");
    assert_string_equal(status->peer_node_id, "checker");
    assert_int_equal(status->n_subscriptions, 1);
    assert_int_equal(status->subscriptions[0]->n_resources_sent, 1);
    assert_int_equal(status->subscriptions[0]->n_names, 2);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
a_malformed_answer_ends_the_stream(void **state)
{
    fixture *self = *state;
    begin_checking(self, cluster_of("a", 8, "x:1"));
    send_message(self, W_MESSAGE(2, W_MESSAGE(2, W_MESSAGE(2, health_said(2, "x:1", 1)))));
    expect_end(self, UDPA_ERR_INVAL, "cluster_name");
}

static void
what_is_not_checked_any_more_is_withdrawn(void **state)
{
    fixture *self = *state;
    udpai_str both = W_JOIN(cluster_of("a", 8, "x:1"), cluster_of("b", 8, "x:1"));
    begin_checking(self, W_JOIN(both, cluster_of("c", 8, "x:1")));
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
    publish(self, "local/default", cluster_of("b", 9, "x:1"));
    expect_published(self, "-local/a/checker"); /* of c nothing was said */
    expect_sent(self, cluster_of("b", 9, "x:1"));
    say(self, "a", "x:1", 2); /* which was on its way */
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
    Udpa__Status__V1__SessionStatus *status = describe(self);
    assert_int_equal(status->n_unasked, 0);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    withdraw(self, "local/default");
    expect_published(self, "-local/b/checker");
}

static void
a_cluster_that_cannot_be_named_is_passed_over(void **state)
{
    fixture *self = *state;
    char name[UDPAI_NAME_MAX];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    begin_checking(self, W_JOIN(cluster_of(name, 8, "x:1"), cluster_of("b", 8, "x:1")));
    say(self, name, "x:1", 1);
    expect_nothing_published(self);
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
}

static void
what_is_refused_is_told_in_the_status(void **state)
{
    fixture *self = *state;
    begin_checking(self, cluster_of("a", 8, "x:1"));
    say(self, "a", "x:1", 1);
    udpai_publication *publication = take_publication(self);
    udpai_publication_refuse_all(publication, UDPA_ERR_DENIED, "no rule allows it");
    say(self, "a", "x:1", 2);
    judge(self, publication);
    expect_published(self, "local/a/checker x:1=2");
    Udpa__Status__V1__SessionStatus *status = describe(self);
    assert_non_null(strstr(status->publish_error, "no rule allows it"));
    assert_int_equal(status->n_resources_received, 2);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

/* ---- rules ---- */

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static int
setup_with_rules(void **state)
{
    static const udpai_str checkers[] = {T("checker-*")}, of_checkers[] = {T("local/default")},
                           own[] = {T("own-1")}, of_own[] = {T("local/own-1")};
    static const udpai_acl_rule rules[] = {
        {T("checkers"), checkers, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_checkers, 1, NULL, 0},
        {T("own"), own, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_own, 1, NULL, 0},
    };
    const udpai_acl_options acl = {
        .rules = rules, .n_rules = UDPAI_ARRAY_LEN(rules), .trusts_node_ids = true};
    udpai_hub_options options = fake_hub_options();
    assert_ok(udpai_acl_new(&options.acl, &acl));
    setup_with(state, &options);
    udpai_acl_unref(options.acl);
    return 0;
}

static void
a_client_is_sent_what_rules_let_it_see(void **state)
{
    fixture *self = *state;
    udpai_str shared = cluster_of("a", 8, "x:1"), own = cluster_of("own", 8, "x:1");
    publish(self, "local/default", shared);
    publish(self, "local/checker-1", own);
    publish(self, "local/own-1", own);
    say_hello(self, "checker-1");
    expect_sent(self, shared);
    say_hello(self, "own-1");
    expect_sent(self, own);
    say_hello(self, "other");
    expect_end(self, UDPA_ERR_DENIED, "local/default");
}

/* ---- without memory ---- */

typedef struct sink {
    udpai_session *session;
    bool is_writing, is_finished;
    udpa_err err;
} sink;

static void
on_write(udpai_stream *stream, const udpai_outgoing *message)
{
    (void)message;
    ((sink *)(void *)stream)->is_writing = true;
}

static void
on_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading;
}

static void
on_finish(udpai_stream *stream, const udpa_error *status)
{
    sink *self = (sink *)(void *)stream;
    self->is_finished = true;
    self->err = status ? udpa_error_code(status) : UDPA_ERR_NOMEM;
}

static const udpai_stream_ops sink_ops = {
    .write = on_write,
    .set_reading = on_set_reading,
    .finish = on_finish,
};

static void
run_hub(fixture *self, sink *stream)
{
    udpai_hub_run(self->world.hub.hub);
    while (stream->is_writing && !stream->is_finished) {
        stream->is_writing = false;
        udpai_session_written(stream->session);
        udpai_hub_run(self->world.hub.hub);
    }
}

/* What was published is judged, if there is memory to say so. */
static void
judge_all(fixture *self, const sink *stream)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_PUBLICATION))) {
        udpai_order *order = udpai_order_new(UDPAI_ORDER_JUDGED);
        if (order) {
            order->session = stream->session->id;
            order->publication = UDPAI_TAKE(report->publication);
            udpai_hub_order(self->world.hub.hub, order);
        }
        udpai_report_free(report);
    }
}

static udpa_err
live(fixture *self, const udpai_str *messages, size_t n_messages)
{
    sink stream = {0};
    const udpai_stream_info info = {
        .stream = (udpai_stream *)(void *)&stream,
        .ops = &sink_ops,
        .context = &self->service.methods[0],
    };
    udpa_err err = udpai_hds_session_new(&stream.session, self->world.hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    for (size_t i = 0; i < n_messages; i++) {
        udpai_session_receive(stream.session, messages[i]);
        run_hub(self, &stream);
        judge_all(self, &stream);
    }
    if (!stream.is_finished)
        udpa_bytes_unref(stream.session->ops->describe(stream.session));
    udpai_session_closed(stream.session, NULL);
    udpai_report *opened = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED),
                 *closed = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CLOSED);
    assert_true(!opened == !closed); /* an end is told, memory or none */
    udpai_report_free(opened);
    udpai_report_free(closed);
    return stream.is_finished ? stream.err : UDPA_OK;
}

static void
want_of_memory_ends_the_stream_and_no_more(void **state)
{
    fixture *self = *state;
    publish(
        self, "local/default",
        W_JOIN(cluster_of("a", 8, "x:1"), cluster_of("b", 8, "x:1"), cluster_of("c", 9, "/run/x")));
    udpai_str said = W_MESSAGE(2, health_said(2, "x:1", 1));
    const udpai_str messages[] = {
        request_of("checker", UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP),
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "a"), said)),
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "b"), said), W_MESSAGE(2, W_TEXT(1, "z"), said)),
        request_of("checker", UDPAI_HEALTH_TCP), /* a and b are not asked any more */
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "c"), W_MESSAGE(2, health_said(2, "/run/x", 2)))),
    };
    unsigned n_failed = 0, n_good = 0;
    assert_ok(live(self, messages, UDPAI_ARRAY_LEN(messages))); /* tables grow once */
    fake_hub_advance(&self->world.hub, 60000);
    fake_hub_drop_reports(&self->world.hub);
    unsigned long before = udpai_alloc_live();
    for (long n = 0; n_good < 100; n++) {
        udpai_alloc_fail_after(n);
        udpa_err err = live(self, messages, UDPAI_ARRAY_LEN(messages));
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        n_failed += err != UDPA_OK;
        n_good = err == UDPA_OK ? n_good + 1 : 0;
        fake_hub_drop_reports(&self->world.hub);
        fake_hub_advance(&self->world.hub, 60000);
        assert_int_equal(udpai_alloc_live(), before);
    }
    assert_true(n_failed > 50);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_is_sent_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(its_own_counts_before_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(what_may_come_back_is_not_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(checks_that_it_cannot_do_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_used_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fetch_is_one_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fetch_is_told_that_there_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fetch_takes_no_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_must_say_who_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(strangers_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_loop_side_knows_it_as_a_publisher, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_becomes_a_resource, setup, teardown),
        cmocka_unit_test_setup_teardown(an_id_is_one_segment, setup, teardown),
        cmocka_unit_test_setup_teardown(what_does_not_change_is_said_again_in_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_publication_is_on_its_way_and_the_newest_wins, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_judgement_that_never_comes_is_not_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_not_asked_is_ignored_and_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_malformed_answer_ends_the_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_checked_any_more_is_withdrawn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cluster_that_cannot_be_named_is_passed_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_is_told_in_the_status, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_is_sent_what_rules_let_it_see, setup_with_rules,
                                        teardown),
        cmocka_unit_test_setup_teardown(want_of_memory_ends_the_stream_and_no_more, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
