/* SPDX-License-Identifier: Apache-2.0 */
/* What the loop's thread asks for goes as tasks to the thread of etcd, in their order. */
#include "transport/etcd/replication.h"

#include <assert.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/clock.h"
#include "replica/replicator.h"
#include "transport/etcd/client_internal.h"

/* Of what keeps on happening while etcd is away. */
#define SAID_AGAIN_MS 10000

typedef struct replication {
    udpai_replication base; /* first: the caller holds a pointer to it */
    udpai_etcd_client *client;
    udpa_bytes *prefix; /* with a '/' at its end */
    udpai_replica_member own;
    udpai_record_seals seals;

    /* Of the thread of etcd. */
    udpai_replicator *replicator; /* NULL: not started */
    udpai_set_search *search;     /* NULL: none */
    udpai_etcd_set_request request;
    uint64_t random, said_ms;

    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended;                  /* under the mutex: the thread has nothing of this any more */
    udpai_reseal_progress resealing; /* under the mutex */
    udpai_etcd_task end;
} replication;

static replication *
of(udpai_replication *base)
{
    return UDPAI_CONTAINER_OF(base, replication, base);
}

/* ---- on the thread of etcd ---- */

static uint64_t
random_number(void *userdata)
{
    replication *self = userdata;
    uint64_t number;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number))
        return number;
    return self->random += UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)udpai_wall_us();
}

static void
report(void *userdata, udpai_replicated *event)
{
    replication *self = userdata;
    self->base.report(self->base.userdata, event);
}

static void
on_resealing(void *userdata, const udpai_reseal_progress *progress)
{
    replication *self = userdata;
    pthread_mutex_lock(&self->mutex);
    self->resealing = *progress;
    pthread_mutex_unlock(&self->mutex);
}

/* ---- finding the set ---- */

typedef struct find_task {
    udpai_etcd_task task;
    replication *owner;
    udpa_bytes *node_id;
} find_task;

static void
on_found(void *userdata, udpai_str id, const udpa_error *error)
{
    replication *self = userdata;
    self->request.found(self->request.userdata, id, error);
}

static void
on_waiting(void *userdata, const udpa_error *why)
{
    replication *self = userdata;
    uint64_t now = udpai_monotonic_ms();
    if (self->said_ms && now - self->said_ms < SAID_AGAIN_MS)
        return;
    self->said_ms = now;
    udpai_log(UDPA_LOG_WARNING, "replicas",
              "waiting for etcd, which this replica has not seen yet: %s", udpa_error_message(why));
}

static void
run_find(udpai_etcd_task *task)
{
    find_task *find = UDPAI_CONTAINER_OF(task, find_task, task);
    replication *self = find->owner;
    const udpai_set_search_env env = {
        .etcd = udpai_etcd_client_etcd(self->client),
        .wheel = udpai_etcd_client_wheel(self->client),
        .random = random_number,
        .found = on_found,
        .waiting = on_waiting,
        .userdata = self,
    };
    udpa_err err = udpai_set_search_new(&self->search, &env, udpai_bytes_view(self->prefix),
                                        udpai_bytes_view(find->node_id));
    if (err != UDPA_OK) {
        udpa_error *error = udpa_error_new(err, NULL, "out of memory");
        on_found(self, (udpai_str){0}, error);
        udpa_error_unref(error);
    }
    udpa_bytes_unref(find->node_id);
    udpai_free(find);
}

udpa_err
udpai_etcd_replication_find_set(udpai_replication *base, const udpai_etcd_set_request *request)
{
    replication *self = of(base);
    find_task *find = udpai_alloc(sizeof(*find));
    if (!find ||
        udpa_bytes_new(&find->node_id, request->node_id.data, request->node_id.len) != UDPA_OK) {
        udpai_free(find);
        return UDPA_ERR_NOMEM;
    }
    find->task.run = run_find;
    find->owner = self;
    self->request = *request;
    (void)udpai_etcd_client_run(self->client, &find->task);
    return UDPA_OK;
}

/* ---- replicating ---- */

typedef struct start_task {
    udpai_etcd_task task;
    replication *owner;
    udpai_durable_position has;
    udpai_replication_proof proof;
} start_task;

static void
run_start(udpai_etcd_task *task)
{
    start_task *start = UDPAI_CONTAINER_OF(task, start_task, task);
    replication *self = start->owner;
    const udpai_replicator_env env = {
        .etcd = udpai_etcd_client_etcd(self->client),
        .wheel = udpai_etcd_client_wheel(self->client),
        .random = random_number,
        .report = report,
        .resealing = on_resealing,
        .userdata = self,
    };
    const udpai_replicator_config config = {
        .prefix = udpai_bytes_view(self->prefix),
        .own =
            {
                .id = udpai_bytes_view(self->own.id),
                .version = udpai_bytes_view(self->own.version),
                .address = udpai_bytes_view(self->own.address),
                .config = udpai_bytes_view(self->own.config),
                .advertised = udpai_bytes_view(self->own.advertised),
                .keys = udpai_bytes_view(self->own.keys),
                .files = udpai_bytes_view(self->own.files),
            },
        .seals = self->seals,
        .has = start->has,
        .proof = start->proof,
    };
    self->search = udpai_set_search_free(self->search);
    if (udpai_replicator_new(&self->replicator, &env, &config) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "replicas",
                  "out of memory: this node takes nothing from etcd until it is restarted");
    udpa_bytes_unref(start->proof.key);
    udpai_free(start);
}

static udpa_err
start(udpai_replication *base, udpai_durable_position has, const udpai_replication_proof *proof)
{
    replication *self = of(base);
    start_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return UDPA_ERR_NOMEM;
    *task = (start_task){{.run = run_start}, self, has, *proof};
    udpa_bytes_ref(proof->key);
    (void)udpai_etcd_client_run(self->client, &task->task);
    return UDPA_OK;
}

typedef struct propose_task {
    udpai_etcd_task task;
    replication *owner;
    udpai_durable_batch *batch;
    udpai_replicated *outcome;
} propose_task;

static void
run_propose(udpai_etcd_task *task)
{
    propose_task *propose = UDPAI_CONTAINER_OF(task, propose_task, task);
    replication *self = propose->owner;
    if (self->replicator) {
        udpai_replicator_propose(self->replicator, propose->batch, propose->outcome);
    } else {
        udpai_durable_batch_free(propose->batch);
        propose->outcome->outcome = UDPAI_REPLICATED_NOT_DONE;
        report(self, propose->outcome);
    }
    udpai_free(propose);
}

/* Without memory there is nothing to report with: the node keeps what it waits for until it ends.
 */
static void
propose(udpai_replication *base, udpai_durable_batch *batch, uint64_t ticket)
{
    replication *self = of(base);
    propose_task *task = udpai_alloc(sizeof(*task));
    udpai_replicated *outcome = udpai_replicated_new(UDPAI_REPLICATED_OUTCOME);
    if (!task || !outcome) {
        udpai_free(task);
        udpai_durable_batch_free(batch);
        udpai_replicated_free(outcome);
        return;
    }
    outcome->ticket = ticket;
    *task = (propose_task){{.run = run_propose}, self, batch, outcome};
    (void)udpai_etcd_client_run(self->client, &task->task);
}

/* ---- credentials ---- */

udpa_err
udpai_etcd_replication_replace_tls(udpai_replication *base,
                                   const udpai_tls_files *files,
                                   udpa_error **ret_error)
{
    return udpai_etcd_client_replace_tls(of(base)->client, files, ret_error);
}

udpa_err
udpai_etcd_replication_set_password(udpai_replication *base, const char *password)
{
    return udpai_etcd_client_set_password(of(base)->client, password);
}

/* ---- what it states to the others ---- */

typedef struct text_task {
    udpai_etcd_task task;
    replication *owner;
    udpa_bytes **own; /* where it is from now on: what starts later has it from the beginning */
    void (*set)(replication *self, udpai_str text, bool is_another);
    udpa_bytes *text;
} text_task;

static void
run_text(udpai_etcd_task *task)
{
    text_task *one = UDPAI_CONTAINER_OF(task, text_task, task);
    replication *self = one->owner;
    udpai_str text = udpai_bytes_view(one->text);
    bool is_another = !udpai_str_eq(udpai_bytes_view(*one->own), text);
    udpa_bytes_unref(*one->own);
    *one->own = one->text;
    if (self->replicator)
        one->set(self, text, is_another);
    udpai_free(one);
}

static udpa_err
set_text(replication *self,
         udpa_bytes **own,
         void (*set)(replication *self, udpai_str text, bool is_another),
         udpai_str text)
{
    text_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return UDPA_ERR_NOMEM;
    *task = (text_task){.task = {.run = run_text}, .owner = self, .own = own, .set = set};
    udpa_err err = udpa_bytes_new(&task->text, text.data, text.len);
    if (err == UDPA_OK)
        (void)udpai_etcd_client_run(self->client, &task->task);
    else
        udpai_free(task);
    return err;
}

static void
set_config(replication *self, udpai_str config, bool is_another)
{
    (void)is_another;
    udpai_replicator_set_config(self->replicator, config);
}

udpa_err
udpai_etcd_replication_set_config(udpai_replication *base, udpai_str config)
{
    return set_text(of(base), &of(base)->own.config, set_config, config);
}

/* What a key that was removed has encrypted is found. */
static void
set_keys(replication *self, udpai_str key_ids, bool is_another)
{
    udpai_replicator_set_keys(self->replicator, key_ids);
    if (is_another)
        udpai_replicator_list_again(self->replicator);
}

udpa_err
udpai_etcd_replication_set_keys(udpai_replication *base, udpai_str key_ids)
{
    return set_text(of(base), &of(base)->own.keys, set_keys, key_ids);
}

static void
set_own_files(replication *self, udpai_str files, bool is_another)
{
    (void)is_another;
    udpai_replicator_set_files(self->replicator, files);
}

/* Without memory the others have what was before. */
static void
set_files(udpai_replication *base, udpai_str files)
{
    (void)set_text(of(base), &of(base)->own.files, set_own_files, files);
}

/* ---- secrets sealed anew ---- */

typedef struct reseal_task {
    udpai_etcd_task task;
    replication *owner;
} reseal_task;

static void
run_reseal(udpai_etcd_task *task)
{
    reseal_task *one = UDPAI_CONTAINER_OF(task, reseal_task, task);
    static const udpai_reseal_progress none = {
        .error = "this replica has not received the state of its set from etcd yet"};
    if (one->owner->replicator)
        udpai_replicator_reseal(one->owner->replicator);
    else
        on_resealing(one->owner, &none);
    udpai_free(one);
}

/* It is under way from now on, for who looks at once. */
udpa_err
udpai_etcd_replication_reseal(udpai_replication *base)
{
    replication *self = of(base);
    reseal_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return UDPA_ERR_NOMEM;
    pthread_mutex_lock(&self->mutex);
    if (!self->resealing.is_running)
        self->resealing = (udpai_reseal_progress){.is_running = true};
    pthread_mutex_unlock(&self->mutex);
    task->task.run = run_reseal;
    task->owner = self;
    (void)udpai_etcd_client_run(self->client, &task->task);
    return UDPA_OK;
}

udpai_reseal_progress
udpai_etcd_replication_resealing(udpai_replication *base)
{
    replication *self = of(base);
    pthread_mutex_lock(&self->mutex);
    udpai_reseal_progress progress = self->resealing;
    pthread_mutex_unlock(&self->mutex);
    return progress;
}

/* ---- an etcd with another state ---- */

typedef struct hold_task {
    udpai_etcd_task task;
    replication *owner;
    udpai_holdings *holdings;
} hold_task;

static void
run_hold(udpai_etcd_task *task)
{
    hold_task *one = UDPAI_CONTAINER_OF(task, hold_task, task);
    if (one->owner->replicator)
        udpai_replicator_hold(one->owner->replicator, one->holdings);
    else
        udpai_holdings_free(one->holdings);
    udpai_free(one);
}

/* Without memory it is asked for again. */
static void
hold(udpai_replication *base, udpai_holdings *holdings)
{
    hold_task *task = udpai_alloc(sizeof(*task));
    if (!task) {
        udpai_holdings_free(holdings);
        return;
    }
    *task = (hold_task){{.run = run_hold}, of(base), holdings};
    (void)udpai_etcd_client_run(of(base)->client, &task->task);
}

/* ---- barriers ---- */

typedef struct barrier_task {
    udpai_etcd_task task;
    replication *owner;
    udpai_replicated *event;
} barrier_task;

static void
run_barrier(udpai_etcd_task *task)
{
    barrier_task *barrier = UDPAI_CONTAINER_OF(task, barrier_task, task);
    replication *self = barrier->owner;
    if (self->replicator)
        udpai_replicator_barrier(self->replicator, barrier->event);
    else
        report(self, barrier->event);
    udpai_free(barrier);
}

/* Without memory there is nothing to report with: streams do not wait for ever. */
static void
barrier(udpai_replication *base, uint64_t ticket)
{
    replication *self = of(base);
    barrier_task *task = udpai_alloc(sizeof(*task));
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_BARRIER);
    if (!task || !event) {
        udpai_free(task);
        udpai_replicated_free(event);
        return;
    }
    event->ticket = ticket;
    *task = (barrier_task){{.run = run_barrier}, self, event};
    (void)udpai_etcd_client_run(self->client, &task->task);
}

/* ---- what needs a number at most ---- */

typedef struct number_task {
    udpai_etcd_task task;
    replication *owner;
    void (*call)(udpai_replicator *replicator, uint64_t number);
    uint64_t number; /* of streams, milliseconds, or an answer */
} number_task;

static void
run_number(udpai_etcd_task *task)
{
    number_task *one = UDPAI_CONTAINER_OF(task, number_task, task);
    if (one->owner->replicator)
        one->call(one->owner->replicator, one->number);
    udpai_free(one);
}

/* UDPA_ERR_NOMEM: it is not called. */
static udpa_err
call_later(udpai_replication *base,
           void (*call)(udpai_replicator *replicator, uint64_t number),
           uint64_t number)
{
    replication *self = of(base);
    number_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return UDPA_ERR_NOMEM;
    *task = (number_task){{.run = run_number}, self, call, number};
    (void)udpai_etcd_client_run(self->client, &task->task);
    return UDPA_OK;
}

/* What is missed comes with the next one. */
static void
set_streams(udpai_replication *base, uint64_t n)
{
    (void)call_later(base, udpai_replicator_set_streams, n);
}

static void
rebalance(udpai_replication *base, uint64_t over_ms)
{
    (void)call_later(base, udpai_replicator_rebalance, over_ms);
}

static void
call_list_again(udpai_replicator *replicator, uint64_t number)
{
    (void)number;
    udpai_replicator_list_again(replicator);
}

static void
list_again(udpai_replication *base)
{
    (void)call_later(base, call_list_again, 0);
}

static void
call_answer_hold(udpai_replicator *replicator, uint64_t number)
{
    udpai_replicator_answer_hold(replicator, (udpai_hold_answer)number);
}

static udpa_err
answer_hold(udpai_replication *base, udpai_hold_answer answer)
{
    return call_later(base, call_answer_hold, (uint64_t)answer);
}

/* ---- the end ---- */

static void
run_end(udpai_etcd_task *task)
{
    replication *self = UDPAI_CONTAINER_OF(task, replication, end);
    self->search = udpai_set_search_free(self->search);
    self->replicator = udpai_replicator_free(self->replicator);
    pthread_mutex_lock(&self->mutex);
    self->has_ended = true;
    pthread_cond_signal(&self->ended);
    pthread_mutex_unlock(&self->mutex);
}

static void
free_replication(replication *self)
{
    udpai_etcd_client_free(self->client);
    udpa_bytes_unref(self->prefix);
    udpai_replica_member_done(&self->own);
    pthread_cond_destroy(&self->ended);
    pthread_mutex_destroy(&self->mutex);
    udpai_free(self);
}

static void
close_replication(udpai_replication *base)
{
    replication *self = of(base);
    self->end.run = run_end;
    bool runs = udpai_etcd_client_run(self->client, &self->end);
    pthread_mutex_lock(&self->mutex);
    while (runs && !self->has_ended)
        pthread_cond_wait(&self->ended, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    free_replication(self);
}

/* ---- its beginning ---- */

static udpa_err
copy_own(replication *self, const udpai_replica_description *own)
{
    const udpai_str texts[] = {own->id,         own->version, own->address, own->config,
                               own->advertised, own->keys,    own->files};
    udpa_bytes **const copies[] = {&self->own.id,     &self->own.version,    &self->own.address,
                                   &self->own.config, &self->own.advertised, &self->own.keys,
                                   &self->own.files};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts) && err == UDPA_OK; i++)
        err = udpa_bytes_new(copies[i], texts[i].data, texts[i].len);
    return err;
}

static udpa_err
copy(replication *self, const udpai_etcd_replication_options *options)
{
    udpai_strbuf prefix = {0};
    udpai_strbuf_puts(&prefix, options->prefix);
    udpai_strbuf_putc(&prefix, '/');
    self->prefix = udpai_bytes_of(&prefix);
    self->seals = options->seals;
    return self->prefix ? copy_own(self, &options->own) : UDPA_ERR_NOMEM;
}

udpa_err
udpai_etcd_replication_new(udpai_replication **ret_replication,
                           const udpai_etcd_replication_options *options,
                           udpa_error **ret_error)
{
    static const udpai_replication_ops ops = {
        .start = start,
        .propose = propose,
        .barrier = barrier,
        .list_again = list_again,
        .hold = hold,
        .answer_hold = answer_hold,
        .set_files = set_files,
        .set_streams = set_streams,
        .rebalance = rebalance,
        .close = close_replication,
    };
    replication *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->base.ops = &ops;
    pthread_mutex_init(&self->mutex, NULL); /* cannot fail, nor can the other */
    pthread_cond_init(&self->ended, NULL);
    udpa_err err = udpai_fail_code(ret_error, copy(self, options));
    if (err == UDPA_OK)
        err = udpai_etcd_client_new(&self->client, &options->client, ret_error);
    if (err == UDPA_OK)
        *ret_replication = &self->base;
    else
        free_replication(self);
    return err;
}
