/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_output.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/log_file.h"
#include "daemon/log_journald.h"
#include "loop/clock.h"
#include "loop/thread.h"
#include "storage/audit_line.h"
#include "storage/small_file.h"

#define LOG "audit"
#define LOOK_S 1
#define END_PATIENCE_S 5
/* Records between two notes of how far an output is. */
#define AT_ONCE 4096
#define OUTPUTS 2

/* A file or journald; the thread's alone. */
typedef struct output {
    bool is_on, is_file, has_failed;
    const char *name;          /* for people */
    const char *position_name; /* of the small file */
    udpai_log_file file;
    udpai_journald journald;
    udpai_audit_place last; /* line: its number, its table, and its own hash */
    size_t n_taken;         /* since the position was noted */
    uint64_t n_lost;
    int number; /* why the last attempt has failed */
    udpai_log_limit limit;
} output;

struct udpai_audit_outputs {
    char *file_name; /* that the file refers to; NULL: there is none */
    bool has_journald;
    udpai_log_file file;
    udpai_journald journald;
};

struct udpai_audit_output {
    char *directory, *file_name;
    udpai_audit_outputs *next; /* under the mutex; NULL: there are no others */
    udpai_audit_table *table;
    output outputs[OUTPUTS];
    udpai_strbuf line, record;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool is_ending, must_reopen, has_ended; /* under the mutex, as what follows */
    udpai_audit_output_facts facts;
};

/* ---- how far it is ---- */

/* TABLE NUMBER HASH */
static void
read_position(const udpai_audit_output *self, output *to)
{
    char text[UDPAI_SMALL_FILE_MAX + 1];
    char table[UDPAI_AUDIT_ID_MAX] = "";
    udpai_audit_hash hash = "";
    int64_t seq = 0;
    bool is_known = udpai_small_file_read(self->directory, to->position_name, text) > 0 &&
                    sscanf(text, "%31s %" SCNd64 " %64s", table, &seq, hash) == 3 &&
                    strlen(hash) == UDPAI_AUDIT_HASH_LEN && seq >= 0;
    const char *id = udpai_audit_table_id(self->table);
    to->last.seq = is_known && strcmp(table, id) == 0 ? seq : 0;
    snprintf(to->last.table, sizeof(to->last.table), "%s", id);
    snprintf(to->last.before, sizeof(to->last.before), "%s",
             is_known ? hash : UDPAI_AUDIT_FIRST_HASH);
}

/* Without it lines come twice after the next start. */
static void
note_position(const udpai_audit_output *self, output *to)
{
    char text[UDPAI_SMALL_FILE_MAX + 1];
    if (to->n_taken == 0)
        return;
    if (to->is_file && to->file.is_regular)
        (void)fdatasync(to->file.fd);
    int len = snprintf(text, sizeof(text), "%s %" PRId64 " %s\n", to->last.table, to->last.seq,
                       to->last.before);
    if (!udpai_small_file_write(self->directory, to->position_name,
                                (udpai_str){text, (size_t)len}) &&
        !to->has_failed)
        udpai_log(UDPA_LOG_WARNING, LOG, "cannot note in %s how far %s is: %s", self->directory,
                  to->name, strerror(errno));
    to->n_taken = 0;
}

/* ---- a line ---- */

static int
send_to_journald(udpai_audit_output *self, output *to)
{
    self->record.len = 0;
    udpai_strbuf_puts(&self->record, "MESSAGE=");
    udpai_strbuf_str(&self->record, udpai_strbuf_view(&self->line));
    udpai_strbuf_puts(&self->record, "\nPRIORITY=5\nSYSLOG_IDENTIFIER=udpad-audit\n");
    return udpai_strbuf_failed(&self->record)
               ? ENOMEM
               : udpai_journald_send(&to->journald, self->record.data, self->record.len,
                                     !to->has_failed);
}

static int
add_to_file(udpai_audit_output *self, output *to)
{
    udpai_strbuf_putc(&self->line, '\n');
    int number = udpai_strbuf_failed(&self->line)
                     ? ENOMEM
                     : udpai_log_file_add(&to->file, self->line.data, self->line.len);
    self->line.len--;
    return number;
}

struct writing {
    udpai_audit_output *self;
    output *to;
    size_t n;
};

static void
note_gap(output *to, int64_t seq)
{
    uint64_t n = (uint64_t)(seq - to->last.seq - 1);
    to->n_lost += n;
    udpai_log(UDPA_LOG_ERROR, LOG,
              "%s lacks %" PRIu64 " records: audit.max_bytes has deleted them before they could "
              "be written",
              to->name, n);
}

static bool
write_row(void *userdata, const udpai_audit_row *row)
{
    struct writing *writing = userdata;
    udpai_audit_output *self = writing->self;
    output *to = writing->to;
    udpai_audit_hash hash;
    self->line.len = 0;
    udpai_audit_line_put(&self->line, to->last.table, row, to->last.before);
    to->number = to->is_file ? add_to_file(self, to) : send_to_journald(self, to);
    if (to->number == 0 && !udpai_audit_line_hash(udpai_strbuf_view(&self->line), hash))
        to->number = ENOMEM;
    if (to->number)
        return false;
    if (row->seq > to->last.seq + 1 && to->last.seq)
        note_gap(to, row->seq);
    to->last.seq = row->seq;
    memcpy(to->last.before, hash, sizeof(hash));
    to->n_taken++;
    return ++writing->n < AT_ONCE;
}

/* ---- an output ---- */

static void
log_failure(output *to, const char *why)
{
    unsigned n_suppressed;
    char more[UDPAI_LOG_MORE_MAX];
    if (to->has_failed || !udpai_log_allow(&to->limit, udpai_monotonic_ms(), &n_suppressed))
        return;
    udpai_log(UDPA_LOG_ERROR, LOG,
              "%s: records of the audit cannot be written, and wait in the database: %s%s",
              to->name, why, udpai_log_more(more, n_suppressed));
}

static void
note_outcome(output *to, const udpa_error *error)
{
    bool is_good = !error && to->number == 0;
    if (!is_good)
        log_failure(to, error ? udpa_error_message(error) : strerror(to->number));
    else if (to->has_failed)
        udpai_log(UDPA_LOG_WARNING, LOG, "%s: can be written again", to->name);
    to->has_failed = !is_good;
}

static void
count(udpai_audit_output *self, const output *to, uint64_t n, uint64_t n_behind)
{
    pthread_mutex_lock(&self->mutex);
    udpai_audit_output_facts *facts = &self->facts;
    facts->n_written += n;
    facts->n_failed += to->has_failed;
    facts->n_behind = facts->n_behind > n_behind ? facts->n_behind : n_behind;
    facts->n_lost = self->outputs[0].n_lost + self->outputs[1].n_lost;
    pthread_mutex_unlock(&self->mutex);
}

/* False: there is nothing more to do now. */
static bool
follow_one(udpai_audit_output *self, output *to)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    struct writing writing = {self, to, 0};
    int64_t last = 0;
    to->number = 0;
    udpa_err err = udpai_audit_table_read(self->table, to->last.seq, write_row, &writing, &error);
    if (err == UDPA_OK)
        err = udpai_audit_table_last(self->table, &last, &error);
    note_position(self, to);
    note_outcome(to, err == UDPA_OK ? NULL : error);
    count(self, to, writing.n, last > to->last.seq ? (uint64_t)(last - to->last.seq) : 0);
    return writing.n == AT_ONCE && !to->has_failed;
}

static void
follow_all(udpai_audit_output *self)
{
    pthread_mutex_lock(&self->mutex);
    self->facts.n_behind = 0;
    pthread_mutex_unlock(&self->mutex);
    for (size_t i = 0; i < OUTPUTS; i++)
        while (self->outputs[i].is_on && follow_one(self, &self->outputs[i]))
            ;
}

static void
reopen(udpai_audit_output *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    output *to = &self->outputs[0];
    if (to->is_on && udpai_log_file_reopen(&to->file, &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG, "%s", udpa_error_message(error));
}

/* ---- others ---- */

static void
close_outputs(udpai_audit_output *self)
{
    udpai_log_file_close(&self->outputs[0].file);
    if (self->outputs[1].is_on)
        udpai_journald_close(&self->outputs[1].journald);
    udpai_free(self->file_name);
}

/* The next one is consumed. */
static void
put_outputs(udpai_audit_output *self, udpai_audit_outputs *next)
{
    output *file = &self->outputs[0], *journald = &self->outputs[1];
    *file = (output){.is_file = true, .position_name = "audit-file", .file = next->file};
    *journald = (output){.position_name = "audit-journald", .name = "journald"};
    journald->journald = next->journald;
    self->file_name = UDPAI_TAKE(next->file_name);
    file->name = self->file_name;
    file->is_on = self->file_name != NULL;
    journald->is_on = next->has_journald;
    for (size_t i = 0; i < OUTPUTS; i++)
        if (self->outputs[i].is_on)
            read_position(self, &self->outputs[i]);
    udpai_free(next);
}

static void
take_next(udpai_audit_output *self)
{
    pthread_mutex_lock(&self->mutex);
    udpai_audit_outputs *next = UDPAI_TAKE(self->next);
    pthread_mutex_unlock(&self->mutex);
    if (!next)
        return;
    follow_all(self); /* what was recorded before goes where it went */
    close_outputs(self);
    put_outputs(self, next);
}

/* ---- the thread ---- */

/* True: it is to end. */
static bool
wait_for_time(udpai_audit_output *self, bool *ret_must_reopen)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOOK_S;
    pthread_mutex_lock(&self->mutex);
    int failed = 0;
    while (!self->is_ending && !self->must_reopen && !self->next && failed == 0)
        failed = pthread_cond_timedwait(&self->wake, &self->mutex, &until);
    *ret_must_reopen = self->must_reopen;
    self->must_reopen = false;
    bool is_ending = self->is_ending;
    pthread_mutex_unlock(&self->mutex);
    return is_ending;
}

static void *
follow_until_closed(void *argument)
{
    udpai_audit_output *self = argument;
    bool is_ending, must_reopen;
    do {
        is_ending = wait_for_time(self, &must_reopen);
        if (must_reopen)
            reopen(self);
        take_next(self);
        follow_all(self);
    } while (!is_ending);
    pthread_mutex_lock(&self->mutex);
    self->has_ended = true;
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- its life ---- */

void
udpai_audit_output_leave(udpai_audit_outputs *next)
{
    if (!next)
        return;
    udpai_log_file_close(&next->file);
    if (next->has_journald)
        udpai_journald_close(&next->journald);
    udpai_free(next->file_name);
    udpai_free(next);
}

static udpa_err
open_next(udpai_audit_outputs **ret_next, const udpai_plan_audit *audit, udpa_error **ret_error)
{
    udpai_audit_outputs *next = udpai_alloc(sizeof(*next));
    if (!next)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    next->file.fd = next->journald.fd = -1;
    udpa_err err = UDPA_OK;
    if (audit->file && !(next->file_name = udpai_strdup(audit->file)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK && audit->file)
        err = udpai_log_file_open(&next->file, next->file_name, ret_error);
    if (err == UDPA_OK && audit->journald)
        err = udpai_journald_open(&next->journald, audit->journald, ret_error);
    next->has_journald = err == UDPA_OK && audit->journald;
    if (err == UDPA_OK)
        *ret_next = next;
    else
        udpai_audit_output_leave(next);
    return err;
}

static udpa_err
open_outputs(udpai_audit_output *self, const udpai_plan_audit *audit, udpa_error **ret_error)
{
    udpai_audit_outputs *next = NULL;
    udpa_err err = open_next(&next, audit, ret_error);
    if (err == UDPA_OK)
        put_outputs(self, next);
    return err;
}

static bool
is_same(const char *a, const char *b)
{
    return udpai_str_eq(udpai_str_from(a), udpai_str_from(b));
}

udpa_err
udpai_audit_output_prepare(const udpai_plan *plan,
                           const udpai_plan *before,
                           udpai_audit_outputs **ret_next,
                           udpa_error **ret_error)
{
    const udpai_plan_audit *now = &plan->audit, *then = &before->audit;
    *ret_next = NULL;
    return !now->is_on || (is_same(now->file, then->file) && is_same(now->journald, then->journald))
               ? UDPA_OK
               : open_next(ret_next, now, ret_error);
}

/* One that was to come is not needed any more. */
void
udpai_audit_output_take(udpai_audit_output *self, udpai_audit_outputs *next)
{
    pthread_mutex_lock(&self->mutex);
    udpai_audit_outputs *former = self->next;
    self->next = next;
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->mutex);
    udpai_audit_output_leave(former);
}

static void
free_output(udpai_audit_output *self)
{
    close_outputs(self);
    udpai_audit_output_leave(self->next);
    udpai_audit_table_close(self->table);
    udpai_strbuf_done(&self->line);
    udpai_strbuf_done(&self->record);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self->directory);
    udpai_free(self);
}

udpa_err
udpai_audit_output_open(udpai_audit_output **ret_output,
                        const udpai_plan *plan,
                        udpa_error **ret_error)
{
    udpai_audit_output *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->wake, NULL);
    self->outputs[0].file.fd = -1;
    self->directory = udpai_strdup(plan->state_directory);
    udpa_err err = self->directory ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        err = udpai_audit_table_open(&self->table, self->directory, ret_error);
    if (err == UDPA_OK)
        err = open_outputs(self, &plan->audit, ret_error);
    int failed = err == UDPA_OK
                     ? udpai_thread_begin(&self->thread, "udpa-audit", follow_until_closed, self)
                     : 0;
    if (failed)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "cannot start the thread of the audit: %s",
                         strerror(failed));
    if (err != UDPA_OK)
        free_output(self);
    else
        *ret_output = self;
    return err;
}

void
udpai_audit_output_reopen(udpai_audit_output *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->must_reopen = true;
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->mutex);
}

udpai_audit_output_facts
udpai_audit_output_facts_of(udpai_audit_output *self)
{
    udpai_audit_output_facts facts = {0};
    if (!self)
        return facts;
    pthread_mutex_lock(&self->mutex);
    facts = self->facts;
    pthread_mutex_unlock(&self->mutex);
    return facts;
}

/* A disk that hangs must not keep the process from ending: the thread is left then. */
void
udpai_audit_output_close(udpai_audit_output *self)
{
    struct timespec until;
    int failed = 0;
    if (!self)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_PATIENCE_S;
    pthread_mutex_lock(&self->mutex);
    self->is_ending = true;
    pthread_cond_broadcast(&self->wake);
    while (!self->has_ended && failed == 0)
        failed = pthread_cond_timedwait(&self->wake, &self->mutex, &until);
    bool has_ended = self->has_ended;
    pthread_mutex_unlock(&self->mutex);
    if (!has_ended) {
        (void)pthread_detach(self->thread);
        return;
    }
    pthread_join(self->thread, NULL);
    free_output(self);
}
