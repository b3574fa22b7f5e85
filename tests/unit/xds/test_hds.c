/* SPDX-License-Identifier: Apache-2.0 */
/* HDS sessions: what a client is sent to check, and what becomes of its answers. */
#include "hds_test.h"

static void
a_client_is_sent_the_default(void **state)
{
    hds_fixture *self = *state;
    udpai_str first = hds_cluster_of("a", 8, "x:1"), second = hds_cluster_of("a", 9, "x:1");
    hds_say_hello(self, "checker");
    hds_expect_nothing_sent(self);
    hds_publish(self, "local/default", first);
    hds_expect_sent(self, first);
    hds_publish(self, "local/default", second);
    hds_expect_sent(self, second);
    hds_publish(self, "local/default", second);
    hds_expect_nothing_sent(self);
    hds_withdraw(self, "local/default");
    hds_expect_sent(self, W_NOTHING);
}

static void
its_own_counts_before_the_default(void **state)
{
    hds_fixture *self = *state;
    udpai_str shared = hds_cluster_of("a", 8, "x:1"), own = hds_cluster_of("own", 8, "x:2");
    hds_publish(self, "local/default", shared);
    hds_publish(self, "local/other", own);
    hds_publish(self, "com.acme/checker", own);
    hds_say_hello(self, "checker");
    hds_expect_sent(self, shared);
    hds_publish(self, "local/checker", own);
    hds_expect_sent(self, own);
    hds_publish(self, "local/default", hds_cluster_of("a", 8, "x:9"));
    hds_expect_nothing_sent(self);
    hds_withdraw(self, "local/checker");
    hds_expect_sent(self, hds_cluster_of("a", 8, "x:9"));
}

static void
what_may_come_back_is_not_given_up(void **state)
{
    hds_fixture *self = *state;
    udpai_str own = hds_cluster_of("own", 8, "x:2");
    xds_settle_except(&self->world, "local");
    hds_publish(self, "local/checker", own);
    hds_say_hello(self, "checker");
    hds_expect_sent(self, own);
    hds_withdraw(self, "local/checker");
    hds_publish(self, "local/default", hds_cluster_of("a", 8, "x:1"));
    hds_expect_nothing_sent(self);
    xds_settle(&self->world);
    fake_stream_run(&self->stream, &self->world.hub);
    hds_expect_sent(self, hds_cluster_of("a", 8, "x:1"));
}

static void
checks_that_it_cannot_do_are_left_out(void **state)
{
    hds_fixture *self = *state;
    udpai_str http = hds_cluster_of("a", 8, "x:1"), tcp = hds_cluster_of("b", 9, "x:1");
    hds_publish(self, "local/default", W_JOIN(http, tcp));
    hds_open_stream(self, false);
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_TCP));
    hds_expect_sent(self, tcp);
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_TCP | UDPAI_HEALTH_HTTP));
    hds_expect_sent(self, W_JOIN(http, tcp));
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_TCP | UDPAI_HEALTH_HTTP));
    hds_expect_nothing_sent(self);
}

static void
one_that_cannot_be_used_changes_nothing(void **state)
{
    hds_fixture *self = *state;
    udpai_str good = hds_cluster_of("a", 8, "x:1");
    hds_publish(self, "local/default", UDPAI_STR("\x0a\x05"));
    hds_say_hello(self, "checker");
    hds_expect_nothing_sent(self);
    hds_publish(self, "local/default", good);
    hds_expect_sent(self, good);
    hds_publish(self, "local/default", W_JOIN(good, good)); /* a cluster twice */
    hds_expect_nothing_sent(self);
    hds_publish(self, "local/default", good);
    hds_expect_nothing_sent(self); /* it has it */
    hds_publish(self, "local/default", hds_cluster_of("b", 8, "x:1"));
    hds_expect_sent(self, hds_cluster_of("b", 8, "x:1"));
}

static void
a_fetch_is_one_answer(void **state)
{
    hds_fixture *self = *state;
    udpai_str shared = hds_cluster_of("a", 8, "x:1");
    hds_publish(self, "local/default", shared);
    xds_settle_except(&self->world, "local");
    hds_open_stream(self, true);
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_HTTP));
    hds_expect_nothing_sent(self); /* its own may come yet */
    xds_settle(&self->world);
    fake_stream_run(&self->stream, &self->world.hub);
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    hds_expect_sent(self, shared);
    assert_null(fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED));
}

static void
a_fetch_waits_no_longer_than_its_client(void **state)
{
    hds_fixture *self = *state;
    const udpai_stream_info info = {.context = &self->service.methods[1], .patience_ms = 5000};
    xds_settle_except(&self->world, "local");
    fake_stream_open(&self->stream, &self->world.hub, udpai_hds_session_new, &info);
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_HTTP));
    fake_hub_advance(&self->world.hub, 4999);
    hds_expect_nothing_sent(self);
    fake_hub_advance(&self->world.hub, 1);
    fake_stream_run(&self->stream, &self->world.hub);
    hds_expect_end(self, UDPA_ERR_UNAVAILABLE, "not certain yet");
}

static void
a_fetch_is_told_that_there_is_none(void **state)
{
    hds_fixture *self = *state;
    xds_settle(&self->world);
    hds_open_stream(self, true);
    hds_send_message(self, hds_request_of("checker", UDPAI_HEALTH_HTTP));
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    hds_expect_sent(self, W_NOTHING);
}

static void
a_fetch_takes_no_answers(void **state)
{
    hds_fixture *self = *state;
    hds_open_stream(self, true);
    hds_send_message(self, W_MESSAGE(2, health_said(1, "x:1", 1)));
    hds_expect_end(self, UDPA_ERR_INVAL, "StreamHealthCheck");
    hds_open_stream(self, true);
    udpai_session_ended(self->stream.session);
    hds_expect_end(self, UDPA_ERR_INVAL, "Node");
}

/* ---- who it is ---- */

static void
a_client_must_say_who_it_is(void **state)
{
    hds_fixture *self = *state;
    hds_open_stream(self, false);
    hds_send_message(self, W_MESSAGE(2, health_said(1, "x:1", 1)));
    hds_expect_end(self, UDPA_ERR_PRECONDITION, "health_check_request");
    hds_open_stream(self, false);
    hds_send_message(self, W_MESSAGE(1, W_MESSAGE(2, W_VARINT(1, 0))));
    hds_expect_end(self, UDPA_ERR_PRECONDITION, "Node");
    hds_say_hello(self, "");
    hds_expect_end(self, UDPA_ERR_INVAL, "id");
    hds_open_stream(self, false);
    hds_send_message(self, UDPAI_STR("\x0a\x09"));
    hds_expect_end(self, UDPA_ERR_MALFORMED, "");
    hds_say_hello(self, "one");
    hds_send_message(self, hds_request_of("another", 1));
    hds_expect_end(self, UDPA_ERR_ABORTED, "'another'");
}

static void
strangers_are_refused(void **state)
{
    hds_fixture *self = *state;
    static const udpai_str ids[] = {{"friend-*", 8}};
    self->world.audience.match.node_ids = (udpai_xds_patterns){ids, 1};
    hds_say_hello(self, "checker");
    hds_expect_end(self, UDPA_ERR_DENIED, "audience");
    assert_null(fake_hub_take_report(&self->world.hub, UDPAI_REPORT_OPENED));
    hds_say_hello(self, "friend-1");
    hds_expect_nothing_sent(self);
}

static void
the_loop_side_knows_it_as_a_publisher(void **state)
{
    hds_fixture *self = *state;
    hds_say_hello(self, "checker");
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
    hds_setup_with(state, &options);
    udpai_acl_unref(options.acl);
    return 0;
}

static void
a_client_is_sent_what_rules_let_it_see(void **state)
{
    hds_fixture *self = *state;
    udpai_str shared = hds_cluster_of("a", 8, "x:1"), own = hds_cluster_of("own", 8, "x:1");
    hds_publish(self, "local/default", shared);
    hds_publish(self, "local/checker-1", own);
    hds_publish(self, "local/own-1", own);
    hds_say_hello(self, "checker-1");
    hds_expect_sent(self, shared);
    hds_say_hello(self, "own-1");
    hds_expect_sent(self, own);
    hds_say_hello(self, "other");
    hds_expect_end(self, UDPA_ERR_DENIED, "local/default");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_client_is_sent_the_default, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(its_own_counts_before_the_default, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(what_may_come_back_is_not_given_up, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(checks_that_it_cannot_do_are_left_out, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(one_that_cannot_be_used_changes_nothing, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(a_fetch_is_one_answer, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(a_fetch_waits_no_longer_than_its_client, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(a_fetch_is_told_that_there_is_none, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(a_fetch_takes_no_answers, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(a_client_must_say_who_it_is, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(strangers_are_refused, hds_setup, hds_teardown),
        cmocka_unit_test_setup_teardown(the_loop_side_knows_it_as_a_publisher, hds_setup,
                                        hds_teardown),
        cmocka_unit_test_setup_teardown(a_client_is_sent_what_rules_let_it_see, setup_with_rules,
                                        hds_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
