/* SPDX-License-Identifier: Apache-2.0 */
/* What peers send by ORCA. */
#include <stdlib.h>

#include "base/alloc.h"
#include "wire/scan.h"
#include "xds/data/orca/v3/orca_load_report.pb-c.h"
#include "xds/orca.h"
#include "xds/service/orca/v3/orca.pb-c.h"

#define NANOS_PER_S 1000000000

typedef Xds__Data__Orca__V3__OrcaLoadReport report_message;
/* The entries of all three maps look the same to C. */
typedef Xds__Data__Orca__V3__OrcaLoadReport__RequestCostEntry entry_message;
typedef Xds__Service__Orca__V3__OrcaLoadReportRequest request_message;

/* What is unpacked lives until the decoder is used again. */
static udpa_err
unpack(udpai_decoder *decoder,
       const ProtobufCMessageDescriptor *type,
       udpai_str message,
       ProtobufCMessage **ret_message,
       udpa_error **ret_error)
{
    udpai_arena_reset(&decoder->arena);
    udpa_err err = udpai_scan(type, message, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    *ret_message = protobuf_c_message_unpack(type, &decoder->arena.allocator, message.len,
                                             (const uint8_t *)message.data);
    return *ret_message ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* ---- reports ---- */

/* More than there may be are counted, but not looked at. */
static bool
read_entries(udpai_decoder *decoder,
             const entry_message *const *entries,
             size_t n,
             udpai_orca_values *ret_values)
{
    size_t n_read = n <= UDPAI_ORCA_NAMED_MAX ? n : 0;
    udpai_orca_value *items = udpai_arena_alloc(&decoder->arena, (n_read + 1) * sizeof(*items));
    if (!items)
        return false;
    for (size_t i = 0; i < n_read; i++)
        items[i] = (udpai_orca_value){udpai_str_from(entries[i]->key), entries[i]->value};
    *ret_values = (udpai_orca_values){items, n};
    return true;
}

udpa_err
udpai_orca_report_decode(udpai_decoder *decoder,
                         udpai_str message,
                         udpai_orca_metrics **ret_metrics,
                         udpa_error **ret_error)
{
    ProtobufCMessage *unpacked = NULL;
    udpa_err err = unpack(decoder, &xds__data__orca__v3__orca_load_report__descriptor, message,
                          &unpacked, ret_error);
    if (err != UDPA_OK)
        return err;
    const report_message *report = (const report_message *)unpacked;
    udpai_orca_parts parts = {
        .figures =
            {
                [UDPAI_ORCA_CPU] = report->cpu_utilization,
                [UDPAI_ORCA_MEM] = report->mem_utilization,
                [UDPAI_ORCA_APPLICATION] = report->application_utilization,
                [UDPAI_ORCA_RPS] =
                    report->rps_fractional != 0 ? report->rps_fractional : (double)report->rps,
                [UDPAI_ORCA_EPS] = report->eps,
            },
    };

    const struct {
        udpai_orca_kind kind;
        const void *entries;
        size_t n;
    } maps[] = {
        {UDPAI_ORCA_REQUEST_COSTS, report->request_cost, report->n_request_cost},
        {UDPAI_ORCA_UTILIZATIONS, report->utilization, report->n_utilization},
        {UDPAI_ORCA_NAMED_METRICS, report->named_metrics, report->n_named_metrics},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(maps); i++)
        if (!read_entries(decoder, maps[i].entries, maps[i].n, &parts.values[maps[i].kind]))
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return udpai_orca_metrics_new(ret_metrics, &parts, ret_error);
}

/* ---- requests ---- */

static udpa_err
read_interval(const Google__Protobuf__Duration *interval, uint64_t *ret_ms, udpa_error **ret_error)
{
    int64_t seconds = interval ? interval->seconds : 0;
    int32_t nanos = interval ? interval->nanos : 0;
    if (seconds < 0 || nanos < 0 || nanos >= NANOS_PER_S)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "report_interval is %lld s and %d ns: it may not be negative, and less "
                          "than a second are its nanoseconds",
                          (long long)seconds, (int)nanos);
    uint64_t ms = UDPAI_ORCA_INTERVAL_MAX_MS;
    if (seconds < UDPAI_ORCA_INTERVAL_MAX_MS / 1000)
        ms = (uint64_t)seconds * 1000 + (uint64_t)nanos / 1000000;
    if (seconds == 0 && nanos == 0)
        ms = UDPAI_ORCA_INTERVAL_MS;
    *ret_ms = ms < UDPAI_ORCA_INTERVAL_MIN_MS ? UDPAI_ORCA_INTERVAL_MIN_MS : ms;
    return UDPA_OK;
}

static udpa_err
check_cost_names(const request_message *message, size_t *ret_size, udpa_error **ret_error)
{
    if (message->n_request_cost_names > UDPAI_ORCA_NAMED_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%zu request_cost_names: at most %d may be",
                          message->n_request_cost_names, UDPAI_ORCA_NAMED_MAX);
    *ret_size = 0;
    for (size_t i = 0; i < message->n_request_cost_names; i++) {
        udpai_str name = udpai_str_from(message->request_cost_names[i]);
        if (name.len == 0 || name.len > UDPAI_ORCA_NAME_MAX)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "a name in request_cost_names is empty, or longer than %d bytes",
                              UDPAI_ORCA_NAME_MAX);
        *ret_size += name.len;
    }
    return UDPA_OK;
}

static int
compare_names(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

static udpai_orca_request *
copy_request(const request_message *message, size_t text_size)
{
    size_t n = message->n_request_cost_names;
    udpai_orca_request *request =
        udpai_alloc(sizeof(*request) + n * sizeof(request->cost_names[0]) + text_size);
    if (!request)
        return NULL;
    char *text = (char *)&request->cost_names[n];
    for (size_t i = 0; i < n; i++)
        request->cost_names[i] =
            udpai_str_put(&text, udpai_str_from(message->request_cost_names[i]));
    request->n_cost_names = n;
    qsort(request->cost_names, n, sizeof(request->cost_names[0]), compare_names);
    return request;
}

udpa_err
udpai_orca_request_decode(udpai_decoder *decoder,
                          udpai_str message,
                          udpai_orca_request **ret_request,
                          udpa_error **ret_error)
{
    ProtobufCMessage *unpacked = NULL;
    uint64_t interval_ms = 0;
    size_t text_size = 0;
    udpa_err err = unpack(decoder, &xds__service__orca__v3__orca_load_report_request__descriptor,
                          message, &unpacked, ret_error);
    if (err != UDPA_OK)
        return err;
    const request_message *asked = (const request_message *)unpacked;
    err = read_interval(asked->report_interval, &interval_ms, ret_error);
    if (err == UDPA_OK)
        err = check_cost_names(asked, &text_size, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_orca_request *request = copy_request(asked, text_size);
    if (!request)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    request->interval_ms = interval_ms;
    *ret_request = request;
    return UDPA_OK;
}
