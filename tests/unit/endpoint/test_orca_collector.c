/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a node asks by ORCA, and when: what its resources say, what somebody wants, and what becomes
 * of the streams. */
#include "endpoint/orca_collector.h"

#include <stdio.h>

#include "tests/harness/node_bed.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/harness/wire.h"
#include "xds/orca_collection.h"

#define LINGER_MS 1000
#define BASE_MS 100
#define MAX_MS 800
#define DIALS_MAX 32

static udpai_wheel wheel;
static udpai_node *node;
static udpai_service *collector;
static uint64_t session;

/* What was ordered. */
static uint64_t dialled[DIALS_MAX], hung_up[DIALS_MAX];
static size_t n_dialled, n_hung_up;
static uint32_t dialled_ports[DIALS_MAX];
static unsigned n_targets;    /* that somebody has */
static uint32_t refused_port; /* that may not be reached */
static bool has_target;       /* else none can be made */

/* Of reports: what was offered and taken back. */
static char offered[100];
static unsigned n_offered, n_removed;

static void
note_change(const udpai_change *change)
{
    if (!udpai_str_eq(udpai_resource_type_url(change->resource), UDPAI_STR(UDPAI_TYPE_ORCA_REPORT)))
        return;
    n_removed += change->kind == UDPAI_CHANGE_REMOVE;
    n_offered += change->kind != UDPAI_CHANGE_REMOVE;
    snprintf(offered, sizeof(offered), "%s", udpa_resource_name(change->resource));
}

static void
on_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    if (order->kind == UDPAI_ORDER_CHANGES)
        for (size_t i = 0; i < udpai_change_set_size(order->changes); i++)
            note_change(udpai_change_set_at(order->changes, i));
    if (order->kind == UDPAI_ORDER_DIAL) {
        assert_true(order->link > UDPAI_ORCA_LINKS && n_dialled < DIALS_MAX);
        dialled_ports[n_dialled] = *(uint32_t *)order->target;
        dialled[n_dialled++] = order->link;
    }
    if (order->kind == UDPAI_ORDER_HANG_UP)
        hung_up[n_hung_up++] = order->link;
    udpai_order_free(order);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return (int64_t)wheel.now_ms * 1000 + 1000000;
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    (void)userdata;
    udpai_service_demand(collector, type_url, text, wanted);
}

static udpa_err
on_check(void *userdata,
         const udpai_orca_backend *backend,
         udpai_str credential,
         udpa_error **ret_error)
{
    (void)userdata;
    (void)credential;
    return backend->port == refused_port
               ? udpai_fail(ret_error, UDPA_ERR_INVAL, "it may not be reached")
               : UDPA_OK;
}

static udpa_err
on_make_target(void *userdata,
               const udpai_orca_backend *backend,
               udpai_str credential,
               void **ret_target,
               udpa_error **ret_error)
{
    (void)userdata;
    (void)credential;
    if (!has_target)
        return udpai_fail(ret_error, UDPA_ERR_IO, "its certificates cannot be read");
    uint32_t *target = malloc(sizeof(*target));
    assert_non_null(target);
    *target = backend->port;
    n_targets++;
    *ret_target = target;
    return UDPA_OK;
}

static void
release_target(void *target)
{
    n_targets -= target != NULL;
    free(target);
}

static udpa_err
make_collector(udpai_service **ret_collector)
{
    static const udpai_str authorities[] = {UDPAI_STR("trusted*")},
                           prefixes[] = {UDPAI_STR("com.acme")};
    const udpai_orca_collector_options options = {
        .node = node,
        .wheel = &wheel,
        .rules = {authorities, 1, prefixes, 1, 4, {on_check, on_make_target, release_target, NULL}},
        .backoff_base_ms = BASE_MS,
        .backoff_max_ms = MAX_MS,
        .order = on_order,
        .random = node_bed_no_chance,
    };
    return udpai_orca_collector_new(ret_collector, &options);
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
    n_dialled = n_hung_up = 0;
    n_offered = n_removed = n_targets = 0;
    refused_port = 0;
    session = 0;
    has_target = true;
    udpai_wheel_init(&wheel, 1000);
    assert_ok(udpai_node_new(&node, &wheel, &config, &env, NULL));
    assert_ok(make_collector(&collector));
    udpai_node_start(node);
    udpai_node_flush(node);
    return 0;
}

static int
done(void **state)
{
    (void)state;
    udpai_service_free(collector);
    collector = NULL;
    node = udpai_node_free(node);
    assert_int_equal(n_targets, 0);
    wire_free_all();
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
want(bool wanted)
{
    node_bed_tell(node, 0, node_bed_interest(UDPAI_TYPE_ORCA_REPORT, "com.acme", "", wanted));
}

/* Ports of 127.0.0.1, up to 0. */
static udpai_str
backends(const uint32_t *ports)
{
    udpai_str all = W_NOTHING;
    for (; *ports; ports++)
        all = W_JOIN(all, W_MESSAGE(1, W_TEXT(1, "127.0.0.1"), W_VARINT(2, *ports)));
    return all;
}

#define PORTS(...) backends((const uint32_t[]){__VA_ARGS__, 0})

/* What a file says is said by the authority of the directory. */
static void
say(const char *authority, const char *name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_ORCA_COLLECTION), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    udpa_resource *resource = NULL;
    if (value.len)
        assert_ok(udpai_resource_make(&resource, &parts));
    const udpai_directory directory = {.root = udpai_str_from(name),
                                       .authority = udpai_str_from(authority),
                                       .resources = &resource,
                                       .n_resources = value.len ? 1 : 0};
    assert_ok(udpai_node_set_files(node, &directory, NULL));
    udpa_resource_unref(resource);
    udpai_node_flush(node);
    udpai_node_flush(node);
}

static void
tell(udpai_report *report, uint64_t link)
{
    report->link = link;
    report->session = ++session;
    assert_true(udpai_service_report(collector, report));
    udpai_node_flush(node);
}

static void
answer(uint64_t link, const char *name)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_ORCA_REPORT), UDPAI_STR("\x18\x05"));
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any, .ttl_ms = 40000};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    tell(node_bed_publication(resource), link);
}

static void
close_link(uint64_t link, udpa_err code)
{
    udpai_report *report = node_bed_report(UDPAI_REPORT_CLOSED);
    report->error = udpa_error_new(code, NULL, "gone");
    tell(report, link);
}

/* ---- when ---- */

static void
nobody_is_asked_while_nobody_wants_to_know(void **state)
{
    (void)state;
    say("trusted", "com.acme/a", PORTS(1, 2));
    assert_int_equal(n_dialled, 0);
    want(true);
    assert_int_equal(n_dialled, 2);
    say("trusted", "com.acme/b", PORTS(3)); /* wanted, as it comes */
    assert_int_equal(n_dialled, 3);
    want(false);
    pass(LINGER_MS - 1);
    assert_int_equal(n_hung_up, 0);
    pass(1);
    assert_int_equal(n_hung_up, 3);
    pass(100000);
    assert_int_equal(n_dialled, 3);
}

static void
an_answer_is_reported_until_nobody_wants_it(void **state)
{
    (void)state;
    say("trusted", "com.acme/a", PORTS(1));
    want(true);
    answer(dialled[0], "com.acme/a/127.0.0.1:1");
    assert_int_equal(n_offered, 1);
    assert_string_equal(offered, "com.acme/a/127.0.0.1:1");
    want(false);
    pass(LINGER_MS);
    assert_int_equal(n_removed, 1);
    answer(dialled[0], "com.acme/a/127.0.0.1:1"); /* on its way since before */
    assert_int_equal(n_offered, 1);
}

static void
a_stream_that_ends_is_begun_again(void **state)
{
    static const uint64_t waits_ms[] = {50, 100, 200, 400, 400};
    (void)state;
    say("trusted", "com.acme/a", PORTS(1));
    want(true);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(waits_ms); i++) {
        close_link(dialled[i], UDPA_ERR_UNAVAILABLE);
        pass(waits_ms[i] - 1);
        assert_int_equal(n_dialled, 1 + i);
        pass(1);
        assert_int_equal(n_dialled, 2 + i);
        assert_true(dialled[1 + i] != dialled[i]);
    }
    answer(dialled[5], "com.acme/a/127.0.0.1:1"); /* one that answers is no failure any more */
    close_link(dialled[5], UDPA_ERR_UNAVAILABLE);
    pass(50);
    assert_int_equal(n_dialled, 7);
    close_link(dialled[6], UDPA_ERR_UNIMPLEMENTED); /* it will not learn it soon */
    pass(149999);
    assert_int_equal(n_dialled, 7);
    pass(1);
    assert_int_equal(n_dialled, 8);
}

static void
what_cannot_be_dialled_is_tried_again(void **state)
{
    (void)state;
    say("trusted", "com.acme/a", PORTS(1));
    has_target = false;
    want(true);
    pass(30000);
    assert_int_equal(n_dialled, 0);
    has_target = true;
    pass(MAX_MS);
    assert_int_equal(n_dialled, 1);
}

/* ---- whom ---- */

static void
a_change_leaves_alone_what_stays(void **state)
{
    (void)state;
    say("trusted", "com.acme/a", PORTS(1, 2, 3));
    want(true);
    assert_int_equal(n_dialled, 3);
    answer(dialled[1], "com.acme/a/127.0.0.1:2");
    say("trusted", "com.acme/a", PORTS(3, 1, 4));
    assert_int_equal(n_hung_up, 1);
    assert_true(hung_up[0] == dialled[1]);
    assert_int_equal(n_removed, 1);
    assert_int_equal(n_dialled, 4);
    assert_int_equal(dialled_ports[3], 4);
    /* Another interval is another question. */
    say("trusted", "com.acme/a", W_JOIN(PORTS(1, 3, 4), W_MESSAGE(2, W_VARINT(1, 5))));
    assert_int_equal(n_hung_up, 4);
    assert_int_equal(n_dialled, 7);
    answer(dialled[5], "com.acme/a/127.0.0.1:3");
    say("trusted", "com.acme/a", W_NOTHING);
    assert_int_equal(n_hung_up, 7);
    assert_int_equal(n_removed, 2);
    pass(100000);
    assert_int_equal(n_dialled, 7);
}

static void
only_those_who_may_are_followed(void **state)
{
    (void)state;
    want(true);
    say("stranger", "com.acme/a", PORTS(1));
    say("trusted", "com.other/a", PORTS(1));
    assert_int_equal(n_dialled, 0);
    say("trusted-too", "com.acme/a2", PORTS(1));
    assert_int_equal(n_dialled, 1);
    say("stranger", "com.acme/a2", PORTS(1)); /* it is not allowed any more */
    assert_int_equal(n_hung_up, 1);
}

static void
what_is_wrong_changes_nothing(void **state)
{
    (void)state;
    want(true);
    say("trusted", "com.acme/a", PORTS(1));
    assert_int_equal(n_dialled, 1);
    refused_port = 9;
    say("trusted", "com.acme/a", PORTS(2, 9));
    say("trusted", "com.acme/a", PORTS(2, 2));
    say("trusted", "com.acme/a", PORTS(1, 2, 3, 4, 5)); /* more than there may be */
    assert_int_equal(n_dialled, 1);
    assert_int_equal(n_hung_up, 0);
    say("trusted", "com.acme/a", PORTS(1, 2, 3, 4));
    assert_int_equal(n_dialled, 4);
    say("trusted", "com.acme/b", PORTS(5));
    assert_int_equal(n_dialled, 4);
    say("trusted", "com.acme/a", PORTS(1));
    say("trusted", "com.acme/b", PORTS(5, 6, 7)); /* there is room now */
    assert_int_equal(n_dialled, 7);
}

static void
what_others_say_is_theirs(void **state)
{
    (void)state;
    udpai_report *report = node_bed_report(UDPAI_REPORT_CLOSED);
    report->link = 5;
    assert_false(udpai_service_report(collector, report));
    assert_false(udpai_service_report(NULL, report));
    udpai_report_free(report);
    close_link(UDPAI_ORCA_LINKS + 77, UDPA_ERR_IO); /* of one that was forgotten */
    assert_int_equal(n_dialled, 0);
    udpai_service_demand(NULL, UDPAI_STR(UDPAI_TYPE_ORCA_REPORT), UDPAI_STR("*"), true);
}

/* ---- memory ---- */

static udpa_err
come_and_go(void *context)
{
    udpai_service *other = NULL;
    (void)context;
    udpa_err err = make_collector(&other);
    udpai_service_free(other);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    const udpai_str type = UDPAI_STR(UDPAI_TYPE_ORCA_REPORT), text = UDPAI_STR("*com.acme");
    (void)state;
    oom_torture(come_and_go, NULL);
    say("trusted", "com.acme/a", PORTS(1, 2));
    for (long n = 0; n < 30; n++) {
        n_dialled = n_hung_up = 0;
        udpai_alloc_fail_after(n);
        udpai_service_demand(collector, type, text, true);
        udpai_service_demand(collector, type, text, false);
        udpai_alloc_fail_after(-1);
        assert_true(n_hung_up <= n_dialled);
        pass(MAX_MS);
        assert_true(n_dialled <= 2);
    }
    assert_int_equal(n_hung_up, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, done)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_is_asked_while_nobody_wants_to_know),
        TEST(an_answer_is_reported_until_nobody_wants_it),
        TEST(a_stream_that_ends_is_begun_again),
        TEST(what_cannot_be_dialled_is_tried_again),
        TEST(a_change_leaves_alone_what_stays),
        TEST(only_those_who_may_are_followed),
        TEST(what_is_wrong_changes_nothing),
        TEST(what_others_say_is_theirs),
        TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("endpoint orca_collector", tests, NULL, NULL);
}
