/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/follower.h"

#include "base/alloc.h"
#include "base/log.h"

#define COMPONENT "runtime"

/* A directory whose entries are watched. */
typedef struct watched {
    uv_fs_event_t events;
    udpai_runtime_follower *of;
    udpai_runtime_directory directory;
} watched;

struct udpai_runtime_follower {
    uv_loop_t *loop;
    udpai_runtime_follower_ops ops;
    uint64_t quiet_ms;
    char *path, *parent; /* the directory that it lies in; NULL: it has no name there */
    const char *base;    /* its name in it */
    uv_fs_event_t parent_events;
    UDPAI_VECTOR(watched *) watched;
    uv_timer_t quiet;
    uv_work_t work;
    udpai_runtime_directories directories; /* that were read */
    bool is_reading;
    bool is_due;      /* to be read again when the reading has ended */
    bool has_changed; /* something was changed: so reports what is read next */
    bool is_warned, is_closing;
    size_t n_open;
};

static void read_again(udpai_runtime_follower *self);

/* ---- the end ---- */

static void
let_go(udpai_runtime_follower *self)
{
    if (--self->n_open > 0)
        return;
    const udpai_runtime_follower_ops ops = self->ops;
    udpai_vector_done(&self->watched);
    udpai_runtime_directories_done(&self->directories);
    udpai_free(self->path);
    udpai_free(self->parent);
    udpai_free(self);
    ops.closed(ops.userdata);
}

static void
on_handle_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

static void
on_watched_closed(uv_handle_t *handle)
{
    watched *closed = handle->data;
    udpai_runtime_follower *self = closed->of;
    udpai_free(closed->directory.path);
    udpai_free(closed);
    let_go(self);
}

static void
forget_watched(udpai_runtime_follower *self)
{
    for (size_t i = 0; i < self->watched.n; i++)
        uv_close((uv_handle_t *)&self->watched.items[i]->events, on_watched_closed);
    self->watched.n = 0;
}

void
udpai_runtime_follower_close(udpai_runtime_follower *self)
{
    self->is_closing = true;
    forget_watched(self);
    uv_close((uv_handle_t *)&self->quiet, on_handle_closed);
    uv_close((uv_handle_t *)&self->parent_events, on_handle_closed);
    if (self->is_reading)
        (void)uv_cancel((uv_req_t *)&self->work); /* if it has begun its end is waited for */
}

/* ---- watching ---- */

static void
on_event(uv_fs_event_t *events, const char *name, int kind, int status)
{
    (void)name, (void)kind, (void)status;
    const watched *in = events->data;
    in->of->has_changed = true;
    udpai_runtime_follower_look(in->of);
}

/* The link leads elsewhere: its writer has everything ready. */
static void
on_parent_event(uv_fs_event_t *events, const char *name, int kind, int status)
{
    udpai_runtime_follower *self = events->data;
    if (status < 0 || !(kind & UV_RENAME) || !name || strcmp(name, self->base) != 0)
        return;
    self->has_changed = true;
    read_again(self);
}

static void
warn(udpai_runtime_follower *self, const char *path, int result)
{
    if (!self->is_warned)
        udpai_log(UDPA_LOG_WARNING, COMPONENT,
                  "%s: cannot be watched (%s); its changes are found later, by looking", path,
                  uv_strerror(result));
    self->is_warned = true;
}

/* Takes the directory's path. */
static void
watch(udpai_runtime_follower *self, udpai_runtime_directory *directory)
{
    watched *added = udpai_vector_reserve(&self->watched, 1) ? udpai_alloc(sizeof(*added)) : NULL;
    if (!added)
        return;
    uv_fs_event_init(self->loop, &added->events);
    uv_unref((uv_handle_t *)&added->events);
    added->events.data = added;
    added->of = self;
    added->directory = *directory;
    directory->path = NULL;
    self->watched.items[self->watched.n++] = added;
    self->n_open++;
    int result = uv_fs_event_start(&added->events, on_event, added->directory.path, 0);
    if (result < 0)
        warn(self, added->directory.path, result);
}

static bool
is_watched(const udpai_runtime_follower *self, const udpai_runtime_directories *directories)
{
    if (self->watched.n != directories->n)
        return false;
    for (size_t i = 0; i < directories->n; i++) {
        const udpai_runtime_directory *a = &self->watched.items[i]->directory,
                                      *b = &directories->items[i];
        if (a->dev != b->dev || a->ino != b->ino || strcmp(a->path, b->path) != 0)
            return false;
    }
    return true;
}

/* What has changed between the reading and the watching is seen by reading once more. */
static void
watch_all(udpai_runtime_follower *self, udpai_runtime_directories *directories)
{
    if (is_watched(self, directories))
        return;
    forget_watched(self);
    for (size_t i = 0; i < directories->n; i++)
        watch(self, &directories->items[i]);
    udpai_runtime_follower_look(self);
}

/* ---- reading ---- */

static void
take(udpai_runtime_follower *self)
{
    bool is_change = self->has_changed;
    self->has_changed = false;
    self->ops.take(self->ops.userdata, is_change);
    if (!self->is_closing)
        watch_all(self, &self->directories);
    udpai_runtime_directories_done(&self->directories);
}

static void
on_work(uv_work_t *work)
{
    udpai_runtime_follower *self = work->data;
    self->ops.read(self->ops.userdata, &self->directories);
}

static void
on_worked(uv_work_t *work, int status)
{
    udpai_runtime_follower *self = work->data;
    self->is_reading = false;
    if (self->is_closing) {
        let_go(self);
        return;
    }
    if (status == 0)
        take(self);
    self->n_open--; /* the handles are there yet */
    if (self->is_due)
        read_again(self);
}

static void
read_again(udpai_runtime_follower *self)
{
    self->is_due = self->is_reading;
    if (self->is_reading || self->is_closing)
        return;
    (void)uv_timer_stop(&self->quiet);
    self->work.data = self;
    if (uv_queue_work(self->loop, &self->work, on_work, on_worked) != 0)
        return;
    self->is_reading = true;
    self->n_open++;
}

static void
on_quiet(uv_timer_t *timer)
{
    read_again(timer->data);
}

void
udpai_runtime_follower_look(udpai_runtime_follower *self)
{
    if (!self->is_closing && !uv_is_active((uv_handle_t *)&self->quiet))
        (void)uv_timer_start(&self->quiet, on_quiet, self->quiet_ms, 0);
}

bool
udpai_runtime_follower_is_busy(const udpai_runtime_follower *self)
{
    return self->is_reading || uv_is_active((const uv_handle_t *)&self->quiet);
}

/* ---- the beginning ---- */

void
udpai_runtime_follower_start(udpai_runtime_follower *self)
{
    if (self->parent) {
        int result = uv_fs_event_start(&self->parent_events, on_parent_event, self->parent, 0);
        if (result < 0)
            warn(self, self->parent, result);
    }
    self->has_changed = true;
    self->ops.read(self->ops.userdata, &self->directories);
    take(self);
}

/* False without memory. */
static bool
find_parent(udpai_runtime_follower *self)
{
    const char *slash = strrchr(self->path, '/');
    self->base = slash ? slash + 1 : self->path;
    if (!self->base[0] || strcmp(self->base, ".") == 0 || strcmp(self->base, "..") == 0)
        return true;
    size_t len = slash == self->path ? 1 : (size_t)(slash - self->path);
    self->parent = slash ? udpai_strndup(self->path, len) : udpai_strdup(".");
    return self->parent != NULL;
}

udpai_runtime_follower *
udpai_runtime_follower_new(uv_loop_t *loop,
                           const char *path,
                           uint64_t quiet_ms,
                           const udpai_runtime_follower_ops *ops)
{
    udpai_runtime_follower *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->loop = loop;
    self->quiet_ms = quiet_ms;
    self->ops = *ops;
    self->path = udpai_strdup(path);
    if (!self->path || !find_parent(self)) {
        udpai_free(self->path);
        udpai_free(self);
        return NULL;
    }
    uv_timer_init(loop, &self->quiet);
    uv_fs_event_init(loop, &self->parent_events);
    uv_unref((uv_handle_t *)&self->quiet);
    uv_unref((uv_handle_t *)&self->parent_events);
    self->quiet.data = self->parent_events.data = self;
    self->n_open = 2;
    return self;
}

const char *
udpai_runtime_follower_path(const udpai_runtime_follower *self)
{
    return self->path;
}
