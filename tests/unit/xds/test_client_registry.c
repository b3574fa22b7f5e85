/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream side tells the loop side of its clients: all once, then what has changed. */
#include "xds/client_registry.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "tests/harness/oom.h"
#include "udpa/status/v1/status.pb-c.h"
#include "xds_test.h"

typedef Udpa__Status__V1__ClientStatus client_status;

typedef struct fixture {
    xds_world world;
    xds_client one, two;
    char told[1 << 14];
    bool was_whole;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    udpai_hub_options options = fake_hub_options();
    assert_non_null(self);
    options.watcher = &udpai_client_registry_ops;
    xds_world_init_with(&self->world, &options);
    xds_settle(&self->world);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    xds_client_close(&self->one);
    xds_client_close(&self->two);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static void
order(fixture *self, uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CENSUS);
    assert_non_null(order);
    order->ticket = ticket;
    udpai_hub_order(self->world.hub.hub, order);
}

/* "1=client:2/1/0+0": number, id, resources, those SYNCED and ERROR, and those left out; "-1": it
 * has gone. */
static void
show(udpai_strbuf *out, const udpa_bytes *bytes)
{
    client_status *status = udpa__status__v1__client_status__unpack(NULL, udpa_bytes_size(bytes),
                                                                    udpa_bytes_data(bytes));
    assert_non_null(status);
    udpai_strbuf_puts(out, out->len ? " " : "");
    if (!status->config) {
        udpai_strbuf_printf(out, "-%d", (int)status->number);
    } else {
        assert_string_equal(status->node_id, "node");
        assert_string_equal(status->config->node->id, status->client_id);
        assert_non_null(status->since);
        assert_int_equal(status->config->n_generic_xds_configs + status->n_left_out,
                         status->n_resources);
        udpai_strbuf_printf(out, "%d=%s:%d/%d/%d+%d", (int)status->number, status->client_id,
                            (int)status->n_resources, (int)status->n_synced, (int)status->n_errors,
                            (int)status->n_left_out);
        for (size_t i = 0; i < status->config->n_generic_xds_configs; i++)
            assert_null(status->config->generic_xds_configs[i]->xds_config);
    }
    udpa__status__v1__client_status__free_unpacked(status, NULL);
}

/* What is told meanwhile. */
static const char *
pass(fixture *self, uint64_t ms)
{
    udpai_strbuf out = {0};
    udpai_report *report;
    for (uint64_t i = 0; i < ms; i++)
        fake_hub_advance(&self->world.hub, 1);
    self->was_whole = false;
    while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CENSUS))) {
        self->was_whole |= report->subscribed;
        for (size_t i = 0; i < report->statuses.n; i++)
            show(&out, report->statuses.items[i]);
        udpai_report_free(report);
    }
    snprintf(self->told, sizeof(self->told), "%s", out.len ? out.data : "");
    udpai_strbuf_done(&out);
    return self->told;
}

static void
open_clients(fixture *self)
{
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    xds_client_open(&self->one, &self->world, true);
    xds_subscribe(&self->one, "CDS", "");
    xds_ack_all(&self->one);
    self->one.trace[0] = '\0';
}

static void
nobody_is_told_who_does_not_want_to_know(void **state)
{
    fixture *self = *state;
    open_clients(self);
    assert_string_equal(pass(self, 5000), "");
    order(self, 7);
    (void)pass(self, 10);
    order(self, 0);
    xds_change(&self->world, "-CDS/a");
    assert_string_equal(pass(self, 5000), "");
    assert_false(self->was_whole);
}

static void
all_are_told_of_once_then_those_that_change(void **state)
{
    fixture *self = *state;
    open_clients(self);
    order(self, 7);
    assert_string_equal(pass(self, 10), "1=client:2/2/0+0");
    assert_true(self->was_whole);
    assert_string_equal(pass(self, 5000), "");
    xds_change(&self->world, "+CDS/a=2#");
    xds_expect(&self->one, "CDS[a]");
    xds_nack(&self->one, "CDS", "no");
    assert_string_equal(pass(self, UDPAI_CENSUS_INTERVAL_MS), "1=client:2/1/1+0");
    assert_false(self->was_whole);
    xds_client_open(&self->two, &self->world, false);
    XDS_SEND(&self->two, .type = "EDS", .names = "x", .node_id = "other");
    assert_string_equal(pass(self, UDPAI_CENSUS_INTERVAL_MS), "2=other:1/0/0+0");
    xds_client_close(&self->one);
    assert_string_equal(pass(self, UDPAI_CENSUS_INTERVAL_MS), "-1");
    assert_string_equal(pass(self, 3 * UDPAI_CENSUS_INTERVAL_MS), "");
    order(self, 8); /* somebody else wants to know */
    assert_string_equal(pass(self, 10), "2=other:1/0/0+0");
    assert_true(self->was_whole);
}

static void
nobody_is_told_of_more_than_once_a_second(void **state)
{
    fixture *self = *state;
    size_t n = 0;
    open_clients(self);
    order(self, 7);
    (void)pass(self, 10);
    for (int i = 0; i < 500; i++) {
        char change[32];
        snprintf(change, sizeof(change), "+CDS/a=%d#", i % 9);
        xds_change(&self->world, change);
        xds_ack_all(&self->one);
        self->one.trace[0] = '\0';
        n += *pass(self, 10) != '\0';
    }
    assert_in_range(n, 4, 5);
}

static void
that_nobody_is_there_is_told(void **state)
{
    fixture *self = *state;
    order(self, 7);
    assert_string_equal(pass(self, 10), "");
    assert_true(self->was_whole);
    assert_string_equal(pass(self, 3000), "");
    assert_false(self->was_whole);
}

static void
what_is_too_much_is_counted(void **state)
{
    fixture *self = *state;
    udpai_strbuf changes = {0};
    const int n = 1000;
    for (int i = 0; i < n; i++)
        udpai_strbuf_printf(&changes, "%s+CDS/a-name-that-is-not-so-short-%04d=1#", i ? " " : "",
                            i);
    xds_change(&self->world, changes.data);
    udpai_strbuf_done(&changes);
    xds_client_open(&self->one, &self->world, true);
    xds_subscribe(&self->one, "CDS", "");
    xds_ack_all(&self->one);
    self->one.trace[0] = '\0';
    xds_change(&self->world, "+CDS/a-name-that-is-not-so-short-0999=2#");
    xds_expect(&self->one, "CDS[a-name-that-is-not-so-short-0999]");
    xds_nack(&self->one, "CDS", "no");
    order(self, 7);
    int n_resources, n_synced, n_errors, n_left_out;
    assert_int_equal(sscanf(pass(self, 100), "1=client:%d/%d/%d+%d", &n_resources, &n_synced,
                            &n_errors, &n_left_out),
                     4);
    assert_int_equal(n_resources, n);
    assert_int_equal(n_synced, n - 1);
    assert_int_equal(n_errors, 1);
    assert_in_range(n_left_out, 300, 700);
}

static udpa_err
take_census(void *context)
{
    fixture *self = context;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CENSUS);
    bool is_told = false, is_whole = false;
    udpai_report *report;
    if (!order)
        return UDPA_ERR_NOMEM;
    order->ticket = 1;
    udpai_hub_order(self->world.hub.hub, order);
    fake_hub_advance(&self->world.hub, 1);
    while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CENSUS))) {
        is_told |= report->statuses.n > 0;
        is_whole |= report->subscribed;
        udpai_report_free(report);
    }
    udpai_alloc_fail_after(-1); /* so that it can be ended */
    order = udpai_order_new(UDPAI_ORDER_CENSUS);
    udpai_hub_order(self->world.hub.hub, order);
    assert_true(is_told || !is_whole); /* it is never said that nobody is there */
    return is_told && is_whole ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_nobody_is_forgotten(void **state)
{
    fixture *self = *state;
    open_clients(self);
    oom_torture(take_census, self);
}

/* What could not be told is told later. */
static void
what_failed_is_tried_again(void **state)
{
    fixture *self = *state;
    open_clients(self);
    order(self, 7);
    udpai_alloc_fail_after(0);
    fake_hub_advance(&self->world.hub, 1);
    udpai_alloc_fail_after(-1);
    assert_string_equal(pass(self, 2000), "1=client:2/2/0+0");
    assert_true(self->was_whole);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(nobody_is_told_who_does_not_want_to_know),
        CASE(all_are_told_of_once_then_those_that_change),
        CASE(nobody_is_told_of_more_than_once_a_second),
        CASE(that_nobody_is_there_is_told),
        CASE(what_is_too_much_is_counted),
        CASE(without_memory_nobody_is_forgotten),
        CASE(what_failed_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
