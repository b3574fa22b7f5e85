/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/etcd_model_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define TIMEOUT_MS 1000
#define LATE_MS 3000

typedef enum call_kind {
    CALL_RANGE,
    CALL_TXN,
    CALL_GRANT,
    CALL_KEEP,
    CALL_REVOKE,
    CALL_STATUS,
} call_kind;

/* Copies of what was asked. */
typedef struct model_call {
    etcd_model *model;
    const etcd_model_client *client;
    udpai_list node;
    call_kind kind;
    udpai_etcd_call *call; /* NULL: nobody waits for it */
    udpai_timer execute, answer;
    bool is_lost, is_response_lost, is_refused, is_full;
    udpai_etcd_range range;
    udpai_etcd_compare *compares;
    udpai_etcd_op *ops[2];
    size_t n_compares, n_ops[2];
    /* What it has led to. */
    bool is_done, succeeded, has_more, is_without_lease, is_compacted, is_future;
    int64_t revision;
    int64_t lease, ttl_s;
    udpai_etcd_kv *kvs;
    size_t n_kvs;
} model_call;

/* ---- small things ---- */

udpai_str
etcd_model_copy(udpai_str text)
{
    char *room = malloc(text.len + 1);
    if (text.len)
        memcpy(room, text.data, text.len);
    room[text.len] = '\0';
    return (udpai_str){room, text.len};
}

void
etcd_model_release(udpai_str text)
{
    free((char *)(uintptr_t)text.data);
}

/* ---- state ---- */

static udpai_str
key_of(const etcd_model_event *event)
{
    return (udpai_str){event->key, event->key_len};
}

static const etcd_model_event *
find(const etcd_model *model, udpai_str key, uint64_t hash, int64_t revision)
{
    for (size_t i = model->history.n; i-- > 0;) {
        const etcd_model_event *event = &model->history.items[i];
        if (event->key_hash == hash && event->revision <= revision &&
            udpai_str_eq(key_of(event), key))
            return event->is_delete ? NULL : event;
    }
    return NULL;
}

const etcd_model_event *
etcd_model_find(const etcd_model *model, udpai_str key, int64_t revision)
{
    return find(model, key, udpai_hash(key), revision);
}

static int
compare_events(const void *a, const void *b)
{
    const etcd_model_event *const *one = a, *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

/* All keys in a range at a revision, in their order. */
size_t
etcd_model_list(const etcd_model *model,
                udpai_str from,
                udpai_str end,
                int64_t revision,
                const etcd_model_event **found)
{
    size_t n = 0;
    for (size_t i = 0; i < model->history.n; i++) {
        const etcd_model_event *event = &model->history.items[i];
        if (etcd_model_is_in(key_of(event), from, end) &&
            find(model, key_of(event), event->key_hash, revision) == event) {
            etcd_model_must(n < KVS_MAX);
            found[n++] = event;
        }
    }
    qsort(found, n, sizeof(*found), compare_events);
    return n;
}

size_t
etcd_model_count(const etcd_model *model, udpai_str prefix, int64_t revision)
{
    size_t n = 0;
    for (size_t i = 0; i < model->history.n; i++) {
        const etcd_model_event *event = &model->history.items[i];
        n += udpai_str_starts(key_of(event), prefix) &&
             find(model, key_of(event), event->key_hash, revision) == event;
    }
    return n;
}

/* At this revision, which is new or the one that is being made. */
void
etcd_model_add_event(
    etcd_model *model, udpai_str key, udpai_str value, bool is_delete, int64_t revision)
{
    const etcd_model_event *before = etcd_model_find(model, key, revision);
    etcd_model_event event = {
        .key = (char *)(uintptr_t)etcd_model_copy(key).data,
        .key_len = key.len,
        .key_hash = udpai_hash(key),
        .value = etcd_model_copy(value),
        .revision = revision,
        .create_revision = before ? before->create_revision : revision,
        .version = is_delete ? 0
                   : before  ? before->version + 1
                             : 1,
        .is_delete = is_delete,
    };
    etcd_model_must(udpai_vector_push(&model->history, event));
    model->revision = revision;
}

/* ---- calls ---- */

static void
free_call(model_call *self)
{
    udpai_list_remove(&self->node);
    udpai_timer_cancel(&self->execute);
    udpai_timer_cancel(&self->answer);
    etcd_model_release(self->range.key);
    etcd_model_release(self->range.end);
    for (size_t i = 0; i < self->n_compares; i++)
        etcd_model_release(self->compares[i].key);
    for (size_t branch = 0; branch < 2; branch++) {
        for (size_t i = 0; i < self->n_ops[branch]; i++) {
            etcd_model_release(self->ops[branch][i].key);
            etcd_model_release(self->ops[branch][i].value);
            etcd_model_release(self->ops[branch][i].end);
        }
        free(self->ops[branch]);
    }
    for (size_t i = 0; i < self->n_kvs; i++) {
        etcd_model_release(self->kvs[i].key);
        etcd_model_release(self->kvs[i].value);
    }
    free(self->compares);
    free(self->kvs);
    free(self);
}

static void
add_kvs(model_call *self, udpai_str key, udpai_str end, int64_t revision, int64_t limit)
{
    static const etcd_model_event *found[KVS_MAX];
    size_t n = etcd_model_list(self->model, key, end, revision, found);
    self->has_more = limit && n > (size_t)limit;
    n = self->has_more ? (size_t)limit : n;
    self->kvs = realloc(self->kvs, (self->n_kvs + n + 1) * sizeof(*self->kvs));
    for (size_t i = 0; i < n; i++) {
        udpai_etcd_kv kv = etcd_model_kv_of(found[i]);
        kv.key = etcd_model_copy(kv.key);
        kv.value = etcd_model_copy(kv.value);
        self->kvs[self->n_kvs++] = kv;
    }
}

static void
execute_range(model_call *self)
{
    etcd_model *model = self->model;
    int64_t last =
        self->range.is_serializable ? etcd_model_last_revision(self->client) : model->revision;
    int64_t revision = self->range.revision ? self->range.revision : last;
    self->is_compacted = revision < model->compacted;
    self->is_future = revision > model->revision;
    if (!self->is_compacted && !self->is_future)
        add_kvs(self, self->range.key, self->range.end, revision, self->range.limit);
}

static bool
holds(const etcd_model *model, const udpai_etcd_compare *compare)
{
    const etcd_model_event *event = etcd_model_find(model, compare->key, model->revision);
    int64_t revision = !event                                             ? 0
                       : compare->kind == UDPAI_ETCD_COMPARE_MOD_REVISION ? event->revision
                                                                          : event->create_revision;
    return revision == compare->revision;
}

static void
execute_op(model_call *self, const udpai_etcd_op *op, int64_t revision)
{
    etcd_model *model = self->model;
    if (op->kind == UDPAI_ETCD_OP_RANGE)
        add_kvs(self, op->key, op->end, model->revision, 0);
    else if (op->kind == UDPAI_ETCD_OP_PUT) {
        etcd_model_add_event(model, op->key, op->value, false, revision);
        model->history.items[model->history.n - 1].lease = op->lease;
    } else if (etcd_model_find(model, op->key, model->revision))
        etcd_model_add_event(model, op->key, (udpai_str){"", 0}, true, revision);
}

/* Of what it writes; else it is rejected as a whole. */
static bool
has_leases(const model_call *self)
{
    for (size_t i = 0; i < self->n_ops[!self->succeeded]; i++) {
        const udpai_etcd_op *op = &self->ops[!self->succeeded][i];
        if (op->kind == UDPAI_ETCD_OP_PUT && op->lease &&
            !etcd_model_leases_has(&self->model->leases, op->lease))
            return false;
    }
    return true;
}

static void
execute_txn(model_call *self)
{
    etcd_model *model = self->model;
    int64_t revision = model->revision + 1;
    self->succeeded = true;
    for (size_t i = 0; i < self->n_compares; i++)
        self->succeeded = self->succeeded && holds(model, &self->compares[i]);
    self->is_without_lease = !has_leases(self);
    for (size_t i = 0; !self->is_without_lease && i < self->n_ops[!self->succeeded]; i++)
        execute_op(self, &self->ops[!self->succeeded][i], revision);
    etcd_model_wake_watches(model);
}

static void
execute_lease(model_call *self)
{
    etcd_model *model = self->model;
    if (self->kind == CALL_GRANT)
        self->lease = etcd_model_leases_grant(&model->leases, self->ttl_s);
    if (self->kind == CALL_REVOKE)
        etcd_model_end_lease(model, self->lease);
    self->ttl_s = etcd_model_leases_keep(&model->leases, self->lease, model->wheel->now_ms);
    if (!udpai_timer_is_set(&model->lease_end))
        udpai_timer_set(model->wheel, &model->lease_end, model->wheel->now_ms + 100);
}

static void
on_execute(udpai_timer *timer)
{
    model_call *self = UDPAI_CONTAINER_OF(timer, model_call, execute);
    if (self->call ? etcd_model_is_away(self->client) : self->model->is_away) {
        self->is_lost = true;
        if (!self->call)
            free_call(self);
        return;
    }
    self->is_done = true;
    if (self->kind == CALL_RANGE)
        execute_range(self);
    else if (self->kind == CALL_TXN)
        execute_txn(self);
    else
        execute_lease(self);
    self->revision = self->model->revision;
    if (!self->call) /* it was done later than anybody waited */
        free_call(self);
}

static void
on_answer(udpai_timer *timer)
{
    model_call *self = UDPAI_CONTAINER_OF(timer, model_call, answer);
    udpai_etcd_call *call = self->call;
    bool is_known = self->is_done && !self->is_response_lost && !etcd_model_is_away(self->client);
    udpa_error *error = udpa_error_new(self->is_full ? UDPA_ERR_LIMIT : UDPA_ERR_UNAVAILABLE, NULL,
                                       self->is_full ? "full" : "no answer");
    is_known = is_known && !self->is_full;
    if (self->model->is_denied)
        self->is_done = is_known = self->is_compacted = self->is_future = false;
    udpai_etcd_result result = {
        .outcome = is_known && !self->is_compacted && !self->is_future && !self->is_without_lease
                       ? UDPAI_ETCD_DONE
                   : is_known                 ? UDPAI_ETCD_REJECTED
                   : self->model->is_denied   ? UDPAI_ETCD_REJECTED
                   : self->is_refused         ? UDPAI_ETCD_NOT_DONE
                   : self->kind == CALL_RANGE ? UDPAI_ETCD_NOT_DONE
                                              : UDPAI_ETCD_UNKNOWN,
        .error = error,
        .is_compacted = self->is_compacted,
        .is_future = self->is_future,
    };
    if (result.outcome == UDPAI_ETCD_DONE) {
        result.error = NULL;
        result.header = etcd_model_header_of(self->model);
        result.header.revision = self->revision;
        result.succeeded = self->succeeded;
        result.has_more = self->has_more;
        result.kvs = self->kvs;
        result.n_kvs = self->n_kvs;
        result.lease = self->lease;
        result.ttl_s = self->ttl_s;
        result.status = self->model->status;
    }
    self->call = NULL;
    call->engine = NULL;
    call->done(call, &result);
    if (!udpai_timer_is_set(&self->execute))
        free_call(self);
    udpa_error_unref(error);
}

static model_call *
begin(udpai_etcd *etcd, udpai_etcd_call *call, call_kind kind)
{
    const etcd_model_client *client = etcd_model_client_of(etcd);
    etcd_model *model = client->model;
    const etcd_faults *faults = &model->faults;
    model_call *self = calloc(1, sizeof(*self));
    self->model = model;
    self->client = client;
    self->call = call;
    self->kind = kind;
    udpai_timer_init(&self->execute, on_execute);
    udpai_timer_init(&self->answer, on_answer);
    self->is_refused = etcd_model_happens(model, faults->refused);
    self->is_lost = etcd_model_happens(model, faults->lost_requests);
    self->is_response_lost = etcd_model_happens(model, faults->lost_responses);
    bool is_late = etcd_model_happens(model, faults->late_requests);
    bool is_answered_soon =
        !self->is_refused && !self->is_lost && !self->is_response_lost && !is_late;
    self->is_full = kind == CALL_TXN && is_answered_soon &&
                    (model->is_full || etcd_model_happens(model, faults->filling));
    uint64_t timeout_ms = call->timeout_ms ? call->timeout_ms : TIMEOUT_MS;
    uint64_t at = etcd_model_soon(model), late = model->wheel->now_ms + timeout_ms;
    bool is_executed = !self->is_refused && !self->is_lost && !(self->is_full && model->is_full);
    if (is_executed)
        udpai_timer_set(model->wheel, &self->execute,
                        is_late ? late + test_random_below(&model->random, LATE_MS) : at);
    bool is_answered = self->is_refused || !(self->is_lost || self->is_response_lost || is_late ||
                                             etcd_model_is_away(client));
    uint64_t answer = is_answered ? at + etcd_model_soon(model) - model->wheel->now_ms : late;
    self->is_response_lost |= answer > late;
    udpai_timer_set(model->wheel, &self->answer, answer > late ? late : answer);
    udpai_list_append(&model->calls, &self->node);
    call->engine = self;
    return self;
}

static udpa_err
range(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_range *what)
{
    model_call *self = begin(etcd, call, CALL_RANGE);
    self->range = *what;
    self->range.key = etcd_model_copy(what->key);
    self->range.end = etcd_model_copy(what->end);
    self->model->n_ranges++;
    return UDPA_OK;
}

static void
copy_ops(model_call *self, size_t branch, const udpai_etcd_op *ops, size_t n)
{
    etcd_model_must(n <= UDPAI_ETCD_TXN_OPS_MAX);
    self->ops[branch] = calloc(n + 1, sizeof(*ops));
    self->n_ops[branch] = n;
    for (size_t i = 0; i < n; i++) {
        udpai_etcd_op op = ops[i];
        op.key = etcd_model_copy(op.key);
        op.value = etcd_model_copy(op.value);
        op.end = etcd_model_copy(op.end);
        self->ops[branch][i] = op;
        for (size_t j = 0; j < i; j++) /* as etcd does */
            etcd_model_must(op.kind != UDPAI_ETCD_OP_PUT || ops[j].kind == UDPAI_ETCD_OP_RANGE ||
                            !udpai_str_eq(op.key, ops[j].key));
    }
}

static udpa_err
txn(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_txn *what)
{
    model_call *self = begin(etcd, call, CALL_TXN);
    etcd_model_must(what->n_compares <= UDPAI_ETCD_TXN_OPS_MAX);
    self->compares = calloc(what->n_compares + 1, sizeof(*self->compares));
    self->n_compares = what->n_compares;
    for (size_t i = 0; i < what->n_compares; i++) {
        self->compares[i] = what->compares[i];
        self->compares[i].key = etcd_model_copy(what->compares[i].key);
    }
    copy_ops(self, 0, what->ops, what->n_ops);
    copy_ops(self, 1, what->else_ops, what->n_else_ops);
    self->model->n_txns++;
    return UDPA_OK;
}

static udpa_err
lease_grant(udpai_etcd *etcd, udpai_etcd_call *call, int64_t ttl_s)
{
    begin(etcd, call, CALL_GRANT)->ttl_s = ttl_s;
    return UDPA_OK;
}

static udpa_err
lease_keep_alive(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease)
{
    begin(etcd, call, CALL_KEEP)->lease = lease;
    return UDPA_OK;
}

static udpa_err
lease_revoke(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease)
{
    begin(etcd, call, CALL_REVOKE)->lease = lease;
    return UDPA_OK;
}

/* Nothing of it is by chance, so that all else happens as it would without it. */
static udpa_err
status(udpai_etcd *etcd, udpai_etcd_call *call)
{
    const etcd_model_client *client = etcd_model_client_of(etcd);
    etcd_model *model = client->model;
    model_call *self = calloc(1, sizeof(*self));
    bool is_away = etcd_model_is_away(client);
    *self = (model_call){.model = model, .client = client, .call = call, .kind = CALL_STATUS};
    udpai_timer_init(&self->execute, on_execute);
    udpai_timer_init(&self->answer, on_answer);
    self->is_done = !is_away;
    udpai_timer_set(model->wheel, &self->answer, model->wheel->now_ms + (is_away ? TIMEOUT_MS : 1));
    udpai_list_append(&model->calls, &self->node);
    call->engine = self;
    return UDPA_OK;
}

static void
cancel(udpai_etcd *etcd, udpai_etcd_call *call)
{
    (void)etcd;
    model_call *self = call->engine;
    if (!self)
        return;
    call->engine = NULL;
    self->call = NULL;
    udpai_timer_cancel(&self->answer);
    if (!udpai_timer_is_set(&self->execute))
        free_call(self);
}

/* ---- the whole ---- */

void
etcd_model_put(etcd_model *model, const char *key, const char *value)
{
    int64_t revision = model->revision + 1;
    if (value || etcd_model_find(model, udpai_str_from(key), model->revision))
        etcd_model_add_event(model, udpai_str_from(key), udpai_str_from(value), !value, revision);
    etcd_model_wake_watches(model);
}

void
etcd_model_write(etcd_model *model, const char *key, udpai_str value)
{
    etcd_model_add_event(model, udpai_str_from(key), value, false, model->revision + 1);
    etcd_model_wake_watches(model);
}

void
etcd_model_put_all(etcd_model *model, const char *const *keys, size_t n, const char *value)
{
    int64_t revision = model->revision + 1;
    for (size_t i = 0; i < n; i++)
        etcd_model_add_event(model, udpai_str_from(keys[i]), udpai_str_from(value), false,
                             revision);
    etcd_model_wake_watches(model);
}

void
etcd_model_compact(etcd_model *model, int64_t revision)
{
    model->compacted = revision;
}

static void
free_event(etcd_model_event *event)
{
    free(event->key);
    etcd_model_release(event->value);
}

static void
forget_lost(etcd_model *model)
{
    while (model->lost.n)
        free_event(&model->lost.items[--model->lost.n]);
}

static bool
has_newer(const etcd_model *model, int64_t revision)
{
    return model->history.n && model->history.items[model->history.n - 1].revision > revision;
}

void
etcd_model_restore(etcd_model *model, int64_t revision)
{
    forget_lost(model);
    while (has_newer(model, revision))
        etcd_model_must(udpai_vector_push(&model->lost, model->history.items[--model->history.n]));
    model->revision = revision;
    model->is_bumped = false;
    if (model->compacted > revision)
        model->compacted = revision;
    etcd_model_cut_watches(model);
}

void
etcd_model_restore_bumped(etcd_model *model, int64_t revision, int64_t by)
{
    etcd_model_restore(model, revision);
    model->compacted_before = model->compacted;
    model->is_bumped = true;
    model->revision += by;
    model->compacted = model->revision;
}

void
etcd_model_bring_back(etcd_model *model)
{
    if (!model->lost.n)
        return;
    if (model->is_bumped)
        model->compacted = model->compacted_before;
    model->is_bumped = false;
    while (has_newer(model, model->lost.items[model->lost.n - 1].revision - 1))
        free_event(&model->history.items[--model->history.n]);
    model->revision = model->lost.items[0].revision;
    while (model->lost.n)
        etcd_model_must(udpai_vector_push(&model->history, model->lost.items[--model->lost.n]));
    etcd_model_cut_watches(model);
}

void
etcd_model_away(etcd_model *model, bool is_away)
{
    model->is_away = is_away;
    if (!is_away)
        etcd_model_wake_watches(model);
}

void
etcd_model_end_leases(etcd_model *model)
{
    while (model->leases.all.n)
        etcd_model_end_lease(model, model->leases.all.items[0].id);
}

void
etcd_model_client_init(etcd_model_client *client, etcd_model *model)
{
    static const udpai_etcd_ops ops = {
        .range = range,
        .txn = txn,
        .lease_grant = lease_grant,
        .lease_keep_alive = lease_keep_alive,
        .lease_revoke = lease_revoke,
        .status = status,
        .cancel = cancel,
        .watch = etcd_model_watch,
        .ask_progress = etcd_model_ask_progress,
        .unwatch = etcd_model_unwatch,
    };
    *client = (etcd_model_client){.etcd.ops = &ops, .model = model};
}

void
etcd_model_client_away(etcd_model_client *client, bool is_away)
{
    client->is_away = is_away;
    if (!is_away)
        etcd_model_wake_watches(client->model);
}

void
etcd_model_init(etcd_model *model, udpai_wheel *wheel, uint64_t seed)
{
    *model = (etcd_model){
        .wheel = wheel,
        .random = seed,
        .faults.latency_ms = 3,
        .cluster_id = 1000 + seed,
        .revision = 1,
    };
    etcd_model_client_init(&model->own, model);
    udpai_list_init(&model->calls);
    udpai_list_init(&model->watches);
    udpai_timer_init(&model->lease_end, etcd_model_on_lease_end);
}

void
etcd_model_done(etcd_model *model)
{
    UDPAI_LIST_FOREACH_SAFE (at, &model->calls) {
        model_call *self = UDPAI_LIST_ENTRY(at, model_call, node);
        etcd_model_must(!self->call);
        free_call(self);
    }
    etcd_model_must(udpai_list_empty(&model->watches));
    udpai_timer_cancel(&model->lease_end);
    udpai_vector_done(&model->leases.all);
    while (model->history.n)
        free_event(&model->history.items[--model->history.n]);
    udpai_vector_done(&model->history);
    forget_lost(model);
    udpai_vector_done(&model->lost);
}
