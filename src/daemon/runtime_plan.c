/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime_plan.h"

#include "base/alloc.h"

typedef Udpa__Config__V1__Runtime runtime_message;
typedef Udpa__Config__V1__RuntimeLayer layer_message;
typedef Google__Protobuf__Struct struct_message;

/* ---- layers ---- */

static udpa_err
add_layer(udpai_runtime_plan *plan,
          const char *name,
          udpai_runtime_layer_kind kind,
          udpa_error **ret_error)
{
    if (plan->n_layers == UDPAI_RUNTIME_LAYERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are more than %d layers",
                          UDPAI_RUNTIME_LAYERS_MAX);
    plan->layers[plan->n_layers++] = (udpai_runtime_layer_options){udpai_str_from(name), kind};
    return UDPA_OK;
}

static udpa_err
read_struct(udpai_runtime_layer *layer, const struct_message *message, udpa_error **ret_error)
{
    size_t size = google__protobuf__struct__get_packed_size(message);
    uint8_t *room = udpai_alloc(size);
    if (!room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    size = google__protobuf__struct__pack(message, room);
    udpa_err err =
        udpai_runtime_layer_put_struct(layer, (udpai_str){(const char *)room, size}, ret_error);
    udpai_free(room);
    return err;
}

static udpa_err
add_static(udpai_runtime_plan *plan,
           const char *name,
           const struct_message *message,
           udpa_error **ret_error)
{
    udpa_err err = add_layer(plan, name, UDPAI_RUNTIME_STATIC, ret_error);
    if (err)
        return err;
    udpai_runtime_layer *layer = udpai_runtime_layer_new(udpai_str_from(name));
    err =
        layer ? read_struct(layer, message, ret_error) : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err) {
        udpai_runtime_layer_unref(layer);
        return err;
    }
    plan->loads[plan->n_loads++] =
        (udpai_runtime_load){.index = plan->n_layers - 1, .layer = layer};
    return UDPA_OK;
}

static udpa_err
add_disk(udpai_runtime_plan *plan,
         const char *name,
         const udpai_runtime_disk *disk,
         udpa_error **ret_error)
{
    udpa_err err = add_layer(plan, name, UDPAI_RUNTIME_DISK, ret_error);
    if (err)
        return err;
    plan->disks[plan->n_disks] = *disk;
    plan->disks[plan->n_disks++].index = plan->n_layers - 1;
    return UDPA_OK;
}

static udpa_err
add_one(udpai_runtime_plan *plan, const layer_message *layer, udpa_error **ret_error)
{
    switch (layer->layer_case) {
    case UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_STATIC_LAYER:
        return add_static(plan, layer->name, layer->static_layer, ret_error);
    case UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_DISK_LAYER: {
        const udpai_runtime_disk disk = {
            .symlink_root = layer->disk_layer->symlink_root,
            .subdirectory = layer->disk_layer->subdirectory,
            .append_service_cluster = layer->disk_layer->append_service_cluster,
        };
        return add_disk(plan, layer->name, &disk, ret_error);
    }
    case UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_ADMIN_LAYER:
        return add_layer(plan, layer->name, UDPAI_RUNTIME_ADMIN, ret_error);
    case UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_RTDS_LAYER:
        return add_layer(plan, layer->name, UDPAI_RUNTIME_RTDS, ret_error); /* plan_rtds.c */
    default:
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "the layer %s is of no kind: it needs one of static_layer, disk_layer, rtds_layer and "
            "admin_layer",
            layer->name);
    }
}

/* What was before there were layers, with the names that Envoy gives them. */
static udpa_err
add_fixed(udpai_runtime_plan *plan, const runtime_message *message, udpa_error **ret_error)
{
    const udpai_runtime_disk root = {0, message->symlink_root, message->subdirectory, false},
                             override = {0, message->symlink_root, message->override_subdirectory,
                                         true};
    udpa_err err = UDPA_OK;
    if (message->fixed_base)
        err = add_static(plan, "base", message->fixed_base, ret_error);
    if (!err && *message->symlink_root)
        err = add_disk(plan, "root", &root, ret_error);
    if (!err && *message->symlink_root && *message->override_subdirectory)
        err = add_disk(plan, "override", &override, ret_error);
    return err ? err : add_layer(plan, "admin", UDPAI_RUNTIME_ADMIN, ret_error);
}

static bool
is_fixed(const runtime_message *message)
{
    return message->fixed_base || *message->symlink_root || *message->subdirectory ||
           *message->override_subdirectory;
}

udpa_err
udpai_runtime_plan_make(udpai_runtime_plan *plan,
                        const runtime_message *message,
                        udpa_error **ret_error)
{
    *plan = (udpai_runtime_plan){0};
    udpa_err err = UDPA_OK;
    if (message && is_fixed(message))
        err = add_fixed(plan, message, ret_error);
    for (size_t i = 0; message && !is_fixed(message) && i < message->n_layers && !err; i++)
        err = add_one(plan, message->layers[i], ret_error);
    if (err)
        udpai_runtime_plan_done(plan);
    return err;
}

void
udpai_runtime_plan_done(udpai_runtime_plan *plan)
{
    for (size_t i = 0; i < plan->n_loads; i++)
        udpai_runtime_layer_unref(plan->loads[i].layer);
    plan->n_loads = 0;
}

/* ---- mistakes ---- */

static void
check_disk(udpai_diagnostics *diagnostics,
           const char *path,
           const Udpa__Config__V1__RuntimeDiskLayer *layer,
           bool has_cluster)
{
    char room[UDPAI_FIELD_PATH_MAX];
    udpai_diagnostics_require(diagnostics, path, "symlink_root", *layer->symlink_root);
    if (layer->append_service_cluster && !has_cluster)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "append_service_cluster"),
                                "needs node.cluster, which is empty");
}

static void
check_layer(udpai_diagnostics *diagnostics,
            const char *path,
            const layer_message *layer,
            bool has_cluster)
{
    char room[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_runtime_plan plan = {0};
    udpai_diagnostics_require(diagnostics, path, "name", *layer->name);
    if (layer->layer_case == UDPA__CONFIG__V1__RUNTIME_LAYER__LAYER_DISK_LAYER)
        check_disk(diagnostics, udpai_path_field(room, path, "disk_layer"), layer->disk_layer,
                   has_cluster);
    if (add_one(&plan, layer, &error) == UDPA_ERR_NOMEM)
        diagnostics->has_failed = true;
    else if (error)
        udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
    udpai_runtime_plan_done(&plan);
}

/* Of names that are given twice, and of too many layers, the last is the mistake. */
static void
check_together(udpai_diagnostics *diagnostics, const runtime_message *message)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_runtime_plan plan;
    udpai_runtime runtime;
    if (udpai_runtime_plan_make(&plan, message, &error) != UDPA_OK)
        return; /* which was told */
    udpa_err err = udpai_runtime_init(&runtime, plan.layers, plan.n_layers, &error);
    if (err == UDPA_ERR_NOMEM)
        diagnostics->has_failed = true;
    else if (err)
        udpai_diagnostics_error(diagnostics, "runtime.layers", "%s", udpa_error_message(error));
    else
        udpai_runtime_done(&runtime);
    udpai_runtime_plan_done(&plan);
}

void
udpai_runtime_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    const runtime_message *runtime = message->runtime;
    bool has_cluster = message->node && *message->node->cluster;
    if (!runtime)
        return;
    if (runtime->n_layers && is_fixed(runtime))
        udpai_diagnostics_error(diagnostics, "runtime",
                                "has layers, and fields which stand for layers, too: base, "
                                "symlink_root, subdirectory and override_subdirectory go without");
    if (*runtime->override_subdirectory && !has_cluster)
        udpai_diagnostics_error(diagnostics, "runtime.override_subdirectory",
                                "needs node.cluster, which is empty");
    for (size_t i = 0; i < runtime->n_layers && i < UDPAI_RUNTIME_LAYERS_MAX; i++)
        check_layer(diagnostics, udpai_path_item(path, "runtime.layers", i), runtime->layers[i],
                    has_cluster);
    check_together(diagnostics, runtime);
}
