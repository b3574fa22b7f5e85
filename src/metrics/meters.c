/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/meters.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "metrics/labels.h"

_Static_assert(UDPAI_METRICS <= UINT8_MAX, "the number of a family is the first byte of a key");

/* Others read the list from its first on while the owner puts new ones before that. */
struct udpai_meters {
    _Atomic(udpai_meter *) first;
    udpai_map by_key;
    udpai_metric_labels labels;
    udpai_meter *lost; /* counts what there is no memory for */
};

/* The number of the family, and the label. */
static udpai_str
meter_key(const void *item)
{
    return ((const udpai_meter *)item)->key;
}

static udpai_str
label_of(const udpai_meter *meter)
{
    return (udpai_str){meter->key.data + 1, meter->key.len - 1};
}

static udpai_meter *
new_meter(udpai_metric metric, size_t n_values, udpai_str key)
{
    udpai_meter *meter =
        udpai_alloc(sizeof(*meter) + n_values * sizeof(meter->values[0]) + key.len);
    if (!meter)
        return NULL;
    char *at = (char *)&meter->values[n_values];
    meter->metric = metric;
    meter->key = udpai_str_put(&at, key);
    return meter;
}

udpa_err
udpai_meters_new(udpai_meters **ret_meters)
{
    udpai_meters *meters = udpai_alloc(sizeof(*meters));
    if (!meters)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&meters->by_key, meter_key);
    udpai_metric_labels_init(&meters->labels);
    meters->lost = new_meter(UDPAI_METRICS, UDPAI_METRIC_VALUES_MAX, (udpai_str){0});
    if (!meters->lost) {
        udpai_meters_free(meters);
        return UDPA_ERR_NOMEM;
    }
    *ret_meters = meters;
    return UDPA_OK;
}

udpai_meters *
udpai_meters_free(udpai_meters *meters)
{
    if (!meters)
        return NULL;
    udpai_meter *next = atomic_load_explicit(&meters->first, memory_order_relaxed);
    while (next) {
        udpai_meter *meter = next;
        next = meter->next;
        udpai_free(meter);
    }
    udpai_free(meters->lost);
    udpai_map_done(&meters->by_key);
    udpai_metric_labels_done(&meters->labels);
    udpai_free(meters);
    return NULL;
}

udpai_meter *
udpai_meters_get(udpai_meters *meters, udpai_metric metric, udpai_str label)
{
    char room[1 + UDPAI_LABEL_VALUE_MAX], *at = room + 1;
    label = udpai_metric_labels_fold(&meters->labels, udpai_metric_family_of(metric)->label, label);
    room[0] = (char)metric;
    udpai_str_put(&at, label);
    const udpai_str key = {room, 1 + label.len};
    udpai_meter *meter = udpai_map_get(&meters->by_key, key);
    if (meter)
        return meter;
    meter = new_meter(metric, udpai_metric_n_values(metric), key);
    if (!meter || !udpai_map_add(&meters->by_key, meter)) {
        udpai_free(meter);
        return meters->lost;
    }
    meter->next = atomic_load_explicit(&meters->first, memory_order_relaxed);
    atomic_store_explicit(&meters->first, meter, memory_order_release);
    return meter;
}

udpai_meter *
udpai_meters_lost(const udpai_meters *meters)
{
    return meters->lost;
}

void
udpai_meter_observe_many(udpai_meter *meter, uint64_t us, uint64_t n)
{
    udpai_meter_bump(&meter->values[udpai_metric_bucket(us)], n);
    udpai_meter_bump(&meter->values[UDPAI_METRIC_BUCKETS + 1], us * n);
}

void
udpai_meter_observe(udpai_meter *meter, uint64_t us)
{
    udpai_meter_observe_many(meter, us, 1);
}

void
udpai_meters_read(const udpai_meters *meters, udpai_reading_fn visit, void *userdata)
{
    const udpai_meter *meter = atomic_load_explicit(&meters->first, memory_order_acquire);
    for (; meter; meter = meter->next) {
        uint64_t values[UDPAI_METRIC_VALUES_MAX];
        size_t n = udpai_metric_n_values(meter->metric);
        for (size_t i = 0; i < n; i++)
            values[i] = atomic_load_explicit(&meter->values[i], memory_order_relaxed);
        const udpai_reading reading = {meter->metric, label_of(meter), values};
        visit(userdata, &reading);
    }
}

/* ---- from one process to another ---- */

static void
put_reading(udpai_proto_writer *writer, const udpai_reading *reading)
{
    udpai_proto_put_bare_number(writer, reading->metric);
    udpai_proto_put_bare_bytes(writer, reading->label);
    for (size_t i = 0; i < udpai_metric_n_values(reading->metric); i++)
        udpai_proto_put_bare_number(writer, reading->values[i]);
}

void
udpai_reading_encode(void *bytes, const udpai_reading *reading)
{
    udpai_proto_writer writer = {0};
    put_reading(&writer, reading);
    uint8_t *room = udpai_strbuf_extend(bytes, writer.size);
    writer = (udpai_proto_writer){room, 0};
    if (room)
        put_reading(&writer, reading);
}

static bool
is_known(uint64_t metric, udpai_str label)
{
    if (metric >= UDPAI_METRICS)
        return false;
    bool has_label = udpai_metric_family_of((udpai_metric)metric)->label != UDPAI_LABEL_NONE;
    return has_label ? label.len <= UDPAI_LABEL_VALUE_MAX : label.len == 0;
}

udpa_err
udpai_readings_decode(udpai_str bytes, udpai_reading_fn visit, void *userdata)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    while (reader.at != reader.end) {
        uint64_t metric, values[UDPAI_METRIC_VALUES_MAX];
        udpai_str label;
        if (!udpai_proto_take_number(&reader, &metric) ||
            !udpai_proto_take_bytes(&reader, &label) || !is_known(metric, label))
            return UDPA_ERR_MALFORMED;
        for (size_t i = 0; i < udpai_metric_n_values((udpai_metric)metric); i++)
            if (!udpai_proto_take_number(&reader, &values[i]))
                return UDPA_ERR_MALFORMED;
        const udpai_reading reading = {(udpai_metric)metric, label, values};
        visit(userdata, &reading);
    }
    return UDPA_OK;
}
