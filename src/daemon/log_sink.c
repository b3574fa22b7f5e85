/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_sink.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/log_stderr.h"

/* Threads of libraries may log at any time, so the sink stays what it is. */
static struct {
    pthread_mutex_t mutex;
    udpai_log_writer *writer; /* NULL: standard error */
    udpai_log_target target;
    char *text; /* of a target that has taken the place of the first; NULL: it has none, or not */
    udpai_log_encoded encoded; /* of a line on standard error: no memory is needed for one */
} own = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
take_line(const udpai_log_line *line, void *userdata)
{
    struct timespec now;
    (void)userdata;
    pthread_mutex_lock(&own.mutex);
    clock_gettime(CLOCK_REALTIME, &now);
    if (own.writer) {
        udpai_log_writer_add(own.writer, line, &now);
    } else {
        udpai_log_encode(&own.encoded, own.target.format, line, &now);
        udpai_log_stderr_put(&own.encoded);
    }
    pthread_mutex_unlock(&own.mutex);
}

udpa_err
udpai_log_begin(udpa_log_level level, const udpai_log_target *target, udpa_error **ret_error)
{
    own.target = *target;
    udpa_err err = target->file || target->journald
                       ? udpai_log_writer_new(&own.writer, target, ret_error)
                       : UDPA_OK;
    if (err == UDPA_OK)
        udpai_log_set_line_sink(level, take_line, NULL);
    return err;
}

/* ---- another target ---- */

struct udpai_log_next {
    udpai_log_target target;
    udpai_log_writer *writer;
    char *text; /* that the target has; NULL: it has none */
};

static bool
is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool
is_same_target(const udpai_log_target *a, const udpai_log_target *b)
{
    return a->format == b->format && is_same_text(a->file, b->file) &&
           is_same_text(a->journald, b->journald);
}

static udpa_err
copy_text(udpai_log_next *self, const udpai_log_target *target)
{
    const char *text = target->file ? target->file : target->journald;
    self->target = (udpai_log_target){.format = target->format};
    self->text = text ? udpai_strdup(text) : NULL;
    if (target->file)
        self->target.file = self->text;
    else
        self->target.journald = self->text;
    return !text || self->text ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_log_prepare(udpai_log_next **ret_next, const udpai_log_target *target, udpa_error **ret_error)
{
    *ret_next = NULL;
    if (is_same_target(&own.target, target))
        return UDPA_OK;
    udpai_log_next *next = udpai_alloc(sizeof(*next));
    udpa_err err = next ? copy_text(next, target) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && next->text)
        err = udpai_log_writer_new(&next->writer, &next->target, ret_error);
    if (err == UDPA_OK)
        *ret_next = next;
    else
        udpai_log_leave(next);
    return udpai_fail_code(ret_error, err);
}

void
udpai_log_take(udpai_log_next *next)
{
    if (!next)
        return;
    pthread_mutex_lock(&own.mutex);
    const udpai_log_next before = {.writer = own.writer, .text = own.text};
    own.writer = next->writer;
    own.target = next->target;
    own.text = next->text;
    pthread_mutex_unlock(&own.mutex);
    udpai_free(next);
    if (udpai_log_writer_end(before.writer))
        udpai_free(before.text);
}

void
udpai_log_leave(udpai_log_next *next)
{
    if (!next)
        return;
    udpai_log_writer_free(next->writer);
    udpai_free(next->text);
    udpai_free(next);
}

udpa_err
udpai_log_change(const udpai_log_target *target, udpa_error **ret_error)
{
    udpai_log_next *next;
    udpa_err err = udpai_log_prepare(&next, target, ret_error);
    udpai_log_take(next);
    return err;
}

void
udpai_log_reopen(void)
{
    pthread_mutex_lock(&own.mutex);
    if (own.writer)
        udpai_log_writer_reopen(own.writer);
    pthread_mutex_unlock(&own.mutex);
}

void
udpai_log_end(void)
{
    pthread_mutex_lock(&own.mutex);
    udpai_log_writer *writer = UDPAI_TAKE(own.writer);
    char *text = UDPAI_TAKE(own.text);
    own.target = (udpai_log_target){.format = own.target.format};
    pthread_mutex_unlock(&own.mutex);
    if (udpai_log_writer_end(writer))
        udpai_free(text);
}
