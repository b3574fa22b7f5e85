/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file/event_writer.h"

#include <semaphore.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "codec/event_line.h"
#include "loop/clock.h"
#include "loop/inbox.h"
#include "loop/thread.h"
#include "transport/file/rotating_file.h"

#define LOG "sinks"

/* The thread's alone. */
typedef struct kind_file {
    udpai_rotating_file file; /* without a path: there is none */
    uint64_t expected;        /* the number of the next event, if nothing is lost */
    bool has_failed;
    udpai_log_limit log;
} kind_file;

struct udpai_event_writer {
    const udpai_schema *schema;
    kind_file files[UDPAI_EVENT_KINDS];
    /* The thread's alone: of the batch that it writes. */
    udpai_strbuf lines;
    udpai_event_kind kind;
    size_t n_lines, n_written;
    udpa_error *error; /* why these are not the same; NULL: for lack of memory */
    udpai_inbox batches;
    sem_t wake;
    pthread_t thread;
    bool is_running;
};

static size_t
count_lines(udpai_str text)
{
    size_t n = 0;
    const char *end;
    while (text.len && (end = memchr(text.data, '\n', text.len))) {
        n++;
        text = (udpai_str){end + 1, text.len - (size_t)(end + 1 - text.data)};
    }
    return n;
}

/* ---- the thread ---- */

/* Text that there was no memory for may end anywhere. */
static void
take_lines(void *userdata, udpai_strbuf *lines)
{
    udpai_event_writer *self = userdata;
    udpa_error *error = NULL;
    size_t size = 0;
    if (udpai_strbuf_failed(lines)) {
        udpai_strbuf_done(lines);
        *lines = (udpai_strbuf){0};
        return;
    }
    (void)udpai_rotating_file_add(&self->files[self->kind].file, udpai_strbuf_view(lines), &size,
                                  &error);
    self->n_written += count_lines((udpai_str){lines->data, size});
    lines->len = 0;
    if (error) {
        udpa_error_unref(self->error);
        self->error = error;
    }
}

static void
put_event(udpai_event_writer *self, const udpai_event *event)
{
    kind_file *to = &self->files[self->kind];
    const udpai_event_source *source = event->source;
    const udpai_line_consumer consumer = {take_lines, self};
    if (event->sequence != to->expected) {
        udpai_event_gap_put(&self->lines, self->kind, event->sequence - to->expected);
        self->n_lines++;
    }
    to->expected = event->sequence + 1;
    const udpai_event_view view = {
        .kind = self->kind,
        .time_us = event->time_us,
        .node_id = source->node_id,
        .identity = source->identity,
        .name = source->name,
        .message = udpai_bytes_view(event->message),
    };
    self->n_lines += udpai_event_lines_put(&self->lines, self->schema, &view, &consumer);
}

static void
write_failed(udpai_event_writer *self, size_t n_failed)
{
    kind_file *to = &self->files[self->kind];
    unsigned n_suppressed;
    bool has_changed = to->has_failed != (n_failed > 0);
    to->has_failed = n_failed > 0;
    if (n_failed && udpai_log_allow(&to->log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, LOG, "%zu lines are lost: %s (%u more not shown)", n_failed,
                  self->error ? udpa_error_message(self->error) : udpa_err_text(UDPA_ERR_NOMEM),
                  n_suppressed);
    else if (!n_failed && has_changed)
        udpai_log(UDPA_LOG_INFO, LOG, "%s: can be written again", to->file.path);
}

static void
write_batch(udpai_event_writer *self, udpai_event_batch *batch)
{
    udpai_topic *topic = batch->topic;
    self->kind = udpai_topic_kind(topic);
    self->n_lines = self->n_written = 0;
    for (size_t i = 0; i < batch->n; i++)
        put_event(self, batch->events[i]);
    take_lines(self, &self->lines);
    size_t n_failed = self->n_lines - self->n_written;
    write_failed(self, n_failed);
    self->error = udpa_error_unref(self->error);
    udpai_event_batch_free(batch);
    udpai_topic_written(topic, self->n_written, n_failed);
}

static bool
write_all(udpai_event_writer *self)
{
    udpai_list batches, *node;
    udpai_list_init(&batches);
    udpai_inbox_take(&self->batches, &batches);
    bool any = !udpai_list_empty(&batches);
    while ((node = udpai_list_pop(&batches)))
        write_batch(self, UDPAI_LIST_ENTRY(node, udpai_event_batch, node));
    return any;
}

/* What wakes it has brought something, or ends it. */
static void *
write_until_closed(void *argument)
{
    udpai_event_writer *self = argument;
    do
        while (sem_wait(&self->wake) != 0)
            continue;
    while (write_all(self));
    return NULL;
}

/* ---- for others ---- */

static void
wake(void *userdata)
{
    sem_post(&((udpai_event_writer *)userdata)->wake);
}

void
udpai_event_writer_take(void *writer, udpai_event_batch *batch)
{
    udpai_event_writer *self = writer;
    if (!udpai_inbox_push(&self->batches, &batch->node))
        udpai_event_batch_free(batch);
}

static udpa_err
begin_thread(udpai_event_writer *self, udpa_error **ret_error)
{
    int number = udpai_thread_begin(&self->thread, "udpa-sinks", write_until_closed, self);
    if (number != 0)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "cannot begin a thread: %s", strerror(number));
    self->is_running = true;
    return UDPA_OK;
}

static udpa_err
init_files(udpai_event_writer *self, const udpai_event_file *files)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS && err == UDPA_OK; i++) {
        kind_file *to = &self->files[i];
        to->expected = 1;
        to->file.fd = -1;
        if (files[i].path)
            err = udpai_rotating_file_init(
                &to->file, files[i].path,
                files[i].max_bytes ? files[i].max_bytes : UDPAI_EVENT_FILE_BYTES_DEFAULT,
                files[i].max_files ? files[i].max_files : UDPAI_EVENT_FILES_DEFAULT);
    }
    return err;
}

udpa_err
udpai_event_writer_new(udpai_event_writer **ret_writer,
                       const udpai_schema *schema,
                       const udpai_event_file files[UDPAI_EVENT_KINDS],
                       udpa_error **ret_error)
{
    udpai_event_writer *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->schema = schema;
    if (udpai_inbox_init(&self->batches, wake, self) != UDPA_OK) {
        udpai_free(self);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    sem_init(&self->wake, 0, 0);
    udpa_err err = init_files(self, files);
    if (err == UDPA_OK)
        err = begin_thread(self, ret_error);
    if (err == UDPA_OK)
        *ret_writer = self;
    else
        udpai_event_writer_free(self);
    return udpai_fail_code(ret_error, err);
}

udpai_event_writer *
udpai_event_writer_free(udpai_event_writer *self)
{
    if (!self)
        return NULL;
    if (self->is_running) {
        sem_post(&self->wake); /* behind whatever was brought */
        pthread_join(self->thread, NULL);
        write_all(self); /* what came between */
    }
    udpai_inbox_done(&self->batches);
    sem_destroy(&self->wake);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        udpai_rotating_file_done(&self->files[i].file);
    udpai_strbuf_done(&self->lines);
    udpai_free(self);
    return NULL;
}
