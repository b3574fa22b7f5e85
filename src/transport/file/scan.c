/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/file/scan_file.h"

/* A directory that is written to all the time is not waited for. */
#define PASSES_MAX 4

void
udpai_file_scan_init(udpai_file_scan *scan, const udpai_file_rules *rules)
{
    memset(scan, 0, sizeof(*scan));
    scan->rules = *rules;
}

void
udpai_file_scan_done(udpai_file_scan *scan)
{
    for (size_t i = 0; i < scan->files.n; i++)
        udpai_scanned_file_free(scan->files.items[i]);
    udpai_vector_done(&scan->files);
    scan->error = udpa_error_unref(scan->error);
}

static bool
ends_with(const char *text, char end)
{
    size_t len = strlen(text);
    return len && text[len - 1] == end;
}

bool
udpai_file_scan_takes_name(const char *name)
{
    udpai_format format;
    return name[0] != '.' && !(name[0] == '#' && ends_with(name, '#')) && !ends_with(name, '~') &&
           udpai_resource_file_format(name, &format);
}

/* ---- which files are there ---- */

/* A directory entry; `known` is the file of the scan that it is, once that is found out. */
struct entry {
    char *name;
    udpai_scanned_file *known;
};

struct listing {
    UDPAI_VECTOR(struct entry) entries;
};

static void
listing_done(struct listing *listing)
{
    for (size_t i = 0; i < listing->entries.n; i++)
        udpai_free(listing->entries.items[i].name);
    udpai_vector_done(&listing->entries);
}

static udpa_err
add_entry(const udpai_file_scan *scan,
          struct listing *listing,
          const char *name,
          udpa_error **ret_error)
{
    if (listing->entries.n == scan->rules.max_files)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%s: there are more than %zu resource files; nothing here is read until "
                          "there are fewer",
                          scan->rules.root, scan->rules.max_files);
    struct entry entry = {udpai_strdup(name), NULL};
    if (entry.name && udpai_vector_push(&listing->entries, entry))
        return UDPA_OK;
    udpai_free(entry.name);
    return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static bool
is_directory(int dir_fd, const char *name)
{
    struct stat status;
    return fstatat(dir_fd, name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

static udpa_err
fail_directory(const udpai_file_scan *scan, int number, udpa_error **ret_error)
{
    char reason[128];
    return udpai_fail(ret_error, number == ENOENT ? UDPA_ERR_NOT_FOUND : UDPA_ERR_IO,
                      "%s: cannot read the directory: %s; what was read before stays",
                      scan->rules.root, strerror_r(number, reason, sizeof(reason)));
}

static udpa_err
list(const udpai_file_scan *scan, DIR *dir, struct listing *listing, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    const struct dirent *item;
    errno = 0;
    while (err == UDPA_OK && (item = readdir(dir))) {
        if (udpai_file_scan_takes_name(item->d_name) && !is_directory(dirfd(dir), item->d_name))
            err = add_entry(scan, listing, item->d_name, ret_error);
        errno = 0;
    }
    return err == UDPA_OK && errno ? fail_directory(scan, errno, ret_error) : err;
}

static int
compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* ---- the scan's files made to be those ---- */

/* Both are sorted. */
static void
find_known(const udpai_file_scan *scan, struct listing *listing)
{
    size_t at = 0;
    for (size_t i = 0; i < listing->entries.n; i++) {
        struct entry *entry = &listing->entries.items[i];
        while (at < scan->files.n && strcmp(scan->files.items[at]->name, entry->name) < 0)
            at++;
        if (at < scan->files.n && strcmp(scan->files.items[at]->name, entry->name) == 0)
            entry->known = scan->files.items[at++];
    }
}

static void
forget_missing(udpai_file_scan *scan, const struct listing *listing)
{
    size_t at = 0;
    for (size_t i = 0; i < scan->files.n; i++) {
        udpai_scanned_file *file = scan->files.items[i];
        while (at < listing->entries.n && strcmp(listing->entries.items[at].name, file->name) < 0)
            at++;
        if (at < listing->entries.n && listing->entries.items[at].known == file)
            continue;
        scan->n_resources -= file->list.n;
        udpai_scanned_file_free(file);
    }
}

/* All of it or nothing: the scan is not touched before everything that takes memory is done. */
static udpa_err
take_listing(udpai_file_scan *scan, struct listing *listing, udpa_error **ret_error)
{
    size_t n = listing->entries.n, n_new = 0;
    if (n)
        qsort(listing->entries.items, n, sizeof(struct entry), compare_entries);
    find_known(scan, listing);
    udpai_scanned_file **files = udpai_alloc_array(n, sizeof(udpai_scanned_file *));
    udpa_err err = files ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        const struct entry *entry = &listing->entries.items[i];
        files[i] = entry->known;
        if (!entry->known && !(files[i] = udpai_scanned_file_new(&scan->rules, entry->name,
                                                                 scan->last_id + ++n_new)))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (err != UDPA_OK) {
        for (size_t i = 0; files && i < n; i++)
            if (!listing->entries.items[i].known)
                udpai_scanned_file_free(files[i]);
        udpai_free(files);
        return err;
    }
    forget_missing(scan, listing);
    udpai_free(scan->files.items);
    scan->files.items = files;
    scan->files.n = scan->files.capacity = n;
    scan->last_id += n_new;
    return UDPA_OK;
}

/* ---- passes ---- */

/* What a change of the directory itself changes. */
struct moment {
    struct timespec modified, changed;
};

static bool
same_moment(const struct moment *a, const struct moment *b)
{
    return a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static udpa_err
look_at_directory(udpai_file_scan *scan,
                  int dir_fd,
                  struct moment *ret_moment,
                  udpa_error **ret_error)
{
    struct stat status;
    if (fstat(dir_fd, &status) < 0)
        return fail_directory(scan, errno, ret_error);
    scan->dev = status.st_dev;
    scan->ino = status.st_ino;
    *ret_moment = (struct moment){status.st_mtim, status.st_ctim};
    return UDPA_OK;
}

/* Is there room now for what was refused before? A later file may have become smaller. */
static bool
may_take_more(const udpai_file_scan *scan)
{
    for (size_t i = 0; i < scan->files.n; i++)
        if (udpai_scanned_file_has_room(scan, scan->files.items[i]))
            return true;
    return false;
}

static udpa_err
pass(udpai_file_scan *scan, bool *ret_again, udpa_error **ret_error)
{
    struct listing listing = {0};
    struct moment before = {0}, after = {0};
    DIR *dir = opendir(scan->rules.root);
    if (!dir)
        return fail_directory(scan, errno, ret_error);
    udpa_err err = look_at_directory(scan, dirfd(dir), &before, ret_error);
    if (err == UDPA_OK)
        err = list(scan, dir, &listing, ret_error);
    if (err == UDPA_OK)
        err = take_listing(scan, &listing, ret_error);
    listing_done(&listing);
    for (size_t i = 0; i < scan->files.n && err == UDPA_OK; i++)
        udpai_scanned_file_look(scan, dirfd(dir), scan->files.items[i]);
    if (err == UDPA_OK)
        err = look_at_directory(scan, dirfd(dir), &after, ret_error);
    closedir(dir);
    *ret_again = !same_moment(&before, &after) || may_take_more(scan);
    return err;
}

void
udpai_file_scan_run(udpai_file_scan *scan)
{
    bool again = true;
    scan->error = udpa_error_unref(scan->error);
    for (int i = 0; i < PASSES_MAX && again && !scan->error; i++) {
        udpa_error *error = NULL;
        if (pass(scan, &again, &error) != UDPA_OK)
            scan->error = error;
    }
}
