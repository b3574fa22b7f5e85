/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/root.h"

#include "base/alloc.h"
#include "base/log.h"
#include "runtime/follower.h"
#include "runtime/reading.h"

struct udpai_runtime_root {
    const udpai_runtime_root_context *context;
    udpai_runtime_follower *follower;
    udpai_runtime_places places;
    udpai_runtime_reading reading;
};

static void
on_closed(void *userdata)
{
    udpai_runtime_root *root = userdata;
    const udpai_runtime_root_context *context = root->context;
    for (size_t i = 0; i < root->places.n; i++)
        udpai_free(root->places.items[i].path);
    udpai_vector_done(&root->places);
    udpai_runtime_reading_done(&root->reading);
    udpai_free(root);
    context->closed(context->userdata);
}

/* ---- reading ---- */

static void
on_read(void *userdata, udpai_runtime_directories *directories)
{
    udpai_runtime_root *root = userdata;
    udpai_runtime_read(&root->reading, udpai_runtime_root_path(root), &root->places);
    *directories = root->reading.directories;
    root->reading.directories = (udpai_runtime_directories){0};
}

static void
count_overrides(udpai_runtime_root *root)
{
    udpai_runtime_statistics *statistics = &root->context->runtime->statistics;
    statistics->override_dir_exists += root->reading.n_overrides_there;
    statistics->override_dir_not_exists += root->reading.n_overrides_missing;
}

static void
on_take(void *userdata, bool is_change)
{
    udpai_runtime_root *root = userdata;
    udpai_runtime *runtime = root->context->runtime;
    udpai_runtime_reading *reading = &root->reading;
    if (!reading->has_memory) {
        udpai_log(UDPA_LOG_ERROR, "runtime", "%s: out of memory; what was read before stays",
                  udpai_runtime_root_path(root));
    } else if (is_change || !udpai_runtime_reading_is_known(reading, runtime)) {
        count_overrides(root);
        (void)udpai_runtime_take_loads(runtime, reading->loads, reading->n);
    }
    udpai_runtime_reading_done(reading);
}

void
udpai_runtime_root_look(udpai_runtime_root *root)
{
    udpai_runtime_follower_look(root->follower);
}

bool
udpai_runtime_root_is_busy(const udpai_runtime_root *root)
{
    return udpai_runtime_follower_is_busy(root->follower);
}

/* ---- beginning and end ---- */

udpai_runtime_root *
udpai_runtime_root_new(const udpai_runtime_root_context *context, const char *path)
{
    udpai_runtime_root *root = udpai_alloc(sizeof(*root));
    if (!root)
        return NULL;
    const udpai_runtime_follower_ops ops = {on_read, on_take, on_closed, root};
    root->context = context;
    root->follower = udpai_runtime_follower_new(context->loop, path, context->quiet_ms, &ops);
    if (root->follower)
        return root;
    udpai_free(root);
    return NULL;
}

const char *
udpai_runtime_root_path(const udpai_runtime_root *root)
{
    return udpai_runtime_follower_path(root->follower);
}

bool
udpai_runtime_root_add(udpai_runtime_root *root, size_t index, char *path, bool is_override)
{
    const udpai_runtime_place place = {
        index, udpai_runtime_layer_name_at(root->context->runtime, index), path, is_override};
    return udpai_vector_push(&root->places, place);
}

void
udpai_runtime_root_load_now(udpai_runtime_root *root)
{
    udpai_runtime_follower_start(root->follower);
}

void
udpai_runtime_root_close(udpai_runtime_root *root)
{
    udpai_runtime_follower_close(root->follower);
}
