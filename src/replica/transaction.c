/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/transaction.h"

#include "base/alloc.h"
#include "replica/set.h"

udpai_replica_transaction *
udpai_replica_transaction_new(uint32_t order)
{
    udpai_replica_transaction *transaction = udpai_alloc(sizeof(*transaction));
    if (!transaction)
        return NULL;
    udpai_list_init(&transaction->node);
    transaction->proposal.order = order;
    return transaction;
}

udpai_replica_transaction *
udpai_replica_transaction_free(udpai_replica_transaction *transaction)
{
    if (!transaction)
        return NULL;
    udpai_list_remove(&transaction->node);
    for (size_t i = 0; i < transaction->texts.n; i++)
        udpa_bytes_unref(transaction->texts.items[i]);
    udpai_vector_done(&transaction->texts);
    udpai_vector_done(&transaction->compares);
    udpai_vector_done(&transaction->ops);
    udpai_free(transaction);
    return NULL;
}

void
udpai_transactions_free(udpai_list *under_way)
{
    UDPAI_LIST_FOREACH_SAFE (at, under_way)
        udpai_replica_transaction_free(UDPAI_LIST_ENTRY(at, udpai_replica_transaction, node));
}

/* ---- what is in it ---- */

/* Takes the text. */
static udpai_str
hold(udpai_replica_transaction *transaction, udpa_bytes *text)
{
    if (text && udpai_vector_push(&transaction->texts, text))
        return udpai_bytes_view(text);
    udpa_bytes_unref(text);
    transaction->has_failed = true;
    return (udpai_str){0};
}

udpai_str
udpai_transaction_key(udpai_replica_transaction *transaction,
                      const udpai_transaction_env *env,
                      const char *head,
                      udpai_str key)
{
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, env->prefix);
    udpai_strbuf_puts(&text, head);
    udpai_strbuf_str(&text, key);
    return hold(transaction, udpai_bytes_of(&text));
}

void
udpai_transaction_compare(udpai_replica_transaction *transaction,
                          udpai_str key,
                          int64_t mod_revision)
{
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_MOD_REVISION, key, mod_revision};
    transaction->has_failed |= !udpai_vector_push(&transaction->compares, compare);
}

void
udpai_transaction_compare_created(udpai_replica_transaction *transaction,
                                  udpai_str key,
                                  int64_t create_revision)
{
    const udpai_etcd_compare compare = {UDPAI_ETCD_COMPARE_CREATE_REVISION, key, create_revision};
    transaction->has_failed |= !udpai_vector_push(&transaction->compares, compare);
}

static void
add(udpai_replica_transaction *transaction, const udpai_etcd_op *op)
{
    transaction->has_failed |= !udpai_vector_push(&transaction->ops, *op);
    transaction->bytes += op->key.len + op->value.len;
}

void
udpai_transaction_put(udpai_replica_transaction *transaction, udpai_str key, udpa_bytes *value)
{
    add(transaction, &(udpai_etcd_op){
                         .kind = UDPAI_ETCD_OP_PUT,
                         .key = key,
                         .value = hold(transaction, udpa_bytes_ref(value)),
                     });
}

void
udpai_transaction_delete(udpai_replica_transaction *transaction, udpai_str key)
{
    add(transaction, &(udpai_etcd_op){.kind = UDPAI_ETCD_OP_DELETE, .key = key});
}

bool
udpai_transaction_fits(const udpai_replica_transaction *transaction,
                       size_t n_compares,
                       size_t n_ops,
                       size_t bytes)
{
    return transaction->compares.n + n_compares < UDPAI_PROPOSAL_OPS_MAX &&
           transaction->ops.n + n_ops <= UDPAI_PROPOSAL_OPS_MAX &&
           (transaction->ops.n == 0 || transaction->bytes + bytes <= UDPAI_TRANSACTION_BYTES);
}

/* ---- on its way ---- */

static void
on_done(udpai_proposal *proposal, const udpai_proposal_result *result)
{
    udpai_replica_transaction *transaction =
        UDPAI_CONTAINER_OF(proposal, udpai_replica_transaction, proposal);
    udpai_list_remove(&transaction->node);
    transaction->done(transaction, result);
    udpai_replica_transaction_free(transaction);
}

/* What has another format, or is of another set, must not be written to by this replica. One more
 * comparison than its owner knows of. */
static void
compare_set(udpai_replica_transaction *transaction, const udpai_transaction_env *env)
{
    udpai_str key = udpai_transaction_key(transaction, env, UDPAI_SET_KEY, (udpai_str){0});
    if (key.len)
        udpai_transaction_compare(transaction, key, udpai_mirror_mod_revision(env->mirror, key));
}

bool
udpai_transaction_submit(udpai_replica_transaction *transaction,
                         const udpai_transaction_env *env,
                         udpai_list *under_way,
                         udpai_transaction_done_fn done,
                         void *userdata)
{
    compare_set(transaction, env);
    if (transaction->has_failed) {
        udpai_replica_transaction_free(transaction);
        return false;
    }
    transaction->done = done;
    transaction->userdata = userdata;
    udpai_proposal *proposal = &transaction->proposal;
    proposal->compares = transaction->compares.items;
    proposal->n_compares = transaction->compares.n;
    proposal->ops = transaction->ops.items;
    proposal->n_ops = transaction->ops.n;
    proposal->done = on_done;
    udpai_list_append(under_way, &transaction->node);
    udpai_proposals_add(env->proposals, proposal);
    return true;
}
