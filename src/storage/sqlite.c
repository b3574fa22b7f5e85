/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: a queue of batches and the thread that commits them. The queue and the statistics are
 * shared, under the mutex; the database belongs to the opener until the first commit, then to the
 * writer, then, after it was joined, to whoever closes. No callback runs under the mutex. */
#include "storage/sqlite.h"

#include <assert.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "loop/thread.h"
#include "storage/sqlite_db.h"

#define MAGIC 0x75647362u

/* A batch on its way. */
struct job {
    udpai_list node;
    udpai_durable_batch *batch; /* NULL: there was no memory to queue it, it has failed */
    uint64_t ticket;
    udpa_err result;
};

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
    udpai_list queue;    /* of jobs */
    bool begun, closing;
    udpai_sqlite_stats stats;
};

static struct engine *
engine_of(udpai_durable_engine *base)
{
    struct engine *engine = UDPAI_CONTAINER_OF(base, struct engine, base);
    assert(engine->magic == MAGIC);
    return engine;
}

static struct job *
job_of(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, struct job, node);
}

/* ---- the writer ---- */

/* Waits for work and takes it, as much as may go into one transaction; false: it is time to end. */
static bool
take_jobs(struct engine *engine, udpai_list *ret_jobs)
{
    size_t n_ops = 0;
    udpai_list_init(ret_jobs);
    pthread_mutex_lock(&engine->mutex);
    while (udpai_list_empty(&engine->queue) && !engine->closing)
        pthread_cond_wait(&engine->wake, &engine->mutex);
    UDPAI_LIST_FOREACH_SAFE (node, &engine->queue) {
        struct job *job = job_of(node);
        n_ops += job->batch ? job->batch->ops.n : 0;
        if (n_ops > engine->max_ops && !udpai_list_empty(ret_jobs))
            break;
        udpai_list_remove(node);
        udpai_list_append(ret_jobs, node);
    }
    pthread_mutex_unlock(&engine->mutex);
    return !udpai_list_empty(ret_jobs);
}

/* One transaction for the jobs from @p first up to, not including, @p end. */
static udpa_err
commit_jobs(struct engine *engine, udpai_list *first, udpai_list *end, udpa_error **ret_error)
{
    udpai_sqlite_db *db = &engine->db;
    udpa_err err = UDPA_OK;
    for (udpai_list *node = first; node != end && err == UDPA_OK; node = node->next)
        if (job_of(node)->batch)
            err = udpai_sqlite_apply(db, job_of(node)->batch, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_note_number(db, job_of(end->prev)->ticket, ret_error);
    if (err == UDPA_OK)
        err = udpai_sqlite_run(db, UDPAI_SQLITE_COMMIT, ret_error);
    /* Some failures have ended the transaction already. */
    if (err != UDPA_OK && !sqlite3_get_autocommit(db->handle))
        (void)udpai_sqlite_run(db, UDPAI_SQLITE_ROLLBACK, NULL);
    return err;
}

static uint64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
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
        udpai_log(UDPA_LOG_ERROR, UDPAI_SQLITE_LOG,
                  "%zu changes are not kept and would be lost by a restart: %s (%u more not shown)",
                  n_failed, error ? udpa_error_message(error) : udpa_err_text(UDPA_ERR_NOMEM),
                  n_suppressed);
    else
        udpai_log(UDPA_LOG_WARNING, UDPAI_SQLITE_LOG,
                  "%s can be written again; what failed before is not in it", engine->db.path);
}

static void
set_results(udpai_list *first, udpai_list *end, udpa_err result)
{
    for (udpai_list *node = first; node != end; node = node->next)
        if (job_of(node)->batch)
            job_of(node)->result = result;
}

/* After a joint failure each batch is tried alone: one that cannot be kept costs no other. Where
 * not even a transaction can be begun, because somebody holds the database for long, the rest is
 * not waited for one by one. Keeps the last error. */
static size_t
commit_one_by_one(struct engine *engine, udpai_list *jobs, udpa_error **error)
{
    size_t n_transactions = 0;
    UDPAI_LIST_FOREACH (node, jobs) {
        udpa_error *own = NULL;
        udpa_err err = udpai_sqlite_run(&engine->db, UDPAI_SQLITE_BEGIN, &own);
        bool begun = err == UDPA_OK;
        if (begun)
            err = commit_jobs(engine, node, node->next, &own);
        if (own) {
            udpa_error_unref(*error);
            *error = own;
        }
        set_results(node, begun ? node->next : jobs, err);
        if (!begun)
            break;
        n_transactions += err == UDPA_OK;
    }
    return n_transactions;
}

/* Sets the result of each job; returns how many transactions were committed. */
static size_t
commit_all(struct engine *engine, udpai_list *jobs, udpa_error **error)
{
    udpa_err err = udpai_sqlite_run(&engine->db, UDPAI_SQLITE_BEGIN, error);
    bool begun = err == UDPA_OK;
    if (begun)
        err = commit_jobs(engine, jobs->next, jobs, error);
    if (err == UDPA_OK)
        return 1;
    set_results(jobs->next, jobs, err);
    return begun && jobs->next != jobs->prev ? commit_one_by_one(engine, jobs, error) : 0;
}

static size_t
commit_group(struct engine *engine, udpai_list *jobs)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    size_t n_transactions = commit_all(engine, jobs, &error), n_failed = 0;
    UDPAI_LIST_FOREACH (node, jobs)
        n_failed += job_of(node)->result != UDPA_OK;
    log_outcome(engine, n_failed, error);
    return n_transactions;
}

static void
count(struct engine *engine, udpai_list *jobs, size_t n_transactions)
{
    pthread_mutex_lock(&engine->mutex);
    UDPAI_LIST_FOREACH (node, jobs) {
        engine->stats.n_queued--;
        if (job_of(node)->result == UDPA_OK)
            engine->stats.n_committed++;
        else
            engine->stats.n_failed++;
    }
    engine->stats.n_transactions += n_transactions;
    pthread_mutex_unlock(&engine->mutex);
}

static void
report(struct engine *engine, udpai_list *jobs)
{
    udpai_list *node;
    while ((node = udpai_list_pop(jobs))) {
        struct job *job = job_of(node);
        udpai_durable_batch_free(job->batch);
        engine->base.done(engine->base.userdata, job->ticket, job->result);
        udpai_free(job);
    }
}

static void *
write_until_closed(void *argument)
{
    struct engine *engine = argument;
    udpai_list jobs;
    while (take_jobs(engine, &jobs)) {
        size_t n_transactions = commit_group(engine, &jobs);
        count(engine, &jobs, n_transactions);
        report(engine, &jobs);
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
    engine->stats.n_expired += stats.n_expired;
    engine->stats.n_damaged += stats.n_damaged;
    engine->stats.n_unreadable += stats.n_unreadable;
    pthread_mutex_unlock(&engine->mutex);
    return err;
}

/* Without memory for a job the batch gives up what it holds, and in the room of its ops its ticket
 * waits its turn to be reported as failed. */
_Static_assert(sizeof(udpai_durable_op) >= sizeof(struct job), "an op has room for a job");
_Static_assert(_Alignof(udpai_durable_op) >= _Alignof(struct job), "at the right place");

static struct job *
job_in_place_of(udpai_durable_batch *batch)
{
    struct job *job = (struct job *)(void *)batch->ops.items;
    if (!job)
        return NULL;
    for (size_t i = 0; i < batch->ops.n; i++) {
        udpa_bytes_unref(batch->ops.items[i].origin);
        udpa_resource_unref(batch->ops.items[i].resource);
        udpa_bytes_unref(batch->ops.items[i].type);
        udpa_bytes_unref(batch->ops.items[i].name);
    }
    batch->ops.items = NULL;
    batch->ops.n = batch->ops.capacity = 0;
    udpai_durable_batch_free(batch);
    memset(job, 0, sizeof(*job));
    job->result = UDPA_ERR_NOMEM;
    return job;
}

static struct job *
job_for(udpai_durable_batch *batch)
{
    struct job *job = udpai_alloc(sizeof(*job));
    if (!job)
        return job_in_place_of(batch);
    job->batch = batch;
    return job;
}

static void
commit(udpai_durable_engine *base, udpai_durable_batch *batch, uint64_t ticket)
{
    struct engine *engine = engine_of(base);
    struct job *job = job_for(batch);
    if (!job) { /* an empty batch, and no memory at all */
        udpai_durable_batch_free(batch);
        base->done(base->userdata, ticket, UDPA_ERR_NOMEM);
        return;
    }
    job->ticket = ticket;
    pthread_mutex_lock(&engine->mutex);
    engine->begun = true;
    engine->stats.n_queued++;
    if (udpai_list_empty(&engine->queue))
        pthread_cond_signal(&engine->wake);
    udpai_list_append(&engine->queue, &job->node);
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
    udpai_sqlite_db_close(&engine->db);
    pthread_cond_destroy(&engine->wake);
    pthread_mutex_destroy(&engine->mutex);
    engine->magic = 0;
    udpai_free(engine);
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
    udpa_err err = udpai_sqlite_db_open(&engine->db, options, ret_error);
    if (err != UDPA_OK) {
        udpai_free(engine);
        return err;
    }
    engine->base = (udpai_durable_engine){&ops, options->done, options->userdata};
    engine->magic = MAGIC;
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

const udpa_error *
udpai_sqlite_loss(udpai_durable_engine *base)
{
    return engine_of(base)->db.loss;
}

udpai_sqlite_stats
udpai_sqlite_stats_of(udpai_durable_engine *base)
{
    struct engine *engine = engine_of(base);
    pthread_mutex_lock(&engine->mutex);
    udpai_sqlite_stats stats = engine->stats;
    pthread_mutex_unlock(&engine->mutex);
    return stats;
}
