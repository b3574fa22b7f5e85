/* SPDX-License-Identifier: Apache-2.0 */
/* A caller of StreamCoreMetrics: what it is told, and when. */
#include "orca_test.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/oom.h"
#include "udpa/status/v1/status.pb-c.h"

static fake_hub hub;
static fake_stream stream;
static udpai_orca_metrics *known; /* NULL: nothing */

static udpai_orca_metrics *
get(void *userdata)
{
    assert_ptr_equal(userdata, &known);
    return udpai_orca_metrics_ref(known);
}

static udpai_orca_service service = {get, &known};

static int
setup(void **state)
{
    const udpai_hub_options options = fake_hub_options();
    (void)state;
    fake_hub_init(&hub, &options);
    return 0;
}

static int
done(void **state)
{
    (void)state;
    fake_stream_close(&stream);
    known = udpai_orca_metrics_unref(known);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

static void
know(const udpai_orca_parts *parts)
{
    known = udpai_orca_metrics_unref(known);
    if (parts)
        known = orca_made(parts);
}

static void
know_cpu(double value)
{
    const udpai_orca_parts parts = CPU(value);
    know(&parts);
}

static void
begin(fake_session_fn session_new)
{
    const udpai_stream_info info = {.context = &service};
    fake_stream_open(&stream, &hub, session_new, &info);
}

static void
receive(udpai_str message)
{
    fake_stream_receive(&stream, message.data, message.len);
}

static void
ask(udpai_str request)
{
    begin(udpai_orca_session_new);
    receive(request);
    udpai_session_ended(stream.session); /* a call of one request */
    fake_stream_run(&stream, &hub);
}

static void
expect_cpu(double value)
{
    udpa_bytes *bytes = fake_stream_take(&stream);
    assert_non_null(bytes);
    Xds__Data__Orca__V3__OrcaLoadReport *report = orca_unpacked(bytes);
    assert_true(report->cpu_utilization == value);
    orca_free_unpacked(report);
    udpa_bytes_unref(bytes);
}

static void
advance(uint64_t ms)
{
    fake_hub_advance(&hub, ms);
    fake_stream_run(&stream, &hub);
}

static void
expect_end(udpa_err code, const char *words)
{
    assert_true(stream.is_finished);
    assert_int_equal(udpa_error_code(stream.status), code);
    if (!strstr(udpa_error_message(stream.status), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(stream.status), words);
}

/* ---- when ---- */

static void
a_report_comes_at_once_and_after_each_interval(void **state)
{
    (void)state;
    know_cpu(0.25);
    ask(orca_request(2, 0));
    expect_cpu(0.25);
    know_cpu(0.5);
    advance(1999);
    assert_null(fake_stream_take(&stream));
    advance(1);
    expect_cpu(0.5);
    advance(2000);
    expect_cpu(0.5); /* also if nothing has changed: who is told nothing does not know that */
    assert_null(fake_stream_take(&stream));
    assert_false(stream.is_finished);
}

static void
the_shortest_interval_is_a_tenth_of_a_second(void **state)
{
    (void)state;
    know_cpu(0.25);
    ask(orca_request(0, 1));
    expect_cpu(0.25);
    advance(99);
    assert_null(fake_stream_take(&stream));
    advance(1);
    expect_cpu(0.25);
}

static void
what_is_not_known_is_not_said(void **state)
{
    (void)state;
    ask(orca_request(1, 0));
    advance(5000);
    assert_null(fake_stream_take(&stream));
    assert_false(stream.is_finished);
    know_cpu(0);
    advance(1000);
    udpa_bytes *bytes = fake_stream_take(&stream);
    assert_non_null(bytes); /* that it has no load is something */
    assert_int_equal(udpa_bytes_size(bytes), 0);
    udpa_bytes_unref(bytes);
    know(NULL);
    advance(5000);
    assert_null(fake_stream_take(&stream));
}

static void
who_reads_slowly_gets_what_is_known_then(void **state)
{
    (void)state;
    know_cpu(0.1);
    begin(udpai_orca_session_new);
    receive(orca_request(1, 0));
    udpai_hub_run(hub.hub); /* and the write is not done */
    for (size_t i = 2; i < 9; i++) {
        know_cpu((double)i);
        fake_hub_advance(&hub, 1000);
        udpai_hub_run(hub.hub);
    }
    expect_cpu(0.1);
    assert_null(fake_stream_take(&stream));
    fake_stream_complete(&stream);
    fake_stream_run(&stream, &hub);
    expect_cpu(8);
    assert_null(fake_stream_take(&stream));
}

/* ---- what ---- */

static void
costs_are_those_that_were_asked_for(void **state)
{
    static const udpai_orca_value costs[] = {{{"a", 1}, 1}, {{"b", 1}, 2}, {{"c", 1}, 3}};
    static const udpai_orca_parts parts = {.values = {[UDPAI_ORCA_REQUEST_COSTS] = {costs, 3}}};
    (void)state;
    know(&parts);
    ask(W_JOIN(orca_request(1, 0), W_TEXT(2, "z"), W_TEXT(2, "b")));
    udpa_bytes *bytes = fake_stream_take(&stream);
    assert_non_null(bytes);
    Xds__Data__Orca__V3__OrcaLoadReport *report = orca_unpacked(bytes);
    assert_int_equal(report->n_request_cost, 1);
    assert_string_equal(report->request_cost[0]->key, "b");
    orca_free_unpacked(report);
    udpa_bytes_unref(bytes);
}

static void
v1_is_answered_in_its_form(void **state)
{
    static const udpai_orca_parts parts = {.figures = {[UDPAI_ORCA_RPS] = 12.5}};
    (void)state;
    know(&parts);
    begin(udpai_orca_v1_session_new);
    receive(orca_request(1, 0));
    fake_stream_run(&stream, &hub);
    udpa_bytes *bytes = fake_stream_take(&stream);
    assert_non_null(bytes);
    Xds__Data__Orca__V3__OrcaLoadReport *report = orca_unpacked(bytes);
    assert_int_equal(report->rps, 13);
    assert_true(report->rps_fractional == 0);
    orca_free_unpacked(report);
    udpa_bytes_unref(bytes);
}

/* ---- bad callers ---- */

static void
one_request_is_enough(void **state)
{
    (void)state;
    know_cpu(0.25);
    begin(udpai_orca_session_new);
    receive(orca_request(1, 0));
    receive(orca_request(2, 0));
    expect_end(UDPA_ERR_INVAL, "takes one request");
}

static void
and_needed(void **state)
{
    (void)state;
    begin(udpai_orca_session_new);
    udpai_session_ended(stream.session);
    expect_end(UDPA_ERR_INVAL, "needs an OrcaLoadReportRequest");
}

static void
a_bad_request_ends_the_stream(void **state)
{
    (void)state;
    begin(udpai_orca_session_new);
    receive(orca_request(-5, 0));
    expect_end(UDPA_ERR_INVAL, "may not be negative");
    fake_hub_advance(&hub, 20000); /* no timer is left */
    fake_stream_close(&stream);
    begin(udpai_orca_session_new);
    receive(UDPAI_STR("\x0a\x7f"));
    expect_end(UDPA_ERR_MALFORMED, "");
}

/* ---- status, orders and memory ---- */

static void
a_session_is_described(void **state)
{
    (void)state;
    know_cpu(0.25);
    ask(orca_request(1, 0));
    udpa_bytes *bytes = stream.session->ops->describe(stream.session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_string_equal(status->protocol, "orca");
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    udpai_hub_order(hub.hub, order);
    assert_false(stream.is_finished);
}

static udpa_err
ask_with_little_memory(void *context)
{
    const udpai_stream_info info = {.context = &service};
    udpai_str *request = context;
    udpa_err err = udpai_orca_session_new(&stream.session, hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    udpa_bytes *none = NULL;
    udpai_outgoing out = {0};
    bool any = false;
    err = stream.session->ops->receive(stream.session, *request, NULL);
    if (err == UDPA_OK)
        err = stream.session->ops->next(stream.session, &out, &any, NULL);
    if (err == UDPA_OK)
        none = stream.session->ops->describe(stream.session);
    if (err == UDPA_OK && !none)
        err = UDPA_ERR_NOMEM;
    udpa_bytes_unref(none);
    udpai_session_closed(UDPAI_TAKE(stream.session), NULL);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    udpai_str request = W_JOIN(orca_request(1, 0), W_TEXT(2, "a"));
    (void)state;
    know_cpu(0.25);
    oom_torture(ask_with_little_memory, &request);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_report_comes_at_once_and_after_each_interval),
        TEST(the_shortest_interval_is_a_tenth_of_a_second),
        TEST(what_is_not_known_is_not_said),
        TEST(who_reads_slowly_gets_what_is_known_then),
        TEST(costs_are_those_that_were_asked_for),
        TEST(v1_is_answered_in_its_form),
        TEST(one_request_is_enough),
        TEST(and_needed),
        TEST(a_bad_request_ends_the_stream),
        TEST(a_session_is_described),
        TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
