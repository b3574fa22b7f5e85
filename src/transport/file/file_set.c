/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/file_set.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/vector.h"
#include "transport/file/watch.h"

/* Of a file, or of nothing. Its inode is looked at, too: what is renamed over another may have been
 * written at the same time. */
typedef struct look {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
} look;

typedef struct set_file {
    char *path;
    size_t group;
    look last;
} set_file;

typedef struct set_directory {
    udpai_file_watch watch;
    udpai_file_set *set;
    char *path;
} set_directory;

/* What is of no use is reported again when it is time to look, not whenever something is written
 * beside it: that may be the log that it is reported in. */
typedef struct set_group {
    bool has_changed, is_refused;
} set_group;

struct udpai_file_set {
    udpai_file_set_options options;
    UDPAI_VECTOR(set_file) files;
    UDPAI_VECTOR(set_directory *) directories;
    UDPAI_VECTOR(set_group) groups;
    uv_timer_t quiet, poll;
    bool is_started;
    uint64_t since_ms; /* of the first change that was not reported; 0: none */
    size_t n_open;
};

/* ---- looking ---- */

static look
look_at(const char *path)
{
    struct stat status;
    look seen;
    memset(&seen, 0, sizeof(seen)); /* it is compared whole */
    if (stat(path, &status) != 0)
        return seen;
    seen.dev = status.st_dev;
    seen.ino = status.st_ino;
    seen.size = status.st_size;
    seen.modified = status.st_mtim;
    seen.changed = status.st_ctim;
    return seen;
}

static void
mark_changed(udpai_file_set *set)
{
    for (size_t i = 0; i < set->files.n; i++) {
        set_file *file = &set->files.items[i];
        look now = look_at(file->path);
        if (memcmp(&now, &file->last, sizeof(now)) != 0)
            set->groups.items[file->group].has_changed = true;
        file->last = now;
    }
}

static void
report_changes(udpai_file_set *set, bool is_time)
{
    for (size_t i = 0; i < set->groups.n; i++) {
        const set_group *group = &set->groups.items[i];
        if (group->has_changed || (is_time && group->is_refused)) {
            bool is_good = set->options.changed(set->options.userdata, i); /* it may add files */
            set->groups.items[i].is_refused = !is_good;
        }
        set->groups.items[i].has_changed = false;
    }
}

/* ---- time ---- */

static void on_quiet(uv_timer_t *timer);

/* While something goes on changing it is waited for, but not for ever. */
static void
note(udpai_file_set *set)
{
    uv_update_time(set->options.loop);
    uint64_t now_ms = uv_now(set->options.loop), delay_ms = set->options.quiet_ms;
    if (!set->since_ms)
        set->since_ms = now_ms;
    uint64_t waited_ms = now_ms - set->since_ms;
    if (waited_ms + delay_ms > set->options.latest_ms)
        delay_ms = waited_ms < set->options.latest_ms ? set->options.latest_ms - waited_ms : 0;
    uv_timer_start(&set->quiet, on_quiet, delay_ms, 0);
}

static void
on_changed(udpai_file_watch *watch)
{
    note(UDPAI_CONTAINER_OF(watch, set_directory, watch)->set);
}

static void
watch_again(udpai_file_set *set)
{
    for (size_t i = 0; i < set->directories.n; i++) {
        set_directory *directory = set->directories.items[i];
        struct stat status;
        if (stat(directory->path, &status) == 0)
            (void)udpai_file_watch_confirm(&directory->watch, status.st_dev, status.st_ino);
        else
            udpai_file_watch_lose(&directory->watch);
    }
}

static void
run(udpai_file_set *set, bool is_time)
{
    set->since_ms = 0;
    watch_again(set); /* first: what changes after it was looked at is reported */
    mark_changed(set);
    report_changes(set, is_time);
}

static void
on_quiet(uv_timer_t *timer)
{
    run(UDPAI_CONTAINER_OF(timer, udpai_file_set, quiet), false);
}

static void
on_poll(uv_timer_t *timer)
{
    run(UDPAI_CONTAINER_OF(timer, udpai_file_set, poll), true);
}

/* ---- its life ---- */

#define DEFAULT_TO(field, value) ((field) = (field) ? (field) : (value))

udpa_err
udpai_file_set_new(udpai_file_set **ret_set,
                   const udpai_file_set_options *options,
                   udpa_error **ret_error)
{
    udpai_file_set *set = udpai_alloc(sizeof(*set));
    if (!set)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    set->options = *options;
    DEFAULT_TO(set->options.quiet_ms, UDPAI_FILE_SET_QUIET_MS);
    DEFAULT_TO(set->options.latest_ms, UDPAI_FILE_SET_LATEST_MS);
    DEFAULT_TO(set->options.look_ms, UDPAI_FILE_SET_LOOK_MS);
    uv_timer_init(options->loop, &set->quiet); /* cannot fail */
    uv_timer_init(options->loop, &set->poll);
    *ret_set = set;
    return UDPA_OK;
}

static udpa_err
make_directory(udpai_file_set *set, char *path, set_directory **ret_directory)
{
    set_directory *directory = udpai_alloc(sizeof(*directory));
    udpa_err err = directory ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK) {
        directory->set = set;
        directory->path = path;
        err = udpai_file_watch_init(&directory->watch, set->options.loop, path, on_changed, NULL);
    }
    if (err != UDPA_OK) {
        udpai_free(directory);
        udpai_free(path);
        return err;
    }
    *ret_directory = directory;
    return UDPA_OK;
}

static char *
directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return udpai_strdup(".");
    return udpai_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static udpa_err
add_directory(udpai_file_set *set, const char *of)
{
    char *path = directory_of(of);
    if (!path)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < set->directories.n; i++)
        if (strcmp(set->directories.items[i]->path, path) == 0) {
            udpai_free(path);
            return UDPA_OK;
        }
    if (!udpai_vector_reserve(&set->directories, 1)) {
        udpai_free(path);
        return UDPA_ERR_NOMEM;
    }
    udpa_err err = make_directory(set, path, &set->directories.items[set->directories.n]);
    if (err != UDPA_OK)
        return err;
    set->directories.n++;
    if (set->is_started)
        udpai_file_watch_start(&set->directories.items[set->directories.n - 1]->watch);
    return UDPA_OK;
}

static bool
has_file(const udpai_file_set *set, const char *path, size_t group)
{
    for (size_t i = 0; i < set->files.n; i++)
        if (set->files.items[i].group == group && strcmp(set->files.items[i].path, path) == 0)
            return true;
    return false;
}

udpa_err
udpai_file_set_add(udpai_file_set *set, const char *path, size_t group)
{
    if (!path || !*path || has_file(set, path, group))
        return UDPA_OK;
    while (set->groups.n <= group)
        if (!udpai_vector_push(&set->groups, (set_group){0}))
            return UDPA_ERR_NOMEM;
    set_file file = {.path = udpai_strdup(path), .group = group};
    if (!file.path || !udpai_vector_push(&set->files, file)) {
        udpai_free(file.path);
        return UDPA_ERR_NOMEM;
    }
    udpa_err err = add_directory(set, path);
    if (set->is_started)
        set->files.items[set->files.n - 1].last = look_at(path);
    return err;
}

void
udpai_file_set_forget(udpai_file_set *set)
{
    for (size_t i = 0; i < set->files.n; i++)
        set->files.items[i].last = look_at(set->files.items[i].path);
}

void
udpai_file_set_start(udpai_file_set *set)
{
    for (size_t i = 0; i < set->directories.n; i++)
        udpai_file_watch_start(&set->directories.items[i]->watch);
    udpai_file_set_forget(set);
    set->is_started = true;
    uv_timer_start(&set->poll, on_poll, set->options.look_ms, set->options.look_ms);
}

static void
free_set(udpai_file_set *set)
{
    for (size_t i = 0; i < set->files.n; i++)
        udpai_free(set->files.items[i].path);
    udpai_vector_done(&set->files);
    udpai_vector_done(&set->directories);
    udpai_vector_done(&set->groups);
    udpai_free(set);
}

static void
let_go(udpai_file_set *set)
{
    if (--set->n_open == 0)
        free_set(set);
}

static void
on_watch_closed(udpai_file_watch *watch)
{
    set_directory *directory = UDPAI_CONTAINER_OF(watch, set_directory, watch);
    udpai_file_set *set = directory->set;
    udpai_free(directory->path);
    udpai_free(directory);
    let_go(set);
}

static void
on_timer_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

void
udpai_file_set_close(udpai_file_set *set)
{
    if (!set)
        return;
    set->n_open = set->directories.n + 2;
    for (size_t i = 0; i < set->directories.n; i++)
        udpai_file_watch_close(&set->directories.items[i]->watch, on_watch_closed);
    set->quiet.data = set->poll.data = set;
    uv_close((uv_handle_t *)&set->quiet, on_timer_closed);
    uv_close((uv_handle_t *)&set->poll, on_timer_closed);
}
