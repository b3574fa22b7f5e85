/* SPDX-License-Identifier: Apache-2.0 */
/* Load stats: the first byte says of which message, and the rest is that: a ClientLoad or
 * ClusterLoad, or the ClusterStats of LRS. What is taken in is within its limits, comes out as it
 * went in, can be added to itself, and leaves nothing behind. */
#include "base/alloc.h"
#include "reports/load_aggregate.h"
#include "tests/fuzz/fuzz.h"
#include "wire/scan.h"

enum { /* bits of the first byte */
    IS_STATS = 1,
    IS_SUM = 2,
};

static void
check_limits(const udpai_load_stats *stats)
{
    size_t n_endpoints = 0;
    FUZZ_CHECK(stats->localities.n <= stats->limits->localities);
    for (size_t i = 0; i < stats->localities.n; i++) {
        const udpai_load_stats_locality *locality = &stats->localities.items[i];
        n_endpoints += locality->endpoints.n;
        FUZZ_CHECK(locality->region.len <= UDPAI_LOAD_STATS_TEXT_MAX);
        for (size_t k = 0; k < UDPAI_LOAD_STATS_COUNTS; k++)
            FUZZ_CHECK(locality->figures.counts[k] <= UDPAI_LOAD_STATS_COUNT_MAX);
        for (size_t k = 0; k < UDPAI_LOAD_STATS_GAUGES; k++)
            FUZZ_CHECK(locality->figures.gauges[k] <= UDPAI_LOAD_STATS_GAUGE_MAX);
    }
    FUZZ_CHECK(n_endpoints == stats->n_endpoints);
    FUZZ_CHECK(n_endpoints <= stats->limits->endpoints);
    FUZZ_CHECK(stats->n_metrics <= stats->limits->metrics);
    FUZZ_CHECK(stats->drops.n <= stats->limits->drops);
    FUZZ_CHECK(stats->nodes.n <= stats->limits->nodes);
    FUZZ_CHECK(stats->elapsed_ns <= UDPAI_LOAD_STATS_ELAPSED_MAX_NS);
}

static udpa_bytes *
encode(const udpai_load_stats *stats)
{
    udpa_bytes *bytes = udpai_load_stats_encode(stats);
    FUZZ_CHECK(bytes);
    return bytes;
}

static void
check_again(udpai_arena *arena, const udpai_load_stats *stats)
{
    udpa_bytes *bytes = encode(stats);
    udpai_load_stats *again = NULL;
    FUZZ_CHECK(udpai_load_stats_decode(arena, udpai_bytes_view(bytes), stats->limits, &again,
                                       NULL) == UDPA_OK);
    udpa_bytes *twice = encode(again);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(bytes), udpai_bytes_view(twice)));
    FUZZ_CHECK(udpai_load_stats_check_growth(stats, again, NULL) == UDPA_OK);
    udpa_bytes_unref(twice);
    udpa_bytes_unref(bytes);
    udpai_load_stats_free(again);
}

/* Said twice it counts once. */
static void
check_sum(const udpai_load_stats *stats)
{
    const udpai_load_aggregate_options options = {.cluster = stats->cluster};
    udpai_load_aggregate *sum = NULL;
    FUZZ_CHECK(udpai_load_aggregate_new(&sum, &options) == UDPA_OK);
    for (size_t i = 0; i < 2; i++) {
        udpai_load_stats *copy = NULL;
        FUZZ_CHECK(udpai_load_stats_difference(stats, NULL, &copy, NULL) == UDPA_OK);
        copy->epoch = stats->epoch;
        FUZZ_CHECK(udpai_load_aggregate_take(sum, UDPAI_STR("a"), copy, NULL) == UDPA_OK);
    }
    const udpai_load_stats *total = udpai_load_aggregate_total(sum, 0);
    FUZZ_CHECK(udpai_load_stats_check_growth(stats, total, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_load_stats_check_growth(total, stats, NULL) == UDPA_OK);
    udpai_load_aggregate_free(sum);
}

static udpa_err
take_stats(udpai_arena *arena, udpai_str bytes, udpai_load_stats *report, udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type =
        &envoy__config__endpoint__v3__cluster_stats__descriptor;
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(arena);
    ProtobufCMessage *stats =
        protobuf_c_message_unpack(type, &arena->allocator, bytes.len, (const uint8_t *)bytes.data);
    if (!stats) /* protobuf-c is stricter with tags */
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it cannot be unpacked");
    return udpai_load_stats_add_message(
        report, (const Envoy__Config__Endpoint__V3__ClusterStats *)stats, ret_error);
}

/* What goes out of it as ClusterStats comes in again as the same. */
static void
check_stats(udpai_arena *arena, const udpai_load_stats *report)
{
    udpai_proto_writer writer = {0};
    udpai_load_stats_put_message(&writer, UDPAI_STR("a"), report);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    FUZZ_CHECK(bytes);
    writer = (udpai_proto_writer){room, 0};
    udpai_load_stats_put_message(&writer, UDPAI_STR("a"), report);
    udpai_load_stats *again = udpai_load_stats_new(&udpai_load_stats_client_limits);
    FUZZ_CHECK(take_stats(arena, udpai_bytes_view(bytes), again, NULL) == UDPA_OK);
    udpa_bytes *a = encode(report), *b = encode(again);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
    udpa_bytes_unref(a);
    udpa_bytes_unref(b);
    udpa_bytes_unref(bytes);
    udpai_load_stats_free(again);
}

static udpa_err
take(udpai_arena *arena,
     udpai_str bytes,
     uint8_t how,
     udpai_load_stats **ret,
     udpa_error **ret_error)
{
    if (!(how & IS_STATS))
        return udpai_load_stats_decode(arena, bytes,
                                       how & IS_SUM ? &udpai_load_aggregate_limits
                                                    : &udpai_load_stats_client_limits,
                                       ret, ret_error);
    udpai_load_stats *report = udpai_load_stats_new(&udpai_load_stats_client_limits);
    udpa_err err = take_stats(arena, bytes, report, ret_error);
    if (err == UDPA_OK)
        *ret = report;
    else
        udpai_load_stats_free(report);
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    uint8_t how = fuzz_take_byte(&input);
    udpai_load_stats *stats = NULL;
    udpa_error *error = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = take(&arena, input, how, &stats, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK((err == UDPA_OK) == (stats != NULL));
    if (stats) {
        check_limits(stats);
        check_again(&arena, stats);
        if (how & IS_STATS)
            check_stats(&arena, stats);
        else if (stats->nodes.n == 0)
            check_sum(stats);
    }
    udpa_error_unref(error);
    udpai_load_stats_free(stats);
    udpai_arena_done(&arena);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
