/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a runtime, on whichever thread. */
#include "base/alloc.h"
#include "endpoint/runtime.h"

static const udpai_runtime_snapshot *
inside(const udpa_runtime_snapshot *snapshot)
{
    return (const udpai_runtime_snapshot *)snapshot;
}

static udpai_runtime_snapshot *
inside_mutable(udpa_runtime_snapshot *snapshot)
{
    return (udpai_runtime_snapshot *)snapshot;
}

/* ---- snapshots ---- */

udpa_runtime_snapshot *
udpa_runtime_snapshot_ref(udpa_runtime_snapshot *snapshot)
{
    (void)udpai_runtime_snapshot_ref(inside_mutable(snapshot));
    return snapshot;
}

udpa_runtime_snapshot *
udpa_runtime_snapshot_unref(udpa_runtime_snapshot *snapshot)
{
    (void)udpai_runtime_snapshot_unref(inside_mutable(snapshot));
    return NULL;
}

bool
udpa_runtime_snapshot_bool(const udpa_runtime_snapshot *snapshot, const char *key, bool otherwise)
{
    return snapshot ? udpai_runtime_truth(inside(snapshot), udpai_str_from(key), otherwise)
                    : otherwise;
}

uint64_t
udpa_runtime_snapshot_uint64(const udpa_runtime_snapshot *snapshot,
                             const char *key,
                             uint64_t otherwise)
{
    return snapshot ? udpai_runtime_integer(inside(snapshot), udpai_str_from(key), otherwise)
                    : otherwise;
}

double
udpa_runtime_snapshot_double(const udpa_runtime_snapshot *snapshot,
                             const char *key,
                             double otherwise)
{
    return snapshot ? udpai_runtime_number(inside(snapshot), udpai_str_from(key), otherwise)
                    : otherwise;
}

const char *
udpa_runtime_snapshot_string(const udpa_runtime_snapshot *snapshot,
                             const char *key,
                             const char *otherwise)
{
    const udpai_runtime_value *value =
        snapshot ? udpai_runtime_snapshot_find(inside(snapshot), udpai_str_from(key)) : NULL;
    return value && value->text.len ? value->text.data : otherwise;
}

/* What may not be is never. */
static udpai_runtime_share
share_from(udpa_runtime_fraction fraction)
{
    bool is_known = fraction.denominator == 100 || fraction.denominator == 10000 ||
                    fraction.denominator == 1000000;
    return is_known ? (udpai_runtime_share){fraction.numerator, fraction.denominator}
                    : (udpai_runtime_share){0, 100};
}

bool
udpa_runtime_snapshot_fraction_enabled(const udpa_runtime_snapshot *snapshot,
                                       const char *key,
                                       udpa_runtime_fraction fraction,
                                       uint64_t draw)
{
    udpai_runtime_share share = share_from(fraction);
    if (snapshot)
        share = udpai_runtime_share_of(inside(snapshot), udpai_str_from(key), share);
    return udpai_runtime_share_has(share, draw);
}

/* ---- pages ---- */

size_t
udpa_runtime_snapshot_n_layers(const udpa_runtime_snapshot *snapshot)
{
    return snapshot ? udpai_runtime_snapshot_n_layers(inside(snapshot)) : 0;
}

const char *
udpa_runtime_snapshot_layer(const udpa_runtime_snapshot *snapshot, size_t index, const char *key)
{
    if (index >= udpa_runtime_snapshot_n_layers(snapshot))
        return NULL;
    const udpai_runtime_layer *layer = udpai_runtime_snapshot_layer(inside(snapshot), index);
    if (!key)
        return udpai_runtime_layer_name(layer).data;
    const udpai_runtime_entry *entry =
        udpai_map_get(udpai_runtime_layer_entries(layer), udpai_str_from(key));
    return entry ? entry->value.text.data : NULL;
}

udpa_err
udpa_runtime_snapshot_each(const udpa_runtime_snapshot *snapshot,
                           bool (*each)(void *userdata, const char *key, const char *value),
                           void *userdata)
{
    if (!snapshot)
        return UDPA_OK;
    size_t n = 0;
    UDPAI_AUTO_FREE const udpai_runtime_entry **all =
        udpai_runtime_snapshot_sorted(inside(snapshot), UDPAI_STR(""), &n);
    if (!all)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (!each(userdata, all[i]->key, all[i]->value.text.data))
            break;
    return UDPA_OK;
}

/* ---- effective values ---- */

const udpa_runtime_snapshot *
udpa_runtime_peek(udpa_runtime *runtime)
{
    return (const udpa_runtime_snapshot *)udpai_runtime_current_peek(&runtime->runtime.current);
}

udpa_runtime_snapshot *
udpa_runtime_take(udpa_runtime *runtime)
{
    return (udpa_runtime_snapshot *)udpai_runtime_current_take(&runtime->runtime.current);
}

/* The newest, and what is to be given back: without memory for a thread it is a reference. */
typedef struct reading {
    const udpai_runtime_snapshot *now;
    udpai_runtime_snapshot *taken;
} reading;

static inline reading
begin(udpa_runtime *runtime)
{
    reading self = {udpai_runtime_current_peek(&runtime->runtime.current), NULL};
    if (!self.now)
        self.now = self.taken = udpai_runtime_current_take(&runtime->runtime.current);
    return self;
}

static inline void
end(reading *self)
{
    if (self->taken)
        (void)udpai_runtime_snapshot_unref(self->taken);
}

bool
udpa_runtime_bool(udpa_runtime *runtime, const char *key, bool otherwise)
{
    reading self = begin(runtime);
    bool value = udpai_runtime_truth(self.now, udpai_str_from(key), otherwise);
    end(&self);
    return value;
}

uint64_t
udpa_runtime_uint64(udpa_runtime *runtime, const char *key, uint64_t otherwise)
{
    reading self = begin(runtime);
    uint64_t value = udpai_runtime_integer(self.now, udpai_str_from(key), otherwise);
    end(&self);
    return value;
}

double
udpa_runtime_double(udpa_runtime *runtime, const char *key, double otherwise)
{
    reading self = begin(runtime);
    double value = udpai_runtime_number(self.now, udpai_str_from(key), otherwise);
    end(&self);
    return value;
}

const char *
udpa_runtime_string(udpa_runtime *runtime, const char *key, const char *otherwise)
{
    return udpa_runtime_snapshot_string(udpa_runtime_peek(runtime), key, otherwise);
}

static bool
is_enabled(udpa_runtime *runtime, const char *key, udpai_runtime_share otherwise, uint64_t draw)
{
    reading self = begin(runtime);
    udpai_runtime_share share = udpai_runtime_share_of(self.now, udpai_str_from(key), otherwise);
    end(&self);
    return udpai_runtime_share_has(share, draw);
}

bool
udpa_runtime_fraction_enabled(udpa_runtime *runtime,
                              const char *key,
                              udpa_runtime_fraction fraction,
                              uint64_t draw)
{
    return is_enabled(runtime, key, share_from(fraction), draw);
}

bool
udpa_runtime_feature_enabled(udpa_runtime *runtime,
                             const char *key,
                             uint32_t percent,
                             uint64_t draw)
{
    return is_enabled(runtime, key, (udpai_runtime_share){percent, 100}, draw);
}
