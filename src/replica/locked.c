/* SPDX-License-Identifier: Apache-2.0 */
/* What this replica cannot decrypt: it is reported to the node, which keeps what it has of it; the
 * other replicas see the ids of the keys; and with other keys it is tried again. */
#include "replica/replicator_internal.h"

#include <stdio.h>

#include "base/alloc.h"

/* If there is more, it is reported at most every second: each report has all of it. */
#define AT_ONCE 64
#define REPORT_MS 1000
#define RETRY_MS 500

/* ---- noting ---- */

static udpa_err
note(udpai_replicator *replicator, udpai_str key, udpai_str value, const char *key_id)
{
    udpai_durable_op op = {0};
    udpa_err err = udpai_record_read(&replicator->reader, key, NULL, &op, NULL);
    if (err == UDPA_OK)
        err = udpai_unread_set(&replicator->unread, key, value, op.type, key_id);
    udpai_durable_op_done(&op);
    return err;
}

udpa_err
udpai_replicator_note_locked(udpai_replicator *replicator,
                             udpai_str key,
                             const udpai_str *value,
                             bool *ret_is_locked)
{
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    udpa_err err = UDPA_OK;
    *ret_is_locked = false;
    if (!value ||
        udpai_record_find_key(&replicator->seals, *value, key_id) != UDPAI_RECORD_LOCKED) {
        udpai_unread_end(&replicator->unread, key);
        return UDPA_OK;
    }
    err = note(replicator, key, *value, key_id);
    *ret_is_locked = err == UDPA_OK;
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK; /* no replica writes such a key */
}

/* ---- reporting ---- */

static udpa_error *
describe(const udpai_unread *unread, const udpa_bytes *key_ids)
{
    udpai_str ids = udpai_bytes_view(key_ids);
    bool is_one = !memchr(ids.data, ' ', ids.len);
    return udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "%zu secret%s in etcd cannot be decrypted: store.keys does not have the key%s %.*s; what "
        "this replica has of %s is served as before: add the key%s, and send SIGHUP to udpad",
        unread->records.n, unread->records.n == 1 ? "" : "s", is_one ? "" : "s", UDPAI_SHOWN(ids),
        unread->records.n == 1 ? "it" : "them", is_one ? "" : "s");
}

static udpa_err
add_places(udpai_replicator *replicator, udpai_durable_batch *batch)
{
    size_t at = 0;
    const udpai_unread_record *record;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (record = udpai_map_next(&replicator->unread.records, &at))) {
        udpai_durable_op op = {0};
        err =
            udpai_record_read(&replicator->reader, udpai_bytes_view(record->key), NULL, &op, NULL);
        if (err == UDPA_OK)
            err = udpai_durable_batch_add(batch, &op);
        udpai_durable_op_done(&op);
    }
    return err;
}

/* False: there was no memory. */
static bool
report(udpai_replicator *replicator)
{
    udpai_unread *unread = &replicator->unread;
    UDPA_AUTO(udpai_replicated_free)
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_KEYS);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key_ids = udpai_unread_key_ids(unread);
    bool is_any = unread->records.n > 0;
    if (!event || (is_any && !key_ids) || !(event->batch = udpai_durable_batch_new()) ||
        add_places(replicator, event->batch) != UDPA_OK ||
        (is_any && !(event->error = describe(unread, key_ids))))
        return false;
    unread->has_grown = false;
    replicator->keys_due_ms = 0;
    replicator->n_unread_reported = unread->records.n;
    udpai_members_set_missing(replicator->members, key_ids);
    replicator->env.report(replicator->env.userdata, UDPAI_TAKE(event));
    return true;
}

static void
report_at(udpai_replicator *replicator, uint64_t time_ms)
{
    if (!replicator->keys_due_ms)
        replicator->keys_due_ms = time_ms;
    udpai_replicator_work_at(replicator, replicator->keys_due_ms);
}

udpa_err
udpai_replicator_before_change(udpai_replicator *replicator, bool is_all)
{
    bool may_wait = !is_all && replicator->n_unread_reported > AT_ONCE;
    if (!replicator->unread.has_grown)
        return UDPA_OK;
    if (!may_wait)
        return report(replicator) ? UDPA_OK : UDPA_ERR_NOMEM;
    report_at(replicator, replicator->env.wheel->now_ms + REPORT_MS);
    return UDPA_OK;
}

void
udpai_replicator_after_change(udpai_replicator *replicator)
{
    uint64_t now = replicator->env.wheel->now_ms;
    udpai_replicator_prune_audit(replicator);
    if (!udpai_unread_sweep(&replicator->unread))
        return;
    if (replicator->unread.records.n > AT_ONCE)
        report_at(replicator, now + REPORT_MS);
    else if (!report(replicator))
        report_at(replicator, now + RETRY_MS);
}

/* ---- other keys ---- */

static udpa_err
read_unlocked(udpai_replicator *replicator, udpai_durable_batch *batch)
{
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    size_t at = 0;
    const udpai_unread_record *record;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (record = udpai_map_next(&replicator->unread.records, &at))) {
        udpai_str value = udpai_bytes_view(record->value);
        if (udpai_record_find_key(&replicator->seals, value, key_id) == UDPAI_RECORD_LOCKED)
            continue;
        err = udpai_replicator_add_record(replicator, udpai_bytes_view(record->key), &value, batch);
    }
    return err;
}

static void
end_unlocked(udpai_replicator *replicator)
{
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    size_t at = 0;
    const udpai_unread_record *record;
    while ((record = udpai_map_next(&replicator->unread.records, &at)))
        if (udpai_record_find_key(&replicator->seals, udpai_bytes_view(record->value), key_id) !=
            UDPAI_RECORD_LOCKED)
            udpai_unread_end(&replicator->unread, udpai_bytes_view(record->key));
}

/* False: there was no memory, and nothing has changed. */
static bool
retry(udpai_replicator *replicator)
{
    const udpai_mirror_position position = udpai_mirror_get_position(replicator->mirror);
    UDPA_AUTO(udpai_replicated_free)
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_CHANGE);
    if (!event || !(event->batch = udpai_durable_batch_new()) ||
        read_unlocked(replicator, event->batch) != UDPA_OK)
        return false;
    event->batch->position = (udpai_durable_position){
        .cluster_id = position.cluster_id,
        .revision = position.revision,
    };
    event->base = replicator->base;
    if (event->batch->ops.n)
        replicator->env.report(replicator->env.userdata, UDPAI_TAKE(event));
    end_unlocked(replicator);
    udpai_replicator_after_change(replicator);
    udpai_held_begin_again(replicator->held);
    return true;
}

void
udpai_replicator_set_keys(udpai_replicator *replicator, udpai_str key_ids)
{
    udpai_members_set_keys(replicator->members, key_ids);
    replicator->must_retry = replicator->unread.records.n > 0;
    udpai_replicator_look_at_keys(replicator);
    udpai_held_begin_again(replicator->held);
}

void
udpai_replicator_look_at_keys(udpai_replicator *replicator)
{
    uint64_t now = replicator->env.wheel->now_ms;
    if (replicator->must_retry)
        replicator->must_retry = !retry(replicator);
    if (replicator->must_retry)
        udpai_replicator_work_at(replicator, now + RETRY_MS);
    if (!replicator->keys_due_ms)
        return;
    if (replicator->keys_due_ms <= now && !report(replicator))
        replicator->keys_due_ms = now + RETRY_MS;
    if (replicator->keys_due_ms)
        udpai_replicator_work_at(replicator, replicator->keys_due_ms);
}

/* ---- proposing ---- */

/* It was decided by what there was before. */
udpa_error *
udpai_replicator_locked_error(const udpai_replicator *replicator, udpai_str record)
{
    const udpai_unread_record *locked = udpai_unread_find(&replicator->unread, record);
    if (!locked)
        return NULL;
    udpa_error *error = NULL;
    (void)udpai_fail(&error, UDPA_ERR_UNAVAILABLE,
                     "what this replica has of a secret is older than what etcd has, which is "
                     "encrypted with the key %s, and store.keys does not have it: publish it at "
                     "another replica, or add the key; if the key is lost, delete the key %.*s%.*s "
                     "in etcd",
                     locked->key_id, UDPAI_SHOWN(udpai_bytes_view(replicator->prefix)),
                     UDPAI_SHOWN(record));
    return error;
}
