/* SPDX-License-Identifier: Apache-2.0 */
/* The hub between loop side and sessions: orders reach whom they mean, reports come back, everybody
 * gets his turn, and lack of memory is told instead of suffered. */
#include "base/alloc.h"
#include "session/hub.h"

#include "fanout/fanout_internal.h"
#include "session_test.h"
#include "tests/harness/oom.h"

/* ---- a protocol of the test's own ---- */

typedef struct dummy {
    udpai_session session;
    int n_messages; /* what it has to write */
    int n_orders;   /* that it was given */
    int n_received;
    udpa_err fails_with; /* at the next call */
    bool was_freed;
    udpa_bytes *message;
} dummy;

static fake_hub hub;
static int turns[64];
static size_t n_turns;

static dummy *
dummy_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, dummy, session);
}

static udpa_err
dummy_receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    dummy *self = dummy_of(session);
    self->n_received++;
    if (message.len)
        udpai_session_ready(session);
    if (self->fails_with == UDPA_ERR_NOMEM)
        return UDPA_ERR_NOMEM; /* and says nothing of it */
    return self->fails_with ? udpai_fail(ret_error, self->fails_with, "because") : UDPA_OK;
}

static udpa_err
dummy_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    dummy *self = dummy_of(session);
    if (self->fails_with)
        return udpai_fail(ret_error, self->fails_with, "cannot write");
    if (self->n_messages == 0)
        return UDPA_OK;
    self->n_messages--;
    turns[n_turns++] = (int)session->id;
    out->parts = &self->message;
    out->n_parts = 1;
    *ret_any = true;
    udpai_session_ready(session); /* there is more */
    return UDPA_OK;
}

static void
dummy_order(udpai_session *session, udpai_order *order)
{
    (void)order;
    dummy_of(session)->n_orders++;
}

static udpa_bytes *
dummy_describe(const udpai_session *session)
{
    (void)session;
    return NULL; /* as without memory */
}

static void
dummy_free(udpai_session *session)
{
    dummy_of(session)->was_freed = true;
    udpa_bytes_unref(dummy_of(session)->message);
}

static const udpai_session_ops dummy_ops = {
    .name = "dummy",
    .receive = dummy_receive,
    .next = dummy_next,
    .order = dummy_order,
    .describe = dummy_describe,
    .free = dummy_free,
};

static dummy dummies[4];
static fake_stream streams[4];
static size_t n_dummies;

static udpa_err
dummy_new(udpai_session **ret_session, udpai_hub *of, const udpai_stream_info *info)
{
    dummy *self = &dummies[n_dummies];
    memset(self, 0, sizeof(*self));
    assert_ok(udpa_bytes_new(&self->message, "hello", 5));
    assert_ok(udpai_session_init(&self->session, of, &dummy_ops, info));
    *ret_session = &self->session;
    return UDPA_OK;
}

static dummy *
open_dummy(void)
{
    fake_stream_open(&streams[n_dummies], &hub, dummy_new, NULL);
    return &dummies[n_dummies++];
}

static int
begin(void **state)
{
    (void)state;
    session_hub_init(&hub);
    n_dummies = n_turns = 0;
    return 0;
}

static int
end(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_dummies; i++)
        fake_stream_close(&streams[i]);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

static void
give(udpai_order_kind kind, uint64_t session)
{
    udpai_order *order = udpai_order_new(kind);
    assert_non_null(order);
    order->session = session;
    udpai_hub_order(hub.hub, order);
}

/* ---- orders ---- */

static void
orders_reach_the_session_they_name(void **state)
{
    (void)state;
    dummy *a = open_dummy(), *b = open_dummy();
    assert_int_equal(udpai_hub_n_sessions(hub.hub), 2);
    give(UDPAI_ORDER_SUBSCRIBE, b->session.id);
    give(UDPAI_ORDER_PUBLICATION_DONE, b->session.id);
    give(UDPAI_ORDER_PUBLISH, 99); /* nobody */
    assert_int_equal(a->n_orders, 0);
    assert_int_equal(b->n_orders, 2);
    udpai_session_finish(&b->session, NULL);
    give(UDPAI_ORDER_SUBSCRIBE, b->session.id); /* too late */
    assert_int_equal(b->n_orders, 2);
}

/* Who gives it knows a ticket, and no session. */
static void
forgetting_concerns_every_session(void **state)
{
    (void)state;
    dummy *a = open_dummy(), *b = open_dummy(), *ended = open_dummy();
    udpai_session_finish(&ended->session, NULL);
    give(UDPAI_ORDER_FORGET, 0);
    assert_int_equal(a->n_orders, 1);
    assert_int_equal(b->n_orders, 1);
    assert_int_equal(ended->n_orders, 0);
}

static void
hanging_up_ends_the_stream(void **state)
{
    (void)state;
    dummy *a = open_dummy(), *b = open_dummy();
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    order->session = a->session.id;
    order->error = udpa_error_new(UDPA_ERR_DENIED, NULL, "go away");
    udpai_hub_order(hub.hub, order);
    assert_true(streams[0].is_finished);
    assert_int_equal(udpa_error_code(streams[0].status), UDPA_ERR_DENIED);
    give(UDPAI_ORDER_HANG_UP, b->session.id);
    assert_true(streams[1].is_finished);
    assert_null(streams[1].status);           /* in peace */
    give(UDPAI_ORDER_HANG_UP, b->session.id); /* twice is once */
}

static void
changes_are_answered_when_they_are_applied(void **state)
{
    (void)state;
    session_expect_no(&hub, UDPAI_REPORT_APPLIED);
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1");
    assert_int_equal(udpai_fanout_n_resources(udpai_hub_fanout(hub.hub)), 2);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_APPLIED));
    session_expect_no(&hub, UDPAI_REPORT_APPLIED);
}

/* ---- changes without memory ---- */

static udpai_order *
order_of_changes(const char *const names[], size_t n)
{
    udpai_change_set *set = udpai_change_set_new();
    assert_non_null(set);
    for (size_t i = 0; i < n; i++) {
        bool removes = names[i][0] == '-';
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE(names[i] + removes, .value = "1");
        const udpai_change change = {.kind = removes ? UDPAI_CHANGE_REMOVE : UDPAI_CHANGE_SET,
                                     .resource = resource};
        assert_ok(udpai_change_set_add(set, &change));
    }
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    assert_non_null(order);
    order->changes = set;
    return order;
}

#define ORDER(...)                                                                                 \
    order_of_changes((const char *const[]){__VA_ARGS__},                                           \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void
order_with_memory(udpai_order *order, long n)
{
    udpai_alloc_fail_after(n);
    udpai_hub_order(hub.hub, order);
    udpai_alloc_fail_after(-1);
}

static size_t
n_resources(void)
{
    return udpai_fanout_n_resources(udpai_hub_fanout(hub.hub));
}

static void
a_broken_mirror_ends_all_sessions(void **state)
{
    (void)state;
    open_dummy();
    open_dummy();
    order_with_memory(ORDER("com.acme/a"), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(streams[i].is_finished);
        assert_int_equal(udpa_error_code(streams[i].status), UDPA_ERR_NOMEM);
    }
    session_expect_no(&hub, UDPAI_REPORT_APPLIED); /* it is not */
}

/* Removals, too: what the loop side has told it does not tell again. */
static void
what_there_was_no_memory_for_is_applied_later(void **state)
{
    (void)state;
    session_change(&hub, "+T:com.acme/old=1");
    udpai_report_free(session_take(&hub, UDPAI_REPORT_APPLIED));
    order_with_memory(ORDER("com.acme/a", "-com.acme/old", "com.acme/b"), 1);
    session_expect_no(&hub, UDPAI_REPORT_APPLIED);
    fake_hub_advance(&hub, 60000); /* nobody gives an order */
    udpai_report_free(session_take(&hub, UDPAI_REPORT_APPLIED));
    session_expect_no(&hub, UDPAI_REPORT_APPLIED);
    assert_int_equal(n_resources(), 2);
}

static void
later_changes_wait_for_earlier_ones(void **state)
{
    (void)state;
    order_with_memory(ORDER("com.acme/a", "com.acme/b"), 0);
    order_with_memory(ORDER("-com.acme/a"), 0);
    assert_int_equal(n_resources(), 0);
    session_change(&hub, "+C:com.acme/c=1"); /* and takes the others along */
    assert_int_equal(n_resources(), 2);
    for (int i = 0; i < 3; i++)
        udpai_report_free(session_take(&hub, UDPAI_REPORT_APPLIED));
}

/* It speaks of what was told before it. */
static void
settled_waits_for_changes(void **state)
{
    (void)state;
    const udpai_fanout *fanout = udpai_hub_fanout(hub.hub);
    const udpai_settled *before = fanout->settled;
    session_drop(&hub, UDPAI_REPORT_SETTLED); /* of the beginning */
    order_with_memory(ORDER("com.acme/a"), 0);
    for (int i = 0; i < 2; i++) { /* the later takes the place of the earlier */
        udpai_order *order = udpai_order_new(UDPAI_ORDER_SETTLED);
        order->settled = udpai_settled_new(&(udpai_settled_facts){0});
        assert_non_null(order->settled);
        order_with_memory(order, 0);
        assert_ptr_equal(fanout->settled, before);
    }
    udpai_report_free(session_take(&hub, UDPAI_REPORT_SETTLED)); /* of the earlier */
    order_with_memory(ORDER("com.acme/b"), 0);
    session_expect_no(&hub, UDPAI_REPORT_SETTLED); /* changes do not */
    fake_hub_advance(&hub, 60000);
    assert_int_equal(n_resources(), 2);
    assert_ptr_not_equal(fanout->settled, before);
    /* Each is answered, or the loop side tells no more. */
    udpai_report_free(session_take(&hub, UDPAI_REPORT_SETTLED));
    session_expect_no(&hub, UDPAI_REPORT_SETTLED);
}

static void
nobody_is_served_from_half_a_mirror(void **state)
{
    (void)state;
    order_with_memory(ORDER("com.acme/a", "com.acme/b"), 0);
    dummy *late = &dummies[0];
    memset(late, 0, sizeof(*late));
    assert_int_equal(
        udpai_session_init(&late->session, hub.hub, &dummy_ops, &(udpai_stream_info){0}),
        UDPA_ERR_NOMEM);
    assert_int_equal(udpai_hub_n_sessions(hub.hub), 0);
    fake_hub_advance(&hub, 60000);
    open_dummy();
    assert_int_equal(udpai_hub_n_sessions(hub.hub), 1);
}

/* The loop side counts the answers: one that is lost is never made up for. */
static void
what_is_applied_is_answered_without_memory(void **state)
{
    (void)state;
    open_dummy();
    order_with_memory(ORDER("-com.acme/none"), 0);
    udpai_report_free(session_take(&hub, UDPAI_REPORT_APPLIED));
    assert_false(streams[0].is_finished);
}

static void
a_hub_may_end_while_it_is_behind(void **state)
{
    unsigned long before = udpai_alloc_live();
    (void)begin(state);
    order_with_memory(ORDER("com.acme/a"), 0);
    order_with_memory(ORDER("com.acme/b"), 0);
    assert_int_equal(n_resources(), 0); /* it is behind */
    (void)end(state);
    assert_int_equal(udpai_alloc_live(), before);
}

static udpa_err
order_scenario(void *context)
{
    (void)context;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    udpa_err err = order ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_order_free(order);
    return err;
}

static void
an_order_comes_with_its_answer(void **state)
{
    (void)state;
    assert_int_equal(oom_torture(order_scenario, NULL), 2);
}

/* Who asks several stream sides counts their answers: each question has one, or the next question's
 * would be taken for it. */
static void
a_question_is_answered_without_memory(void **state)
{
    (void)state;
    static const udpai_order_kind questions[] = {UDPAI_ORDER_STATUS, UDPAI_ORDER_ACKNOWLEDGEMENTS};
    static const udpai_report_kind answers[] = {UDPAI_REPORT_STATUS, UDPAI_REPORT_ACKNOWLEDGEMENTS};
    const udpai_str name = UDPAI_STR("udpa.node/acknowledgement/1/t/com.acme/a");
    const udpai_subscription_message message = {.names = &name, .n_names = 1};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(questions); i++) {
        udpai_order *order = udpai_order_new(questions[i]);
        order->ticket = 7;
        order->subscription = udpai_subscription_message_copy(&message);
        udpai_alloc_fail_after(0);
        udpai_hub_order(hub.hub, order);
        udpai_alloc_fail_after(-1);
        udpai_report_free(session_take(&hub, answers[i]));
    }
}

static void
what_cannot_be_described_is_left_out(void **state)
{
    (void)state;
    test_peer peer;
    open_dummy();
    peer_open(&peer, &hub, PEER_ENDPOINT);
    give(UDPAI_ORDER_STATUS, 0);
    udpai_report *report = session_take(&hub, UDPAI_REPORT_STATUS);
    assert_int_equal(report->statuses.n, 1);
    udpai_report_free(report);
    peer_close(&peer);
}

/* ---- dialling ---- */

static uint64_t dialled_link, stopped_link;

static void
note_dial(void *userdata, udpai_order *order)
{
    assert_ptr_equal(userdata, &dialled_link);
    dialled_link = order->link;
    udpai_order_free(order);
}

static void
note_stop(void *userdata, uint64_t link)
{
    assert_ptr_equal(userdata, &dialled_link);
    stopped_link = link;
}

/* What has no session yet can be given up by its link. */
static void
dialling_is_the_transports(void **state)
{
    (void)state;
    udpai_wheel wheel;
    udpai_wheel_init(&wheel, 0);
    udpai_hub_options options = fake_hub_options();
    const udpai_hub_env env = {
        .dial = note_dial, .stop_dialling = note_stop, .userdata = &dialled_link};
    udpai_hub *dialler = NULL;
    assert_ok(udpai_hub_new(&dialler, &wheel, &options, &env));
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    order->link = 5;
    udpai_hub_order(dialler, order);
    assert_int_equal(dialled_link, 5);
    order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    order->session = 3; /* has ended */
    udpai_hub_order(dialler, order);
    assert_int_equal(stopped_link, 0);
    order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    order->link = 5;
    udpai_hub_order(dialler, order);
    assert_int_equal(stopped_link, 5);
    assert_ptr_equal(udpai_hub_wheel(dialler), &wheel);
    udpai_hub_free(dialler);
}

/* ---- turns ---- */

static void
everybody_writes_one_message_in_turn(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        open_dummy()->n_messages = 3;
        udpai_session_ready(&dummies[i].session);
    }
    assert_int_equal(hub.n_wakes, 1); /* once, while it was idle */
    for (int round = 0; round < 3; round++) {
        udpai_hub_run(hub.hub);
        udpai_hub_run(hub.hub); /* nobody writes while his last message is under way */
        assert_int_equal(n_turns, 3 * (round + 1));
        for (int i = 0; i < 3; i++)
            fake_stream_complete(&streams[i]);
    }
    static const int expected[] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    assert_memory_equal(turns, expected, sizeof(expected));
    udpai_hub_run(hub.hub);
    assert_int_equal(n_turns, 9);
}

static void
a_session_that_ends_loses_its_turn(void **state)
{
    (void)state;
    dummy *a = open_dummy(), *b = open_dummy();
    a->n_messages = b->n_messages = 1;
    udpai_session_ready(&a->session);
    udpai_session_ready(&b->session);
    udpai_session_finish(&a->session, NULL);
    udpai_session_ready(&a->session);
    udpai_hub_run(hub.hub);
    assert_int_equal(n_turns, 1);
    assert_int_equal(turns[0], (int)b->session.id);
    fake_stream_close(&streams[1]); /* while it writes */
    assert_true(b->was_freed);
    assert_int_equal(udpai_hub_n_sessions(hub.hub), 1);
}

/* ---- ends ---- */

static void
an_error_ends_the_stream_with_its_words(void **state)
{
    (void)state;
    dummy *a = open_dummy(), *b = open_dummy(), *c = open_dummy();
    a->fails_with = UDPA_ERR_PRECONDITION;
    udpai_session_receive(&a->session, (udpai_str){0});
    assert_int_equal(udpa_error_code(streams[0].status), UDPA_ERR_PRECONDITION);
    assert_string_equal(udpa_error_message(streams[0].status), "because");
    b->fails_with = UDPA_ERR_NOMEM;
    udpai_session_receive(&b->session, (udpai_str){0});
    assert_string_equal(udpa_error_message(streams[1].status), "out of memory");
    c->fails_with = UDPA_ERR_ABORTED;
    udpai_session_ready(&c->session);
    udpai_hub_run(hub.hub);
    assert_string_equal(udpa_error_message(streams[2].status), "cannot write");
    udpai_session_receive(&a->session, (udpai_str){0}); /* it has ended */
    assert_int_equal(a->n_received, 1);
    udpai_session_pause(&a->session, true);
    assert_false(streams[0].is_paused);
}

static void
all_sessions_can_be_ended(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        open_dummy();
    udpai_session_finish(&dummies[2].session, NULL);
    udpai_hub_finish_all(hub.hub, UDPA_ERR_UNAVAILABLE, "shutting down");
    for (int i = 0; i < 4; i++)
        assert_true(streams[i].is_finished);
    assert_null(streams[2].status);
    assert_int_equal(udpa_error_code(streams[3].status), UDPA_ERR_UNAVAILABLE);
    assert_string_equal(udpa_error_message(streams[3].status), "shutting down");
}

static void
pausing_is_told_once(void **state)
{
    (void)state;
    dummy *a = open_dummy();
    udpai_session_pause(&a->session, false);
    udpai_session_pause(&a->session, true);
    udpai_session_pause(&a->session, true); /* the fake stream would object */
    assert_true(streams[0].is_paused);
    udpai_session_pause(&a->session, false);
    assert_false(streams[0].is_paused);
}

/* ---- memory ---- */

static void
ignore_report(void *userdata, udpai_report *report)
{
    (void)userdata;
    udpai_report_free(report);
}

static udpa_err
hub_scenario(void *context)
{
    udpai_wheel *wheel = context;
    udpai_hub_options options = fake_hub_options();
    const udpai_hub_env env = {.report = ignore_report};
    udpai_hub *made = NULL;
    udpa_err err = udpai_hub_new(&made, wheel, &options, &env);
    assert_int_equal(err == UDPA_OK, made != NULL);
    udpai_hub_free(made);
    return err;
}

static void
without_memory_there_is_no_hub(void **state)
{
    (void)state;
    udpai_wheel wheel;
    udpai_wheel_init(&wheel, 0);
    oom_torture(hub_scenario, &wheel);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(orders_reach_the_session_they_name, begin, end),
        cmocka_unit_test_setup_teardown(forgetting_concerns_every_session, begin, end),
        cmocka_unit_test_setup_teardown(hanging_up_ends_the_stream, begin, end),
        cmocka_unit_test_setup_teardown(changes_are_answered_when_they_are_applied, begin, end),
        cmocka_unit_test_setup_teardown(a_broken_mirror_ends_all_sessions, begin, end),
        cmocka_unit_test_setup_teardown(what_there_was_no_memory_for_is_applied_later, begin, end),
        cmocka_unit_test_setup_teardown(later_changes_wait_for_earlier_ones, begin, end),
        cmocka_unit_test_setup_teardown(settled_waits_for_changes, begin, end),
        cmocka_unit_test_setup_teardown(nobody_is_served_from_half_a_mirror, begin, end),
        cmocka_unit_test_setup_teardown(what_is_applied_is_answered_without_memory, begin, end),
        cmocka_unit_test(a_hub_may_end_while_it_is_behind),
        cmocka_unit_test(an_order_comes_with_its_answer),
        cmocka_unit_test_setup_teardown(a_question_is_answered_without_memory, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_described_is_left_out, begin, end),
        cmocka_unit_test(dialling_is_the_transports),
        cmocka_unit_test_setup_teardown(everybody_writes_one_message_in_turn, begin, end),
        cmocka_unit_test_setup_teardown(a_session_that_ends_loses_its_turn, begin, end),
        cmocka_unit_test_setup_teardown(an_error_ends_the_stream_with_its_words, begin, end),
        cmocka_unit_test_setup_teardown(all_sessions_can_be_ended, begin, end),
        cmocka_unit_test_setup_teardown(pausing_is_told_once, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_there_is_no_hub, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
