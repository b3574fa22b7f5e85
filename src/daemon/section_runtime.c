/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'runtime' of the bootstrap file: layers of values that change while the node runs.
 * What those are that come by RTDS: section_rtds.c. */
#include "daemon/runtime_plan.h"

#include "base/alloc.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"

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
        return add_layer(plan, layer->name, UDPAI_RUNTIME_RTDS, ret_error); /* section_rtds.c */
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

/* ---- the fields ---- */

static bool
has_cluster(const udpai_value *value)
{
    const Udpa__Config__V1__Node *node = value->bootstrap->node;
    return node && *node->cluster;
}

static void
check_cluster(const udpai_value *value)
{
    if (!has_cluster(value))
        udpai_value_error(value, "", "needs node.cluster, which is empty");
}

static const udpai_field disk_fields[] = {
    {.name = "symlink_root", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "subdirectory", UDPAI_PUBLIC},
    {.name = "append_service_cluster", .check = check_cluster},
};

static const udpai_section disk_layer = {UDPAI_SECTION(runtime_disk_layer, disk_fields)};

static const udpai_section admin_layer = {.descriptor =
                                              &udpa__config__v1__runtime_admin_layer__descriptor};

static const udpai_field layer_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "static_layer", UDPAI_MAY_BE_SECRET},
    {.name = "disk_layer", .of = &disk_layer},
    {.name = "admin_layer", .of = &admin_layer},
    {.name = "rtds_layer", .of = &udpai_section_rtds_layer},
};

static void
check_layer(const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_runtime_plan plan = {0};
    if (value->index >= UDPAI_RUNTIME_LAYERS_MAX)
        return; /* that there are too many is reported */
    udpai_check_rtds(value);
    if (add_one(&plan, value->message, &error) == UDPA_ERR_NOMEM)
        value->diagnostics->has_failed = true;
    else if (error)
        udpai_value_error(value, "", "%s", udpa_error_message(error));
    udpai_runtime_plan_done(&plan);
}

static const udpai_section layer_section = {
    UDPAI_SECTION(runtime_layer, layer_fields),
    .check = check_layer,
};

static const udpai_field fields[] = {
    {.name = "layers", .of = &layer_section},
    {.name = "symlink_root", UDPAI_PUBLIC},
    {.name = "subdirectory", UDPAI_PUBLIC},
    {.name = "override_subdirectory", UDPAI_PUBLIC, .check = check_cluster},
    {.name = "fixed_base", UDPAI_MAY_BE_SECRET},
};

/* Of names that are given twice, and of too many layers, the last is the error. */
static void
check_together(const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_runtime_plan plan;
    udpai_runtime runtime;
    if (udpai_runtime_plan_make(&plan, value->message, &error) != UDPA_OK)
        return; /* which was reported */
    udpa_err err = udpai_runtime_init(&runtime, plan.layers, plan.n_layers, &error);
    if (err == UDPA_ERR_NOMEM)
        value->diagnostics->has_failed = true;
    else if (err)
        udpai_value_error(value, "layers", "%s", udpa_error_message(error));
    else
        udpai_runtime_done(&runtime);
    udpai_runtime_plan_done(&plan);
}

static void
check_runtime(const udpai_value *value)
{
    const runtime_message *runtime = value->message;
    if (runtime->n_layers && is_fixed(runtime))
        udpai_value_error(value, "",
                          "has layers, and fields which stand for layers, too: base, "
                          "symlink_root, subdirectory and override_subdirectory go without");
    check_together(value);
}

const udpai_section udpai_section_runtime = {
    UDPAI_SECTION(runtime, fields),
    .check = check_runtime,
};
