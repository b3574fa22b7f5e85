/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: a queue of batches and the thread that commits them. The queue and the statistics are
 * shared, under the mutex; the database belongs to the opener until the first commit, then to the
 * writer, then, after it was joined, to the closer. No callback runs under the mutex. */
#include "storage/sqlite.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "loop/thread.h"
#include "storage/sqlite_db.h"

#define MAGIC 0x75647362u
#define RETRY_S 1

struct engine {
    udpai_durable_engine base; /* first: the caller holds a pointer to it */
    unsigned magic;
    udpai_sqlite_db db;
    size_t max_ops;
    pthread_t writer;

    /* The writer's alone. */
    udpai_log_limit log_limit;
    bool failing;

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* of the writer */
    udpai_list queue;    /* of batches */
    bool begun, closing;
    bool has_new_keys;
    udpai_sqlite_hold hold; /* as it is to be */
    bool is_away;           /* the writer's, and read by others: it is closed */
    udpai_sealer new_keys;
    udpai_sqlite_stats stats;
};

static struct engine *
engine_of(udpai_durable_engine *base)
{
    struct engine *engine = UDPAI_CONTAINER_OF(base, struct engine, base);
    assert(engine->magic == MAGIC);
    return engine;
}

static udpai_durable_batch *
batch_at(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, udpai_durable_batch, node);
}

static uint64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the writer ---- */

/* What was queued before is written before it is closed. */
static bool
must_close(const struct engine *engine)
{
    return engine->hold >= UDPAI_SQLITE_AWAY && !engine->is_away &&
           udpai_list_empty(&engine->queue);
}

static bool
must_open(const struct engine *engine)
{
    return engine->hold < UDPAI_SQLITE_AWAY && engine->is_away;
}

/* Another process has the database, or may have it yet. */
static bool
is_written(const struct engine *engine)
{
    return !engine->is_away && engine->hold != UDPAI_SQLITE_WAITS;
}

static bool
has_work(const struct engine *engine)
{
    bool takes = is_written(engine) || engine->hold == UDPAI_SQLITE_GONE;
    return engine->closing || must_close(engine) || must_open(engine) ||
           (engine->has_new_keys && !engine->is_away) ||
           (takes && !udpai_list_empty(&engine->queue));
}

/* Waits for work and takes it, as much as may go into one transaction; none: there are other keys,
 * or the database is to be opened or closed. False: it is time to end. */
static bool
take_batches(struct engine *engine, udpai_list *ret_batches, bool *ret_is_written)
{
    size_t n_ops = 0;
    udpai_list_init(ret_batches);
    pthread_mutex_lock(&engine->mutex);
    while (!has_work(engine))
        pthread_cond_wait(&engine->wake, &engine->mutex);
    *ret_is_written = is_written(engine);
    bool takes = *ret_is_written || engine->closing || engine->hold == UDPAI_SQLITE_GONE;
    UDPAI_LIST_FOREACH_SAFE (node, &engine->queue) {
        if (!takes)
            break;
        n_ops += batch_at(node)->ops.n;
        if (n_ops > engine->max_ops && !udpai_list_empty(ret_batches))
            break;
        udpai_list_remove(node);
        udpai_list_append(ret_batches, node);
    }
    bool is_over = engine->closing && udpai_list_empty(ret_batches);
    pthread_mutex_unlock(&engine->mutex);
    return !is_over;
}

static void
set_away(struct engine *engine, bool is_away)
{
    pthread_mutex_lock(&engine->mutex);
    engine->is_away = is_away;
    pthread_mutex_unlock(&engine->mutex);
}

static void
rest(struct engine *engine)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += RETRY_S;
    pthread_mutex_lock(&engine->mutex);
    while (must_open(engine) && !engine->closing &&
           pthread_cond_timedwait(&engine->wake, &engine->mutex, &until) == 0)
        continue;
    pthread_mutex_unlock(&engine->mutex);
}

/* The process that had it may not have ended yet. */
static void
return_to(struct engine *engine)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    unsigned n_suppressed;
    if (udpai_sqlite_db_return(&engine->db, &error) == UDPA_OK) {
        set_away(engine, false);
        return;
    }
    if (udpai_log_allow(&engine->log_limit, now_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, UDPAI_SQLITE_LOG,
                  "what is published waits: %s (%u more not shown)", udpa_error_message(error),
                  n_suppressed);
    rest(engine);
}

/* Only the writer changes whether it is away. */
static void
move(struct engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    bool closes = must_close(engine), opens = must_open(engine) && !engine->closing;
    pthread_mutex_unlock(&engine->mutex);
    if (closes) {
        udpai_sqlite_db_leave(&engine->db);
        set_away(engine, true);
    } else if (opens) {
        return_to(engine);
    }
}

/* What cannot be sealed anew now is tried again at the next start. */
static void
take_keys(struct engine *engine)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_sealer before = engine->db.sealer;
    pthread_mutex_lock(&engine->mutex);
    bool is_new = engine->has_new_keys && !engine->is_away;
    if (is_new) {
        engine->db.sealer = engine->new_keys;
        engine->has_new_keys = false;
        udpai_sealer_done(&engine->new_keys);
    }
    pthread_mutex_unlock(&engine->mutex);
    if (is_new && udpai_sqlite_reseal(&engine->db, &before, &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, UDPAI_SQLITE_LOG,
                  "secrets are encrypted with the keys of before, until the next start: %s",
                  udpa_error_message(error));
    udpai_sealer_done(&before);
}

/* One transaction for the batches from @p first up to, not including, @p end. */
static udpa_err
commit_batches(struct engine *engine, udpai_list *first, udpai_list *end, udpa_error **ret_error)
{
    udpai_sqlite_db *db = &engine->db;
    udpa_err err = UDPA_OK;
    for (udpai_list *node = first; node != end && err == UDPA_OK; node = node->next)
        err = udpai_sqlite_apply(db, batch_at(node), ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_audit_prune(db, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_note_number(db, batch_at(end->prev)->ticket, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_run(db, UDPAI_SQLITE_COMMIT, ret_error);
    /* Some failures have ended the transaction already. */
    if (err != UDPA_OK && !sqlite3_get_autocommit(db->handle))
        (void)udpai_sqlite_run(db, UDPAI_SQLITE_ROLLBACK, NULL);
    udpai_sqlite_audit_ended(db, err == UDPA_OK);
    return err;
}

/* A disk that is full now and then must not fill the log. */
static void
log_outcome(struct engine *engine, size_t n_failed, const udpa_error *error)
{
    unsigned n_suppressed;
    bool changed = engine->failing != (n_failed > 0);
    engine->failing = n_failed > 0;
    if ((!n_failed && !changed) || !udpai_log_allow(&engine->log_limit, now_ms(), &n_suppressed))
        return;
    if (n_failed)
        udpai_log_about(
            UDPA_LOG_ERROR, UDPAI_SQLITE_LOG,
            UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(engine->db.path)},
                        {UDPAI_LOG_CODE, udpai_log_code(error)}),
            "could not keep %zu changes, which publishers must publish again: %s (%u more not "
            "shown)",
            n_failed, error ? udpa_error_message(error) : udpa_err_text(UDPA_ERR_NOMEM),
            n_suppressed);
    else
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
                        UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(engine->db.path)}),
                        "%s can be written again; what failed before must be published again",
                        engine->db.path);
}

static void
set_results(udpai_list *first, udpai_list *end, udpa_err result)
{
    for (udpai_list *node = first; node != end; node = node->next)
        batch_at(node)->result = result;
}

/* After a joint failure each batch is tried alone: one that cannot be kept costs no other. Where
 * not even a transaction can be begun, because somebody holds the database for long, the rest is
 * not waited for one by one. Keeps the last error. */
static size_t
commit_one_by_one(struct engine *engine, udpai_list *batches, udpa_error **error)
{
    size_t n_transactions = 0;
    UDPAI_LIST_FOREACH (node, batches) {
        udpa_error *own = NULL;
        udpa_err err = udpai_sqlite_run(&engine->db, UDPAI_SQLITE_BEGIN, &own);
        bool begun = err == UDPA_OK;
        if (begun)
            err = commit_batches(engine, node, node->next, &own);
        if (own) {
            udpa_error_unref(*error);
            *error = own;
        }
        set_results(node, begun ? node->next : batches, err);
        if (!begun)
            break;
        n_transactions += err == UDPA_OK;
    }
    return n_transactions;
}

/* Sets the result of each batch; returns how many transactions were committed. */
static size_t
commit_all(struct engine *engine, udpai_list *batches, udpa_error **error)
{
    udpa_err err = udpai_sqlite_run(&engine->db, UDPAI_SQLITE_BEGIN, error);
    bool begun = err == UDPA_OK;
    if (begun)
        err = commit_batches(engine, batches->next, batches, error);
    if (err == UDPA_OK)
        return 1;
    set_results(batches->next, batches, err);
    return begun && batches->next != batches->prev ? commit_one_by_one(engine, batches, error) : 0;
}

static size_t
commit_group(struct engine *engine, udpai_list *batches)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    size_t n_transactions = commit_all(engine, batches, &error), n_failed = 0;
    UDPAI_LIST_FOREACH (node, batches)
        n_failed += batch_at(node)->result != UDPA_OK;
    log_outcome(engine, n_failed, error);
    return n_transactions;
}

static void
count(struct engine *engine, udpai_list *batches, size_t n_transactions)
{
    pthread_mutex_lock(&engine->mutex);
    UDPAI_LIST_FOREACH (node, batches) {
        engine->stats.n_queued--;
        if (batch_at(node)->result == UDPA_OK)
            engine->stats.n_committed++;
        else
            engine->stats.n_failed++;
    }
    engine->stats.n_transactions += n_transactions;
    engine->stats.audit_bytes = engine->db.audit.bytes;
    engine->stats.n_audit = engine->db.audit.n_kept;
    pthread_mutex_unlock(&engine->mutex);
}

static void
report(struct engine *engine, udpai_list *batches)
{
    udpai_list *node;
    while ((node = udpai_list_pop(batches))) {
        udpai_durable_batch *batch = batch_at(node);
        udpai_durable_batch_clear(batch);
        engine->base.done(engine->base.userdata, batch);
    }
}

static void *
write_until_closed(void *argument)
{
    struct engine *engine = argument;
    udpai_list batches;
    bool is_written;
    while (take_batches(engine, &batches, &is_written)) {
        if (udpai_list_empty(&batches))
            move(engine);
        take_keys(engine);
        if (udpai_list_empty(&batches))
            continue;
        size_t n_transactions = is_written ? commit_group(engine, &batches) : 0;
        if (!is_written)
            set_results(batches.next, &batches, UDPA_ERR_CLOSED);
        count(engine, &batches, n_transactions);
        report(engine, &batches);
    }
    return NULL;
}

/* ---- the caller's side ---- */

static udpa_err
load(udpai_durable_engine *base, udpai_durable_load_fn fn, void *userdata, udpa_error **ret_error)
{
    struct engine *engine = engine_of(base);
    assert(!engine->begun);
    udpai_sqlite_stats stats = {0};
    udpa_err err = udpai_sqlite_load(&engine->db, fn, userdata, &stats, ret_error);
    pthread_mutex_lock(&engine->mutex);
    engine->stats.n_damaged += stats.n_damaged;
    engine->stats.n_unreadable += stats.n_unreadable;
    pthread_mutex_unlock(&engine->mutex);
    return err;
}

static void
commit(udpai_durable_engine *base, udpai_durable_batch *batch, uint64_t ticket)
{
    struct engine *engine = engine_of(base);
    batch->ticket = ticket;
    pthread_mutex_lock(&engine->mutex);
    engine->begun = true;
    engine->stats.n_queued++;
    if (udpai_list_empty(&engine->queue))
        pthread_cond_signal(&engine->wake);
    udpai_list_append(&engine->queue, &batch->node);
    pthread_mutex_unlock(&engine->mutex);
}

static void
close_engine(udpai_durable_engine *base)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    engine->closing = true;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->writer, NULL);
    udpai_sealer_done(&engine->new_keys);
    udpai_sqlite_db_close(&engine->db);
    pthread_cond_destroy(&engine->wake);
    pthread_mutex_destroy(&engine->mutex);
    engine->magic = 0;
    udpai_free(engine);
}

static udpa_err
open_database(udpai_sqlite_db *db, const udpai_sqlite_options *options, udpa_error **ret_error)
{
    udpa_err err = udpai_sqlite_db_open(db, options, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_sqlite_reseal(db, NULL, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_audit_measure(db, ret_error);
    if (err != UDPA_OK)
        udpai_sqlite_db_close(db);
    return err;
}

udpa_err
udpai_sqlite_open(udpai_durable_engine **ret_engine,
                  const udpai_sqlite_options *options,
                  udpa_error **ret_error)
{
    static const udpai_durable_ops ops = {load, commit, close_engine};
    struct engine *engine = udpai_alloc(sizeof(*engine));
    if (!engine)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = open_database(&engine->db, options, ret_error);
    if (err != UDPA_OK) {
        udpai_free(engine);
        return err;
    }
    engine->base = (udpai_durable_engine){&ops, options->done, options->userdata};
    engine->magic = MAGIC;
    engine->stats.audit_bytes = engine->db.audit.bytes;
    engine->max_ops =
        options->max_ops_per_commit ? options->max_ops_per_commit : UDPAI_SQLITE_OPS_PER_COMMIT;
    udpai_list_init(&engine->queue);
    pthread_mutex_init(&engine->mutex, NULL);
    pthread_cond_init(&engine->wake, NULL);
    int failed = udpai_thread_begin(&engine->writer, "udpa-store", write_until_closed, engine);
    if (failed) {
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "cannot start the store's thread: %s",
                         strerror(failed));
        udpai_sqlite_db_close(&engine->db);
        udpai_free(engine);
        return err;
    }
    *ret_engine = &engine->base;
    return UDPA_OK;
}

void
udpai_sqlite_set_sealer(udpai_durable_engine *base, const udpai_sealer *sealer)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    engine->new_keys = *sealer;
    engine->has_new_keys = true;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
}

void
udpai_sqlite_set_audit_bounds(udpai_durable_engine *base, uint64_t max_bytes, uint64_t max_age_us)
{
    udpai_sqlite_db *db = &engine_of(base)->db;
    atomic_store(&db->audit.max_bytes, max_bytes ? max_bytes : UDPAI_SQLITE_AUDIT_BYTES);
    atomic_store(&db->audit.max_age_us, max_age_us ? max_age_us : UDPAI_SQLITE_AUDIT_AGE_US);
}

const udpa_error *
udpai_sqlite_loss(udpai_durable_engine *base)
{
    return engine_of(base)->db.loss;
}

bool
udpai_sqlite_was_backup(udpai_durable_engine *base)
{
    return engine_of(base)->db.was_backup;
}

void
udpai_sqlite_set_hold(udpai_durable_engine *base, udpai_sqlite_hold hold)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    if (engine->hold != UDPAI_SQLITE_GONE)
        engine->hold = hold;
    pthread_cond_signal(&engine->wake);
    pthread_mutex_unlock(&engine->mutex);
}

bool
udpai_sqlite_is_away(udpai_durable_engine *base)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    bool is_away = engine->is_away;
    pthread_mutex_unlock(&engine->mutex);
    return is_away;
}

static uint64_t
size_of(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
}

static uint64_t
size_of_log(const char *path)
{
    char log[PATH_MAX];
    int len = snprintf(log, sizeof(log), "%s-wal", path);
    return len > 0 && (size_t)len < sizeof(log) ? size_of(log) : 0;
}

udpai_sqlite_stats
udpai_sqlite_stats_of(udpai_durable_engine *base)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    udpai_sqlite_stats stats = engine->stats;
    pthread_mutex_unlock(&engine->mutex);
    stats.size_bytes = size_of(engine->db.path);
    stats.log_bytes = size_of_log(engine->db.path);
    return stats;
}
