/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterStats of LRS, in both directions, by what protoc-c makes of them. */
#include <math.h>

#include "load_stats_test.h"
#include "reports/load_stats.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"

typedef Envoy__Config__Endpoint__V3__ClusterStats stats_message;

static int
end(void **state)
{
    (void)state;
    wire_free_all();
    return 0;
}

static stats_message *
unpack(udpai_str bytes)
{
    stats_message *stats = envoy__config__endpoint__v3__cluster_stats__unpack(
        NULL, bytes.len, (const uint8_t *)bytes.data);
    assert_non_null(stats);
    return stats;
}

/* Adds a ClusterStats to a value. */
static udpa_err
add(udpai_load_stats *report, udpai_str bytes, udpa_error **ret_error)
{
    stats_message *stats = unpack(bytes);
    udpa_err err = udpai_load_stats_add_message(report, stats, ret_error);
    envoy__config__endpoint__v3__cluster_stats__free_unpacked(stats, NULL);
    return err;
}

static udpai_str
write_stats(const udpai_load_stats *report)
{
    udpai_proto_writer writer = {0};
    udpai_load_stats_put_message(&writer, UDPAI_STR("a"), report);
    udpai_str bytes = {wire_room(writer.size), writer.size};
    writer = (udpai_proto_writer){(uint8_t *)(uintptr_t)bytes.data, 0};
    udpai_load_stats_put_message(&writer, UDPAI_STR("a"), report);
    return bytes;
}

static udpai_str
address(const char *ip, uint64_t port)
{
    return W_MESSAGE(1, W_MESSAGE(1, W_TEXT(2, ip), W_VARINT(3, port)));
}

/* A locality with every figure, another in the next priority. */
static udpai_str
full(void)
{
    udpai_str metric = W_MESSAGE(5, W_TEXT(1, "named_metrics.queue"), W_VARINT(2, 4),
                                 W_FIXED64(3, 0x3ff8000000000000)); /* 1.5 */
    return W_JOIN(
        W_TEXT(1, "a"), W_TEXT(6, "eds"), W_MESSAGE(4, W_VARINT(1, 10), W_VARINT(2, 5)),
        W_VARINT(3, 9), W_MESSAGE(5, W_TEXT(1, "overload"), W_VARINT(2, 8)),
        W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "eu"), W_TEXT(2, "eu-1"), W_TEXT(3, "r")),
                  W_VARINT(2, 11), W_VARINT(3, 12), W_VARINT(4, 13), metric,
                  W_MESSAGE(7, address("10.0.0.1", 80), W_VARINT(2, 21), W_VARINT(3, 22),
                            W_VARINT(4, 23), metric, W_VARINT(7, 24)),
                  W_MESSAGE(7, W_MESSAGE(1, W_MESSAGE(2, W_TEXT(1, "/run/s"))), W_VARINT(2, 31)),
                  W_VARINT(8, 14), W_VARINT(9, 15), W_VARINT(10, 16), W_VARINT(11, 17),
                  W_MESSAGE(12, W_VARINT(1, 2), W_FIXED64(2, 0x3ff8000000000000)),
                  W_MESSAGE(13, W_VARINT(1, 3)), W_MESSAGE(14, W_VARINT(1, 4))),
        W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "eu")), W_VARINT(6, 1), W_VARINT(8, 99)));
}

static void
every_figure_is_taken(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(0);
    assert_ok(add(report, full(), NULL));
    assert_str(report->service, "eds");
    assert_int_equal(report->elapsed_ns, 10000000005);
    assert_int_equal(report->dropped, 9);
    assert_int_equal(stats_drop(report, "overload")->n, 8);
    assert_int_equal(report->localities.n, 2);
    const udpai_load_stats_locality like = {
        .region = UDPAI_STR("eu"), .zone = UDPAI_STR("eu-1"), .sub_zone = UDPAI_STR("r")};
    const udpai_load_stats_locality *eu = udpai_load_stats_find_locality(report, &like);
    assert_non_null(eu);
    const uint64_t counts[] = {11, 13, 14, 16, 17}, gauges[] = {12, 15};
    assert_memory_equal(eu->figures.counts, counts, sizeof(counts));
    assert_memory_equal(eu->figures.gauges, gauges, sizeof(gauges));
    assert_int_equal(eu->figures.metrics.n, 4);
    assert_int_equal(eu->figures.metrics.items[0].kind, UDPAI_LOAD_STATS_NAMED);
    assert_str(eu->figures.metrics.items[0].name, "named_metrics.queue");
    assert_int_equal(eu->figures.metrics.items[0].n, 4);
    assert_true(eu->figures.metrics.items[0].sum == 1.5);
    assert_int_equal(eu->figures.metrics.items[1].kind, UDPAI_LOAD_STATS_CPU);
    assert_true(eu->figures.metrics.items[1].sum == 1.5);
    assert_int_equal(eu->figures.metrics.items[3].n, 4);
    assert_int_equal(eu->endpoints.n, 2);
    assert_str(eu->endpoints.items[0].address, "/run/s");
    assert_int_equal(eu->endpoints.items[0].figures.counts[UDPAI_LOAD_STATS_SUCCESSFUL], 31);
    assert_str(eu->endpoints.items[1].address, "10.0.0.1");
    assert_int_equal(eu->endpoints.items[1].port, 80);
    const uint64_t endpoint[] = {21, 23, 24, 0, 0};
    assert_memory_equal(eu->endpoints.items[1].figures.counts, endpoint, sizeof(endpoint));
    assert_int_equal(eu->endpoints.items[1].figures.gauges[UDPAI_LOAD_STATS_IN_PROGRESS], 22);
    assert_int_equal(eu->endpoints.items[1].figures.metrics.n, 1);
    assert_int_equal(stats_locality(report, "eu", 1)->figures.counts[UDPAI_LOAD_STATS_ISSUED], 99);
}

static void
there_and_back(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(0);
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *again = stats_new(0);
    assert_ok(add(report, full(), NULL));
    udpai_str bytes = write_stats(report);
    assert_ok(add(again, bytes, NULL));
    assert_same_stats(report, again);
    stats_message *stats = unpack(bytes);
    assert_string_equal(stats->cluster_name, "a");
    assert_int_equal(stats->load_report_interval->seconds, 10);
    assert_int_equal(stats->n_upstream_locality_stats, 2);
    envoy__config__endpoint__v3__cluster_stats__free_unpacked(stats, NULL);
}

static void
pieces_of_one_place_add_up(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(0);
    udpai_str piece = W_MESSAGE(2, W_VARINT(8, 5), W_VARINT(3, 2));
    assert_ok(add(report, W_JOIN(W_MESSAGE(4, W_VARINT(1, 7)), piece, piece), NULL));
    assert_ok(add(report, W_JOIN(W_MESSAGE(4, W_VARINT(1, 6)), piece, W_TEXT(6, "x")), NULL));
    assert_int_equal(stats_count(report, "", UDPAI_LOAD_STATS_ISSUED), 15);
    assert_int_equal(stats_gauge(report, "", UDPAI_LOAD_STATS_IN_PROGRESS), 6);
    assert_int_equal(report->elapsed_ns, 7000000000);
    assert_str(report->service, "x");
}

/* What an endpoint without an address counts is in what its locality does. */
static void
endpoints_without_an_address_are_left_out(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(0);
    assert_ok(add(report,
                  W_MESSAGE(2, W_VARINT(8, 5), W_MESSAGE(7, W_VARINT(7, 5)),
                            W_MESSAGE(7, W_MESSAGE(1, W_MESSAGE(3, W_TEXT(1, "internal"))))),
                  NULL));
    assert_int_equal(report->n_endpoints, 0);
    assert_int_equal(stats_count(report, "", UDPAI_LOAD_STATS_ISSUED), 5);
}

static void
refuse(udpai_str stats, udpa_err expected, const char *words)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *report = stats_new(0);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(add(report, stats, &error), expected);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(error));
}

static void
nonsense_is_refused(void **state)
{
    (void)state;
    const uint64_t minus_one = UINT64_MAX, absurd = UDPAI_LOAD_STATS_REPORT_MAX + 1;
    static const uint32_t of_locality[] = {2, 3, 4, 8, 9, 10, 11}, of_endpoint[] = {2, 3, 4, 7};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(of_locality); i++) {
        refuse(W_MESSAGE(2, W_VARINT(of_locality[i], minus_one)), UDPA_ERR_INVAL, "cannot be");
        refuse(W_MESSAGE(2, W_VARINT(of_locality[i], absurd)), UDPA_ERR_INVAL, "cannot be");
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(of_endpoint); i++)
        refuse(W_MESSAGE(2, W_MESSAGE(7, address("::1", 1), W_VARINT(of_endpoint[i], minus_one))),
               UDPA_ERR_INVAL, "cannot be");
    udpai_str most = W_MESSAGE(2, W_VARINT(8, UDPAI_LOAD_STATS_REPORT_MAX));
    refuse(W_JOIN(most, most), UDPA_ERR_INVAL, "issued requests cannot be");
    refuse(W_VARINT(3, minus_one), UDPA_ERR_INVAL, "dropped requests cannot be");
    refuse(W_MESSAGE(5, W_VARINT(2, minus_one)), UDPA_ERR_INVAL, "dropped requests cannot be");
    refuse(W_MESSAGE(4, W_VARINT(1, minus_one)), UDPA_ERR_INVAL, "cannot cover -1 seconds");
    refuse(W_MESSAGE(2, W_MESSAGE(5, W_VARINT(2, 1), W_FIXED64(3, 0x7ff8000000000000))),
           UDPA_ERR_INVAL, "is no number");
    refuse(W_MESSAGE(2, W_MESSAGE(12, W_VARINT(1, 1), W_FIXED64(2, 0x7ff0000000000000))),
           UDPA_ERR_INVAL, "is no number");
}

static udpa_err
add_once(void *context)
{
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *report = udpai_load_stats_new(&udpai_load_stats_client_limits);
    return report ? udpai_load_stats_add_message(report, context, NULL) : UDPA_ERR_NOMEM;
}

static void
survives_lack_of_memory(void **state)
{
    (void)state;
    stats_message *stats = unpack(full());
    assert_true(oom_torture(add_once, stats) > 10);
    envoy__config__endpoint__v3__cluster_stats__free_unpacked(stats, NULL);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_figure_is_taken),      TEST(there_and_back),
        TEST(pieces_of_one_place_add_up), TEST(endpoints_without_an_address_are_left_out),
        TEST(nonsense_is_refused),        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
