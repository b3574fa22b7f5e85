/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets sealed anew: page by page all contributions are read, and those with another key written
 * with the first one, if they are as they were read. What somebody else has written meanwhile is
 * looked at again. Several replicas may do this at once: each finds less to do. */
#include "replica/replicator_internal.h"

#include <stdio.h>

#include "base/alloc.h"

/* Records may have UDPAI_RECORD_VALUE_MAX each. */
#define PAGE_KEYS 32
/* In one transaction, of which one that was changed costs all: fewer with each pass. */
#define PER_TRANSACTION 32
#define PASSES_MAX 8
#define AGAIN_MS 200

typedef struct udpai_reseal {
    udpai_replicator *owner;
    udpai_etcd_call call;
    bool is_asking;
    udpa_bytes *from, *end; /* keys, with the prefix */
    unsigned pass;
    size_t n_under_way;
    bool has_more;
    uint64_t due_ms; /* of the next pass; 0: one is under way */
    udpai_reseal_progress progress;
} udpai_reseal;

static void ask(udpai_reseal *self);

/* ---- its end ---- */

void
udpai_reseal_free(udpai_reseal *self)
{
    if (!self)
        return;
    if (self->is_asking)
        self->owner->env.etcd->ops->cancel(self->owner->env.etcd, &self->call);
    udpa_bytes_unref(self->from);
    udpa_bytes_unref(self->end);
    udpai_free(self);
}

static void
notify(const udpai_reseal *self)
{
    const udpai_replicator_env *env = &self->owner->env;
    if (env->resealing)
        env->resealing(env->userdata, &self->progress);
}

static void
log_end(const udpai_reseal_progress *progress)
{
    if (progress->error[0])
        udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA,
                  "store reseal has ended early, start it again: %s", progress->error);
    else
        udpai_log(progress->n_left ? UDPA_LOG_WARNING : UDPA_LOG_INFO, UDPAI_LOG_REPLICA,
                  "store reseal: %zu secrets in etcd, %zu were encrypted with the first key now, "
                  "%zu cannot be decrypted",
                  progress->n_secrets, progress->n_sealed, progress->n_left);
}

static void
finish(udpai_reseal *self)
{
    udpai_replicator *owner = self->owner;
    self->progress.is_running = false;
    log_end(&self->progress);
    notify(self);
    owner->reseal = NULL;
    udpai_reseal_free(self);
}

/* The first error counts; what is under way comes to its end. */
static void
fail(udpai_reseal *self, const char *why)
{
    if (!self->progress.error[0])
        snprintf(self->progress.error, sizeof(self->progress.error), "%s", why);
}

static void
fail_by(udpai_reseal *self, const udpa_error *why, udpa_err err)
{
    fail(self, why ? udpa_error_message(why) : udpa_err_text(err));
}

/* ---- passes ---- */

static bool
is_over(const udpai_reseal *self)
{
    return self->progress.error[0] || (!self->has_more && self->progress.n_lost == 0);
}

static void
go_on(udpai_reseal *self)
{
    udpai_replicator *owner = self->owner;
    if (self->n_under_way || self->is_asking)
        return;
    notify(self);
    if (is_over(self)) {
        finish(self);
    } else if (self->has_more) {
        ask(self);
    } else if (self->pass + 1 == PASSES_MAX) {
        fail(self, "others change the same secrets each time");
        finish(self);
    } else {
        self->due_ms = owner->env.wheel->now_ms + AGAIN_MS;
        udpai_replicator_work_at(owner, self->due_ms);
    }
}

/* ---- records ---- */

static void
on_done(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    udpai_replicator *owner = transaction->userdata;
    udpai_reseal *self = owner->reseal;
    self->n_under_way--;
    if (result->outcome == UDPAI_PROPOSAL_COMMITTED)
        self->progress.n_sealed += transaction->ops.n;
    else if (result->outcome == UDPAI_PROPOSAL_LOST)
        self->progress.n_lost += transaction->ops.n;
    else
        fail_by(self, result->error, UDPA_ERR_UNAVAILABLE);
    go_on(self);
}

static void
submit(udpai_reseal *self, udpai_replica_transaction *transaction)
{
    const udpai_transaction_env env = udpai_replicator_transactions(self->owner);
    if (!transaction)
        return;
    self->n_under_way++;
    if (udpai_transaction_submit(transaction, &env, &self->owner->under_way, on_done, self->owner))
        return;
    self->n_under_way--;
    fail_by(self, NULL, UDPA_ERR_NOMEM);
}

static bool
has_room(const udpai_reseal *self, const udpai_replica_transaction *transaction, size_t bytes)
{
    size_t n_max = PER_TRANSACTION >> (2 * self->pass);
    return transaction->ops.n < (n_max ? n_max : 1) &&
           udpai_transaction_fits(transaction, 2, 1, bytes);
}

/* A lock of a change set would put the old value back. */
static void
add(udpai_reseal *self,
    udpai_replica_transaction **transaction,
    const udpai_etcd_kv *kv,
    udpai_str record,
    udpa_bytes *value)
{
    const udpai_transaction_env env = udpai_replicator_transactions(self->owner);
    size_t bytes = kv->key.len + udpa_bytes_size(value);
    if (*transaction && !has_room(self, *transaction, bytes)) {
        submit(self, *transaction);
        *transaction = NULL;
    }
    if (!*transaction && !(*transaction = udpai_replica_transaction_new(0))) {
        fail_by(self, NULL, UDPA_ERR_NOMEM);
        return;
    }
    udpai_str key = udpai_transaction_key(*transaction, &env, "", record);
    udpai_transaction_compare(*transaction, key, kv->mod_revision);
    udpai_transaction_compare(*transaction,
                              udpai_transaction_key(*transaction, &env, UDPAI_LOCK, record), 0);
    udpai_transaction_put(*transaction, key, value);
}

static bool
must_be_sealed(udpai_reseal *self, udpai_str record, udpai_str value)
{
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    udpai_reseal_progress *progress = &self->progress;
    udpai_replicator *owner = self->owner;
    udpai_record_sealed sealed = udpai_record_find_key(&owner->seals, value, key_id);
    bool is_plain = sealed == UDPAI_RECORD_PLAIN;
    if (is_plain && !udpai_record_is_secret(&owner->reader, record))
        return false;
    progress->n_secrets++;
    progress->n_left += sealed == UDPAI_RECORD_LOCKED || sealed == UDPAI_RECORD_DAMAGED;
    return is_plain || sealed == UDPAI_RECORD_OLD;
}

static void
look(udpai_reseal *self, udpai_replica_transaction **transaction, const udpai_etcd_kv *kv)
{
    udpai_replicator *owner = self->owner;
    size_t before = udpa_bytes_size(owner->prefix);
    const udpai_str record = {kv->key.data + before, kv->key.len - before};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!must_be_sealed(self, record, kv->value))
        return;
    if (udpai_locks_find(&owner->locks, record)) {
        self->progress.n_lost++;
        return;
    }
    udpa_err err = udpai_record_reseal(&owner->reader, record, kv->value, &value, &error);
    if (err == UDPA_OK)
        add(self, transaction, kv, record, value);
    else if (err == UDPA_ERR_MALFORMED)
        self->progress.n_left++;
    else
        fail_by(self, error, err);
}

/* ---- pages ---- */

static udpa_err
go_behind(udpai_reseal *self, udpai_str key)
{
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, key);
    udpai_strbuf_putc(&text, '\0');
    udpa_bytes *next = udpai_bytes_of(&text);
    if (!next)
        return UDPA_ERR_NOMEM;
    udpa_bytes_unref(self->from);
    self->from = next;
    return UDPA_OK;
}

static void
on_page(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_reseal *self = UDPAI_CONTAINER_OF(call, udpai_reseal, call);
    udpai_replica_transaction *transaction = NULL;
    self->is_asking = false;
    self->has_more = result->outcome == UDPAI_ETCD_DONE && result->has_more && result->n_kvs;
    if (result->outcome != UDPAI_ETCD_DONE)
        fail_by(self, result->error, UDPA_ERR_UNAVAILABLE);
    if (self->has_more && go_behind(self, result->kvs[result->n_kvs - 1].key) != UDPA_OK)
        fail_by(self, NULL, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < result->n_kvs && !self->progress.error[0]; i++)
        look(self, &transaction, &result->kvs[i]);
    submit(self, transaction);
    go_on(self);
}

static void
ask(udpai_reseal *self)
{
    udpai_etcd *etcd = self->owner->env.etcd;
    const udpai_etcd_range range = {
        .key = udpai_bytes_view(self->from),
        .end = udpai_bytes_view(self->end),
        .limit = PAGE_KEYS,
    };
    self->is_asking = true;
    udpa_err err = self->owner->is_held || udpai_replicator_is_away(self->owner)
                       ? UDPA_ERR_UNAVAILABLE
                       : etcd->ops->range(etcd, &self->call, &range);
    if (err == UDPA_OK)
        return;
    self->is_asking = false;
    fail_by(self, err == UDPA_ERR_UNAVAILABLE ? self->owner->why : NULL, err);
    go_on(self);
}

/* ---- its beginning ---- */

static udpa_err
begin_pass(udpai_reseal *self)
{
    udpai_reseal_progress *progress = &self->progress;
    udpai_strbuf from = {0};
    udpai_strbuf_str(&from, udpai_bytes_view(self->owner->prefix));
    udpai_strbuf_puts(&from, "c/");
    udpa_bytes_unref(self->from);
    self->from = udpai_bytes_of(&from);
    if (self->from && !self->end)
        self->end = udpai_etcd_prefix_end(udpai_bytes_view(self->from));
    progress->n_secrets = progress->n_lost = progress->n_left = 0;
    self->has_more = true;
    self->due_ms = 0;
    return self->from && self->end ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_reseal_go_on(udpai_replicator *replicator)
{
    udpai_reseal *self = replicator->reseal;
    if (!self || !self->due_ms)
        return;
    if (self->due_ms > replicator->env.wheel->now_ms) {
        udpai_replicator_work_at(replicator, self->due_ms);
        return;
    }
    self->pass++;
    if (begin_pass(self) != UDPA_OK)
        fail_by(self, NULL, UDPA_ERR_NOMEM);
    go_on(self);
}

void
udpai_replicator_reseal(udpai_replicator *replicator)
{
    if (replicator->reseal)
        return;
    udpai_reseal *self = udpai_alloc(sizeof(*self));
    if (!self) {
        udpai_reseal_progress progress = {.error = "out of memory"};
        if (replicator->env.resealing)
            replicator->env.resealing(replicator->env.userdata, &progress);
        return;
    }
    replicator->reseal = self;
    self->owner = replicator;
    self->call.done = on_page;
    self->progress.is_running = true;
    if (begin_pass(self) != UDPA_OK)
        fail_by(self, NULL, UDPA_ERR_NOMEM);
    go_on(self);
}
