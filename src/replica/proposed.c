/* SPDX-License-Identifier: Apache-2.0 */
/* What a node proposes, as a transaction of etcd, until its outcome is known. */
#include "replica/replicator_internal.h"

#include "base/alloc.h"
#include "model/digest.h"
#include "store/store.h"

typedef struct proposed {
    udpai_list node;
    udpai_replicator *owner;
    udpai_replicated *outcome; /* to be reported */
    udpai_proposal proposal;
    UDPAI_VECTOR(udpai_etcd_compare) compares;
    UDPAI_VECTOR(udpai_etcd_op) ops;
    UDPAI_VECTOR(udpa_bytes *) texts; /* what both refer to */
} proposed;

static void
proposed_free(proposed *one)
{
    for (size_t i = 0; i < one->texts.n; i++)
        udpa_bytes_unref(one->texts.items[i]);
    udpai_vector_done(&one->texts);
    udpai_vector_done(&one->compares);
    udpai_vector_done(&one->ops);
    udpai_replicated_free(one->outcome);
    udpai_list_remove(&one->node);
    udpai_free(one);
}

void
udpai_replicator_free_proposed(udpai_replicator *replicator)
{
    UDPAI_LIST_FOREACH_SAFE (at, &replicator->proposed)
        proposed_free(UDPAI_LIST_ENTRY(at, proposed, node));
}

/* ---- outcomes ---- */

/* Takes the outcome. */
static void
report(const udpai_replicator *replicator,
       udpai_replicated *outcome,
       udpai_replicated_outcome how,
       const udpa_error *why)
{
    outcome->outcome = how;
    outcome->error = udpa_error_ref((udpa_error *)(uintptr_t)why);
    replicator->env.report(replicator->env.userdata, outcome);
}

static void
on_done(udpai_proposal *proposal, const udpai_proposal_result *result)
{
    static const udpai_replicated_outcome outcomes[] = {
        [UDPAI_PROPOSAL_COMMITTED] = UDPAI_REPLICATED_COMMITTED,
        [UDPAI_PROPOSAL_LOST] = UDPAI_REPLICATED_LOST,
        [UDPAI_PROPOSAL_REJECTED] = UDPAI_REPLICATED_REJECTED,
        [UDPAI_PROPOSAL_NOT_DONE] = UDPAI_REPLICATED_NOT_DONE,
        [UDPAI_PROPOSAL_UNKNOWN] = UDPAI_REPLICATED_UNKNOWN,
    };
    proposed *one = UDPAI_CONTAINER_OF(proposal, proposed, proposal);
    report(one->owner, UDPAI_TAKE(one->outcome), outcomes[result->outcome], result->error);
    proposed_free(one);
}

/* ---- the transaction ---- */

/* The text is the proposal's, or goes. */
static udpai_str
hold(proposed *one, udpa_bytes *text)
{
    if (!text || udpai_vector_push(&one->texts, text))
        return text ? udpai_bytes_view(text) : (udpai_str){0};
    udpa_bytes_unref(text);
    return (udpai_str){0};
}

static udpa_err
make_key(proposed *one, const udpai_record_place *place, udpai_str *ret_key, udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, udpai_bytes_view(one->owner->prefix));
    udpa_err err = udpai_record_put_key(&text, place, ret_error);
    if (err == UDPA_OK)
        *ret_key = hold(one, udpai_bytes_of(&text));
    else
        udpai_strbuf_done(&text);
    return err == UDPA_OK && ret_key->len == 0 ? UDPA_ERR_NOMEM : err;
}

/* The key is as it was at this position. UDPA_ERR_ABORTED: it is not. What has gone since is no
 * obstacle: a put is then as if it had come after that. */
static udpa_err
add_compare(proposed *one, udpai_str key, udpai_durable_position position)
{
    const udpai_etcd_compare compare = {
        .kind = UDPAI_ETCD_COMPARE_MOD_REVISION,
        .key = key,
        .revision = udpai_mirror_mod_revision(one->owner->mirror, key),
    };
    if (compare.revision > position.revision)
        return UDPA_ERR_ABORTED;
    return udpai_vector_push(&one->compares, compare) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* A removal of the same name that another replica commits first would end what is put. */
static udpa_err
compare_removal(proposed *one,
                const udpa_resource *resource,
                udpai_durable_position position,
                udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = udpai_store_removal_key(resource);
    if (!origin)
        return UDPA_ERR_NOMEM;
    const udpai_record_place place = {
        .origin = udpai_bytes_view(origin),
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
    };
    udpai_str key;
    udpa_err err = make_key(one, &place, &key, ret_error);
    return err == UDPA_OK ? add_compare(one, key, position) : err;
}

static udpa_err
add_put(proposed *one,
        const udpai_durable_op *op,
        udpai_str key,
        udpai_durable_position position,
        udpa_error **ret_error)
{
    udpa_bytes *value;
    bool is_removal = udpai_store_is_removal_key(udpai_bytes_view(op->origin));
    udpa_err err = is_removal ? UDPA_OK : compare_removal(one, op->resource, position, ret_error);
    if (err == UDPA_OK)
        err = udpai_record_value(op, udpai_bytes_view(one->owner->replica), &one->owner->seals,
                                 &value, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_etcd_op put = {
        .kind = UDPAI_ETCD_OP_PUT,
        .key = key,
        .value = hold(one, value),
    };
    return put.value.len && udpai_vector_push(&one->ops, put) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* What is not there need not be deleted. */
static udpa_err
add_op(proposed *one,
       const udpai_durable_op *op,
       udpai_durable_position position,
       udpa_error **ret_error)
{
    udpai_str key;
    const udpai_record_place place = udpai_record_place_of(op);
    udpa_err err = make_key(one, &place, &key, ret_error);
    if (err == UDPA_OK && op->kind == UDPAI_DURABLE_DELETE &&
        udpai_mirror_mod_revision(one->owner->mirror, key) == 0)
        return UDPA_OK;
    if (err == UDPA_OK)
        err = add_compare(one, key, position);
    if (err != UDPA_OK)
        return err;
    if (op->kind == UDPAI_DURABLE_PUT)
        return add_put(one, op, key, position, ret_error);
    const udpai_etcd_op deletion = {.kind = UDPAI_ETCD_OP_DELETE, .key = key};
    return udpai_vector_push(&one->ops, deletion) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Those of one publisher keep theirs. */
static uint32_t
order_of(const udpai_durable_batch *batch)
{
    size_t i = 0;
    while (i + 1 < batch->ops.n &&
           udpai_store_is_removal_key(udpai_bytes_view(batch->ops.items[i].origin)))
        i++;
    return (uint32_t)udpai_digest((udpai_str){0}, udpai_bytes_view(batch->ops.items[i].origin));
}

static udpa_err
check_size(const proposed *one, udpa_error **ret_error)
{
    size_t bytes = 0;
    for (size_t i = 0; i < one->ops.n; i++)
        bytes += one->ops.items[i].key.len + one->ops.items[i].value.len;
    if (one->compares.n <= UDPAI_PROPOSAL_OPS_MAX && one->ops.n <= UDPAI_PROPOSAL_OPS_MAX &&
        bytes <= UDPAI_PROPOSAL_BYTES_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "%zu changes with %zu bytes in one publication are more than a replica set "
                      "commits at a time (%d, and %zu bytes): publish them in several",
                      one->ops.n, bytes, UDPAI_PROPOSAL_OPS_MAX / 2, UDPAI_PROPOSAL_BYTES_MAX);
}

static udpa_err
fill(proposed *one, const udpai_durable_batch *batch, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++)
        err = add_op(one, &batch->ops.items[i], batch->position, ret_error);
    if (err == UDPA_OK)
        err = check_size(one, ret_error);
    one->proposal = (udpai_proposal){
        .compares = one->compares.items,
        .n_compares = one->compares.n,
        .ops = one->ops.items,
        .n_ops = one->ops.n,
        .order = batch->ops.n ? order_of(batch) : 0,
        .done = on_done,
    };
    return err;
}

/* Before something was listed, nothing is known that could be compared. */
static bool
knows(const udpai_replicator *replicator, udpai_durable_position position)
{
    return udpai_mirror_get_position(replicator->mirror).cluster_id == position.cluster_id &&
           position.cluster_id;
}

static void
end(proposed *one, udpa_err err, const udpa_error *why)
{
    udpai_replicated_outcome how = err == UDPA_OK            ? UDPAI_REPLICATED_COMMITTED
                                   : err == UDPA_ERR_ABORTED ? UDPAI_REPLICATED_LOST
                                   : err == UDPA_ERR_NOMEM   ? UDPAI_REPLICATED_NOT_DONE
                                                             : UDPAI_REPLICATED_REJECTED;
    report(one->owner, UDPAI_TAKE(one->outcome), how, why);
    proposed_free(one);
}

void
udpai_replicator_propose(udpai_replicator *replicator,
                         udpai_durable_batch *batch,
                         udpai_replicated *outcome)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    proposed *one = udpai_alloc(sizeof(*one));
    if (!one || !knows(replicator, batch->position)) {
        error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                               "this node has not received the state of its replica set from etcd "
                               "yet: publish it again");
        udpai_free(one);
        udpai_durable_batch_free(batch);
        report(replicator, outcome, UDPAI_REPLICATED_NOT_DONE, error);
        return;
    }
    one->owner = replicator;
    one->outcome = outcome;
    udpai_list_init(&one->node);
    udpai_list_append(&replicator->proposed, &one->node);
    udpa_err err = fill(one, batch, &error);
    udpai_durable_batch_free(batch);
    if (err != UDPA_OK || one->ops.n == 0)
        end(one, err, error);
    else
        udpai_proposals_add(replicator->proposals, &one->proposal);
}
