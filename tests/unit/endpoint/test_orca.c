/* SPDX-License-Identifier: Apache-2.0 */
/* What a public endpoint answers to those who ask by ORCA. */
#include <udpa/orca.h>

#include <math.h>
#include <pthread.h>

#include "pair.h"
#include "tests/harness/wire.h"
#include "tests/unit/transport/raw.h"
#include "xds/data/orca/v3/orca_load_report.pb-c.h"

#define V3 "/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics"
#define V1 "/udpa.service.orca.v1.OpenRcaService/StreamCoreMetrics"

typedef struct asked {
    raw_client client;
    raw_call call;
} asked;

/* A caller who wants to be told ten times a second. */
static void
ask(asked *self, const test_pair *pair, const char *path)
{
    udpai_str request = W_MESSAGE(1, W_VARINT(2, 100000000));
    raw_connect(&self->client, pair->port, NULL, NULL);
    raw_begin(&self->client, &self->call, path);
    assert_true(raw_send(&self->call, request.data, request.len));
    raw_half_close(&self->call);
}

static void
end(asked *self)
{
    raw_cancel(&self->call);
    (void)raw_status(&self->call);
    raw_end(&self->call);
    raw_disconnect(&self->client);
    wire_free_all();
}

static Xds__Data__Orca__V3__OrcaLoadReport *
hear(asked *self)
{
    assert_true(raw_receive(&self->call));
    Xds__Data__Orca__V3__OrcaLoadReport *report = xds__data__orca__v3__orca_load_report__unpack(
        NULL, self->call.len, (const uint8_t *)self->call.data);
    assert_non_null(report);
    return report;
}

static double
hear_cpu(asked *self)
{
    Xds__Data__Orca__V3__OrcaLoadReport *report = hear(self);
    double cpu = report->cpu_utilization;
    xds__data__orca__v3__orca_load_report__free_unpacked(report, NULL);
    return cpu;
}

static void
set_cpu(udpa_endpoint *endpoint, double value)
{
    udpa_orca_metrics metrics = UDPA_ORCA_METRICS_INIT;
    metrics.cpu_utilization = value;
    assert_ok(udpa_orca_set(endpoint, &metrics, NULL));
}

/* ---- setting ---- */

static void
expect_refused(udpa_endpoint *endpoint,
               const udpa_orca_metrics *metrics,
               udpa_err code,
               const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_orca_set(endpoint, metrics, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
what_may_not_be_is_refused(void **state)
{
    (void)state;
    test_pair pair;
    static const udpa_orca_value twice[] = {{"a", 1}, {"a", 2}}, nameless = {NULL, 1};
    static udpa_orca_value many[UDPA_ORCA_NAMED_MAX + 1];
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    udpa_orca_metrics metrics = UDPA_ORCA_METRICS_INIT;
    metrics.cpu_utilization = NAN;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "cpu_utilization is nan");
    metrics.cpu_utilization = -1;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "may not be negative");
    metrics = (udpa_orca_metrics)UDPA_ORCA_METRICS_INIT;
    metrics.mem_utilization = 2;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "mem_utilization is 2");
    metrics = (udpa_orca_metrics)UDPA_ORCA_METRICS_INIT;
    metrics.request_costs = twice;
    metrics.n_request_costs = 2;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "request cost 'a' is there twice");
    metrics.request_costs = &nameless;
    metrics.n_request_costs = 1;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "is empty");
    metrics.request_costs = NULL;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "the array is NULL");
    metrics.request_costs = many;
    metrics.n_request_costs = UDPA_ORCA_NAMED_MAX + 1;
    expect_refused(pair.server, &metrics, UDPA_ERR_LIMIT, "at most 256");
    metrics = (udpa_orca_metrics)UDPA_ORCA_METRICS_INIT;
    metrics.struct_size--;
    expect_refused(pair.server, &metrics, UDPA_ERR_INVAL, "UDPA_ORCA_METRICS_INIT");
    pair_end(&pair);
}

static void
who_does_not_listen_cannot_be_asked(void **state)
{
    (void)state;
    test_pair pair;
    const udpa_orca_metrics metrics = UDPA_ORCA_METRICS_INIT;
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    expect_refused(pair.client, &metrics, UDPA_ERR_PRECONDITION, "listen_address");
    pair_end(&pair);
}

/* ---- asking ---- */

static void
callers_are_told_what_was_set_last(void **state)
{
    (void)state;
    test_pair pair;
    asked self;
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    set_cpu(pair.server, 0.25);
    ask(&self, &pair, V3);
    assert_true(hear_cpu(&self) == 0.25);
    set_cpu(pair.server, 0.5);
    while (hear_cpu(&self) != 0.5)
        ; /* one may have been under way */
    udpa_orca_metrics bad = UDPA_ORCA_METRICS_INIT;
    bad.eps = -1;
    assert_int_equal(udpa_orca_set(pair.server, &bad, NULL), UDPA_ERR_INVAL);
    assert_true(hear_cpu(&self) == 0.5);
    end(&self);
    pair_end(&pair);
}

static void
all_of_it_arrives(void **state)
{
    (void)state;
    test_pair pair;
    asked self;
    static const udpa_orca_value costs[] = {{"db", 3}, {"cache", 0.5}}, gpu = {"gpu", 0.75},
                                 queue = {"queue", 12};
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    const udpa_orca_metrics metrics = {
        .struct_size = sizeof(metrics),
        .cpu_utilization = 1.5,
        .mem_utilization = 0.5,
        .application_utilization = 0.875,
        .rps = 100.5,
        .eps = 2.5,
        .utilizations = &gpu,
        .n_utilizations = 1,
        .request_costs = costs,
        .n_request_costs = 2,
        .named_metrics = &queue,
        .n_named_metrics = 1,
    };
    assert_ok(udpa_orca_set(pair.server, &metrics, NULL));
    ask(&self, &pair, V3);
    Xds__Data__Orca__V3__OrcaLoadReport *report = hear(&self);
    assert_true(report->cpu_utilization == 1.5 && report->mem_utilization == 0.5);
    assert_true(report->application_utilization == 0.875);
    assert_true(report->rps_fractional == 100.5 && report->eps == 2.5);
    assert_int_equal(report->n_request_cost, 2);
    assert_string_equal(report->request_cost[0]->key, "cache");
    assert_true(report->request_cost[0]->value == 0.5);
    assert_string_equal(report->utilization[0]->key, "gpu");
    assert_true(report->utilization[0]->value == 0.75);
    assert_string_equal(report->named_metrics[0]->key, "queue");
    assert_true(report->named_metrics[0]->value == 12);
    xds__data__orca__v3__orca_load_report__free_unpacked(report, NULL);
    end(&self);
    ask(&self, &pair, V1);
    report = hear(&self);
    assert_true(report->cpu_utilization == 1.5);
    assert_int_equal(report->rps, 101);
    assert_int_equal(report->n_named_metrics, 0);
    xds__data__orca__v3__orca_load_report__free_unpacked(report, NULL);
    end(&self);
    pair_end(&pair);
}

/* ---- from any thread ---- */

#define LAST 1000.0

static void *
set_often(void *endpoint)
{
    for (double value = 0; value <= LAST; value++)
        set_cpu(endpoint, value);
    return NULL;
}

static void
any_thread_may_set_it(void **state)
{
    (void)state;
    test_pair pair;
    asked self;
    pthread_t thread;
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    assert_ok(udpa_orca_set(pair.server, NULL, NULL)); /* nothing is known yet */
    assert_ok(pthread_create(&thread, NULL, set_often, pair.server));
    ask(&self, &pair, V3);
    double last = 0;
    while (last < LAST) {
        double next = hear_cpu(&self);
        assert_true(next >= last);
        last = next;
    }
    assert_ok(pthread_join(thread, NULL));
    end(&self);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_not_be_is_refused),
        cmocka_unit_test(who_does_not_listen_cannot_be_asked),
        cmocka_unit_test(callers_are_told_what_was_set_last),
        cmocka_unit_test(all_of_it_arrives),
        cmocka_unit_test(any_thread_may_set_it),
    };
    return cmocka_run_group_tests_name("endpoint orca", tests, NULL, NULL);
}
