/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/families.h"

#include "model/types.h"

/* ---- labels ---- */

static const udpai_metric_label_info labels[UDPAI_LABELS] = {
    [UDPAI_LABEL_NONE] = {"", 0},
    [UDPAI_LABEL_CODE] = {"code", 17},
    [UDPAI_LABEL_KIND] = {"kind", 8},
    [UDPAI_LABEL_LIMIT] = {"limit", 12},
    [UDPAI_LABEL_MODULE] = {"module", 8},
    [UDPAI_LABEL_OUTCOME] = {"outcome", 4},
    [UDPAI_LABEL_PROTOCOL] = {"protocol", 24},
    [UDPAI_LABEL_REASON] = {"reason", 8},
    [UDPAI_LABEL_SOURCE] = {"source", 80}, /* and types beside those that the program knows: */
    [UDPAI_LABEL_TYPE] = {"type", 100},
    [UDPAI_LABEL_TYPE_OF_FEWER] = {"type", 40},
    [UDPAI_LABEL_USE] = {"use", 8},
    [UDPAI_LABEL_VERSION] = {"version", 1},
    [UDPAI_LABEL_WORKER] = {"worker", 64},
};

const udpai_metric_label_info *
udpai_metric_label_info_of(udpai_metric_label label)
{
    return &labels[label];
}

bool
udpai_metric_label_is_type(udpai_metric_label label)
{
    return label == UDPAI_LABEL_TYPE || label == UDPAI_LABEL_TYPE_OF_FEWER;
}

/* With "other". */
static size_t
most_values(udpai_metric_label label)
{
    size_t n_known = 0;
    while (udpai_metric_label_is_type(label) && udpai_type_at(n_known))
        n_known++;
    return label == UDPAI_LABEL_NONE ? 1 : n_known + labels[label].max_values + 1;
}

udpai_str
udpai_metric_code(udpa_err err)
{
    static const char *const codes[] = {
        "ok",
        "cancelled",
        "unknown",
        "invalid_argument",
        "deadline_exceeded",
        "not_found",
        "already_exists",
        "permission_denied",
        "resource_exhausted",
        "failed_precondition",
        "aborted",
        "out_of_range",
        "unimplemented",
        "internal",
        "unavailable",
        "data_loss",
        "unauthenticated",
    };
    size_t code = (size_t)udpa_err_to_grpc(err);
    return udpai_str_from(codes[code < UDPAI_ARRAY_LEN(codes) ? code : 2]);
}

/* ---- families ---- */

const uint64_t udpai_metric_bounds_us[UDPAI_METRIC_BUCKETS] = {
    100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 1000000, 5000000,
};

static const udpai_metric_family families[UDPAI_METRICS] = {
#define FAMILY(number, kind, label, from, name, help)                                              \
    [UDPAI_METRIC_##number] = {name, help, UDPAI_METRIC_##kind, UDPAI_LABEL_##label},
    UDPAI_METRIC_MAP(FAMILY)
#undef FAMILY
};

size_t
udpai_metric_bucket(uint64_t us)
{
    size_t i = 0;
    while (i < UDPAI_METRIC_BUCKETS && us > udpai_metric_bounds_us[i])
        i++;
    return i;
}

const udpai_metric_family *
udpai_metric_family_of(udpai_metric metric)
{
    return &families[metric];
}

const char *
udpai_metric_unit(udpai_metric metric)
{
    static const char *const units[] = {"seconds", "bytes"};
    udpai_str name = udpai_str_from(families[metric].name);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(units); i++) {
        size_t len = strlen(units[i]);
        if (name.len > len && name.data[name.len - len - 1] == '_' &&
            memcmp(name.data + name.len - len, units[i], len) == 0)
            return units[i];
    }
    return NULL;
}

size_t
udpai_metric_n_values(udpai_metric metric)
{
    return families[metric].kind == UDPAI_METRIC_HISTOGRAM ? UDPAI_METRIC_VALUES_MAX : 1;
}

/* The count of a histogram is one more; of it and of counters, when they were created. */
size_t
udpai_metric_max_series(udpai_metric metric)
{
    const udpai_metric_family *family = &families[metric];
    size_t n = udpai_metric_n_values(metric) + (family->kind == UDPAI_METRIC_HISTOGRAM) +
               (family->kind == UDPAI_METRIC_COUNTER || family->kind == UDPAI_METRIC_HISTOGRAM);
    return n * most_values(family->label);
}
