/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/log_file.h"
#include "daemon/log_journald.h"
#include "daemon/log_queue.h"
#include "daemon/log_stderr.h"
#include "loop/clock.h"
#include "loop/thread.h"

#define LOG "log"
/* How long its end is waited for: a disk that hangs must not keep the process from ending. */
#define END_PATIENCE_S 5
#define NOTICE_MAX 1024

struct udpai_log_writer {
    udpai_log_queue *queue;
    udpai_log_target target;
    pthread_t thread;
    bool is_running;
    /* The thread's alone, once it runs. */
    udpai_log_file file;
    udpai_journald journald;
    bool has_failed;    /* the last line was not taken */
    uint64_t n_missing; /* lines since then */
    udpai_log_limit notices;
    udpai_log_encoded encoded;
};

/* ---- one line ---- */

static int
send_line(udpai_log_writer *self, const udpai_log_line *line, const struct timespec *when)
{
    bool is_file = self->target.file != NULL;
    udpai_log_encode(&self->encoded, is_file ? self->target.format : UDPAI_LOG_JOURNAL, line, when);
    return is_file ? udpai_log_file_add(&self->file, self->encoded.data, self->encoded.len)
                   : udpai_journald_send(&self->journald, self->encoded.data, self->encoded.len,
                                         !self->has_failed);
}

static void
put_on_stderr(udpai_log_writer *self, const udpai_log_line *line, const struct timespec *when)
{
    udpai_log_encode(&self->encoded, self->target.format, line, when);
    udpai_log_stderr_put(&self->encoded);
}

/* A line of the log about the log, of now. */
typedef struct notice {
    udpai_log_line line;
    struct timespec when;
    char message[NOTICE_MAX];
} notice;

static void UDPA_PRINTF(3, 4)
    make_notice(notice *self, udpa_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(self->message, sizeof(self->message), format, arguments);
    va_end(arguments);
    clock_gettime(CLOCK_REALTIME, &self->when);
    self->line = (udpai_log_line){.level = level, .component = LOG, .message = self->message};
}

static const char *
name_of(const udpai_log_writer *self)
{
    return self->target.file ? self->target.file : self->target.journald;
}

static void
report_failure(udpai_log_writer *self, int number)
{
    notice about;
    unsigned n_suppressed;
    char more[UDPAI_LOG_MORE_MAX];
    if (!udpai_log_allow(&self->notices, udpai_monotonic_ms(), &n_suppressed))
        return;
    make_notice(&about, UDPA_LOG_ERROR,
                self->target.file
                    ? "%s: cannot be written, so lines of the log are lost: %s%s"
                    : "%s: journald takes no lines, so they go to standard error: %s%s",
                name_of(self), strerror(number), udpai_log_more(more, n_suppressed));
    put_on_stderr(self, &about.line, &about.when);
}

/* What is not sent to journald is not lost. */
static void
miss(udpai_log_writer *self, const udpai_log_line *line, const struct timespec *when, int number)
{
    if (!self->has_failed)
        report_failure(self, number);
    self->has_failed = true;
    self->n_missing++;
    if (!self->target.file)
        put_on_stderr(self, line, when);
}

/* Before the first line that is taken again. */
static int
report_return(udpai_log_writer *self)
{
    notice about;
    make_notice(&about, UDPA_LOG_WARNING,
                self->target.file
                    ? "%s: can be written again; %" PRIu64 " lines of the log were lost"
                    : "%s: journald takes lines again; %" PRIu64 " have gone to standard error",
                name_of(self), self->n_missing);
    int number = send_line(self, &about.line, &about.when);
    if (number)
        return number;
    self->has_failed = false;
    self->n_missing = 0;
    return 0;
}

static void
deliver(udpai_log_writer *self, const udpai_log_line *line, const struct timespec *when)
{
    int number = self->has_failed ? report_return(self) : 0;
    if (!number)
        number = send_line(self, line, when);
    if (number)
        miss(self, line, when, number);
}

/* ---- the thread ---- */

static void
report_lost(udpai_log_writer *self, uint64_t n_lost)
{
    notice about;
    make_notice(&about, UDPA_LOG_WARNING,
                "%s: %" PRIu64 " lines of the log were lost: they came faster than they can be "
                "written",
                name_of(self), n_lost);
    deliver(self, &about.line, &about.when);
}

static void
reopen(udpai_log_writer *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    notice about;
    if (!self->target.file || udpai_log_file_reopen(&self->file, &error) == UDPA_OK)
        return;
    make_notice(&about, UDPA_LOG_ERROR, "SIGUSR1: the log stays in the file of before: %s",
                error ? udpa_error_message(error) : udpa_err_text(UDPA_ERR_NOMEM));
    put_on_stderr(self, &about.line, &about.when);
    deliver(self, &about.line, &about.when);
}

static void *
run(void *userdata)
{
    udpai_log_writer *self = userdata;
    udpai_queued_line queued;
    unsigned woken = 0;
    while (!(woken & UDPAI_LOG_WOKEN_END)) {
        uint64_t n_lost;
        woken = udpai_log_queue_wait(self->queue, &n_lost);
        if (woken & UDPAI_LOG_WOKEN_REOPEN)
            reopen(self);
        while (udpai_log_queue_next(self->queue, &queued))
            deliver(self, &queued.line, &queued.when);
        if (n_lost)
            report_lost(self, n_lost);
    }
    return NULL;
}

/* ---- life ---- */

static udpa_err
open_target(udpai_log_writer *self, udpa_error **ret_error)
{
    return self->target.file
               ? udpai_log_file_open(&self->file, self->target.file, ret_error)
               : udpai_journald_open(&self->journald, self->target.journald, ret_error);
}

udpa_err
udpai_log_writer_new(udpai_log_writer **ret_writer,
                     const udpai_log_target *target,
                     udpa_error **ret_error)
{
    udpai_log_writer *writer = udpai_alloc(sizeof(*writer));
    if (!writer)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    writer->target = *target;
    writer->file.fd = writer->journald.fd = -1;
    udpa_err err = udpai_fail_code(ret_error, udpai_log_queue_new(&writer->queue));
    if (err == UDPA_OK)
        err = open_target(writer, ret_error);
    if (err == UDPA_OK) {
        int number = udpai_thread_begin(&writer->thread, "udpa-log", run, writer);
        writer->is_running = number == 0;
        if (number)
            err = udpai_fail(ret_error, UDPA_ERR_IO, "cannot begin the thread of the log: %s",
                             strerror(number));
    }
    if (err != UDPA_OK)
        udpai_log_writer_free(writer);
    else
        *ret_writer = writer;
    return err;
}

/* False: it hangs, and still uses what it has. */
static bool
has_ended(udpai_log_writer *writer)
{
    struct timespec until;
    if (!writer->is_running)
        return true;
    udpai_log_queue_end(writer->queue);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_PATIENCE_S;
    return pthread_timedjoin_np(writer->thread, NULL, &until) == 0;
}

static void
report_end(udpai_log_writer *self)
{
    notice about;
    if (!self->target.file || !self->n_missing)
        return;
    make_notice(&about, UDPA_LOG_ERROR, "%s: %" PRIu64 " lines of the log were lost", name_of(self),
                self->n_missing);
    put_on_stderr(self, &about.line, &about.when);
}

bool
udpai_log_writer_end(udpai_log_writer *writer)
{
    if (!writer)
        return true;
    if (!has_ended(writer))
        return false;
    report_end(writer);
    udpai_log_file_close(&writer->file);
    udpai_journald_close(&writer->journald);
    udpai_log_queue_free(writer->queue);
    udpai_free(writer);
    return true;
}

udpai_log_writer *
udpai_log_writer_free(udpai_log_writer *writer)
{
    (void)udpai_log_writer_end(writer);
    return NULL;
}

void
udpai_log_writer_add(udpai_log_writer *writer,
                     const udpai_log_line *line,
                     const struct timespec *when)
{
    udpai_log_queue_add(writer->queue, line, when);
}

void
udpai_log_writer_reopen(udpai_log_writer *writer)
{
    udpai_log_queue_ask_reopen(writer->queue);
}
