/* SPDX-License-Identifier: Apache-2.0 */
/* HDS sessions: that a client is there, and what it is given then. */
#include <stdio.h>

#include "base/alloc.h"
#include "hds_test.h"
#include "udpa/health/v1/health.pb-c.h"

#define CHECKER UDPAI_TYPE_CHECKER

/* ---- wishes ---- */

/* A name, or '*' and a prefix. */
static void
want_type(hds_fixture *self, const char *type, const char *text, bool wanted)
{
    const bool is_wildcard = text[0] == '*';
    const udpai_str name = is_wildcard ? UDPAI_STR("") : udpai_str_from(text);
    const udpai_subscription_message message = {
        .type_url = udpai_str_from(type),
        .name_space = is_wildcard ? udpai_str_from(text + 1) : UDPAI_STR(""),
        .names = &name,
        .n_names = 1,
    };
    udpai_order *order = udpai_order_new(wanted ? UDPAI_ORDER_SUBSCRIBE : UDPAI_ORDER_UNSUBSCRIBE);
    order->session = self->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    udpai_hub_order(self->world.hub.hub, order);
}

static void
want(hds_fixture *self, const char *text)
{
    want_type(self, CHECKER, text, true);
}

static void
unwant(hds_fixture *self, const char *text)
{
    want_type(self, CHECKER, text, false);
}

/* ---- what is said ---- */

static udpai_publication *
take_publication(hds_fixture *self)
{
    udpai_report *report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_PUBLICATION);
    udpai_publication *publication = report ? UDPAI_TAKE(report->publication) : NULL;
    udpai_report_free(report);
    return publication;
}

static void
expect_announced(hds_fixture *self, const char *name, udpai_str payload)
{
    udpai_publication *publication = take_publication(self);
    assert_non_null(publication);
    assert_str(publication->type_url, CHECKER);
    assert_int_equal(publication->entries.n, 1);
    assert_int_equal(publication->removals.n, 0);
    const udpa_resource *resource = publication->entries.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), name);
    assert_str(udpai_resource_type_url(resource), CHECKER);
    assert_true(udpai_str_eq(udpai_resource_value(resource), payload));
    assert_int_equal(udpa_resource_ttl_ms(resource), 15000);
    udpai_publication_free(publication);
}

static void
expect_taken_back(hds_fixture *self, const char *name)
{
    udpai_publication *publication = take_publication(self);
    assert_non_null(publication);
    assert_str(publication->type_url, CHECKER);
    assert_int_equal(publication->entries.n, 0);
    assert_int_equal(publication->removals.n, 1);
    assert_string_equal(publication->removals.items[0].name.data, name);
    udpai_publication_free(publication);
}

static void
expect_nothing_said(hds_fixture *self)
{
    assert_false(self->stream.is_finished);
    assert_null(take_publication(self));
}

#define HTTP_AND_TCP W_JOIN(W_VARINT(1, 0), W_VARINT(1, 1))

static void
it_is_said_to_whom_it_concerns(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
    expect_nothing_said(self);
    want(self, "*com.acme");
    want(self, "local/other");
    want_type(self, UDPAI_TYPE_ENDPOINT_HEALTH, "*local", true);
    expect_nothing_said(self);
    want(self, "*local");
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    want(self, "local/checker");
    want(self, "*");
    expect_nothing_said(self); /* it was */
    unwant(self, "*local");
    expect_nothing_said(self);
    unwant(self, "*"); /* of all wildcards */
    expect_nothing_said(self);
    unwant(self, "local/checker");
    expect_taken_back(self, "local/checker");
}

static void
it_says_where_it_is_and_what_it_can(void **state)
{
    hds_fixture *self = *state;
    udpai_str locality = W_JOIN(W_TEXT(1, "eu"), W_TEXT(2, "a"), W_TEXT(3, "x"));
    hds_open_stream(self, false);
    hds_send_message(self, W_MESSAGE(1, W_MESSAGE(1, W_TEXT(1, "a/b"), wire_bytes(4, locality)),
                                     W_MESSAGE(2, W_BYTES(1, "\x02"))));
    want(self, "*");
    expect_announced(self, "local/a%2Fb",
                     W_JOIN(W_VARINT(1, 2), W_TEXT(2, "eu"), W_TEXT(3, "a"), W_TEXT(4, "x")));
    hds_send_message(self, W_MESSAGE(1, W_MESSAGE(2, W_BYTES(1, "\x00"))));
    expect_announced(self, "local/a%2Fb",
                     W_JOIN(W_VARINT(1, 0), W_TEXT(2, "eu"), W_TEXT(3, "a"), W_TEXT(4, "x")));
    hds_send_message(self, W_MESSAGE(1, W_EMPTY(2)));
    expect_taken_back(self, "local/a%2Fb"); /* who can do nothing is of no use */
}

static void
it_is_renewed_while_the_stream_is_open(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
    want(self, "*");
    for (size_t i = 0; i < 5; i++) {
        expect_announced(self, "local/checker", HTTP_AND_TCP);
        fake_hub_advance(&self->world.hub, 4999);
        expect_nothing_said(self);
        fake_hub_advance(&self->world.hub, 1);
    }
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    fake_stream_close(&self->stream);
    expect_taken_back(self, "local/checker");
}

/* The end of its old stream is heard of later. */
static void
who_comes_again_is_there(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
    want(self, "*");
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    fake_hub_advance(&self->world.hub, 1000);
    const udpai_stream_info info = {.context = &self->service.methods[0]};
    fake_stream again = {0};
    fake_stream_open(&again, &self->world.hub, udpai_hds_session_new, &info);
    udpai_str hello = hds_request_of("checker", UDPAI_HEALTH_TCP);
    fake_stream_receive(&again, hello.data, hello.len);
    fake_stream_run(&again, &self->world.hub);
    const udpai_str everything = UDPAI_STR("");
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(CHECKER), .names = &everything, .n_names = 1};
    assert_ok(udpai_hds_demand(udpai_hds_of(again.session), &message, true));
    expect_announced(self, "local/checker", W_VARINT(1, 1));
    fake_hub_advance(&self->world.hub, 4000); /* the old stream says it again */
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    fake_stream_close(&self->stream);
    assert_null(take_publication(self));
    fake_stream_close(&again);
    expect_taken_back(self, "local/checker");
}

static void
who_has_a_specifier_of_its_own_is_not_there_for_others(void **state)
{
    hds_fixture *self = *state;
    udpai_str own = hds_cluster_of("own", 8, "x:2");
    hds_publish(self, "local/checker", own);
    hds_say_hello(self, "checker");
    hds_expect_sent(self, own);
    want(self, "*");
    expect_nothing_said(self);
    hds_withdraw(self, "local/checker");
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    hds_publish(self, "local/checker", own);
    expect_taken_back(self, "local/checker");
}

/* It may have one that is not known yet. */
static void
before_that_is_certain_nothing_is_said(void **state)
{
    hds_fixture *self = *state;
    xds_settle_except(&self->world, "local");
    hds_say_hello(self, "checker");
    want(self, "*");
    expect_nothing_said(self);
    xds_settle(&self->world);
    fake_stream_run(&self->stream, &self->world.hub);
    expect_announced(self, "local/checker", HTTP_AND_TCP);
}

static void
a_computed_specifier_counts_before_the_default(void **state)
{
    hds_fixture *self = *state;
    udpai_str shared = hds_cluster_of("a", 8, "x:1"), share = hds_cluster_of("b", 8, "x:2"),
              own = hds_cluster_of("own", 8, "x:3");
    hds_publish(self, "local/default", shared);
    hds_publish(self, "local/computed/other", share);
    hds_open_stream(self, false);
    hds_send_message(self, hds_request_of("a/b", UDPAI_HEALTH_HTTP));
    hds_expect_sent(self, shared);
    hds_publish(self, "local/computed/a%2Fb", share);
    hds_expect_sent(self, share);
    hds_publish(self, "local/a/b", own);
    hds_expect_sent(self, own);
    hds_withdraw(self, "local/a/b");
    hds_expect_sent(self, share);
    hds_withdraw(self, "local/computed/a%2Fb");
    hds_expect_sent(self, shared);
}

static void
many_wishes_are_as_one(void **state)
{
    hds_fixture *self = *state;
    char text[32];
    hds_say_hello(self, "checker");
    want(self, "*local");
    expect_announced(self, "local/checker", HTTP_AND_TCP);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "local/checker-%d", i);
        want(self, text);
        want(self, "*local");
    }
    expect_nothing_said(self);
    unwant(self, "*local");
    expect_taken_back(self, "local/checker");
}

static void
want_of_memory_ends_the_stream_and_no_more(void **state)
{
    hds_fixture *self = *state;
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        hds_say_hello(self, "checker");
        const udpai_str everything = UDPAI_STR("");
        const udpai_subscription_message message = {
            .type_url = UDPAI_STR(CHECKER), .names = &everything, .n_names = 1};
        udpai_alloc_fail_after(n);
        udpa_err err = udpai_hds_demand(udpai_hds_of(self->stream.session), &message, true);
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        is_done = err == UDPA_OK;
        fake_stream_close(&self->stream);
        fake_hub_drop_reports(&self->world.hub);
    }
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, hds_setup, hds_teardown)
    const struct CMUnitTest tests[] = {
        CASE(it_is_said_to_whom_it_concerns),
        CASE(it_says_where_it_is_and_what_it_can),
        CASE(it_is_renewed_while_the_stream_is_open),
        CASE(who_comes_again_is_there),
        CASE(who_has_a_specifier_of_its_own_is_not_there_for_others),
        CASE(before_that_is_certain_nothing_is_said),
        CASE(a_computed_specifier_counts_before_the_default),
        CASE(many_wishes_are_as_one),
        CASE(want_of_memory_ends_the_stream_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
