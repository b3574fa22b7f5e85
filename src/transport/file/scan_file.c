/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/scan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "codec/place.h"
#include "loop/clock.h"
#include "model/name.h"
#include "model/resource.h"

/* File systems count time in steps of up to so much: what changed within one may change again and
 * look the same. */
#define STEP_US 2000000

udpai_scanned_file *
udpai_scanned_file_new(const udpai_file_rules *rules, const char *name, uint64_t id)
{
    udpai_scanned_file *file = udpai_alloc(sizeof(*file));
    if (!file)
        return NULL;
    udpai_strbuf path = {0};
    udpai_strbuf_puts(&path, rules->root);
    if (path.len && path.data[path.len - 1] != '/')
        udpai_strbuf_putc(&path, '/');
    udpai_strbuf_puts(&path, name);
    file->id = id;
    file->path = udpai_strbuf_take(&path);
    file->name = udpai_strdup(name);
    if (file->path && file->name)
        return file;
    udpai_scanned_file_free(file);
    return NULL;
}

void
udpai_scanned_file_free(udpai_scanned_file *file)
{
    if (!file)
        return;
    udpai_resource_list_done(&file->list);
    udpa_error_unref(file->error);
    udpai_free(file->name);
    udpai_free(file->path);
    udpai_free(file);
}

static udpa_err
fail_file(const udpai_scanned_file *file, int number, udpa_error **ret_error)
{
    char reason[128];
    return udpai_fail(ret_error, UDPA_ERR_IO, "%s: cannot be read: %s", file->path,
                      strerror_r(number, reason, sizeof(reason)));
}

static udpai_file_stamp
stamp_of(const struct stat *status)
{
    return (udpai_file_stamp){status->st_dev, status->st_ino, status->st_size, status->st_mtim,
                              status->st_ctim};
}

static bool
same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool
same_stamp(const udpai_file_stamp *a, const udpai_file_stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           same_time(a->modified, b->modified) && same_time(a->changed, b->changed);
}

/* ---- contents ---- */

static udpa_err
fail_size(const udpai_file_scan *scan, const udpai_scanned_file *file, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%s: is larger than %zu bytes; divide it into several files", file->path,
                      scan->rules.max_file_size);
}

/* A file may grow while it is read, but not beyond what is allowed. */
static udpa_err
read_all(const udpai_file_scan *scan,
         const udpai_scanned_file *file,
         int fd,
         udpai_strbuf *contents,
         udpa_error **ret_error)
{
    size_t step = udpai_min_size((size_t)file->stamp.size + 1, scan->rules.max_file_size + 1);
    for (;;) {
        char *room = udpai_strbuf_extend(contents, step);
        if (!room)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        contents->len -= step;
        ssize_t got = read(fd, room, step);
        if (got < 0 && errno != EINTR)
            return fail_file(file, errno, ret_error);
        if (got == 0)
            return UDPA_OK;
        contents->len += got > 0 ? (size_t)got : 0;
        if (contents->len > scan->rules.max_file_size)
            return fail_size(scan, file, ret_error);
        step = 65536;
    }
}

static udpa_err
check_kind(const udpai_file_scan *scan,
           const udpai_scanned_file *file,
           const struct stat *status,
           udpa_error **ret_error)
{
    if (!S_ISREG(status->st_mode))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: is no regular file", file->path);
    if ((uint64_t)status->st_size > scan->rules.max_file_size)
        return fail_size(scan, file, ret_error);
    return UDPA_OK;
}

/* Sets the file's stamp as soon as it is known, so that what is refused is not read again. */
static udpa_err
read_contents(const udpai_file_scan *scan,
              int dir_fd,
              udpai_scanned_file *file,
              udpai_strbuf *contents,
              udpa_error **ret_error)
{
    /* O_NONBLOCK: somebody may have put a FIFO there */
    int fd = openat(dir_fd, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fail_file(file, errno, ret_error);
    struct stat status;
    int64_t now_us = udpai_wall_us();
    udpa_err err = fstat(fd, &status) < 0 ? fail_file(file, errno, ret_error) : UDPA_OK;
    if (err == UDPA_OK) {
        file->stamp = stamp_of(&status);
        file->is_recent = status.st_ctim.tv_sec * INT64_C(1000000) + STEP_US > now_us;
        err = check_kind(scan, file, &status, ret_error);
        file->is_read = err != UDPA_OK;
    }
    if (err == UDPA_OK)
        err = read_all(scan, file, fd, contents, ret_error);
    close(fd);
    return err;
}

/* ---- what the contents have ---- */

static bool
is_allowed(const udpai_file_rules *rules, udpai_str name)
{
    bool allowed = rules->n_namespaces == 0;
    for (size_t i = 0; i < rules->n_namespaces && !allowed; i++)
        allowed = udpai_prefix_covers(rules->namespaces[i], name);
    return allowed;
}

static udpa_err
fail_namespace(const udpai_file_rules *rules,
               const udpai_scanned_file *file,
               const udpai_file_resource *item,
               udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, file->path);
    if (item->line)
        udpai_strbuf_printf(&text, ":%u:%u", item->line, item->column);
    udpai_strbuf_printf(&text, ": '%s' may not be here, only names in ",
                        udpa_resource_name(item->resource));
    for (size_t i = 0; i < rules->n_namespaces; i++) {
        udpai_strbuf_puts(&text, i ? ", " : "");
        udpai_strbuf_str(&text, rules->namespaces[i]);
    }
    udpa_err err = udpai_strbuf_failed(&text)
                       ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM)
                       : udpai_fail(ret_error, UDPA_ERR_DENIED, "%s", text.data);
    udpai_strbuf_done(&text);
    return err;
}

static udpa_err
check_namespaces(const udpai_file_rules *rules,
                 const udpai_scanned_file *file,
                 const udpai_resource_list *list,
                 udpa_error **ret_error)
{
    for (size_t i = 0; i < list->n; i++)
        if (!is_allowed(rules, udpai_resource_name(list->items[i].resource)))
            return fail_namespace(rules, file, &list->items[i], ret_error);
    return UDPA_OK;
}

/* What a directory has is renewed at half of its ttl: with too short a one that would be all that
 * the node does. */
static udpa_err
check_ttls(const udpai_scanned_file *file, const udpai_resource_list *list, udpa_error **ret_error)
{
    for (size_t i = 0; i < list->n; i++) {
        const udpai_file_resource *item = &list->items[i];
        const udpai_place place = {file->path, item->line, item->column, {NULL, 0}};
        uint64_t ttl_ms = udpa_resource_ttl_ms(item->resource);
        if (ttl_ms && ttl_ms < UDPAI_FILE_TTL_MIN_MS)
            return udpai_fail_at(ret_error, UDPA_ERR_INVAL, &place,
                                 "'%s': its ttl of %llu ms is too short: the node renews what a "
                                 "directory has at half of its ttl, which must be 1s or more",
                                 udpa_resource_name(item->resource), (unsigned long long)ttl_ms);
    }
    return UDPA_OK;
}

static udpa_err
check_policy(const udpai_file_rules *rules,
             const udpai_scanned_file *file,
             const udpai_resource_list *list,
             udpa_error **ret_error)
{
    for (size_t i = 0; rules->policy && i < list->n; i++) {
        const udpai_file_resource *item = &list->items[i];
        const udpai_place place = {file->path, item->line, item->column, {NULL, 0}};
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        const udpai_inspected inspected = {item->resource, udpai_str_from(file->path)};
        udpa_err err = udpai_policy_check(rules->policy, &inspected, udpai_wall_us(), &error);
        if (err != UDPA_OK)
            return udpai_fail_at(ret_error, err, &place, "%s", udpa_error_message(error));
    }
    return UDPA_OK;
}

static bool
fits(const udpai_file_scan *scan, const udpai_scanned_file *file, size_t n)
{
    return scan->n_resources - file->list.n + n <= scan->rules.max_resources;
}

bool
udpai_scanned_file_has_room(const udpai_file_scan *scan, const udpai_scanned_file *file)
{
    return file->n_refused && fits(scan, file, file->n_refused);
}

static udpa_err
check_room(const udpai_file_scan *scan,
           udpai_scanned_file *file,
           const udpai_resource_list *list,
           udpa_error **ret_error)
{
    if (fits(scan, file, list->n))
        return UDPA_OK;
    file->n_refused = list->n;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%s: with its %zu resources the directory would have more than %zu, which is "
                      "the limit",
                      file->path, list->n, scan->rules.max_resources);
}

static udpa_err
parse(const udpai_file_scan *scan,
      udpai_scanned_file *file,
      udpai_str contents,
      udpai_resource_list *ret_list,
      udpa_error **ret_error)
{
    const udpai_resource_file input = {
        .name = file->path,
        .contents = contents,
        .default_namespace = scan->rules.default_namespace,
        .authorities = scan->rules.authorities,
        .max_size = scan->rules.max_file_size,
    };
    /* A program that writes in place has emptied the file first. */
    if (!contents.len && file->list.n)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%s: is empty, so what it had stays; to withdraw that, remove the file",
                          file->path);
    udpai_resource_list list = {0};
    udpa_err err = udpai_resource_file_read(scan->rules.schema, &input, &list, ret_error);
    if (err == UDPA_OK)
        err = check_namespaces(&scan->rules, file, &list, ret_error);
    if (err == UDPA_OK)
        err = check_ttls(file, &list, ret_error);
    if (err == UDPA_OK)
        err = check_policy(&scan->rules, file, &list, ret_error);
    if (err == UDPA_OK)
        err = check_room(scan, file, &list, ret_error);
    if (err == UDPA_OK)
        *ret_list = list;
    else
        udpai_resource_list_done(&list);
    return err;
}

static void
take_list(udpai_file_scan *scan, udpai_scanned_file *file, udpai_resource_list *list)
{
    scan->n_resources += list->n;
    scan->n_resources -= file->list.n;
    udpai_resource_list_done(&file->list);
    file->list = *list;
    file->was_good = true;
}

static udpai_policy_mode
mode_now(const udpai_file_scan *scan)
{
    return scan->rules.policy ? udpai_policy_mode_of(scan->rules.policy) : UDPAI_POLICY_REFUSE;
}

/* Contents that were checked already keep their result, unless it was for lack of room, or is by
 * other rules now. */
static udpa_err
judge(udpai_file_scan *scan, udpai_scanned_file *file, udpai_str contents, udpa_error **ret_error)
{
    udpai_content_hash hash = udpai_content_hash_of((udpai_str){NULL, 0}, contents);
    udpai_policy_mode mode = mode_now(scan);
    if (file->has_hash && !file->n_refused && file->mode == mode &&
        memcmp(&hash, &file->hash, sizeof(hash)) == 0) {
        file->is_read = true;
        *ret_error = udpa_error_ref(file->error);
        return udpa_error_code(file->error);
    }
    udpai_resource_list list = {0};
    file->hash = hash;
    file->mode = mode;
    file->n_refused = 0;
    udpa_err err = parse(scan, file, contents, &list, ret_error);
    file->is_read = file->has_hash = err != UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        take_list(scan, file, &list);
    return err;
}

/* ---- looking ---- */

static bool
may_have_changed(const udpai_file_scan *scan, int dir_fd, const udpai_scanned_file *file)
{
    struct stat status;
    if (!file->is_read || file->is_recent || fstatat(dir_fd, file->name, &status, 0) < 0)
        return true;
    const udpai_file_stamp stamp = stamp_of(&status);
    return !same_stamp(&stamp, &file->stamp) || file->mode != mode_now(scan) ||
           udpai_scanned_file_has_room(scan, file);
}

void
udpai_scanned_file_look(udpai_file_scan *scan, int dir_fd, udpai_scanned_file *file)
{
    if (!may_have_changed(scan, dir_fd, file))
        return;
    udpai_strbuf contents = {0};
    udpa_error *error = NULL;
    file->is_read = false;
    if (read_contents(scan, dir_fd, file, &contents, &error) == UDPA_OK)
        (void)judge(scan, file, udpai_strbuf_view(&contents), &error);
    else
        file->has_hash = false;
    udpai_strbuf_done(&contents);
    udpa_error_unref(file->error);
    file->error = error;
}
