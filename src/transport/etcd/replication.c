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

/* ---- the configuration ---- */

typedef struct config_task {
    udpai_etcd_task task;
    replication *owner;
    udpa_bytes *config;
} config_task;

static void
run_config(udpai_etcd_task *task)
{
    config_task *one = UDPAI_CONTAINER_OF(task, config_task, task);
    replication *self = one->owner;
    udpa_bytes_unref(self->own.config);
    self->own.config = one->config;
    if (self->replicator)
        udpai_replicator_set_config(self->replicator, udpai_bytes_view(one->config));
    udpai_free(one);
}

udpa_err
udpai_etcd_replication_set_config(udpai_replication *base, udpai_str config)
{
    config_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return UDPA_ERR_NOMEM;
    *task = (config_task){.task = {.run = run_config}, .owner = of(base)};
    udpa_err err = udpa_bytes_new(&task->config, config.data, config.len);
    if (err == UDPA_OK)
        (void)udpai_etcd_client_run(of(base)->client, &task->task);
    else
        udpai_free(task);
    return err;
}

/* ---- keys ---- */

typedef struct keys_task {
    udpai_etcd_task task;
    replication *owner;
    udpa_bytes *key_ids;
} keys_task;

/* What starts later has them from the beginning. */
static void
run_set_keys(udpai_etcd_task *task)
{
    keys_task *keys = UDPAI_CONTAINER_OF(task, keys_task, task);
    replication *self = keys->owner;
    bool has_others =
        !udpai_str_eq(udpai_bytes_view(self->own.keys), udpai_bytes_view(keys->key_ids));
    udpa_bytes_unref(self->own.keys);
    self->own.keys = keys->key_ids;
    if (self->replicator)
        udpai_replicator_set_keys(self->replicator, udpai_bytes_view(keys->key_ids));
    if (self->replicator && has_others) /* what a key that was removed has encrypted is found */
        udpai_replicator_list_again(self->replicator);
    udpai_free(keys);
}

udpa_err
udpai_etcd_replication_set_keys(udpai_replication *base, udpai_str key_ids)
{
    replication *self = of(base);
    keys_task *keys = udpai_alloc(sizeof(*keys));
    if (!keys || udpa_bytes_new(&keys->key_ids, key_ids.data, key_ids.len) != UDPA_OK) {
        udpai_free(keys);
        return UDPA_ERR_NOMEM;
    }
    keys->task.run = run_set_keys;
    keys->owner = self;
    (void)udpai_etcd_client_run(self->client, &keys->task);
    return UDPA_OK;
}

static void
run_reseal(udpai_etcd_task *task)
{
    keys_task *keys = UDPAI_CONTAINER_OF(task, keys_task, task);
    static const udpai_reseal_progress none = {
        .error = "this replica has not received the state of its set from etcd yet"};
    if (keys->owner->replicator)
        udpai_replicator_reseal(keys->owner->replicator);
    else
        on_resealing(keys->owner, &none);
    udpai_free(keys);
}

/* It is under way from now on, for who looks at once. */
udpa_err
udpai_etcd_replication_reseal(udpai_replication *base)
{
    replication *self = of(base);
    keys_task *task = udpai_alloc(sizeof(*task));
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
    uint64_t number; /* of streams, or milliseconds */
} number_task;

static void
run_number(udpai_etcd_task *task)
{
    number_task *one = UDPAI_CONTAINER_OF(task, number_task, task);
    if (one->owner->replicator)
        one->call(one->owner->replicator, one->number);
    udpai_free(one);
}

/* Without memory it is not called: what is missed comes with the next one. */
static void
call_later(udpai_replication *base,
           void (*call)(udpai_replicator *replicator, uint64_t number),
           uint64_t number)
{
    replication *self = of(base);
    number_task *task = udpai_alloc(sizeof(*task));
    if (!task)
        return;
    *task = (number_task){{.run = run_number}, self, call, number};
    (void)udpai_etcd_client_run(self->client, &task->task);
}

static void
set_streams(udpai_replication *base, uint64_t n)
{
    call_later(base, udpai_replicator_set_streams, n);
}

static void
rebalance(udpai_replication *base, uint64_t over_ms)
{
    call_later(base, udpai_replicator_rebalance, over_ms);
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
    call_later(base, call_list_again, 0);
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
    const udpai_str texts[] = {own->id,     own->version,    own->address,
                               own->config, own->advertised, own->keys};
    udpa_bytes **const copies[] = {&self->own.id,     &self->own.version,    &self->own.address,
                                   &self->own.config, &self->own.advertised, &self->own.keys};
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
