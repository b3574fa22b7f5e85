/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/log_file.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "storage/audit_line.h"
#include "store/audit.h"

#define LOG "audit"
/* Longer than any line. */
#define TAIL_BYTES ((off_t)64 << 10)

struct engine {
    udpai_durable_engine base; /* first: the caller holds a pointer to it */
    char *path;
    pthread_t writer;
    /* The writer's alone, once it runs. */
    udpai_log_file file;
    udpai_audit_place last; /* line; `before` is its own hash */
    udpai_strbuf lines;
    udpai_log_limit limit;
    bool has_failed;

    pthread_mutex_t mutex;
    pthread_cond_t wake;
    udpai_list queue; /* of batches */
    bool is_closing, must_reopen;
};

static struct engine *
engine_of(udpai_durable_engine *base)
{
    return UDPAI_CONTAINER_OF(base, struct engine, base);
}

static udpai_durable_batch *
batch_at(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, udpai_durable_batch, node);
}

/* ---- the end of the file ---- */

static udpai_str
last_line(udpai_str text)
{
    udpai_str line = {0}, next;
    while (udpai_str_cut(&text, '\n', &next))
        line = next;
    return line;
}

/* What is no line of an audit begins another one. */
static void
read_last(struct engine *engine)
{
    static char room[TAIL_BYTES];
    int fd = open(engine->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    ssize_t n = size > 0 ? pread(fd, room, sizeof(room), from) : 0;
    if (fd >= 0)
        close(fd);
    udpai_str line = last_line((udpai_str){room, n > 0 ? (size_t)n : 0});
    udpai_audit_hash hash = UDPAI_AUDIT_FIRST_HASH;
    if (!line.len || !udpai_audit_line_read(line, &engine->last) ||
        !udpai_audit_line_hash(line, hash))
        engine->last = (udpai_audit_place){0};
    memcpy(engine->last.before, hash, sizeof(hash));
    snprintf(engine->last.table, sizeof(engine->last.table), "file");
}

/* ---- writing ---- */

static bool
put_batch(struct engine *engine, const udpai_durable_batch *batch, udpai_audit_place *place)
{
    size_t at = 0;
    const udpai_durable_op *op;
    while ((op = udpai_audit_next(batch, &at))) {
        size_t begin = engine->lines.len;
        const udpai_audit_row row = {
            .seq = ++place->seq,
            .at_us = (int64_t)op->number,
            .record = udpai_bytes_view(op->name),
        };
        udpai_audit_line_put(&engine->lines, place->table, &row, place->before);
        const udpai_str line = {engine->lines.data + begin, engine->lines.len - begin};
        if (udpai_strbuf_failed(&engine->lines) || !udpai_audit_line_hash(line, place->before))
            return false;
        udpai_strbuf_putc(&engine->lines, '\n');
    }
    return !udpai_strbuf_failed(&engine->lines);
}

/* All of a group, or nothing of it: a line that was written and is not on the disk is taken for
 * written, and the batch for failed. */
static int
write_group(struct engine *engine, udpai_list *batches)
{
    udpai_audit_place place = engine->last;
    udpai_strbuf_done(&engine->lines);
    UDPAI_LIST_FOREACH (node, batches)
        if (!put_batch(engine, batch_at(node), &place))
            return ENOMEM;
    if (engine->lines.len == 0)
        return 0;
    int number = udpai_log_file_add(&engine->file, engine->lines.data, engine->lines.len);
    if (number)
        return number;
    engine->last = place;
    return !engine->file.is_regular || fdatasync(engine->file.fd) == 0 ? 0 : errno;
}

static void
note_outcome(struct engine *engine, int number)
{
    unsigned n_suppressed;
    char more[UDPAI_LOG_MORE_MAX];
    if (number && udpai_log_allow(&engine->limit, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, LOG,
                  "%s: the audit cannot be written, so publications are rejected: %s%s",
                  engine->path, strerror(number), udpai_log_more(more, n_suppressed));
    if (!number && engine->has_failed)
        udpai_log(UDPA_LOG_WARNING, LOG, "%s: can be written again", engine->path);
    engine->has_failed = number != 0;
}

static void
reopen(struct engine *engine)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_log_file_reopen(&engine->file, &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG, "%s", udpa_error_message(error));
}

/* False: it is time to end. */
static bool
take(struct engine *engine, udpai_list *ret_batches, bool *ret_must_reopen)
{
    udpai_list *node;
    udpai_list_init(ret_batches);
    pthread_mutex_lock(&engine->mutex);
    while (udpai_list_empty(&engine->queue) && !engine->is_closing && !engine->must_reopen)
        pthread_cond_wait(&engine->wake, &engine->mutex);
    while ((node = udpai_list_pop(&engine->queue)))
        udpai_list_append(ret_batches, node);
    *ret_must_reopen = engine->must_reopen;
    engine->must_reopen = false;
    bool is_over = engine->is_closing && udpai_list_empty(ret_batches);
    pthread_mutex_unlock(&engine->mutex);
    return !is_over;
}

static void *
write_until_closed(void *argument)
{
    struct engine *engine = argument;
    udpai_list batches, *node;
    bool must_reopen;
    while (take(engine, &batches, &must_reopen)) {
        if (must_reopen)
            reopen(engine);
        int number = udpai_list_empty(&batches) ? 0 : write_group(engine, &batches);
        note_outcome(engine, number);
        while ((node = udpai_list_pop(&batches))) {
            udpai_durable_batch *batch = batch_at(node);
            batch->result = number ? UDPA_ERR_IO : UDPA_OK;
            udpai_durable_batch_clear(batch);
            engine->base.done(engine->base.userdata, batch);
        }
    }
    return NULL;
}

/* ---- the caller's side ---- */

static udpa_err
load(udpai_durable_engine *base, udpai_durable_load_fn fn, void *userdata, udpa_error **ret_error)
{
    (void)base;
    (void)fn;
    (void)userdata;
    (void)ret_error;
    return UDPA_OK;
}

static void
commit(udpai_durable_engine *base, udpai_durable_batch *batch, uint64_t ticket)
{
    struct engine *engine = engine_of(base);
    batch->ticket = ticket;
    pthread_mutex_lock(&engine->mutex);
    udpai_list_append(&engine->queue, &batch->node);
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
}

static void
engine_free(struct engine *engine)
{
    udpai_log_file_close(&engine->file);
    udpai_strbuf_done(&engine->lines);
    pthread_cond_destroy(&engine->wake);
    pthread_mutex_destroy(&engine->mutex);
    udpai_free(engine->path);
    udpai_free(engine);
}

static void
close_engine(udpai_durable_engine *base)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    engine->is_closing = true;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->writer, NULL);
    engine_free(engine);
}

udpa_err
udpai_audit_file_open(udpai_durable_engine **ret_engine, const char *path, udpa_error **ret_error)
{
    static const udpai_durable_ops ops = {load, commit, close_engine};
    struct engine *engine = udpai_alloc(sizeof(*engine));
    if (!engine)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    engine->base.ops = &ops;
    engine->file.fd = -1;
    udpai_list_init(&engine->queue);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->wake, NULL);
    engine->path = udpai_strdup(path);
    udpa_err err = engine->path ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = udpai_log_file_open(&engine->file, engine->path, ret_error);
    if (err == UDPA_OK)
        read_last(engine);
    int failed = err == UDPA_OK
                     ? udpai_thread_begin(&engine->writer, "udpa-audit", write_until_closed, engine)
                     : 0;
    if (failed)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "cannot start the thread of the audit: %s",
                         strerror(failed));
    if (err != UDPA_OK)
        engine_free(engine);
    else
        *ret_engine = &engine->base;
    return err;
}

void
udpai_audit_file_reopen(udpai_durable_engine *base)
{
    if (!base)
        return;
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    engine->must_reopen = true;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
}
