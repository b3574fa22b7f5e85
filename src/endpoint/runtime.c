/* SPDX-License-Identifier: Apache-2.0 */
/* The public runtime: its layers, from the application's options; and notifying it of changes,
 * which is done in the loop's next turn, never from inside a call of its own. */
#include "endpoint/runtime.h"

#include "base/alloc.h"
#include "base/error.h"

struct plan {
    const udpa_runtime_layer *from; /* one for each layer */
    udpai_runtime_layer_options layers[UDPAI_RUNTIME_LAYERS_MAX];
    size_t n_layers;
    udpai_runtime_disk disks[UDPAI_RUNTIME_LAYERS_MAX];
    size_t n_disks;
    udpai_runtime_load loads[UDPAI_RUNTIME_LAYERS_MAX]; /* of what is static */
    size_t n_loads;
};

/* ---- layers ---- */

static udpa_err
put_settings(udpai_runtime_layer *layer, const udpa_runtime_layer *from, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (from->fields)
        err = udpai_runtime_layer_put_struct(layer, (udpai_str){from->fields, from->fields_size},
                                             ret_error);
    for (size_t i = 0; i < from->n_settings && !err; i++) {
        udpai_runtime_value value =
            udpai_runtime_value_read(udpai_str_from(from->settings[i].value));
        err = udpai_runtime_layer_put(layer, udpai_str_from(from->settings[i].key), &value,
                                      ret_error);
    }
    return err;
}

static udpa_err
plan_static(struct plan *plan, const udpa_runtime_layer *from, udpa_error **ret_error)
{
    if ((from->n_settings && !from->settings) || (from->fields_size && !from->fields))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it has settings or fields, which are NULL");
    udpai_runtime_layer *layer = udpai_runtime_layer_new(udpai_str_from(from->name));
    udpa_err err =
        layer ? put_settings(layer, from, ret_error) : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err) {
        udpai_runtime_layer_unref(layer);
        return err;
    }
    plan->loads[plan->n_loads++] =
        (udpai_runtime_load){.index = plan->n_layers - 1, .layer = layer};
    return UDPA_OK;
}

static udpa_err
plan_kind(struct plan *plan, const udpa_runtime_layer *from, udpa_error **ret_error)
{
    switch (from->kind) {
    case UDPA_RUNTIME_STATIC:
        return plan_static(plan, from, ret_error);
    case UDPA_RUNTIME_DISK:
        plan->disks[plan->n_disks++] = (udpai_runtime_disk){
            .index = plan->n_layers - 1,
            .symlink_root = from->symlink_root,
            .subdirectory = from->subdirectory,
            .append_service_cluster = from->append_service_cluster,
        };
        return UDPA_OK;
    case UDPA_RUNTIME_ADMIN:
    case UDPA_RUNTIME_RTDS:
        return UDPA_OK;
    default:
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "there is no kind %d", (int)from->kind);
    }
}

static udpa_err
fail_layer(const udpa_runtime_layer *from, udpa_err err, udpa_error *cause, udpa_error **ret_error)
{
    if (err == UDPA_ERR_NOMEM || !ret_error) {
        udpa_error_unref(cause);
        return udpai_fail_code(ret_error, err);
    }
    return udpai_fail_because(ret_error, err, cause, "layer %s of the runtime",
                              from->name ? from->name : "without a name");
}

static udpa_err
plan_layer(struct plan *plan, const udpa_runtime_layer *from, udpa_error **ret_error)
{
    static const udpai_runtime_layer_kind kinds[] = {
        [UDPA_RUNTIME_STATIC] = UDPAI_RUNTIME_STATIC,
        [UDPA_RUNTIME_DISK] = UDPAI_RUNTIME_DISK,
        [UDPA_RUNTIME_ADMIN] = UDPAI_RUNTIME_ADMIN,
        [UDPA_RUNTIME_RTDS] = UDPAI_RUNTIME_RTDS,
    };

    udpa_error *cause = NULL;
    if (from->struct_size < sizeof(*from))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_runtime_layer: struct_size is %zu: begin with "
                          "UDPA_RUNTIME_LAYER_INIT",
                          from->struct_size);
    size_t kind = (size_t)from->kind;
    plan->layers[plan->n_layers++] = (udpai_runtime_layer_options){
        udpai_str_from(from->name),
        kind < UDPAI_ARRAY_LEN(kinds) ? kinds[kind] : UDPAI_RUNTIME_STATIC,
    };
    udpa_err err = plan_kind(plan, from, &cause);
    return err ? fail_layer(from, err, cause, ret_error) : UDPA_OK;
}

static void
plan_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->n_loads; i++)
        udpai_runtime_layer_unref(plan->loads[i].layer);
    plan->n_loads = 0;
}

static udpa_err
plan_layers(struct plan *plan, const udpa_runtime_options *options, udpa_error **ret_error)
{
    static const udpa_runtime_layer alone = {
        .struct_size = sizeof(alone),
        .name = UDPAI_RUNTIME_ADMIN_LAYER,
        .kind = UDPA_RUNTIME_ADMIN,
    };
    size_t n = options->n_layers ? options->n_layers : 1;
    *plan = (struct plan){.from = options->n_layers ? options->layers : &alone};
    if (n > UDPAI_RUNTIME_LAYERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "the runtime has %zu layers; at most %d", n,
                          UDPAI_RUNTIME_LAYERS_MAX);
    if (!plan->from)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%zu layers, and the array is NULL", n);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = plan_layer(plan, &plan->from[i], ret_error);
    if (err)
        plan_done(plan);
    return err;
}

/* ---- notifying ---- */

static void
on_changed(void *userdata)
{
    udpa_runtime *self = userdata;
    self->is_due = true;
    (void)uv_async_send(&self->notify);
}

static void
on_notify(uv_async_t *notify)
{
    udpa_runtime *self = UDPAI_CONTAINER_OF(notify, udpa_runtime, notify);
    if (!self->is_due || self->is_closing || !self->changed)
        return;
    self->is_due = false;
    udpa_runtime_snapshot *now = udpa_runtime_take(self);
    self->changed(self->userdata, now);
    udpa_runtime_snapshot_unref(now);
}

/* ---- the end ---- */

static void
on_notify_closed(uv_handle_t *handle)
{
    udpa_runtime *self = UDPAI_CONTAINER_OF((uv_async_t *)handle, udpa_runtime, notify);
    void (*closed)(void *userdata) = self->closed;
    void *userdata = self->closed_userdata;
    udpai_runtime_done(&self->runtime);
    udpai_free(self->feeds);
    udpai_free(self);
    if (closed)
        closed(userdata);
}

static void
on_loader_closed(void *userdata)
{
    udpa_runtime *self = userdata;
    uv_close((uv_handle_t *)&self->notify, on_notify_closed);
}

void
udpa_runtime_close(udpa_runtime *self, void (*closed)(void *userdata), void *userdata)
{
    self->is_closing = true;
    self->closed = closed;
    self->closed_userdata = userdata;
    for (size_t i = 0; i < self->n_feeds; i++)
        udpai_runtime_feed_end(&self->feeds[i]);
    udpai_runtime_loader_close(self->loader, on_loader_closed, self);
}

/* ---- the beginning ---- */

/* NULL: nothing of it is left. */
static udpa_err
make(udpa_runtime **ret_runtime, uv_loop_t *loop, size_t n_layers, udpa_error **ret_error)
{
    udpa_runtime *self = udpai_alloc(sizeof(*self));
    if (self)
        self->feeds = udpai_alloc_array(n_layers, sizeof(*self->feeds));
    if (!self || !self->feeds) {
        udpai_free(self);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    int result = uv_async_init(loop, &self->notify, on_notify);
    if (result != 0) {
        udpai_free(self->feeds);
        udpai_free(self);
        return udpai_fail(ret_error, UDPA_ERR_IO, "a runtime cannot be put on the loop: %s",
                          uv_strerror(result));
    }
    *ret_runtime = self;
    return UDPA_OK;
}

static udpa_err
begin_feeds(udpa_runtime *self, const struct plan *plan, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    udpa_error *cause = NULL;
    for (size_t i = 0; i < plan->n_layers && !err; i++) {
        const udpa_runtime_layer *from = &plan->from[i];
        self->feeds[i] =
            (udpai_runtime_feed){.owner = self, .index = self->n_feeds++, .kind = from->kind};
        if (from->kind == UDPA_RUNTIME_RTDS)
            err = udpai_runtime_feed_begin(&self->feeds[i], from, &cause);
        if (err)
            err = fail_layer(from, err, cause, ret_error);
    }
    return err;
}

static udpa_err
begin(udpa_runtime *self,
      uv_loop_t *loop,
      const udpa_runtime_options *options,
      struct plan *plan,
      udpa_error **ret_error)
{
    const udpai_runtime_loader_options loader = {
        .loop = loop,
        .runtime = &self->runtime,
        .disks = plan->disks,
        .n_disks = plan->n_disks,
        .service_cluster = options->service_cluster,
    };
    udpa_err err = udpai_runtime_init(&self->runtime, plan->layers, plan->n_layers, ret_error);
    if (!err && plan->n_loads) {
        err = udpai_fail_code(ret_error,
                              udpai_runtime_take_loads(&self->runtime, plan->loads, plan->n_loads));
        plan->n_loads = 0; /* they were taken, whatever has come of it */
    }
    if (!err)
        err = udpai_runtime_loader_new(&self->loader, &loader, ret_error);
    if (!err)
        err = begin_feeds(self, plan, ret_error);
    self->changed = options->changed;
    self->userdata = options->userdata;
    self->runtime.changed = on_changed; /* of what comes from now on */
    self->runtime.userdata = self;
    return err;
}

udpa_err
udpa_runtime_new(udpa_runtime **ret_runtime,
                 uv_loop_t *loop,
                 const udpa_runtime_options *options,
                 udpa_error **ret_error)
{
    struct plan plan;
    udpa_runtime *self = NULL;
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_runtime_options: struct_size is %zu: begin with "
                          "UDPA_RUNTIME_OPTIONS_INIT",
                          options->struct_size);
    udpa_err err = plan_layers(&plan, options, ret_error);
    if (err)
        return err;
    err = make(&self, loop, plan.n_layers, ret_error);
    if (!err)
        err = begin(self, loop, options, &plan, ret_error);
    plan_done(&plan);
    if (!err)
        *ret_runtime = self;
    else if (self)
        udpa_runtime_close(self, NULL, NULL);
    return err;
}

/* ---- changing, looking ---- */

udpa_err
udpa_runtime_modify(udpa_runtime *self,
                    const udpa_runtime_setting *settings,
                    size_t n,
                    udpa_error **ret_error)
{
    if (n && !settings)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%zu settings, and the array is NULL", n);
    UDPAI_AUTO_FREE udpai_runtime_change *changes = udpai_alloc_array(n, sizeof(*changes));
    if (!changes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n; i++)
        changes[i] = (udpai_runtime_change){udpai_str_from(settings[i].key),
                                            udpai_str_from(settings[i].value)};
    return udpai_runtime_modify(&self->runtime, changes, n, ret_error);
}

bool
udpa_runtime_layer_read(const udpa_runtime *self, size_t index, udpa_runtime_layer_state *ret_state)
{
    if (index >= self->n_feeds)
        return false;
    const udpai_runtime_layer *layer = udpai_runtime_layer_at(&self->runtime, index);
    const udpa_runtime_layer_state state = {
        .struct_size = ret_state->struct_size,
        .name = udpai_runtime_layer_name_at(&self->runtime, index).data,
        .kind = self->feeds[index].kind,
        .is_there = layer != NULL,
        .n_keys = layer ? udpai_runtime_layer_entries(layer)->n : 0,
        .error = udpai_runtime_layer_error(&self->runtime, index),
    };
    memcpy(ret_state, &state, udpai_min_size(state.struct_size, sizeof(state)));
    return true;
}

void
udpa_runtime_statistics_read(const udpa_runtime *self, udpa_runtime_statistics *ret_statistics)
{
    const udpai_runtime_statistics *from = &self->runtime.statistics;
    const udpa_runtime_statistics statistics = {
        .struct_size = ret_statistics->struct_size,
        .admin_overrides_active = from->admin_overrides_active,
        .deprecated_feature_use = from->deprecated_feature_use,
        .deprecated_feature_seen_since_process_start =
            from->deprecated_feature_seen_since_process_start,
        .load_error = from->load_error,
        .load_success = from->load_success,
        .num_keys = from->num_keys,
        .num_layers = from->num_layers,
        .override_dir_exists = from->override_dir_exists,
        .override_dir_not_exists = from->override_dir_not_exists,
    };
    memcpy(ret_statistics, &statistics, udpai_min_size(statistics.struct_size, sizeof(statistics)));
}
