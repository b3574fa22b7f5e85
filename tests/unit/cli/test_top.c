/* SPDX-License-Identifier: Apache-2.0 */
/* What top makes of two pages of metrics, and of the status of sessions. */
#include "cli/top.h"

#include <stdio.h>

#include "model/types.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define T(text) ((char *)(uintptr_t)(text))

static const char before_text[] = "udpa_clock_timestamp_seconds 1000\n"
                                  "udpa_deliveries_total{type=\"x\"} 10\n"
                                  "udpa_nacks_total{type=\"x\"} 7\n"
                                  "udpa_propagation_seconds_bucket{type=\"x\",le=\"0.5\"} 0\n"
                                  "udpa_propagation_seconds_bucket{type=\"x\",le=\"+Inf\"} 0\n";
static const char now_text[] = "udpa_build_info{version=\"0.1.0\"} 1\n"
                               "udpa_clock_timestamp_seconds 1002\n"
                               "process_start_time_seconds 0\n"
                               "udpa_sessions{protocol=\"xds-delta\"} 3\n"
                               "udpa_sessions{protocol=\"udpa\"} 0\n"
                               "udpa_deliveries_total{type=\"x\"} 13\n"
                               "udpa_deliveries_total{type=\"y\"} 2\n"
                               "udpa_nacks_total{type=\"x\"} 0\n"
                               "udpa_propagation_seconds_bucket{type=\"x\",le=\"0.5\"} 4\n"
                               "udpa_propagation_seconds_bucket{type=\"x\",le=\"+Inf\"} 4\n"
                               "udpa_source_active{source=\"ok\"} 1\n"
                               "udpa_source_active{source=\"a\x1b[2J\"} 0\n"
                               "udpa_source_connected{source=\"a\x1b[2J\"} 1\n"
                               "udpa_source_held{source=\"a\x1b[2J\"} 9\n"
                               "udpa_source_failures_total{source=\"ok\"} 2\n";

static udpai_cli_page now, before;

static int
read_pages(void **state)
{
    (void)state;
    assert_ok(udpai_cli_page_read(&now, udpai_str_from(now_text), NULL));
    assert_ok(udpai_cli_page_read(&before, udpai_str_from(before_text), NULL));
    return 0;
}

static int
drop_pages(void **state)
{
    (void)state;
    udpai_cli_page_done(&now);
    udpai_cli_page_done(&before);
    return 0;
}

static void
json_is_one_line(void **state)
{
    (void)state;
    static const udpai_cli_top_clients clients = {
        .items = {{.name = T("b\"ad"), .n_rejected = 2}, {.address = T("1.2.3.4:5"), .n_nacks = 7}},
        .n = 2,
        .n_clients = 3,
        .is_known = true,
    };
    const udpai_cli_top_counts counts[] = {udpai_cli_top_counts_of(&now),
                                           udpai_cli_top_counts_of(&before)};
    udpai_cli_top top = {&now, &counts[0], &counts[1], &clients, "edge", 2, true};
    udpai_strbuf out = {0};
    udpai_cli_top_put_json(&top, &out);
    assert_str(
        udpai_strbuf_view(&out),
        "{\"node\": \"edge\", \"version\": \"0.1.0\", \"upSeconds\": 1002, \"time\": 1002, "
        "\"seconds\": 2, \"perSecond\": {\"deliveries\": 2.5, \"deliveryBytes\": 0, \"acks\": 0, "
        "\"nacks\": 0, \"changes\": 0, \"rejectedChanges\": 0}, \"total\": {\"deliveries\": 15, "
        "\"deliveryBytes\": 0, \"acks\": 0, \"nacks\": 0, \"changes\": 0, \"rejectedChanges\": 0}, "
        "\"times\": {\"propagationP50\": 0.25, \"propagationP99\": 0.495}, \"timesSinceStart\": "
        "{\"propagationP50\": 0.25, \"propagationP99\": 0.495}, \"streams\": {\"xds-delta\": 3, "
        "\"udpa\": 0}, \"sources\": [{\"name\": \"a?[2J\", \"state\": \"connected\", "
        "\"failures\": 0, \"held\": 9}, {\"name\": \"ok\", \"state\": \"active\", \"failures\": 2, "
        "\"held\": 0}], \"nClients\": 3, \"clients\": [{\"client\": \"b\\\"ad\", \"address\": "
        "\"\", \"protocol\": \"\", \"rejectsNow\": 2, \"notAnswered\": 0, \"typesBehind\": 0, "
        "\"nacks\": 0}, {\"client\": \"\", \"address\": \"1.2.3.4:5\", \"protocol\": \"\", "
        "\"rejectsNow\": 0, \"notAnswered\": 0, \"typesBehind\": 0, \"nacks\": 7}], "
        "\"complete\": true}\n");
    udpai_strbuf_done(&out);
    top.max_clients = 0;
    udpai_cli_top_put_json(&top, &out);
    assert_non_null(strstr(out.data, "\"clients\": []"));
    udpai_strbuf_done(&out);
}

static void
counts_of_one_moment_have_no_rate(void **state)
{
    (void)state;
    const udpai_cli_top_counts later = udpai_cli_top_counts_of(&now),
                               earlier = udpai_cli_top_counts_of(&before);
    assert_true(udpai_cli_top_seconds(&later, &earlier) == 2);
    assert_true(udpai_cli_top_seconds(&earlier, &later) == 0);
    assert_true(udpai_cli_top_seconds(&later, &later) == 0);
}

/* ---- clients ---- */

static udpa_resource *
session_of(int number, uint64_t n_unanswered, uint64_t n_rejected, bool is_source)
{
    uint8_t room[512];
    char id[16];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    Udpa__Status__V1__SessionStatus session = UDPA__STATUS__V1__SESSION_STATUS__INIT;
    Udpa__Status__V1__SubscriptionStatus of = UDPA__STATUS__V1__SUBSCRIPTION_STATUS__INIT,
                                         *all[] = {&of};
    Udpa__Status__V1__RefusedResource refused = UDPA__STATUS__V1__REFUSED_RESOURCE__INIT;
    Udpa__Status__V1__RefusedResource *rejected[] = {&refused, &refused};
    snprintf(id, sizeof(id), "c%d", number);
    session.peer_node_id = id;
    session.protocol = T("xds-delta");
    session.source = T(is_source ? "core" : "");
    session.n_subscriptions = 1;
    session.subscriptions = all;
    of.type_url = T(UDPAI_TYPE_CLUSTER);
    of.n_unanswered = n_unanswered;
    of.in_sync = n_unanswered + n_rejected == 0;
    of.n_refused_resources = n_rejected;
    of.refused_resources = rejected;
    assert_true(udpa__status__v1__session_status__get_packed_size(&session) <= sizeof(room));
    spec.name = "udpa.node/n/x";
    spec.type_url = UDPAI_TYPE_SESSION_STATUS;
    spec.payload = room;
    spec.payload_size = udpa__status__v1__session_status__pack(&session, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static void
the_worst_come_first(void **state)
{
    static const char *const wanted[] = {"c6", "c5", "c9", "c8", "c7"};
    (void)state;
    udpa_resource *all[] = {
        session_of(1, 0, 0, false), session_of(2, 90, 2, true), session_of(3, 1, 0, false),
        session_of(4, 2, 0, false), session_of(5, 1, 1, false), session_of(6, 0, 2, false),
        session_of(7, 3, 0, false), session_of(8, 4, 0, false), session_of(9, 5, 0, false),
    };
    udpai_cli_top_clients clients = {.n = 0};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_cli_top_clients_add(&clients, all[i]);
    assert_int_equal(clients.n_clients, 8); /* one is a source */
    assert_int_equal(clients.n, 7);         /* one lacks nothing */
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wanted); i++)
        assert_string_equal(clients.items[i].name, wanted[i]);
    assert_int_equal(clients.items[1].n_unanswered, 1);
    assert_int_equal(clients.items[1].n_rejected, 1);
    udpai_cli_top_clients_done(&clients);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpa_resource_unref(all[i]);
}

static void
more_than_are_kept_are_counted(void **state)
{
    (void)state;
    udpai_cli_top_clients clients = {.n = 0};
    for (int i = 0; i < 2 * UDPAI_CLI_TOP_CLIENTS_MAX; i++) {
        udpa_resource *one = session_of(i, (uint64_t)(1 + i), 0, false);
        udpai_cli_top_clients_add(&clients, one);
        udpa_resource_unref(one);
    }
    assert_int_equal(clients.n_clients, 2 * UDPAI_CLI_TOP_CLIENTS_MAX);
    assert_int_equal(clients.n, UDPAI_CLI_TOP_CLIENTS_MAX);
    assert_string_equal(clients.items[0].name, "c199");
    assert_string_equal(clients.items[UDPAI_CLI_TOP_CLIENTS_MAX - 1].name, "c100");
    udpai_cli_top_clients_done(&clients);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_one_line),
        cmocka_unit_test(counts_of_one_moment_have_no_rate),
        cmocka_unit_test(the_worst_come_first),
        cmocka_unit_test(more_than_are_kept_are_counted),
    };
    return cmocka_run_group_tests(tests, read_pages, drop_pages);
}
