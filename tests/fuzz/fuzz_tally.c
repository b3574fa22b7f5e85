/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies: the first byte says of which message, and the rest is that: a ClientLoad or ClusterLoad,
 * or the ClusterStats of LRS. What is taken in is within its limits, comes out as it went in, can
 * be added to itself, and leaves nothing behind. */
#include "base/alloc.h"
#include "reports/tally_sum.h"
#include "tests/fuzz/fuzz.h"
#include "wire/scan.h"

enum { /* bits of the first byte */
    IS_STATS = 1,
    IS_SUM = 2,
};

static void
check_limits(const udpai_tally *tally)
{
    size_t n_endpoints = 0;
    FUZZ_CHECK(tally->localities.n <= tally->limits->localities);
    for (size_t i = 0; i < tally->localities.n; i++) {
        const udpai_tally_locality *locality = &tally->localities.items[i];
        n_endpoints += locality->endpoints.n;
        FUZZ_CHECK(locality->region.len <= UDPAI_TALLY_TEXT_MAX);
        for (size_t k = 0; k < UDPAI_TALLY_COUNTS; k++)
            FUZZ_CHECK(locality->figures.counts[k] <= UDPAI_TALLY_COUNT_MAX);
        for (size_t k = 0; k < UDPAI_TALLY_GAUGES; k++)
            FUZZ_CHECK(locality->figures.gauges[k] <= UDPAI_TALLY_GAUGE_MAX);
    }
    FUZZ_CHECK(n_endpoints == tally->n_endpoints);
    FUZZ_CHECK(n_endpoints <= tally->limits->endpoints);
    FUZZ_CHECK(tally->n_metrics <= tally->limits->metrics);
    FUZZ_CHECK(tally->drops.n <= tally->limits->drops);
    FUZZ_CHECK(tally->nodes.n <= tally->limits->nodes);
    FUZZ_CHECK(tally->elapsed_ns <= UDPAI_TALLY_ELAPSED_MAX_NS);
}

static udpa_bytes *
encode(const udpai_tally *tally)
{
    udpa_bytes *bytes = udpai_tally_encode(tally);
    FUZZ_CHECK(bytes);
    return bytes;
}

static void
check_again(udpai_arena *arena, const udpai_tally *tally)
{
    udpa_bytes *bytes = encode(tally);
    udpai_tally *again = NULL;
    FUZZ_CHECK(udpai_tally_decode(arena, udpai_bytes_view(bytes), tally->limits, &again, NULL) ==
               UDPA_OK);
    udpa_bytes *twice = encode(again);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(bytes), udpai_bytes_view(twice)));
    FUZZ_CHECK(udpai_tally_check_growth(tally, again, NULL) == UDPA_OK);
    udpa_bytes_unref(twice);
    udpa_bytes_unref(bytes);
    udpai_tally_free(again);
}

/* Said twice it counts once. */
static void
check_sum(const udpai_tally *tally)
{
    const udpai_tally_sum_options options = {.cluster = tally->cluster};
    udpai_tally_sum *sum = NULL;
    FUZZ_CHECK(udpai_tally_sum_new(&sum, &options) == UDPA_OK);
    for (size_t i = 0; i < 2; i++) {
        udpai_tally *copy = NULL;
        FUZZ_CHECK(udpai_tally_difference(tally, NULL, &copy, NULL) == UDPA_OK);
        copy->epoch = tally->epoch;
        FUZZ_CHECK(udpai_tally_sum_take(sum, UDPAI_STR("a"), copy, NULL) == UDPA_OK);
    }
    const udpai_tally *total = udpai_tally_sum_total(sum, 0);
    FUZZ_CHECK(udpai_tally_check_growth(tally, total, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_tally_check_growth(total, tally, NULL) == UDPA_OK);
    udpai_tally_sum_free(sum);
}

static udpa_err
take_stats(udpai_arena *arena, udpai_str bytes, udpai_tally *report, udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type =
        &envoy__config__endpoint__v3__cluster_stats__descriptor;
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_arena_reset(arena);
    ProtobufCMessage *stats =
        protobuf_c_message_unpack(type, &arena->allocator, bytes.len, (const uint8_t *)bytes.data);
    FUZZ_CHECK(stats);
    return udpai_tally_add_stats(report, (const Envoy__Config__Endpoint__V3__ClusterStats *)stats,
                                 ret_error);
}

/* What goes out of it as ClusterStats comes in again as the same. */
static void
check_stats(udpai_arena *arena, const udpai_tally *report)
{
    udpai_proto_writer writer = {0};
    udpai_tally_put_stats(&writer, UDPAI_STR("a"), report);
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    FUZZ_CHECK(bytes);
    writer = (udpai_proto_writer){room, 0};
    udpai_tally_put_stats(&writer, UDPAI_STR("a"), report);
    udpai_tally *again = udpai_tally_new(&udpai_tally_client_limits);
    FUZZ_CHECK(take_stats(arena, udpai_bytes_view(bytes), again, NULL) == UDPA_OK);
    udpa_bytes *a = encode(report), *b = encode(again);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b)));
    udpa_bytes_unref(a);
    udpa_bytes_unref(b);
    udpa_bytes_unref(bytes);
    udpai_tally_free(again);
}

static udpa_err
take(udpai_arena *arena, udpai_str bytes, uint8_t how, udpai_tally **ret, udpa_error **ret_error)
{
    if (!(how & IS_STATS))
        return udpai_tally_decode(
            arena, bytes, how & IS_SUM ? &udpai_tally_sum_limits : &udpai_tally_client_limits, ret,
            ret_error);
    udpai_tally *report = udpai_tally_new(&udpai_tally_client_limits);
    udpa_err err = take_stats(arena, bytes, report, ret_error);
    if (err == UDPA_OK)
        *ret = report;
    else
        udpai_tally_free(report);
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    uint8_t how = fuzz_take_byte(&input);
    udpai_tally *tally = NULL;
    udpa_error *error = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = take(&arena, input, how, &tally, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK((err == UDPA_OK) == (tally != NULL));
    if (tally) {
        check_limits(tally);
        check_again(&arena, tally);
        if (how & IS_STATS)
            check_stats(&arena, tally);
        else if (tally->nodes.n == 0)
            check_sum(tally);
    }
    udpa_error_unref(error);
    udpai_tally_free(tally);
    udpai_arena_done(&arena);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
