/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/loader.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "runtime/root.h"

struct udpai_runtime_loader {
    udpai_runtime_root_context context;
    UDPAI_VECTOR(udpai_runtime_root *) roots;
    uv_timer_t look;
    bool is_closing;
    size_t n_open; /* handles and roots that the loop has yet to let go of */
    void (*closed)(void *userdata);
    void *userdata;
};

/* ---- beginning ---- */

static udpa_err
fail_disk(const udpai_runtime_loader_options *options,
          const udpai_runtime_disk *disk,
          const char *what,
          udpa_error **ret_error)
{
    udpai_str name = udpai_runtime_layer_name_at(options->runtime, disk->index);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "layer %.*s of the runtime: %s", UDPAI_SHOWN(name),
                      what);
}

static udpa_err
check_disk(const udpai_runtime_loader_options *options,
           const udpai_runtime_disk *disk,
           udpa_error **ret_error)
{
    const char *cluster = options->service_cluster ? options->service_cluster : "";
    if (!disk->symlink_root || !disk->symlink_root[0])
        return fail_disk(options, disk, "symlink_root is missing", ret_error);
    if (disk->append_service_cluster && !cluster[0])
        return fail_disk(options, disk, "append_service_cluster needs node.cluster, which is empty",
                         ret_error);
    if (disk->append_service_cluster &&
        (strchr(cluster, '/') || strcmp(cluster, ".") == 0 || strcmp(cluster, "..") == 0))
        return fail_disk(options, disk, "node.cluster is no name of a directory", ret_error);
    return UDPA_OK;
}

/* NULL without memory. */
static char *
join_path(const udpai_runtime_loader_options *options, const udpai_runtime_disk *disk)
{
    udpai_strbuf path = {0};
    udpai_strbuf_puts(&path, disk->symlink_root);
    if (disk->subdirectory && disk->subdirectory[0])
        udpai_strbuf_printf(&path, "/%s", disk->subdirectory);
    if (disk->append_service_cluster)
        udpai_strbuf_printf(&path, "/%s", options->service_cluster);
    return udpai_strbuf_take(&path);
}

static udpai_runtime_root *
find_root(const udpai_runtime_loader *self, const char *path)
{
    for (size_t i = 0; i < self->roots.n; i++)
        if (strcmp(udpai_runtime_root_path(self->roots.items[i]), path) == 0)
            return self->roots.items[i];
    return NULL;
}

static udpa_err
add_disk(udpai_runtime_loader *self,
         const udpai_runtime_loader_options *options,
         const udpai_runtime_disk *disk,
         udpa_error **ret_error)
{
    udpa_err err = check_disk(options, disk, ret_error);
    if (err)
        return err;
    udpai_runtime_root *root = find_root(self, disk->symlink_root);
    if (!root && udpai_vector_reserve(&self->roots, 1)) {
        root = udpai_runtime_root_new(&self->context, disk->symlink_root);
        if (root) {
            self->roots.items[self->roots.n++] = root;
            self->n_open++;
        }
    }
    char *path = root ? join_path(options, disk) : NULL;
    if (!path || !udpai_runtime_root_add(root, disk->index, path, disk->append_service_cluster)) {
        udpai_free(path);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    return UDPA_OK;
}

static void
on_look(uv_timer_t *timer)
{
    udpai_runtime_loader_look(timer->data);
}

static void
on_let_go(void *userdata)
{
    udpai_runtime_loader *self = userdata;
    if (--self->n_open > 0)
        return;
    void (*closed)(void *userdata) = self->closed;
    void *closed_userdata = self->userdata;
    udpai_vector_done(&self->roots);
    udpai_free(self);
    if (closed)
        closed(closed_userdata);
}

static void
on_timer_closed(uv_handle_t *timer)
{
    on_let_go(timer->data);
}

static void
start(udpai_runtime_loader *self, uint64_t look_ms)
{
    for (size_t i = 0; i < self->roots.n; i++)
        udpai_runtime_root_load_now(self->roots.items[i]);
    look_ms = look_ms ? look_ms : UDPAI_RUNTIME_LOOK_MS;
    if (self->roots.n)
        (void)uv_timer_start(&self->look, on_look, look_ms, look_ms);
    uv_unref((uv_handle_t *)&self->look);
}

udpa_err
udpai_runtime_loader_new(udpai_runtime_loader **ret_loader,
                         const udpai_runtime_loader_options *options,
                         udpa_error **ret_error)
{
    udpai_runtime_loader *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->context = (udpai_runtime_root_context){
        .loop = options->loop,
        .runtime = options->runtime,
        .quiet_ms = options->quiet_ms ? options->quiet_ms : UDPAI_RUNTIME_QUIET_MS,
        .closed = on_let_go,
        .userdata = self,
    };
    uv_timer_init(options->loop, &self->look);
    self->look.data = self;
    self->n_open = 1;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < options->n_disks && !err; i++)
        err = add_disk(self, options, &options->disks[i], ret_error);
    if (err) {
        udpai_runtime_loader_close(self, NULL, NULL);
        return err;
    }
    start(self, options->look_ms);
    *ret_loader = self;
    return UDPA_OK;
}

void
udpai_runtime_loader_look(udpai_runtime_loader *self)
{
    for (size_t i = 0; i < self->roots.n; i++)
        udpai_runtime_root_look(self->roots.items[i]);
}

bool
udpai_runtime_loader_is_busy(const udpai_runtime_loader *self)
{
    for (size_t i = 0; i < self->roots.n; i++)
        if (udpai_runtime_root_is_busy(self->roots.items[i]))
            return true;
    return false;
}

void
udpai_runtime_loader_close(udpai_runtime_loader *self,
                           void (*closed)(void *userdata),
                           void *userdata)
{
    if (!self || self->is_closing) {
        if (!self && closed)
            closed(userdata);
        return;
    }
    self->is_closing = true;
    self->closed = closed;
    self->userdata = userdata;
    for (size_t i = 0; i < self->roots.n; i++)
        udpai_runtime_root_close(self->roots.items[i]);
    uv_close((uv_handle_t *)&self->look, on_timer_closed);
}
