/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that is asked: what it is sent, what becomes of its answers, and when it is read. */
#include <math.h>

#include "orca_test.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/oom.h"
#include "udpa/load/v1/orca.pb-c.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds/service/orca/v3/orca.pb-c.h"

#define LINK 77

static fake_hub hub;
static fake_stream stream;
static udpai_orca_question *question;
static const udpai_orca_backend backend = {{"com.acme/a", 10}, {"::1", 3}, 8080, 2000};

static int
setup(void **state)
{
    const udpai_hub_options options = fake_hub_options();
    (void)state;
    fake_hub_init(&hub, &options);
    question = udpai_orca_question_new(&backend);
    assert_non_null(question);
    const udpai_stream_info info = {.context = question, .link = LINK};
    fake_stream_open(&stream, &hub, udpai_orca_collect_session_new, &info);
    return 0;
}

static int
done(void **state)
{
    (void)state;
    fake_stream_close(&stream);
    udpai_orca_question_drop(question);
    fake_hub_drop_reports(&hub);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

static void
receive(udpai_str message)
{
    fake_stream_receive(&stream, message.data, message.len);
}

static void
the_question_is_asked_once(void **state)
{
    (void)state;
    udpai_report *opened = fake_hub_take_report(&hub, UDPAI_REPORT_OPENED);
    assert_non_null(opened);
    assert_int_equal(opened->link, LINK);
    udpai_report_free(opened);
    fake_stream_run(&stream, &hub);
    udpa_bytes *bytes = fake_stream_take(&stream);
    assert_non_null(bytes);
    assert_true(stream.is_last); /* a server of one request waits for the end of them */
    Xds__Service__Orca__V3__OrcaLoadReportRequest *request =
        xds__service__orca__v3__orca_load_report_request__unpack(NULL, udpa_bytes_size(bytes),
                                                                 udpa_bytes_data(bytes));
    assert_non_null(request);
    assert_int_equal(request->report_interval->seconds, 2);
    assert_int_equal(request->n_request_cost_names, 0);
    xds__service__orca__v3__orca_load_report_request__free_unpacked(request, NULL);
    udpa_bytes_unref(bytes);
    fake_hub_advance(&hub, 100000);
    fake_stream_run(&stream, &hub);
    assert_null(fake_stream_take(&stream));
}

static void
an_answer_becomes_a_resource(void **state)
{
    (void)state;
    receive(W_JOIN(orca_double(1, 0.5), orca_entry(8, "queue", 3)));
    udpai_report *report = fake_hub_take_report(&hub, UDPAI_REPORT_PUBLICATION);
    assert_non_null(report);
    assert_int_equal(report->link, LINK);
    assert_int_equal(report->publication->entries.n, 1);
    const udpa_resource *resource = report->publication->entries.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), "com.acme/a/::1:8080");
    assert_int_equal(udpa_resource_ttl_ms(resource), 3 * 2000 + 10000);
    assert_str(udpai_resource_type_url(resource), UDPAI_TYPE_ORCA_REPORT);
    udpai_str value = udpai_resource_value(resource);
    Udpa__Load__V1__OrcaReport *said =
        udpa__load__v1__orca_report__unpack(NULL, value.len, (const uint8_t *)value.data);
    assert_non_null(said);
    assert_string_equal(said->cluster, "com.acme/a");
    assert_string_equal(said->address, "::1");
    assert_int_equal(said->port, 8080);
    assert_true(said->metrics->cpu_utilization == 0.5);
    assert_int_equal(said->metrics->n_named_metrics, 1);
    udpa__load__v1__orca_report__free_unpacked(said, NULL);
    udpai_report_free(report);
}

static void
who_sends_more_is_read_late(void **state)
{
    (void)state;
    receive(orca_double(1, 0.5));
    assert_true(stream.is_paused);
    fake_hub_advance(&hub, 999);
    assert_true(stream.is_paused);
    fake_hub_advance(&hub, 1);
    assert_false(stream.is_paused);
}

static void
nonsense_ends_the_stream(void **state)
{
    (void)state;
    receive(orca_double(1, NAN));
    assert_true(stream.is_finished);
    assert_int_equal(udpa_error_code(stream.status), UDPA_ERR_INVAL);
    assert_null(fake_hub_take_report(&hub, UDPAI_REPORT_PUBLICATION));
}

static void
its_end_is_told(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cut");
    udpai_session_closed(UDPAI_TAKE(stream.session), why);
    udpai_report *report = fake_hub_take_report(&hub, UDPAI_REPORT_CLOSED);
    assert_non_null(report);
    assert_int_equal(report->link, LINK);
    assert_string_equal(udpa_error_message(report->error), "cut");
    udpai_report_free(report);
}

static void
a_session_is_described(void **state)
{
    (void)state;
    receive(orca_double(1, 0.5));
    udpa_bytes *bytes = stream.session->ops->describe(stream.session);
    assert_non_null(bytes);
    Udpa__Status__V1__SessionStatus *status = udpa__status__v1__session_status__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(status);
    assert_string_equal(status->protocol, "orca-collect");
    assert_int_equal(status->n_resources_received, 1);
    udpa__status__v1__session_status__free_unpacked(status, NULL);
    udpa_bytes_unref(bytes);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    udpai_hub_order(hub.hub, order);
    assert_false(stream.is_finished);
}

static udpa_err
collect_with_little_memory(void *context)
{
    udpai_str *message = context;
    udpai_session *session = NULL;
    udpai_orca_question *asked = udpai_orca_question_new(&backend);
    if (!asked)
        return UDPA_ERR_NOMEM;
    fake_stream other = {.session = NULL};
    const udpai_stream_info info = {
        .context = asked, .link = LINK, .stream = (void *)&other, .ops = stream.session->info.ops};
    udpa_err err = udpai_orca_collect_session_new(&session, hub.hub, &info);
    if (err == UDPA_OK && other.is_finished)
        err = udpa_error_code(other.status);
    if (err == UDPA_OK)
        err = session->ops->receive(session, *message, NULL);
    if (session)
        udpai_session_closed(session, NULL);
    udpa_error_unref(other.status);
    udpai_orca_question_drop(asked);
    fake_hub_drop_reports(&hub);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    udpai_str message = W_JOIN(orca_double(1, 0.5), orca_entry(4, "db", 2));
    (void)state;
    oom_torture(collect_with_little_memory, &message);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_question_is_asked_once),
        TEST(an_answer_becomes_a_resource),
        TEST(who_sends_more_is_read_late),
        TEST(nonsense_ends_the_stream),
        TEST(its_end_is_told),
        TEST(a_session_is_described),
        TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
