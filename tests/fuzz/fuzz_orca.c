/* SPDX-License-Identifier: Apache-2.0 */
/* What peers send by ORCA. The first byte says which: a request, or a report. Whatever is taken
 * lies within its bounds; a report is the same once it was written and read again, and what was
 * chosen of its costs is part of it. */
#include <math.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "xds/orca_collection.h"

static void
check_request(const udpai_orca_request *request)
{
    FUZZ_CHECK(request->interval_ms >= UDPAI_ORCA_INTERVAL_MIN_MS &&
               request->interval_ms <= UDPAI_ORCA_INTERVAL_MAX_MS);
    FUZZ_CHECK(request->n_cost_names <= UDPAI_ORCA_NAMED_MAX);
    for (size_t i = 0; i < request->n_cost_names; i++) {
        size_t len = request->cost_names[i].len;
        FUZZ_CHECK(len && len <= UDPAI_ORCA_NAME_MAX);
        FUZZ_CHECK(i == 0 ||
                   udpai_str_cmp(request->cost_names[i - 1], request->cost_names[i]) <= 0);
    }
}

static void
check_parts(const udpai_orca_parts *parts)
{
    for (size_t i = 0; i < UDPAI_ORCA_FIGURES; i++)
        FUZZ_CHECK(isfinite(parts->figures[i]) && parts->figures[i] >= 0);
    FUZZ_CHECK(parts->figures[UDPAI_ORCA_MEM] <= 1);
    for (size_t kind = 0; kind < UDPAI_ORCA_KINDS; kind++) {
        const udpai_orca_values *values = &parts->values[kind];
        FUZZ_CHECK(values->n <= UDPAI_ORCA_NAMED_MAX);
        for (size_t i = 0; i < values->n; i++) {
            FUZZ_CHECK(isfinite(values->items[i].value));
            FUZZ_CHECK(kind == UDPAI_ORCA_NAMED_METRICS || values->items[i].value >= 0);
            FUZZ_CHECK(i == 0 ||
                       udpai_str_cmp(values->items[i - 1].name, values->items[i].name) < 0);
        }
    }
}

static udpai_orca_metrics *
read_again(udpai_decoder *decoder, udpa_bytes *bytes)
{
    udpai_orca_metrics *metrics = NULL;
    FUZZ_CHECK(udpai_orca_report_decode(decoder, udpai_bytes_view(bytes), &metrics, NULL) ==
               UDPA_OK);
    return metrics;
}

static void
check_costs(udpai_decoder *decoder, const udpai_orca_metrics *metrics)
{
    const udpai_orca_values *costs =
        &udpai_orca_metrics_parts(metrics)->values[UDPAI_ORCA_REQUEST_COSTS];
    if (costs->n == 0)
        return;
    udpa_bytes *bytes =
        udpai_orca_metrics_encode(metrics, UDPAI_ORCA_V3, &costs->items[costs->n / 2].name, 1);
    FUZZ_CHECK(bytes);
    udpai_orca_metrics *again = read_again(decoder, bytes);
    const udpai_orca_values *chosen =
        &udpai_orca_metrics_parts(again)->values[UDPAI_ORCA_REQUEST_COSTS];
    FUZZ_CHECK(chosen->n == 1);
    FUZZ_CHECK(udpai_str_eq(chosen->items[0].name, costs->items[costs->n / 2].name));
    udpai_orca_metrics_unref(again);
    udpa_bytes_unref(bytes);
}

static void
check_metrics(udpai_decoder *decoder, const udpai_orca_metrics *metrics)
{
    check_parts(udpai_orca_metrics_parts(metrics));
    udpa_bytes *bytes = udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V3);
    udpai_orca_metrics *again = read_again(decoder, bytes);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(udpai_orca_metrics_bytes(again, UDPAI_ORCA_V3)),
                            udpai_bytes_view(bytes)));
    udpai_orca_metrics_unref(again);
    again = read_again(decoder, udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V1));
    udpai_orca_metrics_unref(again);
    check_costs(decoder, metrics);
}

static void
check_collection(const udpai_orca_collection *collection)
{
    FUZZ_CHECK(collection->n_backends <= UDPAI_ORCA_BACKENDS_MAX);
    for (size_t i = 0; i < collection->n_backends; i++) {
        const udpai_orca_backend *backend = &collection->backends[i];
        FUZZ_CHECK(backend->port && backend->port <= UINT16_MAX && backend->address.len);
        FUZZ_CHECK(backend->interval_ms >= UDPAI_ORCA_INTERVAL_MIN_MS &&
                   backend->interval_ms <= UDPAI_ORCA_INTERVAL_MAX_MS);
        udpa_bytes *name = udpai_orca_report_name(backend);
        FUZZ_CHECK(name);
        FUZZ_CHECK(udpai_str_starts(udpai_bytes_view(name), backend->cluster));
        udpa_bytes_unref(name);
    }
}

static void
try_collection(udpai_decoder *decoder, udpai_str input)
{
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_ORCA_COLLECTION), input);
    const udpai_resource_parts parts = {.name = UDPAI_STR("com.acme/a"), .any = any};
    udpa_resource *resource = NULL;
    udpai_orca_collection collection;
    udpa_error *error = NULL;
    FUZZ_CHECK(any && udpai_resource_make(&resource, &parts) == UDPA_OK);
    udpa_err err = udpai_orca_collection_read(&decoder->arena, resource, &collection, &error);
    FUZZ_CHECK((err == UDPA_OK) == !error);
    if (err == UDPA_OK)
        check_collection(&collection);
    udpa_error_unref(error);
    udpa_resource_unref(resource);
    udpa_bytes_unref(any);
}

static void
try_request(udpai_decoder *decoder, udpai_str input)
{
    udpai_orca_request *request = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_orca_request_decode(decoder, input, &request, &error);
    FUZZ_CHECK((err == UDPA_OK) == !error && (err == UDPA_OK) == (request != NULL));
    if (request)
        check_request(request);
    udpai_free(request);
    udpa_error_unref(error);
}

static void
try_report(udpai_decoder *decoder, udpai_str input)
{
    udpai_orca_metrics *metrics = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_orca_report_decode(decoder, input, &metrics, &error);
    FUZZ_CHECK((err == UDPA_OK) == !error && (err == UDPA_OK) == (metrics != NULL));
    if (metrics)
        check_metrics(decoder, metrics);
    udpai_orca_metrics_unref(metrics);
    udpa_error_unref(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(udpai_decoder * decoder,
                                 udpai_str input) = {try_report, try_request, try_collection};
    udpai_str input = {(const char *)data, size};
    udpai_decoder decoder;
    uint8_t which = fuzz_take_byte(&input);
    udpai_decoder_init(&decoder);
    tries[which % UDPAI_ARRAY_LEN(tries)](&decoder, input);
    udpai_decoder_done(&decoder);
    return 0;
}
