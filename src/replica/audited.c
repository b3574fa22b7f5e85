/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the audit, as a replica receives them, and deletes them as the janitor. */
#include "replica/replicator_internal.h"

#define LOOK_MS 60000
#define AGAIN_MS 1000
#define AT_ONCE 64

udpa_err
udpai_replicator_add_audit(udpai_replicator *replicator,
                           udpai_str key,
                           const udpai_str *value,
                           udpai_durable_batch *batch)
{
    unsigned n_suppressed;
    udpa_err err = value ? udpai_replica_audit_read(key, *value, batch) : UDPA_OK;
    if (err != UDPA_ERR_MALFORMED)
        return err;
    if (udpai_log_allow(&replicator->malformed_log, replicator->env.wheel->now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA, UDPAI_ABOUT({UDPAI_LOG_NAME, key}),
                        "ignored in etcd: %.*s has no record of an audit (%u more not shown)",
                        UDPAI_SHOWN(key), n_suppressed);
    return UDPA_OK;
}

static void
on_done(udpai_replica_transaction *transaction, const udpai_proposal_result *result)
{
    (void)transaction;
    (void)result; /* what was not done is found again */
}

/* Without memory: at the next time. */
static void
delete_all(udpai_replicator *replicator, const udpai_replica_audit_keys *keys)
{
    const udpai_transaction_env env = udpai_replicator_transactions(replicator);
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(0);
    if (!transaction)
        return;
    for (size_t i = 0; i < keys->n; i++) {
        udpai_str key = udpai_bytes_view(keys->items[i]);
        key = (udpai_str){key.data + env.prefix.len, key.len - env.prefix.len};
        udpai_transaction_delete(transaction, udpai_transaction_key(transaction, &env, "", key));
    }
    (void)udpai_transaction_submit(transaction, &env, &replicator->under_way, on_done, NULL);
}

void
udpai_replicator_prune_audit(udpai_replicator *replicator)
{
    uint64_t now = replicator->env.wheel->now_ms;
    unsigned place;
    int64_t created;
    if (now < replicator->audit_due_ms || !replicator->is_current ||
        !udpai_members_is_janitor(replicator->members, &place, &created))
        return;
    udpai_replica_audit_keys keys = {0};
    udpa_err err = udpai_replica_audit_find_old(
        replicator->mirror, udpai_bytes_view(replicator->prefix), AT_ONCE, &keys);
    if (err == UDPA_OK && keys.n)
        delete_all(replicator, &keys);
    replicator->audit_due_ms = now + (keys.n == AT_ONCE ? AGAIN_MS : LOOK_MS);
    for (size_t i = 0; i < keys.n; i++)
        udpa_bytes_unref(keys.items[i]);
    udpai_vector_done(&keys);
}
