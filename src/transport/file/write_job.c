/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/write_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "codec/convert.h"
#include "loop/read_write.h"
#include "model/digest.h"
#include "model/resource.h"

#define FILE_MODE 0640
#define DIRECTORY_MODE 0750
#define RESPONSE "envoy.service.discovery.v3.DiscoveryResponse"

enum { /* field numbers of DiscoveryResponse */
    VERSION = 1,
    RESOURCES = 2,
    TYPE_URL = 4,
};

/* ---- names ---- */

static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

void
udpai_written_name(udpai_str name, char ret_name[UDPAI_WRITTEN_NAME_MAX + 1])
{
    size_t at = 0, room = UDPAI_WRITTEN_NAME_MAX - UDPAI_CONTENT_HASH_HEX - 1, i = 0;
    size_t cut = 0; /* where the hash goes if it is too long */
    for (; i < name.len; i++) {
        char c = name.data[i];
        bool is_itself = is_plain(c) && (i > 0 || c != '.');
        if (at + (is_itself ? 1 : 3) > UDPAI_WRITTEN_NAME_MAX)
            break;
        if (is_itself)
            ret_name[at++] = c;
        else
            at += (size_t)snprintf(ret_name + at, 4, "%%%02X", (unsigned char)c);
        cut = at <= room ? at : cut;
    }
    if (i < name.len) {
        ret_name[cut++] = '~'; /* it occurs in no other name */
        udpai_content_hash_hex(udpai_content_hash_of((udpai_str){0}, name), ret_name + cut);
        at = cut + UDPAI_CONTENT_HASH_HEX;
    }
    ret_name[at] = '\0';
}

const char *
udpai_write_suffix(udpai_format format)
{
    switch (format) {
    case UDPAI_FORMAT_JSON:
    case UDPAI_FORMAT_JSON_PRETTY:
        return ".json";
    case UDPAI_FORMAT_YAML:
        return ".yaml";
    default:
        return ".pb";
    }
}

/* ---- making ---- */

static char *
join(const char *folder, const char *name, const char *suffix)
{
    udpai_strbuf path = {0};
    udpai_strbuf_printf(&path, "%s%s%s%s", folder, *folder ? "/" : "", name, suffix);
    return udpai_strbuf_take(&path);
}

udpai_written_file *
udpai_write_job_add_child(udpai_write_job *job,
                          const char *folder,
                          udpai_str name,
                          const char *type_url)
{
    char written[UDPAI_WRITTEN_NAME_MAX + 1];
    udpai_written_name(name, written);
    udpai_written_file file = {.path = join(folder, written, udpai_write_suffix(job->format)),
                               .type_url = type_url};
    if (file.path && udpai_vector_push(&job->children, file))
        return &job->children.items[job->children.n - 1];
    udpai_free(file.path);
    return NULL;
}

udpai_written_file *
udpai_write_job_add_parent(udpai_write_job *job, const char *name, const char *type_url)
{
    udpai_written_file file = {.path = join("", name, udpai_write_suffix(job->format)),
                               .type_url = type_url};
    if (file.path && udpai_vector_push(&job->parents, file))
        return &job->parents.items[job->parents.n - 1];
    udpai_free(file.path);
    return NULL;
}

bool
udpai_written_file_add(udpai_written_file *file, udpa_resource *resource)
{
    if (!udpai_vector_push(&file->resources, resource))
        return false;
    udpa_resource_ref(resource);
    return true;
}

static void
free_file(udpai_written_file *file)
{
    for (size_t i = 0; i < file->resources.n; i++)
        udpa_resource_unref(file->resources.items[i]);
    udpai_vector_done(&file->resources);
    udpai_free(file->path);
}

void
udpai_write_job_done(udpai_write_job *job)
{
    for (size_t i = 0; i < job->children.n; i++)
        free_file(&job->children.items[i]);
    for (size_t i = 0; i < job->parents.n; i++)
        free_file(&job->parents.items[i]);
    udpai_vector_done(&job->children);
    udpai_vector_done(&job->parents);
    udpai_vector_done(&job->folders);
    udpa_error_unref(job->error);
}

/* ---- contents ---- */

/* Of the contents, so that it stays the same over restarts and replicas. */
static void
make_version(const udpai_written_file *file, char version[UDPAI_CONTENT_HASH_HEX])
{
    udpai_set_hash set = {0};
    for (size_t i = 0; i < file->resources.n; i++) {
        const udpa_resource *resource = file->resources.items[i];
        udpai_set_hash_add(&set, udpai_resource_name(resource),
                           udpai_content_hash_of(udpai_resource_type_url(resource),
                                                 udpai_resource_value(resource)));
    }
    udpai_content_hash_hex((udpai_content_hash){set.high, set.low}, version);
}

static void
put_response(udpai_proto_writer *writer, const udpai_written_file *file)
{
    char version[UDPAI_CONTENT_HASH_HEX];
    make_version(file, version);
    udpai_proto_put_bytes(writer, VERSION, (udpai_str){version, sizeof(version)});
    for (size_t i = 0; i < file->resources.n; i++)
        udpai_resource_put_any(writer, RESOURCES, file->resources.items[i]);
    udpai_proto_put_bytes(writer, TYPE_URL, udpai_str_from(file->type_url));
}

/* Text leaves out what descriptors do not know, and a client must not be sent half of it. */
static udpa_err
check_text(const udpai_write_job *job, const udpai_written_file *file, udpa_error **ret_error)
{
    const udpai_validation validation = {
        .checks = UDPAI_CHECK_UNKNOWN_FIELDS,
        .refuse_unknown_types = true,
        .refuse_unknown_packed = true,
    };
    for (size_t i = 0; i < file->resources.n; i++) {
        const udpa_resource *resource = file->resources.items[i];
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpa_err err = udpai_validate_first(job->validator, udpai_resource_type_url(resource),
                                            udpai_resource_value(resource), &validation, &error);
        if (err != UDPA_OK)
            return udpai_fail(ret_error, err,
                              "%s/%s: '%s' cannot be written as text, let the format be BINARY: %s",
                              job->directory, file->path, udpa_resource_name(resource),
                              udpa_error_message(error));
    }
    return UDPA_OK;
}

static udpa_err
write_text(const udpai_write_job *job,
           const udpai_written_file *file,
           udpai_strbuf *response,
           udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = check_text(job, file, ret_error);
    if (err == UDPA_OK)
        err = udpai_convert_from_binary(job->schema, UDPAI_STR(RESPONSE),
                                        udpai_strbuf_view(response), job->format, &text, ret_error);
    response->len = 0;
    if (err == UDPA_OK)
        udpai_strbuf_puts(response, text);
    return err == UDPA_OK && udpai_strbuf_failed(response)
               ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM)
               : err;
}

static udpa_err
compose(const udpai_write_job *job,
        const udpai_written_file *file,
        udpai_strbuf *out,
        udpa_error **ret_error)
{
    udpai_proto_writer size = {0};
    put_response(&size, file);
    void *room = udpai_strbuf_extend(out, size.size);
    if (!room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_proto_writer writer = {room, 0};
    put_response(&writer, file);
    return job->format == UDPAI_FORMAT_BINARY ? UDPA_OK : write_text(job, file, out, ret_error);
}

/* ---- files ---- */

static udpa_err
fail_path(const udpai_write_job *job, const char *path, const char *what, udpa_error **ret_error)
{
    char reason[128];
    return udpai_fail(ret_error, UDPA_ERR_IO, "%s/%s: %s: %s", job->directory, path, what,
                      strerror_r(errno, reason, sizeof(reason)));
}

/* Does the file hold just this? */
static bool
holds(int directory, const char *path, udpai_str contents)
{
    char room[16384];
    size_t at = 0;
    ssize_t n = -1;
    struct stat status;
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool same = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                (uint64_t)status.st_size == contents.len;
    while (same && (n = read(fd, room, sizeof(room))) > 0) {
        same = (size_t)n <= contents.len - at && memcmp(room, contents.data + at, (size_t)n) == 0;
        at += (size_t)n;
    }
    close(fd);
    return same && n == 0 && at == contents.len;
}

/* Hidden, so that nobody takes it for a file of ours. */
static char *
temporary_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    udpai_strbuf text = {0};
    if (slash)
        udpai_strbuf_append(&text, path, (size_t)(slash + 1 - path));
    udpai_strbuf_printf(&text, ".%s.tmp", slash ? slash + 1 : path);
    return udpai_strbuf_take(&text);
}

static udpa_err
put_in_place(const udpai_write_job *job,
             int directory,
             const char *path,
             udpai_str contents,
             udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *temporary = temporary_path(path);
    if (!temporary)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    (void)unlinkat(directory, temporary, 0); /* of a program that was killed */
    int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    FILE_MODE);
    if (fd < 0)
        return fail_path(job, path, "cannot be written", ret_error);
    /* after a loss of power the name must not be that of an empty file */
    bool is_good = udpai_write_all(fd, contents) && fsync(fd) == 0;
    int number = errno;
    is_good = close(fd) == 0 && is_good;
    if (is_good && renameat(directory, temporary, directory, path) == 0)
        return UDPA_OK;
    errno = is_good ? errno : number;
    udpa_err err = fail_path(job, path, "cannot be written", ret_error);
    (void)unlinkat(directory, temporary, 0);
    return err;
}

static udpa_err
write_file(udpai_write_job *job,
           int directory,
           const udpai_written_file *file,
           udpa_error **ret_error)
{
    udpai_strbuf contents = {0};
    if (file->if_absent && faccessat(directory, file->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return UDPA_OK;
    udpa_err err = compose(job, file, &contents, ret_error);
    if (err == UDPA_OK && !holds(directory, file->path, udpai_strbuf_view(&contents))) {
        err = put_in_place(job, directory, file->path, udpai_strbuf_view(&contents), ret_error);
        job->n_written += err == UDPA_OK;
    }
    udpai_strbuf_done(&contents);
    return err;
}

/* ---- what is not there any more ---- */

static udpai_str
file_key(const void *item)
{
    return udpai_str_from(((const udpai_written_file *)item)->path);
}

static bool
is_ours(const char *name, const char *suffix)
{
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return name[0] != '.' && len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static udpa_err
sweep_entry(udpai_write_job *job, int directory, const char *path, const udpai_map *children)
{
    if (udpai_map_get(children, udpai_str_from(path)))
        return UDPA_OK;
    if (unlinkat(directory, path, 0) < 0 && errno != ENOENT)
        return fail_path(job, path, "cannot be removed", &job->error);
    job->n_removed++;
    return UDPA_OK;
}

static udpa_err
sweep(udpai_write_job *job, int directory, const char *folder, const udpai_map *children)
{
    udpa_err err = UDPA_OK;
    int fd = openat(directory, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    if (!entries) {
        err = fail_path(job, folder, "cannot be read", &job->error);
        if (fd >= 0)
            close(fd);
        return err;
    }
    const struct dirent *entry;
    while (err == UDPA_OK && (entry = readdir(entries))) {
        if (!is_ours(entry->d_name, udpai_write_suffix(job->format)))
            continue;
        UDPAI_AUTO_FREE char *path = join(folder, entry->d_name, "");
        err = path ? sweep_entry(job, directory, path, children)
                   : udpai_fail_code(&job->error, UDPA_ERR_NOMEM);
    }
    closedir(entries);
    return err;
}

static udpa_err
sweep_all(udpai_write_job *job, int directory)
{
    udpai_map children;
    udpai_map_init(&children, file_key);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < job->children.n && err == UDPA_OK; i++) {
        udpai_written_file *file = &job->children.items[i];
        if (!udpai_map_get(&children, file_key(file)) && !udpai_map_add(&children, file))
            err = udpai_fail_code(&job->error, UDPA_ERR_NOMEM);
    }
    for (size_t i = 0; i < job->folders.n && err == UDPA_OK; i++)
        err = sweep(job, directory, job->folders.items[i], &children);
    udpai_map_done(&children);
    return err;
}

/* ---- all of it ---- */

static udpa_err
make_folders(udpai_write_job *job, int directory)
{
    for (size_t i = 0; i < job->folders.n; i++)
        if (mkdirat(directory, job->folders.items[i], DIRECTORY_MODE) < 0 && errno != EEXIST)
            return fail_path(job, job->folders.items[i], "cannot be made", &job->error);
    return UDPA_OK;
}

/* What cannot be text keeps its own file as it was, and no other one. */
static udpa_err
write_children(udpai_write_job *job, int directory)
{
    udpa_err first = UDPA_OK, err = UDPA_OK;
    for (size_t i = 0; i < job->children.n && err != UDPA_ERR_IO && err != UDPA_ERR_NOMEM; i++) {
        udpa_error *error = NULL;
        err = write_file(job, directory, &job->children.items[i], &error);
        first = first == UDPA_OK ? err : first;
        if (job->error)
            udpa_error_unref(error);
        else
            job->error = error;
    }
    return first;
}

static udpa_err
write_files(udpai_write_job *job, int directory)
{
    udpa_err err = make_folders(job, directory);
    if (err == UDPA_OK)
        err = write_children(job, directory);
    if (err != UDPA_OK || !job->has_parents)
        return err;
    for (size_t i = 0; i < job->parents.n && err == UDPA_OK; i++)
        err = write_file(job, directory, &job->parents.items[i], &job->error);
    return err == UDPA_OK ? sweep_all(job, directory) : err;
}

void
udpai_write_job_run(udpai_write_job *job)
{
    (void)mkdir(job->directory, DIRECTORY_MODE);
    int directory = open(job->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        (void)fail_path(job, "", "cannot be opened", &job->error);
        return;
    }
    if (write_files(job, directory) == UDPA_OK && (job->n_written || job->n_removed))
        (void)fsync(directory);
    close(directory);
}
