/* SPDX-License-Identifier: Apache-2.0 */
/* ClientLoad and ClusterLoad: what is written is read again; what cannot be is refused, with words
 * for it. */
#include <math.h>

#include "base/utf8.h"
#include "load_stats_test.h"
#include "reports/load_stats.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"
#include "udpa/load/v1/load.pb-c.h"

static udpai_arena arena;

static int
begin(void **state)
{
    (void)state;
    udpai_arena_init(&arena);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    udpai_arena_done(&arena);
    wire_free_all();
    return 0;
}

static udpa_err
decode(udpai_str bytes,
       const udpai_load_stats_limits *limits,
       udpai_load_stats **ret,
       udpa_error **ret_error)
{
    return udpai_load_stats_decode(&arena, bytes, limits, ret, ret_error);
}

static void
fill(udpai_load_stats *stats)
{
    udpai_load_stats_metric *cpu = NULL;
    const udpai_load_stats_metric like = {.kind = UDPAI_LOAD_STATS_CPU};
    udpai_load_stats_figures *figures = stats_figures(stats, "eu");
    for (size_t i = 0; i < UDPAI_LOAD_STATS_COUNTS; i++)
        figures->counts[i] = 10 + i;
    for (size_t i = 0; i < UDPAI_LOAD_STATS_GAUGES; i++)
        figures->gauges[i] = 20 + i;
    assert_ok(udpai_load_stats_get_metric(stats, figures, &like, &cpu, NULL));
    cpu->n = 2;
    cpu->sum = 1.25;
    stats_metric(stats, "eu", "queue")->n = 3;
    stats_metric(stats, "eu", "queue")->sum = -4;
    stats_endpoint(stats, "eu", "10.0.0.1", 80)->figures.counts[UDPAI_LOAD_STATS_ERROR] = 5;
    stats_endpoint(stats, "eu", "/run/socket", 0)->figures.gauges[UDPAI_LOAD_STATS_ACTIVE] = 6;
    stats_locality(stats, "us", 2)->figures.counts[UDPAI_LOAD_STATS_ISSUED] =
        UDPAI_LOAD_STATS_COUNT_MAX;
    stats_drop(stats, "overload")->n = 7;
    stats->dropped = 8;
    stats->elapsed_ns = 12345678901;
    assert_ok(udpai_load_stats_set_text(&stats->service, UDPAI_STR("eds")));
}

static void
what_is_written_is_read(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(77);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *again = NULL;
    fill(stats);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_ok(decode(udpai_bytes_view(bytes), &udpai_load_stats_client_limits, &again, NULL));
    assert_same_stats(stats, again);
    assert_str(again->cluster, "com.acme/a");
    assert_str(again->service, "eds");
    assert_int_equal(again->epoch, 77);
    assert_int_equal(again->elapsed_ns, 12345678901);
    assert_int_equal(stats_count(again, "eu", UDPAI_LOAD_STATS_FAILED),
                     10 + UDPAI_LOAD_STATS_FAILED);
    assert_int_equal(stats_gauge(again, "eu", UDPAI_LOAD_STATS_ACTIVE),
                     20 + UDPAI_LOAD_STATS_ACTIVE);
    assert_true(stats_metric(again, "eu", "queue")->sum == -4);
    assert_int_equal(again->n_endpoints, 2);
    assert_int_equal(again->dropped, 8);
}

/* By what protoc-c makes of the .proto file. */
static void
fields_are_those_of_the_message(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(77);
    fill(stats);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    Udpa__Load__V1__ClientLoad *load =
        udpa__load__v1__client_load__unpack(NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(load);
    assert_string_equal(load->cluster, "com.acme/a");
    assert_string_equal(load->cluster_service_name, "eds");
    assert_int_equal(load->elapsed->seconds, 12);
    assert_int_equal(load->elapsed->nanos, 345678901);
    assert_int_equal(load->n_localities, 2);
    const Udpa__Load__V1__LocalityLoad *eu = load->localities[0];
    assert_string_equal(eu->region, "eu");
    assert_int_equal(eu->requests->successful, 10 + UDPAI_LOAD_STATS_SUCCESSFUL);
    assert_int_equal(eu->requests->error, 10 + UDPAI_LOAD_STATS_ERROR);
    assert_int_equal(eu->requests->issued, 10 + UDPAI_LOAD_STATS_ISSUED);
    assert_int_equal(eu->requests->in_progress, 20 + UDPAI_LOAD_STATS_IN_PROGRESS);
    assert_int_equal(eu->connections->opened, 10 + UDPAI_LOAD_STATS_OPENED);
    assert_int_equal(eu->connections->failed, 10 + UDPAI_LOAD_STATS_FAILED);
    assert_int_equal(eu->connections->active, 20 + UDPAI_LOAD_STATS_ACTIVE);
    assert_int_equal(eu->n_metrics, 1);
    assert_string_equal(eu->metrics[0]->name, "queue");
    assert_int_equal(eu->metrics[0]->n_finished, 3);
    assert_true(eu->metrics[0]->sum == -4);
    assert_true(eu->cpu_utilization->sum == 1.25);
    assert_null(eu->mem_utilization);
    assert_int_equal(eu->n_endpoints, 2);
    assert_string_equal(eu->endpoints[1]->address, "10.0.0.1");
    assert_int_equal(eu->endpoints[1]->port, 80);
    assert_int_equal(eu->endpoints[1]->requests->error, 5);
    assert_int_equal(load->localities[1]->priority, 2);
    assert_string_equal(load->dropped[0]->category, "overload");
    assert_int_equal(load->dropped[0]->n, 7);
    assert_int_equal(load->total_dropped, 8);
    udpa__load__v1__client_load__free_unpacked(load, NULL);
}

static void
what_counts_nothing_is_not_written(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(7);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *other = stats_new(7);
    stats_figures(stats, "eu");
    stats_endpoint(stats, "us", "::1", 1);
    stats_metric(stats, "us", "m")->sum = 3;
    stats_drop(stats, "x");
    assert_same_stats(stats, other);
}

static void
nodes_of_a_sum_are_read_in_order(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    udpai_str sum = W_JOIN(
        W_TEXT(1, "com.acme/a"), W_MESSAGE(8, W_TEXT(1, "node-b"), W_VARINT(2, 5), W_VARINT(3, 7)),
        W_MESSAGE(8, W_TEXT(1, "node-a"), W_VARINT(4, 1)), W_VARINT(9, 10), W_VARINT(10, 3));
    assert_ok(decode(sum, &udpai_load_aggregate_limits, &stats, NULL));
    assert_int_equal(stats->nodes.n, 2);
    assert_str(stats->nodes.items[0].id, "node-a");
    assert_true(stats->nodes.items[0].is_gone);
    assert_str(stats->nodes.items[1].id, "node-b");
    assert_int_equal(stats->nodes.items[1].since_us, 5);
    assert_int_equal(stats->nodes.items[1].until_us, 7);
    assert_false(stats->nodes.items[1].is_gone);
    assert_int_equal(stats->n_clients, 10);
    assert_int_equal(stats->n_forgotten_nodes, 3);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *again = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_ok(decode(udpai_bytes_view(bytes), &udpai_load_aggregate_limits, &again, NULL));
    assert_same_stats(stats, again);
    /* Of a client that field is another one. */
    assert_int_equal(decode(sum, &udpai_load_stats_client_limits, &stats, NULL),
                     UDPA_ERR_MALFORMED);
}

static void
nodes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_str twice = W_JOIN(W_MESSAGE(8, W_TEXT(1, "x")), W_MESSAGE(8, W_TEXT(1, "y")),
                             W_MESSAGE(8, W_TEXT(1, "x"), W_VARINT(4, 1)));
    assert_int_equal(decode(twice, &udpai_load_aggregate_limits, &stats, &error), UDPA_ERR_INVAL);
    assert_string_equal(udpa_error_message(error), "it has node 'x' twice");
    error = udpa_error_unref(error);
    udpai_str back = W_MESSAGE(8, W_TEXT(1, "x"), W_VARINT(2, 8), W_VARINT(3, 7));
    assert_int_equal(decode(back, &udpai_load_aggregate_limits, &stats, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "since 8, and until 7"));
}

static uint64_t
bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void
refuse(udpai_str message, udpa_err expected, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_load_stats *stats = NULL;
    udpa_err err = decode(message, &udpai_load_stats_client_limits, &stats, &error);
    assert_int_equal(err, expected);
    assert_null(stats);
    const char *text = udpa_error_message(error);
    assert_true(udpai_utf8_valid(udpai_str_from(text)));
    if (!strstr(text, words))
        fail_msg("'%s' is not in '%s'", words, text);
}

static void
nonsense_is_refused(void **state)
{
    (void)state;
    const uint64_t minus_one = UINT64_MAX;
    refuse(W_MESSAGE(5, W_MESSAGE(5, W_VARINT(1, minus_one))), UDPA_ERR_INVAL,
           "18446744073709551615 successful requests cannot be");
    refuse(W_MESSAGE(5, W_MESSAGE(5, W_VARINT(2, minus_one))), UDPA_ERR_INVAL, "failed requests");
    refuse(W_MESSAGE(5, W_MESSAGE(5, W_VARINT(3, minus_one))), UDPA_ERR_INVAL, "issued requests");
    refuse(W_MESSAGE(5, W_MESSAGE(5, W_VARINT(4, UDPAI_LOAD_STATS_GAUGE_MAX + 1))), UDPA_ERR_INVAL,
           "requests in progress");
    refuse(W_MESSAGE(5, W_MESSAGE(6, W_VARINT(1, minus_one))), UDPA_ERR_INVAL, "new connections");
    refuse(W_MESSAGE(5, W_MESSAGE(6, W_VARINT(2, minus_one))), UDPA_ERR_INVAL,
           "failed connections");
    refuse(W_MESSAGE(5, W_MESSAGE(6, W_VARINT(3, minus_one))), UDPA_ERR_INVAL,
           "active connections");
    refuse(W_MESSAGE(5, W_MESSAGE(7, W_TEXT(1, "m"), W_VARINT(2, 1), W_FIXED64(3, bits_of(NAN)))),
           UDPA_ERR_INVAL, "metric 'm' is no number");
    refuse(W_MESSAGE(5, W_MESSAGE(7, W_VARINT(2, 1), W_FIXED64(3, bits_of(INFINITY)))),
           UDPA_ERR_INVAL, "is no number");
    refuse(W_MESSAGE(5, W_MESSAGE(7, W_VARINT(2, minus_one))), UDPA_ERR_INVAL, "with a metric");
    refuse(W_VARINT(7, minus_one), UDPA_ERR_INVAL, "dropped requests");
    refuse(W_MESSAGE(6, W_VARINT(2, minus_one)), UDPA_ERR_INVAL, "dropped requests");
    refuse(W_MESSAGE(4, W_VARINT(1, minus_one)), UDPA_ERR_INVAL, "cannot cover -1 seconds");
    refuse(W_MESSAGE(4, W_VARINT(2, 1000000000)), UDPA_ERR_INVAL, "cannot cover 0 seconds");
    refuse(W_MESSAGE(4, W_VARINT(1, INT64_MAX)), UDPA_ERR_INVAL, "cannot cover");
    refuse(W_JOIN(W_EMPTY(5), W_MESSAGE(5, W_TEXT(1, ""))), UDPA_ERR_INVAL,
           "locality '' is there twice");
    refuse(W_MESSAGE(5, W_MESSAGE(8, W_TEXT(1, "a")), W_MESSAGE(8, W_TEXT(1, "a"))), UDPA_ERR_INVAL,
           "endpoint 'a' is there twice");
    refuse(W_MESSAGE(5, W_MESSAGE(7, W_TEXT(1, "m"), W_VARINT(2, 1)),
                     W_MESSAGE(7, W_TEXT(1, "m"), W_VARINT(2, 1))),
           UDPA_ERR_INVAL, "metric 'm' is there twice");
    refuse(W_JOIN(W_MESSAGE(6, W_TEXT(1, "x")), W_MESSAGE(6, W_TEXT(1, "x"))), UDPA_ERR_INVAL,
           "category 'x' is there twice");
    refuse(W_BYTES(1, "\xff"), UDPA_ERR_MALFORMED, "UTF-8");
    refuse(UDPAI_STR("\xbd\xff\xbd\xd0\x8c\x00\x2f\x8a\x42\x00"), UDPA_ERR_MALFORMED, "malformed");
}

static void
what_is_too_much_is_refused(void **state)
{
    (void)state;
    udpai_str localities = W_NOTHING, name = {wire_room(2000), 2000};
    memset((char *)(uintptr_t)name.data, 'x', name.len);
    for (uint32_t i = 0; i <= udpai_load_stats_client_limits.localities; i++)
        localities = W_JOIN(localities, W_MESSAGE(5, W_VARINT(4, i)));
    refuse(localities, UDPA_ERR_LIMIT, "more than 256 localities");
    refuse(wire_bytes(1, name), UDPA_ERR_LIMIT, "the cluster 'xxx");
    refuse(wire_bytes(2, name), UDPA_ERR_LIMIT, "the service 'xxx");
    refuse(W_MESSAGE(5, wire_bytes(1, name)), UDPA_ERR_LIMIT, "region 'xxx");
}

static udpa_err
decode_once(void *context)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    udpai_arena_done(&arena);
    udpai_arena_init(&arena);
    return decode(udpai_bytes_view(context), &udpai_load_aggregate_limits, &stats, NULL);
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = stats_new(77);
    fill(stats);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    assert_true(oom_torture(decode_once, bytes) > 10);
    udpai_alloc_fail_after(0);
    assert_null(udpai_load_stats_encode(stats));
    udpai_alloc_fail_after(-1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(fields_are_those_of_the_message),
        TEST(what_counts_nothing_is_not_written),
        TEST(nodes_of_a_sum_are_read_in_order),
        TEST(nodes_that_cannot_be_are_refused),
        TEST(nonsense_is_refused),
        TEST(what_is_too_much_is_refused),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
