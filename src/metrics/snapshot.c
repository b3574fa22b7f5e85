/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/snapshot.h"

#include <assert.h>

#include "base/alloc.h"
#include "metrics/labels.h"

struct udpai_metric_snapshot {
    udpai_map by_key;
    udpai_list samples[UDPAI_METRICS];
    udpai_metric_labels labels;
    size_t n_series;
    double created_seconds;
    bool failed;
};

static udpai_str
sample_key(const void *item)
{
    return ((const udpai_metric_sample *)item)->key;
}

udpa_err
udpai_metric_snapshot_new(udpai_metric_snapshot **ret_snapshot)
{
    udpai_metric_snapshot *snapshot = udpai_alloc(sizeof(*snapshot));
    if (!snapshot)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&snapshot->by_key, sample_key);
    udpai_metric_labels_init(&snapshot->labels);
    for (size_t i = 0; i < UDPAI_METRICS; i++)
        udpai_list_init(&snapshot->samples[i]);
    *ret_snapshot = snapshot;
    return UDPA_OK;
}

udpai_metric_snapshot *
udpai_metric_snapshot_free(udpai_metric_snapshot *snapshot)
{
    udpai_list *at;
    if (!snapshot)
        return NULL;
    for (size_t i = 0; i < UDPAI_METRICS; i++)
        while ((at = udpai_list_pop(&snapshot->samples[i]))) {
            udpai_metric_sample *sample = UDPAI_LIST_ENTRY(at, udpai_metric_sample, node);
            udpai_free(sample->exemplars);
            udpai_free(sample);
        }
    udpai_map_done(&snapshot->by_key);
    udpai_metric_labels_done(&snapshot->labels);
    udpai_free(snapshot);
    return NULL;
}

void
udpai_metric_snapshot_begin(udpai_metric_snapshot *snapshot, double created_seconds)
{
    size_t at = 0;
    udpai_metric_sample *sample;
    while ((sample = udpai_map_next(&snapshot->by_key, &at))) {
        sample->is_set = false;
        udpai_free(UDPAI_TAKE(sample->exemplars));
        memset(sample->values, 0, udpai_metric_n_values(sample->metric) * sizeof(double));
    }
    snapshot->n_series = 0;
    snapshot->created_seconds = created_seconds;
    snapshot->failed = false;
}

/* ---- filling ---- */

static udpai_metric_sample *
new_sample(udpai_metric metric, udpai_str key)
{
    size_t n_values = udpai_metric_n_values(metric);
    udpai_metric_sample *sample =
        udpai_alloc(sizeof(*sample) + n_values * sizeof(sample->values[0]) + key.len);
    if (!sample)
        return NULL;
    char *at = (char *)&sample->values[n_values];
    sample->metric = metric;
    sample->key = udpai_str_put(&at, key);
    udpai_list_init(&sample->node);
    return sample;
}

static udpai_metric_sample *
find(udpai_metric_snapshot *snapshot, udpai_metric metric, udpai_str label)
{
    char room[1 + UDPAI_LABEL_VALUE_MAX], *at = room + 1;
    room[0] = (char)metric;
    label =
        udpai_metric_labels_fold(&snapshot->labels, udpai_metric_family_of(metric)->label, label);
    udpai_str_put(&at, label);
    const udpai_str key = {room, 1 + label.len};
    udpai_metric_sample *sample = udpai_map_get(&snapshot->by_key, key);
    if (sample)
        return sample;
    sample = new_sample(metric, key);
    if (!sample || !udpai_map_add(&snapshot->by_key, sample)) {
        udpai_free(sample);
        return NULL;
    }
    udpai_list_append(&snapshot->samples[metric], &sample->node);
    return sample;
}

/* NULL: without memory. The count of a histogram is one more series. */
static udpai_metric_sample *
set(udpai_metric_snapshot *snapshot, udpai_metric metric, udpai_str label)
{
    udpai_metric_sample *sample = find(snapshot, metric, label);
    snapshot->failed |= !sample;
    if (sample && !sample->is_set) {
        size_t n_values = udpai_metric_n_values(metric);
        sample->is_set = true;
        snapshot->n_series += n_values + (n_values > 1);
    }
    return sample;
}

static bool
is_of_largest(udpai_metric metric)
{
    udpai_metric_kind kind = udpai_metric_family_of(metric)->kind;
    return kind == UDPAI_METRIC_LARGEST || kind == UDPAI_METRIC_RATIO;
}

void
udpai_metric_put(udpai_metric_snapshot *snapshot,
                 udpai_metric metric,
                 udpai_str label,
                 double value)
{
    assert(udpai_metric_family_of(metric)->kind != UDPAI_METRIC_HISTOGRAM);
    udpai_metric_sample *sample = set(snapshot, metric, label);
    if (!sample)
        return;
    if (!is_of_largest(metric))
        sample->values[0] += value;
    else if (value > sample->values[0])
        sample->values[0] = value;
}

/* Without memory, or of what is not counted, it is left out. */
void
udpai_metric_put_exemplar(udpai_metric_snapshot *snapshot,
                          udpai_metric metric,
                          udpai_str label,
                          const udpai_metric_exemplar *exemplar)
{
    assert(udpai_metric_family_of(metric)->kind == UDPAI_METRIC_HISTOGRAM);
    udpai_metric_sample *sample = find(snapshot, metric, label);
    if (!sample || !sample->is_set)
        return;
    if (!sample->exemplars)
        sample->exemplars = udpai_alloc_array(UDPAI_METRIC_BUCKETS + 1, sizeof(*sample->exemplars));
    if (sample->exemplars)
        sample->exemplars[udpai_metric_bucket(exemplar->us)] = *exemplar;
}

/* A gauge is below zero while what one process has begun is counted, and another one's end not yet:
 * so it is taken as signed. */
void
udpai_metric_snapshot_take(void *snapshot, const udpai_reading *reading)
{
    const udpai_metric_family *family = udpai_metric_family_of(reading->metric);
    if (is_of_largest(reading->metric)) {
        double unit = family->kind == UDPAI_METRIC_RATIO ? UDPAI_METRIC_RATIO_ONE : 1;
        udpai_metric_put(snapshot, reading->metric, reading->label,
                         (double)reading->values[0] / unit);
        return;
    }
    udpai_metric_sample *sample = set(snapshot, reading->metric, reading->label);
    for (size_t i = 0; sample && i < udpai_metric_n_values(reading->metric); i++)
        sample->values[i] += family->kind == UDPAI_METRIC_GAUGE
                                 ? (double)(int64_t)reading->values[i]
                                 : (double)reading->values[i];
}

/* ---- reading ---- */

bool
udpai_metric_snapshot_failed(const udpai_metric_snapshot *snapshot)
{
    return snapshot->failed;
}

double
udpai_metric_snapshot_created(const udpai_metric_snapshot *snapshot)
{
    return snapshot->created_seconds;
}

size_t
udpai_metric_snapshot_n_series(const udpai_metric_snapshot *snapshot)
{
    return snapshot->n_series;
}

const udpai_list *
udpai_metric_snapshot_samples(const udpai_metric_snapshot *snapshot, udpai_metric metric)
{
    return &snapshot->samples[metric];
}
