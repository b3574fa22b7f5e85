/* SPDX-License-Identifier: Apache-2.0 */
/* What scripts say, what they take for met, and how they end: with a server that is made up. */
#include "fake_peer.h"
#include "tests/harness/oom.h"
#include "tools/conform/cases.h"

typedef struct fixture {
    fake_peer fake;
    udpai_stage stage;
    udpai_script script;
    udpai_decoder decoder;
    udpai_xds_request read;
    bool is_read;
} fixture;

static void
begin(fixture *self, bool is_delta, bool can_change)
{
    udpai_strbuf why = {0};
    udpai_world_init(&self->stage.world, "conform", can_change ? &self->fake.changer : NULL);
    if (can_change) {
        udpai_world_stage_begin(&self->stage.world, UDPAI_CLUSTER);
        assert_int_equal(udpai_world_commit(&self->stage.world, &why), UDPAI_CHANGE_MADE);
    }
    udpai_strbuf_done(&why);
    udpai_script_init(&self->script, &self->stage);
    self->script.kind = UDPAI_CLUSTER;
    self->script.is_aggregated = true;
    self->script.is_delta = is_delta;
}

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    fake_peer_init(&self->fake);
    udpai_decoder_init(&self->decoder);
    self->stage.peer = &self->fake.peer;
    self->stage.node_id = UDPAI_STR("tester");
    self->stage.timeout_ms = 1000;
    self->stage.quiet_ms = 100;
    udpai_xds_server_init(&self->stage.methods);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    if (self->is_read)
        udpai_xds_request_done(&self->read);
    udpai_script_done(&self->script);
    udpai_world_done(&self->stage.world);
    udpai_decoder_done(&self->decoder);
    fake_peer_done(&self->fake);
    free(self);
    return 0;
}

/* What the client has said, counted from its first request. */
static const udpai_xds_request *
read_said(fixture *self, size_t index)
{
    fake_call *call = &self->fake.calls[0];
    assert_true(index < call->n_waiting);
    if (self->is_read)
        udpai_xds_request_done(&self->read);
    self->is_read = true;
    udpai_str bytes = udpai_bytes_view(call->said[index]);
    assert_ok(self->script.is_delta
                  ? udpai_xds_delta_request_decode(&self->decoder, bytes, true, &self->read, NULL)
                  : udpai_xds_request_decode(&self->decoder, bytes, true, &self->read, NULL));
    return &self->read;
}

static fake_call *
only_call(fixture *self)
{
    return &self->fake.calls[0];
}

static void
expect_why(fixture *self, udpai_verdict verdict, const char *words)
{
    assert_int_equal(self->script.verdict, verdict);
    if (!self->script.why.data || !strstr(self->script.why.data, words))
        fail_msg("'%s' is not in '%s'", words, self->script.why.data ? self->script.why.data : "");
}

/* ---- sending ---- */

static void
a_sotw_client_names_all_and_answers(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    assert_string_equal(only_call(self)->path, "/envoy.service.discovery.v3."
                                               "AggregatedDiscoveryService/"
                                               "StreamAggregatedResources");
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A_B);
    fake_answer(only_call(self), false, UDPAI_CLUSTER, "n1", "conform-a=1 conform-b=2", "");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A_B);
    assert_true(udpai_is_running(&self->script));
    const udpai_xds_request *first = read_said(self, 0);
    assert_str(udpai_node_info_parts(first->node)->id, "tester");
    assert_int_equal(first->n_names, 2);
    assert_str(first->names[1], "conform-b");
    const udpai_xds_request *ack = read_said(self, 1);
    assert_null(ack->node);
    assert_int_equal(ack->n_names, 2);
    assert_str(ack->nonce, "n1");
    assert_false(ack->is_refusal);
}

static void
a_delta_client_says_what_differs(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_B);
    const udpai_xds_request *second = read_said(self, 1);
    assert_int_equal(second->n_names, 1);
    assert_str(second->names[0], "conform-b");
    assert_int_equal(second->n_unsubscribed, 1);
    assert_str(second->unsubscribed[0], "conform-a");
}

static void
who_refuses_says_so_and_who_ignores_says_nothing(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_behave(session, UDPAI_CLUSTER, UDPAI_NACKS);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_answer(only_call(self), false, UDPAI_CLUSTER, "n1", "conform-a=1", "");
    assert_true(udpai_receive(session, 10));
    assert_true(read_said(self, 1)->is_refusal);
    udpai_behave(session, UDPAI_CLUSTER, UDPAI_IGNORES);
    fake_answer(only_call(self), false, UDPAI_CLUSTER, "n2", "conform-a=1", "");
    assert_true(udpai_receive(session, 10));
    assert_int_equal(only_call(self)->n_waiting, 2);
}

/* ---- expecting ---- */

static void
older_contents_are_passed_over(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n1", "conform-a=77", "");
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n2", "conform-a=1", "");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    assert_true(udpai_is_running(&self->script));
    assert_int_equal(only_call(self)->at, 2);
}

static void
what_does_not_come_fails_in_words(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A_B);
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n1", "conform-a=1", "conform-b");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A_B);
    expect_why(
        self, UDPAI_FAILED,
        "cluster conform-b v2 was expected and did not arrive within 1 s: it was reported as "
        "removed");
    assert_non_null(strstr(self->script.transcript.data, "< 1 cluster [conform-a v1] removed"));
    assert_int_equal(self->fake.now_ms, 1000);
    /* After that nothing is done any more. */
    size_t n_waiting = only_call(self)->n_waiting;
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_set(&self->script, UDPAI_CLUSTER, "a");
    udpai_expect_end(session, 0);
    assert_int_equal(only_call(self)->n_waiting, n_waiting);
    assert_null(udpai_test_session_open(&self->script, UDPAI_CLUSTER));
}

static void
what_came_before_the_last_deed_does_not_count(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n1", "conform-a=1", "");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_send_request(session, UDPAI_CLUSTER, &(udpai_test_request){.names = UDPAI_A});
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_FAILED, "nothing was received for it");
}

static void
removals_are_told_in_both_ways(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *sotw = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(sotw, UDPAI_CLUSTER, UDPAI_A_B);
    fake_answer(only_call(self), false, UDPAI_CLUSTER, "n1", "conform-a=1 conform-b=2", "");
    fake_answer(only_call(self), false, UDPAI_CLUSTER, "n2", "conform-a=1", "");
    udpai_expect_removed(sotw, UDPAI_CLUSTER, "b");
    self->script.is_delta = true;
    udpai_test_session *delta = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(delta, UDPAI_CLUSTER, UDPAI_B);
    fake_answer(&self->fake.calls[1], true, UDPAI_CLUSTER, "n1", "", "conform-b");
    udpai_expect_removed(delta, UDPAI_CLUSTER, "b");
    assert_true(udpai_is_running(&self->script));
    udpai_subscribe(delta, UDPAI_CLUSTER, UDPAI_A);
    udpai_expect_removed(delta, UDPAI_CLUSTER, "a");
    expect_why(self, UDPAI_FAILED, "was expected in removed_resources and was not");
}

static void
silence_is_broken_by_what_is_named_alone(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    self->script.is_aggregated = false;
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n1", "conform-b=2", "");
    udpai_expect_nothing_of(session, UDPAI_CLUSTER, UDPAI_A);
    assert_true(udpai_is_running(&self->script));
    fake_answer(only_call(self), true, UDPAI_CLUSTER, "n2", "", "conform-a");
    udpai_expect_nothing_of(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_FAILED, "a response with clusters arrived, where none was expected");
}

static void
silence_of_a_dead_stream_is_no_pass(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_end(only_call(self), 13);
    udpai_expect_nothing_of(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_FAILED, "the server ended the stream");
}

/* Answers every request of routes: the sentinel's. */
static void
serve_routes(fake_peer *fake, fake_call *call, udpai_str request)
{
    static const char *const routes = "type.googleapis.com/envoy.config.route.v3";
    (void)fake;
    if (memmem(request.data, request.len, routes, strlen(routes)) &&
        memmem(request.data, request.len, "conform-s1", 10) && call->n_waiting < 4)
        fake_answer(call, true, UDPAI_ROUTES, "s", "conform-s1=3", "");
}

static void
silence_is_proved_by_another_exchange(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    self->fake.serve = serve_routes;
    udpai_expect_nothing_of(session, UDPAI_CLUSTER, UDPAI_A);
    assert_true(udpai_is_running(&self->script));
    assert_int_equal(session->subscriptions[UDPAI_ROUTES].n_responses, 1);
    assert_int_equal(self->fake.now_ms, 100); /* the exchange itself took no time */
}

static void
an_endless_server_is_left(void **state)
{
    fixture *self = *state;
    begin(self, true, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    udpai_behave(session, UDPAI_CLUSTER, UDPAI_IGNORES);
    for (size_t i = 0; i < FAKE_MESSAGES; i++)
        fake_answer(only_call(self), true, UDPAI_CLUSTER, "n", "conform-b=2", "");
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_FAILED, "did not arrive");
}

/* ---- ends ---- */

static void
an_end_has_a_code(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *session = udpai_test_session_open_path(&self->script, "/a.B/C");
    fake_end(only_call(self), 12);
    udpai_expect_end(session, 12);
    udpai_expect_end(session, -1);
    assert_true(udpai_is_running(&self->script));
    udpai_expect_end(session, 3);
    expect_why(self, UDPAI_FAILED, "ended the stream with status 12 (said the fake)");
}

static void
a_method_that_is_not_served_skips(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    fake_end(only_call(self), 12);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_SKIPPED, "does not serve this method");
}

static void
what_is_no_response_fails(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A);
    uint8_t *room;
    only_call(self)->queued[only_call(self)->n_queued++] = udpai_bytes_make(2, &room);
    memcpy(room, "\x0a\x7f", 2);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A);
    expect_why(self, UDPAI_FAILED, "the server sent an invalid response");
}

/* ---- changes ---- */

static void
changes_that_cannot_be_made_skip_or_fail(void **state)
{
    fixture *self = *state;
    begin(self, false, true);
    self->fake.result = UDPAI_CHANGE_UNSUPPORTED;
    udpai_set(&self->script, UDPAI_CLUSTER, "a");
    expect_why(self, UDPAI_SKIPPED, "the change is not supported: the fake does not want to");
    udpai_script_done(&self->script);
    udpai_script_init(&self->script, &self->stage);
    self->fake.result = UDPAI_CHANGE_FAILED;
    udpai_remove(&self->script, UDPAI_CLUSTER, "a");
    expect_why(self, UDPAI_FAILED, "the server cannot be judged: the fake does not");
}

static void
names_that_are_not_known_skip(void **state)
{
    fixture *self = *state;
    begin(self, false, false);
    udpai_world_learn(&self->stage.world, UDPAI_CLUSTER, UDPAI_STR("theirs"));
    udpai_test_session *session = udpai_test_session_open(&self->script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_NAMES("a", "nobody"));
    assert_str(read_said(self, 0)->names[0], "theirs");
    assert_str(self->read.names[1], "conform-nobody");
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_B);
    expect_why(self, UDPAI_SKIPPED, "no cluster that could be 'b' is known");
}

static void
what_cases_change_is_put_back(void **state)
{
    fixture *self = *state;
    udpai_strbuf why = {0};
    begin(self, false, true);
    assert_int_equal(udpai_world_stage_restore(&self->stage.world), 0);
    udpai_remove(&self->script, UDPAI_CLUSTER, "b");
    udpai_set(&self->script, UDPAI_CLUSTER, "new");
    udpai_set(&self->script, UDPAI_CLUSTER, "a");
    self->fake.changes.len = 0;
    assert_int_equal(udpai_world_stage_restore(&self->stage.world), 1U << UDPAI_CLUSTER);
    assert_int_equal(udpai_world_commit(&self->stage.world, &why), UDPAI_CHANGE_MADE);
    assert_str(udpai_strbuf_view(&self->fake.changes),
               " +cluster/conform-b -cluster/conform-new +cluster/conform-s0;");
    assert_int_equal(udpai_world_stage_restore(&self->stage.world), 0);
    udpai_strbuf_done(&why);
}

/* ---- without memory ---- */

typedef struct torture {
    fake_peer fake;
    udpai_stage stage;
} torture;

static bool
converse(torture *self, udpai_script *script)
{
    udpai_strbuf why = {0};
    udpai_world_stage_begin(&self->stage.world, UDPAI_CLUSTER);
    bool is_made = udpai_world_commit(&self->stage.world, &why) == UDPAI_CHANGE_MADE;
    udpai_strbuf_done(&why);
    udpai_test_session *session = udpai_test_session_open(script, UDPAI_CLUSTER);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_A_B);
    udpai_expect(session, UDPAI_CLUSTER, UDPAI_A_B);
    udpai_subscribe(session, UDPAI_CLUSTER, UDPAI_NO_NAMES);
    return is_made && udpai_is_running(script) && !udpai_strbuf_failed(&script->transcript);
}

/* The fake's own memory is counted, too: it has said everything before. */
static udpa_err
converse_from_nothing(void *context)
{
    torture *self = context;
    udpai_script script;
    self->fake.calls[0].at = self->fake.n_calls = 0;
    udpai_world_init(&self->stage.world, "conform", &self->fake.changer);
    udpai_script_init(&script, &self->stage);
    script.is_aggregated = true;
    bool is_good = converse(self, &script);
    udpai_script_done(&script);
    udpai_world_done(&self->stage.world);
    return is_good ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
forget(void *call, udpai_str message)
{
    (void)call, (void)message;
}

static udpai_change_result
agree(void *of, const udpai_edit *changes, size_t n, udpai_strbuf *why)
{
    (void)of, (void)changes, (void)n, (void)why;
    return UDPAI_CHANGE_MADE;
}

static void
lack_of_memory_ends_a_script(void **state)
{
    torture *self = calloc(1, sizeof(*self));
    (void)state;
    fake_peer_init(&self->fake);
    self->fake.peer.send = forget;
    self->fake.changer.apply = agree;
    fake_answer(&self->fake.calls[0], false, UDPAI_CLUSTER, "n1", "conform-a=1 conform-b=2", "");
    self->stage.peer = &self->fake.peer;
    self->stage.timeout_ms = self->stage.quiet_ms = 10;
    udpai_xds_server_init(&self->stage.methods);
    oom_torture(converse_from_nothing, self);
    self->fake.n_calls = 1;
    fake_peer_done(&self->fake);
    free(self);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sotw_client_names_all_and_answers),
        TEST(a_delta_client_says_what_differs),
        TEST(who_refuses_says_so_and_who_ignores_says_nothing),
        TEST(older_contents_are_passed_over),
        TEST(what_does_not_come_fails_in_words),
        TEST(what_came_before_the_last_deed_does_not_count),
        TEST(removals_are_told_in_both_ways),
        TEST(silence_is_broken_by_what_is_named_alone),
        TEST(silence_of_a_dead_stream_is_no_pass),
        TEST(silence_is_proved_by_another_exchange),
        TEST(an_endless_server_is_left),
        TEST(an_end_has_a_code),
        TEST(a_method_that_is_not_served_skips),
        TEST(what_is_no_response_fails),
        TEST(changes_that_cannot_be_made_skip_or_fail),
        TEST(names_that_are_not_known_skip),
        TEST(what_cases_change_is_put_back),
        cmocka_unit_test(lack_of_memory_ends_a_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
