/* SPDX-License-Identifier: Apache-2.0 */
/* Servers of LRS that a node reports to, seen from its loop side: when they are dialled, what is
 * wanted because of them, and for how long, and what they are told. */
#include "endpoint/load_upstreams.h"
#include "federation/reporting.h"

#include <stdio.h>

#include "reports/load_stats.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define LINGER_MS 1000
#define BASE_MS 100
#define MAX_MS 800
#define PATIENCE_MS 60000
#define DIALS_MAX 32

static udpai_wheel wheel;
static udpai_node *node;
static udpai_service *upstreams;
static uint64_t session;

static uint64_t dialled[DIALS_MAX], hung_up;
static size_t n_dialled;
static int n_targets;     /* references */
static char wanted[1000]; /* "+TEXT -TEXT …" */
static char told[1000];   /* "=NAME -NAME …" */
static uint64_t told_session;

static void
note_told(const udpai_order *order)
{
    size_t at = strlen(told);
    told_session = order->session;
    for (size_t i = 0; i < order->publication->entries.n; i++)
        at += (size_t)snprintf(told + at, sizeof(told) - at, "%s=%s", at ? " " : "",
                               udpa_resource_name(order->publication->entries.items[i].resource));
    for (size_t i = 0; i < order->publication->removals.n; i++)
        at += (size_t)snprintf(told + at, sizeof(told) - at, "%s-%.*s", at ? " " : "",
                               UDPAI_SHOWN(order->publication->removals.items[i].name));
}

static void
on_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    if (order->kind == UDPAI_ORDER_DIAL) {
        assert_true(order->link > UDPAI_LOAD_LINKS && n_dialled < DIALS_MAX);
        dialled[n_dialled++] = order->link;
    }
    if (order->kind == UDPAI_ORDER_PUBLISH)
        note_told(order);
    if (order->kind == UDPAI_ORDER_HANG_UP)
        hung_up = order->link;
    udpai_order_free(order);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return (int64_t)wheel.now_ms * 1000 + 1000000;
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool is_wanted)
{
    size_t at = strlen(wanted);
    (void)userdata;
    assert_str(type_url, UDPAI_TYPE_CLUSTER_LOAD);
    snprintf(wanted + at, sizeof(wanted) - at, "%s%c%.*s", at ? " " : "", is_wanted ? '+' : '-',
             UDPAI_SHOWN(text));
}

static void *
ref_target(void *target)
{
    n_targets++;
    return target;
}

static void
release_target(void *target)
{
    n_targets -= target != NULL;
}

static udpa_err
make_upstreams(udpai_service **ret_upstreams, size_t n)
{
    static const udpai_load_upstream_config servers[] = {
        {UDPAI_STR("legacy"), wanted, ref_target, release_target},
        {UDPAI_STR("other"), wanted, ref_target, release_target},
    };
    const udpai_load_upstreams_options options = {
        .node = node,
        .wheel = &wheel,
        .node_id = UDPAI_STR("node"),
        .servers = servers,
        .n_servers = n,
        .backoff_base_ms = BASE_MS,
        .backoff_max_ms = MAX_MS,
        .order = on_order,
        .random = node_bed_no_chance,
    };
    return udpai_load_upstreams_new(ret_upstreams, &options);
}

static int
setup(void **state)
{
    const udpai_node_config config = node_bed_config("node", LINGER_MS);
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .demand_changed = on_wanted};
    (void)state;
    n_dialled = 0;
    hung_up = 0;
    session = 1;
    *wanted = *told = '\0';
    udpai_wheel_init(&wheel, 1000);
    assert_ok(udpai_node_new(&node, &wheel, &config, &env, NULL));
    assert_ok(make_upstreams(&upstreams, 1));
    udpai_node_start(node);
    udpai_service_notify(upstreams, &(udpai_service_event){.kind = UDPAI_SERVICE_STARTED});
    udpai_node_flush(node);
    return 0;
}

static int
done(void **state)
{
    (void)state;
    udpai_service_free(upstreams);
    upstreams = NULL;
    node = udpai_node_free(node);
    assert_int_equal(n_targets, 0);
    return 0;
}

/* ---- what happens ---- */

static void
pass(uint64_t ms)
{
    udpai_wheel_advance(&wheel, wheel.now_ms + ms);
    udpai_node_flush(node);
}

static void
tell(udpai_report *report, uint64_t link)
{
    assert_non_null(report);
    report->link = link;
    report->session = session;
    assert_true(udpai_service_report(upstreams, report));
    udpai_node_flush(node);
    udpai_node_flush(node);
}

static void
server_wants(const char *const *prefixes, size_t n)
{
    udpai_str names[4];
    for (size_t i = 0; i < n; i++)
        names[i] = udpai_str_from(prefixes[i]);
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD), .names = names, .n_names = n};
    udpai_report *report = udpai_report_new(UDPAI_REPORT_DEMAND);
    report->subscription = udpai_subscription_message_copy(&message);
    tell(report, dialled[n_dialled - 1]);
}

#define WANTS(...)                                                                                 \
    server_wants((const char *const[]){__VA_ARGS__},                                               \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void
end_stream(udpa_err code)
{
    udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);
    report->error = udpa_error_new(code, NULL, "gone");
    tell(report, dialled[n_dialled - 1]);
}

static void
report_own(const char *name)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(name, .type = UDPAI_TYPE_CLUSTER_LOAD, .value = "x", .ttl_ms = 100000);
    assert_ok(udpai_node_report_own(node, resource, NULL));
    udpai_node_flush(node);
}

static void
expect(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    *text = '\0';
}

/* ---- when ---- */

static void
it_is_dialled_again_and_again(void **state)
{
    static const uint64_t waits_ms[] = {50, 100, 200, 400, 400};
    (void)state;
    assert_int_equal(n_dialled, 1);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(waits_ms); i++) {
        end_stream(UDPA_ERR_UNAVAILABLE);
        pass(waits_ms[i] - 1);
        assert_int_equal(n_dialled, 1 + i);
        pass(1);
        assert_int_equal(n_dialled, 2 + i);
        assert_true(dialled[1 + i] != dialled[i]);
    }
    WANTS("com.acme"); /* one that answers is no failure any more */
    end_stream(UDPA_ERR_UNAVAILABLE);
    pass(50);
    assert_int_equal(n_dialled, 7);
    end_stream(UDPA_ERR_UNIMPLEMENTED);
    pass(149999);
    assert_int_equal(n_dialled, 7);
    pass(1);
    assert_int_equal(n_dialled, 8);
}

static void
what_it_wants_is_wanted(void **state)
{
    (void)state;
    expect(wanted, "");
    WANTS("com.acme/a", "com.acme/b");
    expect(wanted, "+*com.acme/a +*com.acme/b");
    WANTS("com.acme/b", "com.acme/c");
    expect(wanted, "+*com.acme/c");
    pass(LINGER_MS);
    expect(wanted, "-*com.acme/a");
    server_wants(NULL, 0);
    pass(LINGER_MS);
    assert_int_equal(strlen(wanted), strlen("-*com.acme/b -*com.acme/c"));
}

static void
it_goes_on_being_wanted_while_the_server_is_away(void **state)
{
    (void)state;
    WANTS("com.acme");
    expect(wanted, "+*com.acme");
    end_stream(UDPA_ERR_UNAVAILABLE);
    pass(PATIENCE_MS - 1);
    WANTS("com.acme"); /* it is back */
    pass(10 * PATIENCE_MS);
    expect(wanted, "");
    end_stream(UDPA_ERR_UNAVAILABLE);
    pass(PATIENCE_MS);
    pass(LINGER_MS);
    expect(wanted, "-*com.acme");
}

/* ---- what it is told ---- */

static void
own_aggregates_are_told(void **state)
{
    (void)state;
    report_own("com.acme/a/node");
    session = 77;
    WANTS("com.acme");
    expect(told, "=com.acme/a/node"); /* what there is */
    assert_int_equal(told_session, 77);
    report_own("com.acme/b/node");
    expect(told, "=com.acme/b/node");
    udpai_node_withdraw_own_report(node, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD),
                                   UDPAI_STR("com.acme/b/node"));
    udpai_node_flush(node);
    expect(told, "-com.acme/b/node");
    end_stream(UDPA_ERR_UNAVAILABLE);
    report_own("com.acme/a/node");
    report_own("com.acme/c/node");
    expect(told, "");
    pass(100);
    session = 78;
    WANTS("com.acme"); /* all of it, to the next stream */
    assert_int_equal(told_session, 78);
    assert_non_null(strstr(told, "=com.acme/a/node"));
    assert_non_null(strstr(told, "=com.acme/c/node"));
}

static void
aggregates_of_others_are_not_told(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a/below", .type = UDPAI_TYPE_CLUSTER_LOAD,
                                       .value = "x", .ttl_ms = 100000);
    const udpai_directory directory = {
        .root = UDPAI_STR("root"), .resources = &resource, .n_resources = 1};
    session = 77;
    WANTS("com.acme");
    assert_ok(udpai_node_set_files(node, &directory, NULL));
    udpai_node_flush(node);
    expect(told, "");
}

static void
links_of_others_are_left_alone(void **state)
{
    (void)state;
    udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);
    report->link = UDPAI_LOAD_LINKS - 1;
    assert_false(udpai_service_report(upstreams, report));
    assert_false(udpai_service_report(NULL, report));
    report->link = UDPAI_LOAD_LINKS + 1000; /* one that has ended */
    assert_true(udpai_service_report(upstreams, report));
    assert_int_equal(n_dialled, 1);
}

/* ---- no memory ---- */

static udpa_err
make_with_little_memory(void *context)
{
    udpai_service *made = NULL;
    (void)context;
    udpa_err err = make_upstreams(&made, 2);
    udpai_service_free(made);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    oom_torture(make_with_little_memory, NULL);
}

static void
without_memory_to_want_it_the_stream_ends(void **state)
{
    (void)state;
    const udpai_str name = UDPAI_STR("com.acme");
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD), .names = &name, .n_names = 1};
    for (long n = 0; n < 3; n++) {
        hung_up = 0;
        udpai_report *report = udpai_report_new(UDPAI_REPORT_DEMAND);
        report->subscription = udpai_subscription_message_copy(&message);
        report->link = dialled[0];
        udpai_alloc_fail_after(n);
        assert_true(udpai_service_report(upstreams, report));
        udpai_alloc_fail_after(-1);
        expect(wanted, "");
        assert_true(hung_up == 0 || hung_up == dialled[0]); /* there may be none for the order */
    }
}

static void
without_memory_to_dial_it_is_tried_again(void **state)
{
    (void)state;
    end_stream(UDPA_ERR_UNAVAILABLE);
    udpai_alloc_fail_after(0);
    pass(50);
    udpai_alloc_fail_after(-1);
    assert_int_equal(n_dialled, 1);
    pass(100);
    assert_int_equal(n_dialled, 2);
}

static void
leave(bool leaves)
{
    udpai_service_notify(
        upstreams, &(udpai_service_event){.kind = UDPAI_SERVICE_LEAVING, .is_leaving = leaves});
    udpai_node_flush(node);
}

static void
another_process_may_report_in_its_place(void **state)
{
    (void)state;
    WANTS("com.acme");
    expect(wanted, "+*com.acme");
    leave(true);
    assert_int_equal(hung_up, dialled[0]);
    report_own("com.acme/a/node");
    expect(told, "");
    end_stream(UDPA_ERR_UNAVAILABLE);
    pass(10 * MAX_MS);
    assert_int_equal(n_dialled, 1);
    leave(false);
    assert_int_equal(n_dialled, 2);
    WANTS("com.acme");
    expect(told, "=com.acme/a/node");
    end_stream(UDPA_ERR_UNAVAILABLE);
    leave(true); /* while it waits to be tried again */
    pass(10 * MAX_MS);
    assert_int_equal(n_dialled, 2);
    leave(false);
    assert_int_equal(n_dialled, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_dialled_again_and_again),
        TEST(what_it_wants_is_wanted),
        TEST(it_goes_on_being_wanted_while_the_server_is_away),
        TEST(own_aggregates_are_told),
        TEST(aggregates_of_others_are_not_told),
        TEST(links_of_others_are_left_alone),
        TEST(without_memory_nothing_is_left),
        TEST(without_memory_to_want_it_the_stream_ends),
        TEST(without_memory_to_dial_it_is_tried_again),
        TEST(another_process_may_report_in_its_place),
    };
    return cmocka_run_group_tests_name("endpoint load_upstreams", tests, NULL, NULL);
}
