/* SPDX-License-Identifier: Apache-2.0 */
/* A report of ORCA: its figures checked, and encoded in the forms of both packages. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "xds/orca.h"

enum { /* field numbers of OrcaLoadReport; v1 ends with UTILIZATION */
    CPU_UTILIZATION = 1,
    MEM_UTILIZATION = 2,
    RPS = 3,
    REQUEST_COST = 4,
    UTILIZATION = 5,
    RPS_FRACTIONAL = 6,
    EPS = 7,
    NAMED_METRICS = 8,
    APPLICATION_UTILIZATION = 9,
};

struct udpai_orca_metrics {
    atomic_uint refs;
    udpai_orca_parts parts;
    udpa_bytes *bytes[UDPAI_ORCA_FORMS];
};

/* ---- what may be ---- */

struct range {
    const char *what;
    double min, max;
};

static const struct range figure_ranges[UDPAI_ORCA_FIGURES] = {
    [UDPAI_ORCA_CPU] = {"cpu_utilization", 0, INFINITY},
    [UDPAI_ORCA_MEM] = {"mem_utilization", 0, 1},
    [UDPAI_ORCA_APPLICATION] = {"application_utilization", 0, INFINITY},
    [UDPAI_ORCA_RPS] = {"rps", 0, INFINITY},
    [UDPAI_ORCA_EPS] = {"eps", 0, INFINITY},
};

static const struct range kind_ranges[UDPAI_ORCA_KINDS] = {
    [UDPAI_ORCA_REQUEST_COSTS] = {"request cost", 0, INFINITY},
    [UDPAI_ORCA_UTILIZATIONS] = {"utilization", 0, 1},
    [UDPAI_ORCA_NAMED_METRICS] = {"named metric", -INFINITY, INFINITY},
};

static udpa_err
check_value(const struct range *range, udpai_str name, double value, udpa_error **ret_error)
{
    const char *open = name.len ? " '" : "", *close = name.len ? "'" : "";
    if (!isfinite(value))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s%s%.*s%s is %g, which is no finite number",
                          range->what, open, UDPAI_SHOWN(name), close, value);
    if (value < range->min)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s%s%.*s%s is %g, and may not be negative",
                          range->what, open, UDPAI_SHOWN(name), close, value);
    if (value > range->max)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s%s%.*s%s is %g, and may be at most %g",
                          range->what, open, UDPAI_SHOWN(name), close, value, range->max);
    return UDPA_OK;
}

static udpa_err
check_values(const struct range *range, const udpai_orca_values *values, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (values->n > UDPAI_ORCA_NAMED_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%zu values of kind '%s': at most %d may be",
                          values->n, range->what, UDPAI_ORCA_NAMED_MAX);
    for (size_t i = 0; i < values->n && err == UDPA_OK; i++) {
        udpai_str name = values->items[i].name;
        if (name.len == 0 || name.len > UDPAI_ORCA_NAME_MAX || !udpai_utf8_valid(name))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "the name of a %s is empty, longer than %d bytes, or not UTF-8",
                              range->what, UDPAI_ORCA_NAME_MAX);
        err = check_value(range, name, values->items[i].value, ret_error);
    }
    return err;
}

static udpa_err
check(const udpai_orca_parts *parts, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ORCA_FIGURES && err == UDPA_OK; i++)
        err = check_value(&figure_ranges[i], (udpai_str){0}, parts->figures[i], ret_error);
    for (size_t i = 0; i < UDPAI_ORCA_KINDS && err == UDPA_OK; i++)
        err = check_values(&kind_ranges[i], &parts->values[i], ret_error);
    return err;
}

/* ---- on the wire ---- */

static uint64_t
bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void
put_double(udpai_proto_writer *writer, uint32_t number, double value)
{
    if (value != 0)
        udpai_proto_put_fixed64(writer, number, bits_of(value));
}

/* An entry of a map has both its fields, whatever they are. */
static void
put_entry(udpai_proto_writer *writer, const udpai_orca_value *value)
{
    udpai_proto_put_bytes(writer, 1, value->name);
    udpai_proto_put_fixed64(writer, 2, bits_of(value->value));
}

static void
put_value(udpai_proto_writer *writer, uint32_t number, const udpai_orca_value *value)
{
    udpai_proto_writer size = {0};
    put_entry(&size, value);
    udpai_proto_put_head(writer, number, size.size);
    put_entry(writer, value);
}

static void
put_values(udpai_proto_writer *writer, uint32_t number, const udpai_orca_values *values)
{
    for (size_t i = 0; i < values->n; i++)
        put_value(writer, number, &values->items[i]);
}

static int
compare_names(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

struct selection {
    udpai_orca_form form;
    const udpai_str *cost_names;
    size_t n_cost_names;
    bool has_all_costs;
};

static void
put_costs(udpai_proto_writer *writer,
          const udpai_orca_values *costs,
          const struct selection *selection)
{
    for (size_t i = 0; i < costs->n; i++)
        if (selection->has_all_costs ||
            bsearch(&costs->items[i].name, selection->cost_names, selection->n_cost_names,
                    sizeof(*selection->cost_names), compare_names))
            put_value(writer, REQUEST_COST, &costs->items[i]);
}

/* v1 has whole numbers for it. */
static uint64_t
whole(double value)
{
    return value >= 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)(value + 0.5);
}

static void
put_report(udpai_proto_writer *writer,
           const udpai_orca_parts *parts,
           const struct selection *selection)
{
    put_double(writer, CPU_UTILIZATION, parts->figures[UDPAI_ORCA_CPU]);
    put_double(writer, MEM_UTILIZATION, parts->figures[UDPAI_ORCA_MEM]);
    if (selection->form == UDPAI_ORCA_V1)
        udpai_proto_put_varint_opt(writer, RPS, whole(parts->figures[UDPAI_ORCA_RPS]));
    put_costs(writer, &parts->values[UDPAI_ORCA_REQUEST_COSTS], selection);
    put_values(writer, UTILIZATION, &parts->values[UDPAI_ORCA_UTILIZATIONS]);
    if (selection->form == UDPAI_ORCA_V1)
        return;
    put_double(writer, RPS_FRACTIONAL, parts->figures[UDPAI_ORCA_RPS]);
    put_double(writer, EPS, parts->figures[UDPAI_ORCA_EPS]);
    put_values(writer, NAMED_METRICS, &parts->values[UDPAI_ORCA_NAMED_METRICS]);
    put_double(writer, APPLICATION_UTILIZATION, parts->figures[UDPAI_ORCA_APPLICATION]);
}

static udpa_bytes *
encode(const udpai_orca_parts *parts, const struct selection *selection)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_report(&writer, parts, selection);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){room, 0};
        put_report(&writer, parts, selection);
    }
    return bytes;
}

udpa_bytes *
udpai_orca_metrics_encode(const udpai_orca_metrics *metrics,
                          udpai_orca_form form,
                          const udpai_str *cost_names,
                          size_t n_cost_names)
{
    const struct selection selection = {form, cost_names, n_cost_names, false};
    return encode(&metrics->parts, &selection);
}

udpa_bytes *
udpai_orca_metrics_bytes(const udpai_orca_metrics *metrics, udpai_orca_form form)
{
    return metrics->bytes[form];
}

/* ---- the value ---- */

static size_t
room_for(const udpai_orca_parts *parts)
{
    size_t size = 0;
    for (size_t kind = 0; kind < UDPAI_ORCA_KINDS; kind++) {
        size += parts->values[kind].n * sizeof(udpai_orca_value);
        for (size_t i = 0; i < parts->values[kind].n; i++)
            size += parts->values[kind].items[i].name.len;
    }
    return size;
}

static int
compare_values(const void *a, const void *b)
{
    return udpai_str_cmp(((const udpai_orca_value *)a)->name, ((const udpai_orca_value *)b)->name);
}

/* Values first, behind the metrics, where they are aligned; then their names. */
static void
copy_values(udpai_orca_metrics *metrics)
{
    udpai_orca_value *at = (udpai_orca_value *)(metrics + 1);
    for (size_t kind = 0; kind < UDPAI_ORCA_KINDS; kind++) {
        udpai_orca_values *values = &metrics->parts.values[kind];
        if (values->n)
            memcpy(at, values->items, values->n * sizeof(*at));
        qsort(at, values->n, sizeof(*at), compare_values);
        values->items = at;
        at += values->n;
    }
    char *text = (char *)at;
    for (udpai_orca_value *value = (udpai_orca_value *)(metrics + 1); value < at; value++)
        value->name = udpai_str_put(&text, value->name);
}

static udpa_err
check_unique(const udpai_orca_parts *parts, udpa_error **ret_error)
{
    for (size_t kind = 0; kind < UDPAI_ORCA_KINDS; kind++)
        for (size_t i = 1; i < parts->values[kind].n; i++) {
            const udpai_orca_value *value = &parts->values[kind].items[i];
            if (udpai_str_eq(value[-1].name, value->name))
                return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s '%.*s' is there twice",
                                  kind_ranges[kind].what, UDPAI_SHOWN(value->name));
        }
    return UDPA_OK;
}

static udpa_err
encode_forms(udpai_orca_metrics *metrics)
{
    for (unsigned form = 0; form < UDPAI_ORCA_FORMS; form++) {
        const struct selection selection = {(udpai_orca_form)form, NULL, 0, true};
        metrics->bytes[form] = encode(&metrics->parts, &selection);
        if (!metrics->bytes[form])
            return UDPA_ERR_NOMEM;
    }
    return UDPA_OK;
}

udpa_err
udpai_orca_metrics_new(udpai_orca_metrics **ret_metrics,
                       const udpai_orca_parts *parts,
                       udpa_error **ret_error)
{
    udpa_err err = check(parts, ret_error);
    if (err != UDPA_OK)
        return err;
    UDPA_AUTO(udpai_orca_metrics_unref)
    udpai_orca_metrics *metrics = udpai_alloc(sizeof(*metrics) + room_for(parts));
    if (!metrics)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&metrics->refs, 1);
    metrics->parts = *parts;
    copy_values(metrics);
    err = check_unique(&metrics->parts, ret_error);
    if (err == UDPA_OK)
        err = encode_forms(metrics);
    if (err == UDPA_OK)
        *ret_metrics = UDPAI_TAKE(metrics);
    return udpai_fail_code(ret_error, err);
}

udpai_orca_metrics *
udpai_orca_metrics_ref(udpai_orca_metrics *metrics)
{
    if (metrics)
        atomic_fetch_add_explicit(&metrics->refs, 1, memory_order_relaxed);
    return metrics;
}

udpai_orca_metrics *
udpai_orca_metrics_unref(udpai_orca_metrics *metrics)
{
    if (metrics && atomic_fetch_sub_explicit(&metrics->refs, 1, memory_order_acq_rel) == 1) {
        for (size_t i = 0; i < UDPAI_ORCA_FORMS; i++)
            udpa_bytes_unref(metrics->bytes[i]);
        udpai_free(metrics);
    }
    return NULL;
}

const udpai_orca_parts *
udpai_orca_metrics_parts(const udpai_orca_metrics *metrics)
{
    return &metrics->parts;
}
