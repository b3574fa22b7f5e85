/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the store's engine share: a directory of their own, an engine whose reports are
 * collected, resources, and a look into the files. */
#ifndef UDPAI_TESTS_STORAGE_TEST_H
#define UDPAI_TESTS_STORAGE_TEST_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "model/types.h"
#include "storage/sqlite.h"
#include "tests/harness/test.h"

#define TYPE_CLUSTER "type.googleapis.com/envoy.config.cluster.v3.Cluster"
#define TYPE_SECRET UDPAI_TYPE_SECRET
#define REPORTS_MAX 512

/* Tickets in the order they were reported, from the writer's thread. */
struct reports {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t tickets[REPORTS_MAX];
    udpa_err results[REPORTS_MAX];
    size_t n;
    bool hold; /* the writer waits in its report until it is let go */
};

struct fixture {
    char directory[64];
    struct reports reports;
    udpai_sqlite_options options;
    udpai_durable_engine *engine;
    uint64_t next_ticket;
    udpai_sealer sealer;
};

static inline void
on_done(void *userdata, udpai_durable_batch *batch)
{
    struct reports *reports = userdata;
    pthread_mutex_lock(&reports->mutex);
    if (reports->n < REPORTS_MAX) {
        reports->tickets[reports->n] = batch->ticket;
        reports->results[reports->n++] = batch->result;
    }
    udpai_durable_batch_free(batch);
    pthread_cond_broadcast(&reports->changed);
    while (reports->hold)
        pthread_cond_wait(&reports->changed, &reports->mutex);
    pthread_mutex_unlock(&reports->mutex);
}

static inline void
set_hold(struct fixture *fixture, bool hold)
{
    pthread_mutex_lock(&fixture->reports.mutex);
    fixture->reports.hold = hold;
    pthread_cond_broadcast(&fixture->reports.changed);
    pthread_mutex_unlock(&fixture->reports.mutex);
}

/* For the next one that is opened; NULL: none. */
static inline void
use_key(struct fixture *fixture, const uint8_t *key)
{
    assert_ok(udpai_sealer_init(&fixture->sealer, key, NULL));
    fixture->options.sealer = &fixture->sealer;
}

/* Until so many tickets were reported since the fixture was made. */
static inline void
wait_for(struct fixture *fixture, size_t n)
{
    pthread_mutex_lock(&fixture->reports.mutex);
    while (fixture->reports.n < n)
        pthread_cond_wait(&fixture->reports.changed, &fixture->reports.mutex);
    pthread_mutex_unlock(&fixture->reports.mutex);
}

static inline int
set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/udpa-storage-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    pthread_mutex_init(&fixture->reports.mutex, NULL);
    pthread_cond_init(&fixture->reports.changed, NULL);
    fixture->options = (udpai_sqlite_options){
        .directory = fixture->directory,
        .done = on_done,
        .userdata = &fixture->reports,
    };
    *state = fixture;
    return 0;
}

static inline int
remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void
close_engine(struct fixture *fixture)
{
    if (fixture->engine)
        fixture->engine->ops->close(fixture->engine);
    fixture->engine = NULL;
}

static inline int
tear_down(void **state)
{
    struct fixture *fixture = *state;
    set_hold(fixture, false);
    close_engine(fixture);
    nftw(fixture->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    pthread_cond_destroy(&fixture->reports.changed);
    pthread_mutex_destroy(&fixture->reports.mutex);
    free(fixture);
    return 0;
}

static inline void
open_engine(struct fixture *fixture)
{
    udpa_error *error = NULL;
    udpa_err err = udpai_sqlite_open(&fixture->engine, &fixture->options, &error);
    if (err != UDPA_OK)
        fail_msg("cannot open: %s", udpa_error_message(error));
}

/* Opening must fail with this code, and the message must have these words. */
static inline void
assert_open_fails(struct fixture *fixture, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_durable_engine *engine = NULL;
    assert_int_equal(udpai_sqlite_open(&engine, &fixture->options, &error), code);
    assert_null(engine);
    assert_non_null(error);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

/* ---- resources and batches ---- */

static inline udpa_resource *
make_resource(const char *type_url, const char *name, const void *payload, size_t size)
{
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    spec.name = name;
    spec.type_url = type_url;
    spec.payload = payload;
    spec.payload_size = size;
    udpa_resource *resource = NULL;
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static inline udpa_bytes *
bytes_of(const char *text)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, text, strlen(text)));
    return bytes;
}

static inline void
add_op(udpai_durable_batch *batch, const udpai_durable_op *op)
{
    assert_ok(udpai_durable_batch_add(batch, op));
}

static inline void
add_put(udpai_durable_batch *batch, const char *origin, udpa_resource *resource, int64_t expires_us)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of(origin);
    add_op(batch, &(udpai_durable_op){
                      .kind = UDPAI_DURABLE_PUT,
                      .origin = key,
                      .resource = resource,
                      .expires_us = expires_us,
                  });
}

/* Any other op; what it does not need is NULL. */
static inline void
add_other(udpai_durable_batch *batch,
          udpai_durable_kind kind,
          const char *origin,
          const char *type_url,
          const char *name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of(origin);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *type = type_url ? udpai_bytes_cstring(udpai_str_from(type_url)) : NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *text = name ? bytes_of(name) : NULL;
    add_op(batch, &(udpai_durable_op){.kind = kind, .origin = key, .type = type, .name = text});
}

static inline udpai_durable_batch *
new_batch(void)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    assert_non_null(batch);
    return batch;
}

/* Begins to commit under the next ticket. */
static inline uint64_t
commit(struct fixture *fixture, udpai_durable_batch *batch)
{
    uint64_t ticket = ++fixture->next_ticket;
    fixture->engine->ops->commit(fixture->engine, batch, ticket);
    return ticket;
}

static inline void
commit_put(struct fixture *fixture, const char *type_url, const char *name, const char *payload)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(type_url, name, payload, strlen(payload));
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, 0);
    commit(fixture, batch);
}

static inline void
assert_last_report(struct fixture *fixture, udpa_err result)
{
    wait_for(fixture, fixture->next_ticket);
    assert_int_equal(fixture->reports.tickets[fixture->next_ticket - 1], fixture->next_ticket);
    assert_int_equal(fixture->reports.results[fixture->next_ticket - 1], result);
}

/* ---- what was kept ---- */

struct loaded {
    udpai_durable_batch *ops; /* all but the first, which says … */
    char epoch[UDPAI_EPOCH_MAX + 1];
    uint64_t number;
    bool is_whole;
};

static inline udpa_err
on_load(void *userdata, const udpai_durable_op *op)
{
    struct loaded *loaded = userdata;
    if (op->kind != UDPAI_DURABLE_EPOCH)
        return udpai_durable_batch_add(loaded->ops, op);
    udpai_str epoch = udpai_bytes_view(op->name);
    assert_int_equal(loaded->ops->ops.n, 0);
    assert_in_range(epoch.len, 1, UDPAI_EPOCH_MAX);
    memcpy(loaded->epoch, epoch.data, epoch.len);
    loaded->number = op->number;
    loaded->is_whole = op->is_whole;
    return UDPA_OK;
}

static inline struct loaded
load_all(struct fixture *fixture)
{
    struct loaded loaded = {.ops = new_batch()};
    udpa_error *error = NULL;
    udpa_err err = fixture->engine->ops->load(fixture->engine, on_load, &loaded, &error);
    if (err != UDPA_OK)
        fail_msg("cannot load: %s", udpa_error_message(error));
    return loaded;
}

static inline void
loaded_done(struct loaded *loaded)
{
    loaded->ops = udpai_durable_batch_free(loaded->ops);
}

/* The first op of this kind for this name (of a mark: prefix), or NULL. */
static inline const udpai_durable_op *
find_loaded(const struct loaded *loaded, udpai_durable_kind kind, const char *name)
{
    udpai_str wanted = udpai_str_from(name);
    for (size_t i = 0; i < loaded->ops->ops.n; i++) {
        const udpai_durable_op *op = &loaded->ops->ops.items[i];
        if (op->kind == kind &&
            udpai_str_eq(kind == UDPAI_DURABLE_PUT ? udpai_resource_name(op->resource)
                                                   : udpai_bytes_view(op->name),
                         wanted))
            return op;
    }
    return NULL;
}

static inline const char *
path_in(const struct fixture *fixture, const char *file, char path[128])
{
    snprintf(path, 128, "%s/%s", fixture->directory, file);
    return path;
}

static inline void
copy_file(const struct fixture *fixture, const char *from, const char *to)
{
    char from_path[128], to_path[128];
    uint8_t bytes[4096];
    size_t n;
    FILE *in = fopen(path_in(fixture, from, from_path), "rb");
    FILE *out = fopen(path_in(fixture, to, to_path), "wb");
    assert_true(in && out);
    while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(in) | fclose(out), 0);
}

/* A file's bytes; to be released with udpai_strbuf_done(). */
static inline udpai_strbuf
read_whole(const char *path)
{
    udpai_strbuf buffer = {0};
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "rbe");
    assert_non_null(file);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        udpai_strbuf_append(&buffer, part, n);
    fclose(file);
    assert_false(udpai_strbuf_failed(&buffer));
    return buffer;
}

/* In how many files of the directory do these bytes stand? */
static inline unsigned
files_with(const struct fixture *fixture, const char *text)
{
    unsigned n = 0;
    struct dirent *entry;
    DIR *directory = opendir(fixture->directory);
    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        char path[128 + sizeof(entry->d_name)];
        snprintf(path, sizeof(path), "%s/%s", fixture->directory, entry->d_name);
        if (entry->d_type != DT_REG)
            continue;
        udpai_strbuf content = read_whole(path);
        n += content.len && memmem(content.data, content.len, text, strlen(text)) != NULL;
        udpai_strbuf_done(&content);
    }
    closedir(directory);
    return n;
}

#endif
