/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/tree_reading.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "runtime/encode.h"

typedef struct reader {
    const udpai_runtime_tree_rules *rules;
    const udpai_runtime_tree_reading *before; /* may be NULL */
    udpai_runtime_directories *directories;
    udpai_runtime_tree_reading *now;
    char top[PATH_MAX]; /* what has the layers, without links: all are read of the same version */
} reader;

/* ---- readings ---- */

static void
forget_layers(udpai_runtime_tree_reading *reading)
{
    for (size_t i = 0; i < reading->layers.n; i++) {
        udpai_runtime_tree_layer *layer = &reading->layers.items[i];
        udpai_free(layer->name);
        udpa_resource_unref(layer->resource);
        udpa_error_unref(layer->error);
    }
    reading->layers.n = 0;
}

udpai_runtime_tree_reading *
udpai_runtime_tree_reading_free(udpai_runtime_tree_reading *reading)
{
    if (!reading)
        return NULL;
    forget_layers(reading);
    udpai_vector_done(&reading->layers);
    udpa_error_unref(reading->error);
    udpai_free(reading);
    return NULL;
}

static udpai_runtime_tree_layer *
add_layer(udpai_runtime_tree_reading *reading, const char *name)
{
    const udpai_runtime_tree_layer layer = {.name = udpai_strdup(name)};
    if (layer.name && udpai_vector_push(&reading->layers, layer))
        return &reading->layers.items[reading->layers.n - 1];
    udpai_free(layer.name);
    return NULL;
}

/* False without memory. */
static bool
keep_layers(const reader *self)
{
    for (size_t i = 0; self->before && i < self->before->layers.n; i++) {
        const udpai_runtime_tree_layer *from = &self->before->layers.items[i];
        udpai_runtime_tree_layer *to = add_layer(self->now, from->name);
        if (!to)
            return false;
        to->resource = udpa_resource_ref(from->resource);
        to->error = udpa_error_ref(from->error);
    }
    return true;
}

static int
compare_layers(const void *a, const void *b)
{
    return strcmp(((const udpai_runtime_tree_layer *)a)->name,
                  ((const udpai_runtime_tree_layer *)b)->name);
}

/* That had this name before; NULL: there was none. */
static const udpai_runtime_tree_layer *
find_before(const reader *self, const udpai_runtime_tree_layer *layer)
{
    return self->before && self->before->layers.n
               ? bsearch(layer, self->before->layers.items, self->before->layers.n, sizeof(*layer),
                         compare_layers)
               : NULL;
}

/* ---- a layer's resource ---- */

static udpa_err
check_namespace(const reader *self, udpai_str name, udpa_error **ret_error)
{
    const udpai_runtime_tree_rules *rules = self->rules;
    bool is_allowed = rules->n_namespaces == 0;
    for (size_t i = 0; i < rules->n_namespaces && !is_allowed; i++)
        is_allowed = udpai_prefix_covers(rules->namespaces[i], name);
    return is_allowed ? UDPA_OK
                      : udpai_fail(ret_error, UDPA_ERR_DENIED,
                                   "'%.*s' is in none of the namespaces that a provider takes from "
                                   "this source",
                                   UDPAI_SHOWN(name));
}

static udpa_err
make_named(const reader *self,
           const udpai_runtime_layer *layer,
           udpai_str asked,
           udpa_resource **ret_resource,
           udpa_error **ret_error)
{
    char room[UDPAI_NAME_MAX];
    udpai_resource_parts parts = {0};
    udpa_err err = udpai_runtime_tree_name(self->rules, asked, room, &parts.name, ret_error);
    if (!err)
        err = check_namespace(self, parts.name, ret_error);
    if (err)
        return err;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_runtime_encode(layer, asked);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(UDPAI_TYPE_RUNTIME));
    if (!value || !type)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    parts.value = value;
    parts.type = type;
    err = udpai_resource_parts_check(&parts, ret_error);
    return err ? err : udpai_fail_code(ret_error, udpai_resource_make(ret_resource, &parts));
}

static udpa_err
make_resource(const reader *self,
              const udpai_runtime_layer *layer,
              udpa_resource **ret_resource,
              udpa_error **ret_error)
{
    const udpai_runtime_tree_rules *rules = self->rules;
    udpai_strbuf asked = {0};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpai_strbuf_str(&asked, rules->prefix);
    udpai_strbuf_str(&asked, udpai_runtime_layer_name(layer));
    udpa_err err = udpai_strbuf_failed(&asked)
                       ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM)
                       : make_named(self, layer, udpai_strbuf_view(&asked), &resource, ret_error);
    udpai_strbuf_done(&asked);
    if (!err && rules->check)
        err = rules->check(rules->check_userdata, resource, ret_error);
    if (!err)
        *ret_resource = UDPAI_TAKE(resource);
    return err;
}

/* ---- a layer ---- */

static udpa_err
read_directory(const reader *self,
               const char *name,
               udpai_runtime_layer **ret_layer,
               udpa_error **ret_error)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s/%s", strcmp(self->top, "/") == 0 ? "" : self->top, name);
    if (udpai_strbuf_failed(&path))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_runtime_directory_read_whole(ret_layer, udpai_str_from(name), path.data,
                                                      self->directories, ret_error);
    udpai_strbuf_done(&path);
    return err;
}

/* An error of the layer is none of the reading: but those are UDPA_ERR_ABORTED, if the directory is
 * not there any more, and UDPA_ERR_NOMEM. */
static udpa_err
read_layer(const reader *self, udpai_runtime_tree_layer *to)
{
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    const udpai_runtime_tree_layer *before = find_before(self, to);
    udpa_error *error = NULL;
    udpa_err err = read_directory(self, to->name, &layer, &error);
    if (!err)
        err = make_resource(self, layer, &to->resource, &error);
    if (err == UDPA_ERR_NOMEM || err == UDPA_ERR_NOT_FOUND) {
        udpa_error_unref(error);
        return err == UDPA_ERR_NOMEM ? err : UDPA_ERR_ABORTED;
    }
    if (before && before->resource &&
        (err || udpai_resource_same_payload(before->resource, to->resource))) {
        udpa_resource_unref(to->resource);
        to->resource = udpa_resource_ref(before->resource);
    }
    if (!err)
        return UDPA_OK;
    (void)udpai_fail_because(&to->error, err, error, "%s: layer %s%s", self->rules->root, to->name,
                             to->resource ? " stays as it was" : " is ignored");
    return UDPA_OK;
}

/* ---- the tree ---- */

static udpa_err
fail_tree(const reader *self, int number, udpa_error **ret_error)
{
    char reason[128];
    const char *subdirectory = self->rules->subdirectory;
    return udpai_fail(ret_error, number == ENOENT ? UDPA_ERR_NOT_FOUND : UDPA_ERR_IO,
                      "%s%s%s: cannot read the directory: %s; what was read before stays",
                      self->rules->root, *subdirectory ? "/" : "", subdirectory,
                      strerror_r(number, reason, sizeof(reason)));
}

/* Where the layers are at present. Lists what is above them. */
static udpa_err
find_top(const reader *self, char top[PATH_MAX], udpa_error **ret_error)
{
    char root[PATH_MAX];
    udpai_strbuf path = {0};
    const char *subdirectory = self->rules->subdirectory;
    if (!realpath(self->rules->root, root))
        return fail_tree(self, errno, ret_error);
    udpai_strbuf_printf(&path, "%s%s%s", root, *subdirectory ? "/" : "", subdirectory);
    udpa_err err = UDPA_OK;
    if (udpai_strbuf_failed(&path) ||
        !udpai_runtime_directories_add_above(self->directories, path.data, strlen(root)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    else if (!realpath(path.data, top))
        err = fail_tree(self, errno, ret_error);
    else if (!udpai_runtime_directories_add(self->directories, top))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_strbuf_done(&path);
    return err;
}

static bool
is_layer(DIR *directory, const char *name)
{
    struct stat status;
    return name[0] != '.' && fstatat(dirfd(directory), name, &status, 0) == 0 &&
           S_ISDIR(status.st_mode);
}

static udpa_err
list_layers(const reader *self, DIR *directory, udpa_error **ret_error)
{
    udpai_runtime_tree_reading *now = self->now;
    const struct dirent *entry;
    while ((errno = 0, entry = readdir(directory))) {
        if (!is_layer(directory, entry->d_name))
            continue;
        if (now->layers.n == UDPAI_RUNTIME_TREE_LAYERS_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                              "%s: there are more than %d layers; nothing here is read until there "
                              "are fewer",
                              self->rules->root, UDPAI_RUNTIME_TREE_LAYERS_MAX);
        if (!add_layer(now, entry->d_name))
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (errno)
        return fail_tree(self, errno, ret_error);
    if (now->layers.n)
        qsort(now->layers.items, now->layers.n, sizeof(*now->layers.items), compare_layers);
    return UDPA_OK;
}

static udpa_err
read_layers(const reader *self, DIR *directory, udpa_error **ret_error)
{
    udpa_err err = list_layers(self, directory, ret_error);
    for (size_t i = 0; i < self->now->layers.n && !err; i++)
        err = udpai_fail_code(ret_error, read_layer(self, &self->now->layers.items[i]));
    return err;
}

/* Is what was read still what is there? */
static bool
is_current(const reader *self, DIR *directory)
{
    struct stat read, found;
    char top[PATH_MAX];
    udpa_error *error = NULL;
    bool is_there = find_top(self, top, &error) == UDPA_OK && strcmp(top, self->top) == 0;
    udpa_error_unref(error);
    return is_there && fstat(dirfd(directory), &read) == 0 && stat(top, &found) == 0 &&
           read.st_dev == found.st_dev && read.st_ino == found.st_ino;
}

static udpa_err
try_once(reader *self, udpa_error **ret_error)
{
    forget_layers(self->now);
    udpai_runtime_directories_cut(self->directories, 0);
    udpa_err err = find_top(self, self->top, ret_error);
    if (err)
        return err;
    DIR *directory = opendir(self->top);
    if (!directory)
        return fail_tree(self, errno, ret_error);
    err = read_layers(self, directory, ret_error);
    if (!err && !is_current(self, directory))
        err = udpai_fail(ret_error, UDPA_ERR_ABORTED,
                         "%s: is another whenever it is read; what was read before stays",
                         self->rules->root);
    closedir(directory);
    return err;
}

udpai_runtime_tree_reading *
udpai_runtime_tree_read(const udpai_runtime_tree_rules *rules,
                        const udpai_runtime_tree_reading *before,
                        udpai_runtime_directories *directories)
{
    UDPA_AUTO(udpai_runtime_tree_reading_free)
    udpai_runtime_tree_reading *now = udpai_alloc(sizeof(*now));
    reader self = {rules, before, directories, now, ""};
    udpa_err err = UDPA_ERR_ABORTED;
    if (!now)
        return NULL;
    /* What is replaced while its path is followed is not there for that moment. */
    for (int i = 0;
         i < UDPAI_RUNTIME_TRIES && (err == UDPA_ERR_ABORTED || err == UDPA_ERR_NOT_FOUND); i++) {
        now->error = udpa_error_unref(now->error);
        err = try_once(&self, &now->error);
    }
    now->was_read = !err || (before && before->was_read);
    if (err)
        forget_layers(now);
    if (err == UDPA_ERR_NOMEM || (err && !keep_layers(&self)))
        return NULL;
    return UDPAI_TAKE(now);
}
