/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/root.h"

#include "base/alloc.h"
#include "base/log.h"
#include "runtime/reading.h"

#define COMPONENT "runtime"

/* A directory whose entries are watched. */
typedef struct watched {
    uv_fs_event_t events;
    udpai_runtime_root *root;
    udpai_runtime_directory directory;
} watched;

struct udpai_runtime_root {
    const udpai_runtime_root_context *context;
    char *path, *parent; /* the directory that the root lies in; NULL: it has no name there */
    const char *base;    /* its name in it */
    udpai_runtime_places places;
    uv_fs_event_t parent_events;
    UDPAI_VECTOR(watched *) watched;
    uv_timer_t quiet;
    uv_work_t work;
    udpai_runtime_reading reading;
    bool is_reading;
    bool is_due;      /* to be read again when the reading has ended */
    bool has_changed; /* somebody changed something: what is read next counts as a load */
    bool is_warned, is_closing;
    size_t n_open;
};

static void read_again(udpai_runtime_root *root);

/* ---- the end ---- */

static void
let_go(udpai_runtime_root *root)
{
    if (--root->n_open > 0)
        return;
    const udpai_runtime_root_context *context = root->context;
    for (size_t i = 0; i < root->places.n; i++)
        udpai_free(root->places.items[i].path);
    udpai_vector_done(&root->places);
    udpai_vector_done(&root->watched);
    udpai_runtime_reading_done(&root->reading);
    udpai_free(root->path);
    udpai_free(root->parent);
    udpai_free(root);
    context->closed(context->userdata);
}

static void
on_root_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

static void
on_watched_closed(uv_handle_t *handle)
{
    watched *gone = handle->data;
    udpai_runtime_root *root = gone->root;
    udpai_free(gone->directory.path);
    udpai_free(gone);
    let_go(root);
}

static void
forget_watched(udpai_runtime_root *root)
{
    for (size_t i = 0; i < root->watched.n; i++)
        uv_close((uv_handle_t *)&root->watched.items[i]->events, on_watched_closed);
    root->watched.n = 0;
}

void
udpai_runtime_root_close(udpai_runtime_root *root)
{
    root->is_closing = true;
    forget_watched(root);
    uv_close((uv_handle_t *)&root->quiet, on_root_closed);
    uv_close((uv_handle_t *)&root->parent_events, on_root_closed);
    if (root->is_reading)
        (void)uv_cancel((uv_req_t *)&root->work); /* if it has begun its end is waited for */
}

/* ---- watching ---- */

static void
on_event(uv_fs_event_t *events, const char *name, int kind, int status)
{
    (void)name, (void)kind, (void)status;
    const watched *in = events->data;
    in->root->has_changed = true;
    udpai_runtime_root_look(in->root);
}

/* The link leads elsewhere: whoever does that has everything ready. */
static void
on_parent_event(uv_fs_event_t *events, const char *name, int kind, int status)
{
    udpai_runtime_root *root = events->data;
    if (status < 0 || !(kind & UV_RENAME) || !name || strcmp(name, root->base) != 0)
        return;
    root->has_changed = true;
    read_again(root);
}

static void
warn(udpai_runtime_root *root, const char *path, int result)
{
    if (!root->is_warned)
        udpai_log(UDPA_LOG_WARNING, COMPONENT,
                  "%s: cannot be watched (%s); its changes are found later, by looking", path,
                  uv_strerror(result));
    root->is_warned = true;
}

/* Takes the directory's path. */
static void
watch(udpai_runtime_root *root, udpai_runtime_directory *directory)
{
    watched *added = udpai_vector_reserve(&root->watched, 1) ? udpai_alloc(sizeof(*added)) : NULL;
    if (!added)
        return;
    uv_fs_event_init(root->context->loop, &added->events);
    uv_unref((uv_handle_t *)&added->events);
    added->events.data = added;
    added->root = root;
    added->directory = *directory;
    directory->path = NULL;
    root->watched.items[root->watched.n++] = added;
    root->n_open++;
    int result = uv_fs_event_start(&added->events, on_event, added->directory.path, 0);
    if (result < 0)
        warn(root, added->directory.path, result);
}

static bool
is_watched(const udpai_runtime_root *root, const udpai_runtime_directories *directories)
{
    if (root->watched.n != directories->n)
        return false;
    for (size_t i = 0; i < directories->n; i++) {
        const udpai_runtime_directory *a = &root->watched.items[i]->directory,
                                      *b = &directories->items[i];
        if (a->dev != b->dev || a->ino != b->ino || strcmp(a->path, b->path) != 0)
            return false;
    }
    return true;
}

/* What has changed between the reading and the watching is seen by reading once more. */
static void
watch_all(udpai_runtime_root *root, udpai_runtime_directories *directories)
{
    if (is_watched(root, directories))
        return;
    forget_watched(root);
    for (size_t i = 0; i < directories->n; i++)
        watch(root, &directories->items[i]);
    udpai_runtime_root_look(root);
}

/* ---- reading ---- */

static void
count_overrides(udpai_runtime_root *root)
{
    udpai_runtime_statistics *statistics = &root->context->runtime->statistics;
    statistics->override_dir_exists += root->reading.n_overrides_there;
    statistics->override_dir_not_exists += root->reading.n_overrides_missing;
}

static void
take_reading(udpai_runtime_root *root)
{
    udpai_runtime *runtime = root->context->runtime;
    udpai_runtime_reading *reading = &root->reading;
    bool is_load = root->has_changed;
    root->has_changed = false;
    if (!reading->has_memory) {
        udpai_log(UDPA_LOG_ERROR, COMPONENT,
                  "%s: no memory to read it; what was read last goes on counting", root->path);
    } else if (is_load || !udpai_runtime_reading_is_known(reading, runtime)) {
        count_overrides(root);
        (void)udpai_runtime_take_loads(runtime, reading->loads, reading->n);
    }
    watch_all(root, &reading->directories);
    udpai_runtime_reading_done(reading);
}

static void
on_work(uv_work_t *work)
{
    udpai_runtime_root *root = work->data;
    udpai_runtime_read(&root->reading, root->path, &root->places);
}

static void
on_worked(uv_work_t *work, int status)
{
    udpai_runtime_root *root = work->data;
    root->is_reading = false;
    if (root->is_closing) {
        let_go(root);
        return;
    }
    if (status == 0)
        take_reading(root);
    root->n_open--; /* the handles are there yet */
    if (root->is_due)
        read_again(root);
}

static void
read_again(udpai_runtime_root *root)
{
    root->is_due = root->is_reading;
    if (root->is_reading || root->is_closing)
        return;
    (void)uv_timer_stop(&root->quiet);
    root->work.data = root;
    if (uv_queue_work(root->context->loop, &root->work, on_work, on_worked) != 0)
        return;
    root->is_reading = true;
    root->n_open++;
}

static void
on_quiet(uv_timer_t *timer)
{
    read_again(timer->data);
}

void
udpai_runtime_root_look(udpai_runtime_root *root)
{
    if (!root->is_closing && !uv_is_active((uv_handle_t *)&root->quiet))
        (void)uv_timer_start(&root->quiet, on_quiet, root->context->quiet_ms, 0);
}

bool
udpai_runtime_root_is_busy(const udpai_runtime_root *root)
{
    return root->is_reading || uv_is_active((const uv_handle_t *)&root->quiet);
}

/* ---- the beginning ---- */

void
udpai_runtime_root_load_now(udpai_runtime_root *root)
{
    if (root->parent) {
        int result = uv_fs_event_start(&root->parent_events, on_parent_event, root->parent, 0);
        if (result < 0)
            warn(root, root->parent, result);
    }
    root->has_changed = true;
    udpai_runtime_read(&root->reading, root->path, &root->places);
    take_reading(root);
}

/* False without memory. */
static bool
find_parent(udpai_runtime_root *root)
{
    const char *slash = strrchr(root->path, '/');
    root->base = slash ? slash + 1 : root->path;
    if (!root->base[0] || strcmp(root->base, ".") == 0 || strcmp(root->base, "..") == 0)
        return true;
    size_t len = slash == root->path ? 1 : (size_t)(slash - root->path);
    root->parent = slash ? udpai_strndup(root->path, len) : udpai_strdup(".");
    return root->parent != NULL;
}

udpai_runtime_root *
udpai_runtime_root_new(const udpai_runtime_root_context *context, const char *path)
{
    udpai_runtime_root *root = udpai_alloc(sizeof(*root));
    if (!root)
        return NULL;
    root->context = context;
    root->path = udpai_strdup(path);
    if (!root->path || !find_parent(root)) {
        udpai_free(root->path);
        udpai_free(root);
        return NULL;
    }
    uv_timer_init(context->loop, &root->quiet);
    uv_fs_event_init(context->loop, &root->parent_events);
    uv_unref((uv_handle_t *)&root->quiet);
    uv_unref((uv_handle_t *)&root->parent_events);
    root->quiet.data = root->parent_events.data = root;
    root->n_open = 2;
    return root;
}

const char *
udpai_runtime_root_path(const udpai_runtime_root *root)
{
    return root->path;
}

bool
udpai_runtime_root_add(udpai_runtime_root *root, size_t index, char *path, bool is_override)
{
    const udpai_runtime_place place = {
        index, udpai_runtime_layer_name_at(root->context->runtime, index), path, is_override};
    return udpai_vector_push(&root->places, place);
}
