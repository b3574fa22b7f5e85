/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of ORCA, made and read by hand. */
#ifndef UDPAI_TESTS_ORCA_TEST_H
#define UDPAI_TESTS_ORCA_TEST_H

#include "base/bytes.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "xds/data/orca/v3/orca_load_report.pb-c.h"
#include "xds/orca.h"

#define CPU(value)                                                                                 \
    {                                                                                              \
        .figures = { [UDPAI_ORCA_CPU] = (value) }                                                  \
    }

static inline udpai_str
orca_double(uint32_t number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return W_FIXED64(number, bits);
}

static inline udpai_str
orca_entry(uint32_t number, const char *name, double value)
{
    return W_MESSAGE(number, W_TEXT(1, name), orca_double(2, value));
}

static inline udpai_str
orca_request(int64_t seconds, int32_t nanos)
{
    return W_MESSAGE(1, W_VARINT(1, (uint64_t)seconds), W_VARINT(2, (uint64_t)(int64_t)nanos));
}

static inline udpai_orca_metrics *
orca_made(const udpai_orca_parts *parts)
{
    udpai_orca_metrics *metrics = NULL;
    assert_ok(udpai_orca_metrics_new(&metrics, parts, NULL));
    return metrics;
}

/* By protobuf-c; to be freed with free_unpacked. */
static inline Xds__Data__Orca__V3__OrcaLoadReport *
orca_unpacked(const udpa_bytes *bytes)
{
    Xds__Data__Orca__V3__OrcaLoadReport *report = xds__data__orca__v3__orca_load_report__unpack(
        NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    assert_non_null(report);
    return report;
}

static inline void
orca_free_unpacked(Xds__Data__Orca__V3__OrcaLoadReport *report)
{
    xds__data__orca__v3__orca_load_report__free_unpacked(report, NULL);
}

#endif
