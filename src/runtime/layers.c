/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/layers.h"

#include <time.h>

#include "base/alloc.h"
#include "base/log.h"

#define COMPONENT "runtime"
#define LOGGED_MAX 20 /* lines of a layer in 10 s */

/* A layer as it was configured, and what is there of it. */
typedef struct udpai_runtime_slot {
    char *name;
    udpai_runtime_layer_kind kind;
    udpai_runtime_layer *layer; /* NULL: it is left out, or not there */
    udpa_error *error;
    udpai_log_limit log; /* who publishes a layer may do so all the time */
} slot;

static udpai_str
slot_name(const slot *self)
{
    return udpai_str_from(self->name);
}

/* ---- beginning ---- */

static udpa_err
check(const udpai_runtime_layer_options *layers, size_t n, udpa_error **ret_error)
{
    size_t n_admin = 0;
    if (n > UDPAI_RUNTIME_LAYERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "the runtime has %zu layers; at most %d", n,
                          UDPAI_RUNTIME_LAYERS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (layers[i].name.len == 0)
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "layer %zu of the runtime has no name",
                              i + 1);
        for (size_t j = 0; j < i; j++)
            if (udpai_str_eq(layers[i].name, layers[j].name))
                return udpai_fail(ret_error, UDPA_ERR_INVAL,
                                  "two layers of the runtime are called %.*s",
                                  UDPAI_SHOWN(layers[i].name));
        n_admin += layers[i].kind == UDPAI_RUNTIME_ADMIN;
    }
    return n_admin > 1 ? udpai_fail(ret_error, UDPA_ERR_INVAL,
                                    "the runtime has %zu layers for the administrator; at most one",
                                    n_admin)
                       : UDPA_OK;
}

static udpa_err
add_slot(udpai_runtime *runtime, const udpai_runtime_layer_options *options)
{
    slot *added = &runtime->slots[runtime->n_slots++];
    added->kind = options->kind;
    added->name = udpai_strndup(options->name.data, options->name.len);
    if (options->kind == UDPAI_RUNTIME_ADMIN)
        added->layer = udpai_runtime_layer_new(options->name);
    bool is_whole = added->name && (options->kind != UDPAI_RUNTIME_ADMIN || added->layer);
    return is_whole ? UDPA_OK : UDPA_ERR_NOMEM;
}

static size_t
list_layers(const udpai_runtime *runtime, udpai_runtime_layer **ret_layers)
{
    size_t n = 0;
    for (size_t i = 0; i < runtime->n_slots; i++)
        if (runtime->slots[i].layer)
            ret_layers[n++] = runtime->slots[i].layer;
    return n;
}

/* NULL without memory. */
static udpai_runtime_snapshot *
make_snapshot(const udpai_runtime *runtime)
{
    udpai_runtime_layer *layers[UDPAI_RUNTIME_LAYERS_MAX];
    return udpai_runtime_snapshot_new(layers, list_layers(runtime, layers));
}

static void
count_sizes(udpai_runtime *runtime, const udpai_runtime_snapshot *snapshot)
{
    runtime->statistics.num_keys = udpai_runtime_snapshot_n_keys(snapshot);
    runtime->statistics.num_layers = udpai_runtime_snapshot_n_layers(snapshot);
}

udpa_err
udpai_runtime_init(udpai_runtime *runtime,
                   const udpai_runtime_layer_options *layers,
                   size_t n,
                   udpa_error **ret_error)
{
    const udpai_runtime_layer_options alone = {UDPAI_STR(UDPAI_RUNTIME_ADMIN_LAYER),
                                               UDPAI_RUNTIME_ADMIN};
    memset(runtime, 0, sizeof(*runtime));
    udpa_err err = check(layers, n, ret_error);
    if (err)
        return err;
    layers = n ? layers : &alone;
    n = n ? n : 1;
    runtime->slots = udpai_alloc_array(n, sizeof(slot));
    err = runtime->slots ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++)
        err = add_slot(runtime, &layers[i]);
    udpai_runtime_snapshot *snapshot = err ? NULL : make_snapshot(runtime);
    if (!snapshot) {
        udpai_runtime_done(runtime);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    count_sizes(runtime, snapshot);
    udpai_runtime_current_init(&runtime->current, snapshot);
    return UDPA_OK;
}

void
udpai_runtime_done(udpai_runtime *runtime)
{
    for (size_t i = 0; i < runtime->n_slots; i++) {
        udpai_free(runtime->slots[i].name);
        udpai_runtime_layer_unref(runtime->slots[i].layer);
        udpa_error_unref(runtime->slots[i].error);
    }
    udpai_free(runtime->slots);
    udpai_runtime_current_done(&runtime->current);
    memset(runtime, 0, sizeof(*runtime));
}

/* ---- changing ---- */

static bool
is_any_in_error(const udpai_runtime *runtime)
{
    for (size_t i = 0; i < runtime->n_slots; i++)
        if (runtime->slots[i].error)
            return true;
    return false;
}

/* What is there now counts from here on. */
static udpa_err
commit(udpai_runtime *runtime)
{
    udpai_runtime_snapshot *snapshot = make_snapshot(runtime);
    if (!snapshot || !udpai_runtime_current_set(&runtime->current, snapshot)) {
        udpai_runtime_snapshot_unref(snapshot);
        return UDPA_ERR_NOMEM;
    }
    count_sizes(runtime, snapshot);
    if (is_any_in_error(runtime))
        runtime->statistics.load_error++;
    else
        runtime->statistics.load_success++;
    if (runtime->changed)
        runtime->changed(runtime->userdata);
    return UDPA_OK;
}

/* Puts in what was loaded, and hands back what was there, so that the same again undoes it. */
static void
exchange(udpai_runtime *runtime, udpai_runtime_load *load)
{
    slot *at = &runtime->slots[load->index];
    udpai_runtime_load old = {load->index, at->layer, at->error};
    at->layer = load->layer;
    at->error = load->error;
    *load = old;
}

static bool
may_log(slot *self, unsigned *ret_n_suppressed)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return udpai_log_allow_burst(&self->log, LOGGED_MAX, now_ms, ret_n_suppressed);
}

/* Only what is new: a layer may stay in error for long. */
static void
log_change(slot *now, const udpa_error *before)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    bool is_same = now->error && before &&
                   strcmp(udpa_error_message(now->error), udpa_error_message(before)) == 0;
    if ((!now->error && !before) || is_same || !may_log(now, &n_suppressed))
        return;
    if (now->error)
        udpai_log(UDPA_LOG_WARNING, COMPONENT, "layer %s %s: %s%s", now->name,
                  now->layer ? "stays as it was" : "is ignored", udpa_error_message(now->error),
                  udpai_log_more(more, n_suppressed));
    else
        udpai_log(UDPA_LOG_INFO, COMPONENT, "layer %s is fixed%s", now->name,
                  udpai_log_more(more, n_suppressed));
}

/* Only if it was not so before, too. */
static void
log_ignored(slot *now, const udpai_runtime_layer *before)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    udpai_str key = {0}, old_key = {0};
    size_t n = now->layer ? udpai_runtime_layer_n_ignored(now->layer, &key) : 0;
    if (n == 0 ||
        (before && udpai_runtime_layer_n_ignored(before, &old_key) == n &&
         udpai_str_eq(key, old_key)) ||
        !may_log(now, &n_suppressed))
        return;
    udpai_log(
        UDPA_LOG_WARNING, COMPONENT,
        "layer %s: the value of %.*s is ignored: it is not UTF-8, or has a zero byte; %zu such "
        "value%s in all, the rest of the layer is effective%s",
        now->name, UDPAI_SHOWN(key), n, n == 1 ? "" : "s", udpai_log_more(more, n_suppressed));
}

udpa_err
udpai_runtime_take_loads(udpai_runtime *runtime, udpai_runtime_load *loads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        exchange(runtime, &loads[i]);
    udpa_err err = commit(runtime);
    for (size_t i = 0; i < n; i++) {
        if (err) {
            exchange(runtime, &loads[i]);
        } else {
            log_change(&runtime->slots[loads[i].index], loads[i].error);
            log_ignored(&runtime->slots[loads[i].index], loads[i].layer);
        }
        udpai_runtime_layer_unref(loads[i].layer);
        udpa_error_unref(loads[i].error);
        loads[i] = (udpai_runtime_load){0};
    }
    return err;
}

/* ---- the administrator ---- */

static slot *
find_admin(const udpai_runtime *runtime)
{
    for (size_t i = 0; i < runtime->n_slots; i++)
        if (runtime->slots[i].kind == UDPAI_RUNTIME_ADMIN)
            return &runtime->slots[i];
    return NULL;
}

static udpa_err
apply(udpai_runtime_layer *layer, const udpai_runtime_change *change, udpa_error **ret_error)
{
    if (change->value.len == 0) {
        (void)udpai_runtime_layer_remove(layer, change->key);
        return UDPA_OK;
    }
    udpai_runtime_value value = udpai_runtime_value_read(change->value);
    return udpai_runtime_layer_put(layer, change->key, &value, ret_error);
}

udpa_err
udpai_runtime_modify(udpai_runtime *runtime,
                     const udpai_runtime_change *changes,
                     size_t n,
                     udpa_error **ret_error)
{
    slot *admin = find_admin(runtime);
    if (!admin)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "the runtime has no layer for the administrator: add one to its layers");
    udpai_runtime_layer *changed = udpai_runtime_layer_copy(admin->layer);
    udpa_err err = changed ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n && !err; i++)
        err = apply(changed, &changes[i], ret_error);
    if (err) {
        udpai_runtime_layer_unref(changed);
        return err;
    }
    bool is_active = udpai_runtime_layer_entries(changed)->n > 0;
    udpai_runtime_load load = {(size_t)(admin - runtime->slots), changed, NULL};
    err = udpai_runtime_take_loads(runtime, &load, 1);
    if (err)
        return udpai_fail_code(ret_error, err);
    runtime->statistics.admin_overrides_active = is_active;
    return UDPA_OK;
}

/* ---- answers ---- */

const udpa_error *
udpai_runtime_layer_error(const udpai_runtime *runtime, size_t index)
{
    return runtime->slots[index].error;
}

const udpai_runtime_layer *
udpai_runtime_layer_at(const udpai_runtime *runtime, size_t index)
{
    return runtime->slots[index].layer;
}

udpai_str
udpai_runtime_layer_name_at(const udpai_runtime *runtime, size_t index)
{
    return slot_name(&runtime->slots[index]);
}

udpai_runtime_layer_kind
udpai_runtime_layer_kind_at(const udpai_runtime *runtime, size_t index)
{
    return runtime->slots[index].kind;
}

void
udpai_runtime_count_deprecated(udpai_runtime *runtime, uint64_t n_uses)
{
    atomic_fetch_add_explicit(&runtime->n_deprecated_uses, n_uses, memory_order_relaxed);
}

udpai_runtime_statistics
udpai_runtime_statistics_of(const udpai_runtime *runtime)
{
    udpai_runtime_statistics all = runtime->statistics;
    all.deprecated_feature_use =
        atomic_load_explicit(&runtime->n_deprecated_uses, memory_order_relaxed);
    all.deprecated_feature_seen_since_process_start = all.deprecated_feature_use;
    return all;
}
