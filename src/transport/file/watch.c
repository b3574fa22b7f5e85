/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/watch.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"

/* A name without a parent's: "/", ".", "..", "x/..". */
static bool
has_no_name(const char *base)
{
    return !base[0] || strcmp(base, ".") == 0 || strcmp(base, "..") == 0;
}

static bool
find_parent(udpai_file_watch *watch)
{
    const char *slash = strrchr(watch->root, '/');
    watch->base = slash ? slash + 1 : watch->root;
    if (has_no_name(watch->base))
        return true;
    if (!slash)
        watch->parent = udpai_strdup(".");
    else
        watch->parent =
            udpai_strndup(watch->root, slash == watch->root ? 1 : (size_t)(slash - watch->root));
    return watch->parent != NULL;
}

udpa_err
udpai_file_watch_init(udpai_file_watch *watch,
                      uv_loop_t *loop,
                      const char *root,
                      void (*changed)(udpai_file_watch *watch),
                      udpa_error **ret_error)
{
    memset(watch, 0, sizeof(*watch));
    watch->root = root;
    watch->changed = changed;
    if (!find_parent(watch))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    uv_fs_event_init(loop, &watch->events); /* cannot fail */
    uv_fs_event_init(loop, &watch->parent_events);
    return UDPA_OK;
}

/* What is watched is an inode: when the name comes and goes, that may be no longer the one. */
static bool
is_about_itself(const udpai_file_watch *watch, const char *name, int events)
{
    return (events & UV_RENAME) && name && strcmp(name, watch->base) == 0;
}

static void
on_event(uv_fs_event_t *handle, const char *name, int events, int status)
{
    udpai_file_watch *watch = UDPAI_CONTAINER_OF(handle, udpai_file_watch, events);
    if (status < 0 || is_about_itself(watch, name, events))
        watch->is_watching = false;
    watch->changed(watch);
}

static void
on_parent_event(uv_fs_event_t *handle, const char *name, int events, int status)
{
    udpai_file_watch *watch = UDPAI_CONTAINER_OF(handle, udpai_file_watch, parent_events);
    if (status < 0 || !is_about_itself(watch, name, events))
        return;
    watch->is_watching = false;
    watch->changed(watch);
}

static void
warn(udpai_file_watch *watch, int result)
{
    if (!watch->is_warned)
        udpai_log(UDPA_LOG_WARNING, "file",
                  "%s: cannot be watched (%s): its changes are found later, by scanning",
                  watch->root, uv_strerror(result));
    watch->is_warned = true;
}

/* The watch is set before: if the directory changes in between, the next reading shows it. */
static bool
watch_root(udpai_file_watch *watch)
{
    struct stat status;
    uv_fs_event_stop(&watch->events);
    watch->is_watching = false;
    if (stat(watch->root, &status) < 0)
        return false; /* its reader reports it */
    int result = uv_fs_event_start(&watch->events, on_event, watch->root, 0);
    if (result < 0) {
        warn(watch, result);
        return false;
    }
    watch->is_watching = true;
    watch->is_warned = false;
    watch->dev = status.st_dev;
    watch->ino = status.st_ino;
    return true;
}

void
udpai_file_watch_start(udpai_file_watch *watch)
{
    /* without the parent it takes a little longer to see a directory return */
    if (watch->parent)
        (void)uv_fs_event_start(&watch->parent_events, on_parent_event, watch->parent, 0);
    (void)watch_root(watch);
}

bool
udpai_file_watch_confirm(udpai_file_watch *watch, dev_t dev, ino_t ino)
{
    if (watch->is_watching && watch->dev == dev && watch->ino == ino)
        return false;
    return watch_root(watch);
}

void
udpai_file_watch_lose(udpai_file_watch *watch)
{
    uv_fs_event_stop(&watch->events);
    watch->is_watching = false;
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_file_watch *watch = handle->data;
    if (--watch->n_open)
        return;
    udpai_free(watch->parent);
    watch->closed(watch);
}

void
udpai_file_watch_close(udpai_file_watch *watch, void (*closed)(udpai_file_watch *watch))
{
    watch->closed = closed;
    watch->n_open = 2;
    watch->events.data = watch->parent_events.data = watch;
    uv_close((uv_handle_t *)&watch->events, on_closed);
    uv_close((uv_handle_t *)&watch->parent_events, on_closed);
}
