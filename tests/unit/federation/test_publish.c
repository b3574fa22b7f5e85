/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing unasked, to a source that dials the node: when, on which stream, and what is told. */
#include "federation/node.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"

static udpai_wheel wheel;
static udpai_node *node;
static uint64_t last_session; /* that was ordered to publish */
static uint64_t told_ticket;
static udpa_err told_error;
static unsigned n_told;

/* ---- the node's surroundings ---- */

static void
on_order(void *userdata, udpai_order *order)
{
    (void)userdata;
    if (order->kind == UDPAI_ORDER_PUBLISH)
        last_session = order->session;
    udpai_order_free(order);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return 1;
}

static void
on_published(void *userdata,
             uint64_t ticket,
             const udpai_publication *publication,
             const udpa_error *error)
{
    (void)userdata;
    assert_true((publication == NULL) == (error != NULL));
    told_ticket = ticket;
    told_error = udpa_error_code(error);
    n_told++;
}

static int
begin(void **state)
{
    (void)state;
    static const udpai_source_config source = {
        .name = {"s", 1}, .kind = UDPAI_SOURCE_UDPA_LISTEN, .peer = {"peer", 4}};
    const udpai_node_config config = {
        .id = UDPAI_STR("node"),
        .authority = UDPAI_STR("node"),
        .sources = &source,
        .n_sources = 1,
        .is_endpoint = true,
        .peers_are_anonymous = true,
    };
    const udpai_node_env env = {.order = on_order,
                                .wall_us = wall_us,
                                .random = node_bed_no_chance,
                                .published = on_published};
    udpai_wheel_init(&wheel, 0);
    assert_ok(udpai_node_new(&node, &wheel, &config, &env, NULL));
    udpai_node_start(node);
    last_session = told_ticket = n_told = 0;
    return 0;
}

static int
end(void **state)
{
    (void)state;
    node = udpai_node_free(node);
    return 0;
}

/* ---- what happens ---- */

static void
report(udpai_report_kind kind, uint64_t session, uint64_t ticket, udpai_publication *publication)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = session;
    report->ticket = ticket;
    report->publication = publication;
    if (kind == UDPAI_REPORT_NODE) {
        const udpai_node_parts parts = {.id = UDPAI_STR("peer")};
        assert_ok(udpai_node_info_new(&report->info, &parts));
    }
    udpai_node_report(node, report);
    udpai_node_flush(node);
}

/* The peer has dialled us. */
static void
open_session(uint64_t session)
{
    report(UDPAI_REPORT_OPENED, session, 0, NULL);
    report(UDPAI_REPORT_NODE, session, 0, NULL);
}

static udpai_publication *
make_publication(void)
{
    udpai_publication *publication = udpai_publication_new();
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a", .value = "1");
    assert_ok(udpai_publication_add(publication, resource, false));
    return publication;
}

static bool
may_publish(void)
{
    return udpai_node_may_publish_to(node, UDPAI_STR("s"));
}

static uint64_t
publish(void)
{
    return udpai_node_publish(node, UDPAI_STR("s"), make_publication());
}

/* ---- tests ---- */

static void
without_a_stream_nothing_is_published(void **state)
{
    (void)state;
    assert_false(may_publish());
    assert_int_equal(publish(), 0);
    assert_int_equal(last_session, 0);
}

static void
the_receipt_is_told_once(void **state)
{
    (void)state;
    open_session(1);
    assert_true(may_publish());
    uint64_t ticket = publish();
    assert_true(ticket > 0);
    assert_int_equal(last_session, 1);
    report(UDPAI_REPORT_RECEIPT, 1, ticket, make_publication());
    assert_int_equal(told_ticket, ticket);
    assert_int_equal(told_error, UDPA_OK);
    report(UDPAI_REPORT_RECEIPT, 1, ticket, make_publication());
    report(UDPAI_REPORT_CLOSED, 1, 0, NULL);
    assert_int_equal(n_told, 1);
}

static void
the_end_of_the_stream_is_told(void **state)
{
    (void)state;
    open_session(1);
    uint64_t ticket = publish();
    report(UDPAI_REPORT_CLOSED, 1, 0, NULL);
    assert_int_equal(told_ticket, ticket);
    assert_int_equal(told_error, UDPA_ERR_UNAVAILABLE);
    assert_int_equal(n_told, 1);
    assert_false(may_publish());
}

/* Who had it forgotten need not be told. */
static void
of_what_was_forgotten_nothing_is_told(void **state)
{
    (void)state;
    open_session(1);
    uint64_t forgotten = publish(), other = publish();
    report(UDPAI_REPORT_RECEIPT, 1, forgotten, NULL);
    report(UDPAI_REPORT_RECEIPT, 1, forgotten, NULL); /* twice is once */
    assert_int_equal(n_told, 0);
    report(UDPAI_REPORT_CLOSED, 1, 0, NULL);
    assert_int_equal(n_told, 1);
    assert_int_equal(told_ticket, other);
}

/* The peer comes again before the end of its earlier stream was seen. What went out on that is to
 * be published again; until it is known what that is, nothing goes out that could overtake it. */
static void
nothing_overtakes_what_an_earlier_stream_had(void **state)
{
    (void)state;
    open_session(1);
    uint64_t ticket = publish();
    open_session(2);
    assert_false(may_publish());
    report(UDPAI_REPORT_CLOSED, 1, 0, NULL);
    assert_int_equal(told_ticket, ticket);
    assert_int_equal(told_error, UDPA_ERR_UNAVAILABLE);
    assert_true(may_publish());
    publish();
    assert_int_equal(last_session, 2);
}

static void
an_earlier_stream_with_nothing_to_come_holds_nothing_up(void **state)
{
    (void)state;
    open_session(1);
    report(UDPAI_REPORT_RECEIPT, 1, publish(), make_publication());
    open_session(2);
    assert_true(may_publish());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_stream_nothing_is_published, begin, end),
        cmocka_unit_test_setup_teardown(the_receipt_is_told_once, begin, end),
        cmocka_unit_test_setup_teardown(the_end_of_the_stream_is_told, begin, end),
        cmocka_unit_test_setup_teardown(of_what_was_forgotten_nothing_is_told, begin, end),
        cmocka_unit_test_setup_teardown(nothing_overtakes_what_an_earlier_stream_had, begin, end),
        cmocka_unit_test_setup_teardown(an_earlier_stream_with_nothing_to_come_holds_nothing_up,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
