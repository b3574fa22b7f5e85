/* SPDX-License-Identifier: Apache-2.0 */
/* HDS sessions: what becomes of what a client answers. */
#include <stdio.h>

#include "base/alloc.h"
#include "hds_test.h"
#include "tests/harness/sink_stream.h"
#include "udpa/health/v1/health.pb-c.h"
#include "udpa/status/v1/status.pb-c.h"

/* ---- answers ---- */

static void
say(hds_fixture *self, const char *cluster, const char *endpoint, uint64_t status)
{
    hds_send_message(self, W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, cluster),
                                                  W_MESSAGE(2, health_said(2, endpoint, status)))));
}

static udpai_publication *
take_publication(hds_fixture *self)
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
judge(hds_fixture *self, udpai_publication *publication)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    order->session = self->stream.session->id;
    order->publication = publication;
    udpai_hub_order(self->world.hub.hub, order);
}

/* "local/a/checker x:1=2; -local/b/checker": what was published; it is judged to be good. */
static void
expect_published(hds_fixture *self, const char *wanted)
{
    char text[1024] = "";
    udpai_publication *publication = take_publication(self);
    assert_non_null(publication);
    assert_str(publication->type_url, UDPAI_TYPE_ENDPOINT_HEALTH);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        udpai_str value = udpai_resource_value(resource);
        assert_false(publication->entries.items[i].is_refresh);
        assert_int_equal(udpa_resource_ttl_ms(resource), 13000);
        assert_str(udpai_resource_type_url(resource), UDPAI_TYPE_ENDPOINT_HEALTH);
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
expect_nothing_published(hds_fixture *self)
{
    assert_false(self->stream.is_finished);
    assert_null(take_publication(self));
}

static void
begin_checking(hds_fixture *self, udpai_str specifier)
{
    hds_publish(self, "local/default", specifier);
    hds_say_hello(self, "checker");
    hds_expect_sent(self, specifier);
}

static void
an_answer_becomes_a_resource(void **state)
{
    hds_fixture *self = *state;
    begin_checking(self,
                   W_JOIN(hds_cluster_of("a", 8, "x:1"), hds_cluster_of("com.acme/b", 9, "y:2")));
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
    say(self, "com.acme/b", "y:2", 2);
    expect_published(self, "com.acme/b/checker y:2=2");
    say(self, "a", "x:1", 1);
    expect_nothing_published(self); /* nothing new */
    say(self, "a", "x:1", 4);
    expect_published(self, "local/a/checker x:1=4");
    hds_expect_nothing_sent(self);
}

static void
an_id_is_one_segment(void **state)
{
    hds_fixture *self = *state;
    hds_publish(self, "local/default", hds_cluster_of("a", 8, "x:1"));
    hds_say_hello(self, "router~10.0.0.1/pod ns%");
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/router~10.0.0.1%2Fpod%20ns%25 x:1=1");
}

static void
what_does_not_change_is_said_again_in_time(void **state)
{
    hds_fixture *self = *state;
    begin_checking(self, hds_cluster_of("a", 8, "x:1"));
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
    hds_fixture *self = *state;
    begin_checking(self, W_JOIN(hds_cluster_of("a", 8, "x:1"), hds_cluster_of("b", 8, "x:1")));
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
    hds_fixture *self = *state;
    begin_checking(self, hds_cluster_of("a", 8, "x:1"));
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
describe(hds_fixture *self)
{
    udpa_bytes *bytes = self->stream.session->ops->describe(self->stream.session);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    udpa_bytes_unref(bytes);
    return status;
}

static int n_told;

static void
count_told(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)level;
    (void)component;
    (void)userdata;
    n_told += strstr(message, "1 endpoints that it was not asked to check, such as x port 2 of "
                              "cluster 'a'") != NULL;
}

static void
what_was_not_asked_is_logged(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
    hds_publish(self, "local/default", hds_cluster_of("a", 8, "x:1"));
    hds_expect_sent(self, hds_cluster_of("a", 8, "x:1"));
    n_told = 0;
    udpa_log_set_sink(UDPA_LOG_WARNING, count_told, NULL);
    say(self, "a", "x:1", 1);
    assert_int_equal(n_told, 0);
    say(self, "a", "x:2", 1);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_int_equal(n_told, 1);
}

static void
what_was_not_asked_is_ignored_and_counted(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
    say(self, "a", "x:1", 1); /* nothing was asked */
    hds_publish(self, "local/default", hds_cluster_of("a", 8, "x:1"));
    hds_expect_sent(self, hds_cluster_of("a", 8, "x:1"));
    say(self, "b", "x:1", 1);
    say(self, "a", "x:2", 1);
    expect_nothing_published(self);
    Udpa__Status__V1__SessionStatus *status = describe(self);
    assert_int_equal(status->n_unasked, 3);
    assert_string_equal(status->protocol, "hds");
    assert_string_equal(status->peer_node_id, "checker");
    assert_int_equal(status->n_subscriptions, 1);
    assert_int_equal(status->subscriptions[0]->n_resources_sent, 1);
    assert_int_equal(status->subscriptions[0]->n_names, 3);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
}

static void
a_malformed_answer_ends_the_stream(void **state)
{
    hds_fixture *self = *state;
    begin_checking(self, hds_cluster_of("a", 8, "x:1"));
    hds_send_message(self, W_MESSAGE(2, W_MESSAGE(2, W_MESSAGE(2, health_said(2, "x:1", 1)))));
    hds_expect_end(self, UDPA_ERR_INVAL, "cluster_name");
}

static void
what_is_not_checked_any_more_is_withdrawn(void **state)
{
    hds_fixture *self = *state;
    udpai_str both = W_JOIN(hds_cluster_of("a", 8, "x:1"), hds_cluster_of("b", 8, "x:1"));
    begin_checking(self, W_JOIN(both, hds_cluster_of("c", 8, "x:1")));
    say(self, "a", "x:1", 1);
    expect_published(self, "local/a/checker x:1=1");
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
    hds_publish(self, "local/default", hds_cluster_of("b", 9, "x:1"));
    expect_published(self, "-local/a/checker"); /* of c nothing was said */
    hds_expect_sent(self, hds_cluster_of("b", 9, "x:1"));
    say(self, "a", "x:1", 2); /* which was on its way */
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
    Udpa__Status__V1__SessionStatus *status = describe(self);
    assert_int_equal(status->n_unasked, 0);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    hds_withdraw(self, "local/default");
    expect_published(self, "-local/b/checker");
}

static void
a_cluster_that_cannot_be_named_is_passed_over(void **state)
{
    hds_fixture *self = *state;
    char name[UDPAI_NAME_MAX];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    begin_checking(self, W_JOIN(hds_cluster_of(name, 8, "x:1"), hds_cluster_of("b", 8, "x:1")));
    say(self, name, "x:1", 1);
    expect_nothing_published(self);
    say(self, "b", "x:1", 1);
    expect_published(self, "local/b/checker x:1=1");
}

static void
what_is_refused_is_told_in_the_status(void **state)
{
    hds_fixture *self = *state;
    begin_checking(self, hds_cluster_of("a", 8, "x:1"));
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

/* ---- without memory ---- */

/* What was published is judged, if there is memory to say so. */
static void
judge_all(hds_fixture *self, const sink_stream *stream)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_PUBLICATION))) {
        udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
        if (order) {
            order->session = stream->session->id;
            order->publication = UDPAI_TAKE(report->publication);
            udpai_hub_order(self->world.hub.hub, order);
        }
        udpai_report_free(report);
    }
}

static udpa_err
live(hds_fixture *self, const udpai_str *messages, size_t n_messages)
{
    sink_stream stream = {0};
    const udpai_stream_info info = sink_stream_info(&stream, &self->service.methods[0]);
    udpa_err err = udpai_hds_session_new(&stream.session, self->world.hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    for (size_t i = 0; i < n_messages; i++) {
        udpai_session_receive(stream.session, messages[i]);
        sink_stream_run(&stream, self->world.hub.hub);
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
    hds_fixture *self = *state;
    hds_publish(self, "local/default",
                W_JOIN(hds_cluster_of("a", 8, "x:1"), hds_cluster_of("b", 8, "x:1"),
                       hds_cluster_of("c", 9, "/run/x")));
    udpai_str said = W_MESSAGE(2, health_said(2, "x:1", 1));
    const udpai_str messages[] = {
        hds_request_of("checker", UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP),
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "a"), said)),
        W_MESSAGE(2, W_MESSAGE(2, W_TEXT(1, "b"), said), W_MESSAGE(2, W_TEXT(1, "z"), said)),
        hds_request_of("checker", UDPAI_HEALTH_TCP), /* a and b are not asked any more */
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
        cmocka_unit_test_setup_teardown(an_answer_becomes_a_resource, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(an_id_is_one_segment, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_change_is_said_again_in_time, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(one_publication_is_on_its_way_and_the_newest_wins,
                                        hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(a_judgement_that_never_comes_is_not_waited_for, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(what_was_not_asked_is_ignored_and_counted, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(what_was_not_asked_is_logged, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(a_malformed_answer_ends_the_stream, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(what_is_not_checked_any_more_is_withdrawn, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(a_cluster_that_cannot_be_named_is_passed_over, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(what_is_refused_is_told_in_the_status, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(want_of_memory_ends_the_stream_and_no_more, hds_setup,
                                        hds_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
