/* SPDX-License-Identifier: Apache-2.0 */
/* Publications of a node that has replicas: each is proposed, and takes effect where all changes
 * do, when etcd has committed it. What somebody else has changed first is decided again. */
#include "federation/commits_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "federation/publishers.h"
#include "federation/shares.h"
#include "federation/stamp.h"

/* So often a publication is decided again. Two that publish to the same in step lose every second
 * time, and eight in a row after some hundred. */
#define LOST_MAX 64

/* ---- proposing ---- */

/* What else there is, this node has by itself, and others have it by themselves. */
static bool
is_shared(const udpai_commits *commits, const udpai_durable_op *op)
{
    udpai_str origin = udpai_bytes_view(op->origin);
    return udpai_publisher_is_key(origin) || udpai_store_is_removal_key(origin) ||
           udpai_shares_find(commits->shares, origin);
}

/* The rest keep their order. */
static void
keep_shared(const udpai_commits *commits, udpai_durable_batch *batch)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < batch->ops.n; i++) {
        udpai_durable_op op = batch->ops.items[i];
        if (!is_shared(commits, &op))
            continue;
        batch->ops.items[i] = batch->ops.items[n_kept];
        batch->ops.items[n_kept++] = op;
    }
    udpai_durable_batch_cut(batch, n_kept);
}

static udpai_str
name_of(const udpai_durable_op *op)
{
    return op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
}

/* With the NUL. */
static udpai_str
type_of(const udpai_durable_op *op)
{
    return udpai_bytes_view(op->resource ? udpai_resource_type(op->resource) : op->type);
}

static int
compare_places(const udpai_durable_op *a, const udpai_durable_op *b)
{
    int order = udpai_str_cmp(name_of(a), name_of(b));
    if (order == 0)
        order = udpai_str_cmp(type_of(a), type_of(b));
    return order ? order : udpai_str_cmp(udpai_bytes_view(a->origin), udpai_bytes_view(b->origin));
}

static int
compare_ops(const void *a, const void *b, void *items)
{
    const udpai_durable_op *ops = items;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    int order = compare_places(&ops[i], &ops[k]);
    return order ? order : (i > k) - (i < k);
}

/* Of what is written twice, as what is removed and published in one message, the last counts: a
 * transaction of etcd has each key once. */
static udpa_err
drop_repeated(udpai_durable_batch *batch)
{
    udpai_durable_op *ops = batch->ops.items;
    size_t n = batch->ops.n, n_kept = 0;
    uint32_t *order = n ? udpai_alloc_array(n, sizeof(*order)) : NULL;
    if (!order)
        return n ? UDPA_ERR_NOMEM : UDPA_OK;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof(*order), compare_ops, ops);
    for (size_t at = 1; at < n; at++) /* the number is a mark: neither PUT nor DELETE has one */
        if (compare_places(&ops[order[at - 1]], &ops[order[at]]) == 0)
            ops[order[at - 1]].number = 1;
    udpai_free(order);
    for (size_t i = 0; i < n; i++) {
        udpai_durable_op op = ops[i];
        if (op.number)
            continue;
        ops[i] = ops[n_kept];
        ops[n_kept++] = op;
    }
    udpai_durable_batch_cut(batch, n_kept);
    return UDPA_OK;
}

/* Each replica renews it, as what it reads by itself. */
static void
keep_alive(const udpai_shares *shares, udpai_durable_batch *batch)
{
    for (size_t i = 0; i < batch->ops.n; i++)
        if (udpai_shares_find(shares, udpai_bytes_view(batch->ops.items[i].origin)))
            batch->ops.items[i].expires_us = 0;
}

static udpai_durable_batch *
batch_of(const udpai_commits *commits, udpai_transaction *one)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    if (!batch || udpai_staging_propose(one->staging, batch) != UDPA_OK)
        return udpai_durable_batch_free(batch);
    keep_shared(commits, batch);
    if (one->share && udpai_shares_add_mark(one->share, batch) != UDPA_OK)
        return udpai_durable_batch_free(batch);
    if (drop_repeated(batch) != UDPA_OK ||
        !udpai_refreshes_begin(batch, udpai_context_now(commits->context), &one->refreshes))
        return udpai_durable_batch_free(batch);
    udpai_stamp_expiry(commits->context, batch);
    keep_alive(commits->shares, batch);
    if (udpai_transaction_audit(commits, one, batch, 0) != UDPA_OK)
        return udpai_durable_batch_free(batch);
    batch->position = one->position;
    batch->is_janitors = one->is_janitors;
    batch->place = one->place;
    return batch;
}

static void
refuse(udpai_transaction *one, udpa_err err, const char *why)
{
    if (one->pending)
        udpai_pending_publication_refuse(one->pending, err, why);
}

static void
end(udpai_commits *commits, udpai_transaction *one)
{
    udpai_transaction_end(commits, one);
    commits->has_ended = true;
    udpai_context_touch(commits->context);
}

static void
end_share(const udpai_commits *commits,
          const udpai_transaction *one,
          const udpai_replicated *outcome)
{
    if (one->share)
        udpai_shares_proposed(commits->shares, one->share, outcome);
}

void
udpai_commits_propose(udpai_commits *commits)
{
    const udpai_replicated none = {.outcome = UDPAI_REPLICATED_NOT_DONE};
    const udpai_node_env *env = &commits->context->env;
    udpai_list *at;
    while ((at = udpai_list_pop(&commits->staged))) {
        udpai_transaction *one = UDPAI_LIST_ENTRY(at, udpai_transaction, node);
        udpai_durable_batch *batch = batch_of(commits, one);
        udpai_list_append(&commits->sent, &one->node);
        one->ticket = ++commits->last_proposed;
        if (batch) {
            env->propose(env->userdata, batch, one->ticket);
        } else {
            refuse(one, UDPA_ERR_NOMEM, "out of memory");
            end_share(commits, one, &none);
            end(commits, one);
        }
    }
}

void
udpai_commits_propose_batch(udpai_commits *commits, udpai_durable_batch *batch)
{
    const udpai_context *context = commits->context;
    batch->position = context->position;
    context->env.propose(context->env.userdata, batch, ++commits->last_proposed);
}

void
udpai_commits_propose_delete(udpai_commits *commits, const udpai_durable_op *op)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    if (!batch || udpai_durable_batch_add(batch, op) != UDPA_OK) {
        udpai_durable_batch_free(batch);
        return;
    }
    batch->is_janitors = true;
    udpai_commits_propose_batch(commits, batch);
}

/* NULL: somebody else changes the name, or there is no memory. */
static udpai_transaction *
begin_as_janitor(udpai_commits *commits, udpai_origin *origin, udpai_str name)
{
    udpai_commit_queue *of =
        udpai_commits_have_name(commits, name) ? NULL : udpai_commit_queue_get(commits, origin);
    udpai_transaction *begun = of ? udpai_transaction_new(of, NULL) : NULL;
    if (!begun) {
        if (of)
            udpai_commit_queue_release(commits, of);
        return NULL;
    }
    begun->is_janitors = true;
    begun->staging = udpai_staging_new(commits->context->store);
    if (begun->staging)
        return begun;
    udpai_transaction_end(commits, begun);
    return NULL;
}

static void
hand_over(udpai_commits *commits, udpai_transaction *begun)
{
    if (!udpai_staging_is_empty(begun->staging) && udpai_transaction_stage(commits, begun))
        udpai_context_touch(commits->context);
    else
        udpai_transaction_end(commits, begun);
}

void
udpai_commits_propose_end(udpai_commits *commits,
                          udpai_origin *origin,
                          udpai_str type_url,
                          udpai_str name)
{
    udpai_transaction *begun = begin_as_janitor(commits, origin, name);
    if (!begun)
        return;
    udpai_staging_withdraw(begun->staging, commits->context->store, origin, type_url, name);
    hand_over(commits, begun);
}

void
udpai_commits_propose_put(udpai_commits *commits,
                          udpai_origin *origin,
                          udpa_resource *resource,
                          uint64_t deadline_ms)
{
    udpai_transaction *begun = begin_as_janitor(commits, origin, udpai_resource_name(resource));
    if (!begun)
        return;
    if (udpai_staging_put(begun->staging, commits->context->store, origin, resource, deadline_ms,
                          NULL) == UDPA_OK)
        hand_over(commits, begun);
    else
        udpai_transaction_end(commits, begun);
}

static bool
is_any_staged(const udpai_commits *commits, const udpai_staging *staging)
{
    size_t at = 0;
    udpai_str name;
    while ((name = udpai_staging_next_name(staging, &at)).len)
        if (udpai_commits_have_name(commits, name))
            return true;
    return false;
}

bool
udpai_commits_propose_share(udpai_commits *commits, udpai_share *share, udpai_staging *staging)
{
    udpai_commit_queue *of =
        is_any_staged(commits, staging) ? NULL : udpai_commit_queue_get(commits, share->origin);
    udpai_transaction *begun = of ? udpai_transaction_new(of, NULL) : NULL;
    if (!begun) {
        if (of)
            udpai_commit_queue_release(commits, of);
        udpai_staging_free(staging);
        return false;
    }
    begun->is_janitors = true;
    begun->staging = staging;
    begun->share = share;
    share->is_proposed = udpai_transaction_stage(commits, begun);
    if (!share->is_proposed)
        udpai_transaction_end(commits, begun);
    return share->is_proposed;
}

/* ---- outcomes ---- */

static udpai_transaction *
find_sent(const udpai_commits *commits, uint64_t ticket)
{
    UDPAI_LIST_FOREACH (at, &commits->sent) {
        udpai_transaction *one = UDPAI_LIST_ENTRY(at, udpai_transaction, node);
        if (one->ticket == ticket)
            return one;
    }
    return NULL;
}

static void
committed(udpai_commits *commits, udpai_transaction *one)
{
    commits->must_review |= one->has_old_rules;
    if (!one->is_janitors)
        udpai_refreshes_end(udpai_receiver_refreshes(commits->receiver), &one->refreshes,
                            udpai_context_now(commits->context));
    if (one->pending)
        udpai_pending_publication_kept(one->pending);
    end(commits, one);
}

/* NULL: its stream has ended. */
static udpai_peer *
waiting_peer(const udpai_commits *commits, const udpai_transaction *one)
{
    if (!one->pending || udpai_commit_queue_has_end(one->queue, one->pending->answer->session))
        return NULL;
    return udpai_peers_find(commits->peers, one->pending->answer->session);
}

/* Nobody waits for the receipt of a stream that has ended. Its publisher may have published
 * something newer by now, at another replica. */
static void
decide_again(udpai_commits *commits, udpai_transaction *lost)
{
    udpai_peer *peer = waiting_peer(commits, lost);
    if (!peer || ++lost->n_lost > LOST_MAX) {
        refuse(lost, UDPA_ERR_ABORTED,
               "other replicas have changed the same resources each time: publish it again");
        end(commits, lost);
        return;
    }
    udpai_transaction_unstage(commits, lost);
    udpai_pending_publication_resume(lost->pending);
    if (!udpai_transaction_decide(commits, lost, peer))
        end(commits, lost);
}

/* A receipt would say something that nobody knows. Without memory it says just that. */
static void
end_stream(udpai_commits *commits, udpai_transaction *one, const udpa_error *why)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (!order) {
        refuse(one, UDPA_ERR_UNAVAILABLE, "it is not known whether this was committed");
        return;
    }
    order->session = one->pending->answer->session;
    order->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, why,
                                  "it is not known whether a publication was committed: connect "
                                  "again, and publish it again");
    udpai_context_order(commits->context, order);
    udpai_pending_publication_free(UDPAI_TAKE(one->pending));
}

static const char *
text_of(const udpa_error *error)
{
    return error ? udpa_error_message(error) : "this could not be committed: publish it again";
}

void
udpai_commits_proposed(udpai_commits *commits, const udpai_replicated *event)
{
    udpai_transaction *one = find_sent(commits, event->ticket);
    if (!one)
        return;
    end_share(commits, one, event);
    switch (event->outcome) {
    case UDPAI_REPLICATED_COMMITTED:
        committed(commits, one);
        return;
    case UDPAI_REPLICATED_LOST:
        decide_again(commits, one);
        return;
    case UDPAI_REPLICATED_REJECTED:
        refuse(one, event->error ? udpa_error_code(event->error) : UDPA_ERR_LIMIT,
               text_of(event->error));
        break;
    case UDPAI_REPLICATED_NOT_DONE:
        refuse(one, UDPA_ERR_UNAVAILABLE, text_of(event->error));
        break;
    case UDPAI_REPLICATED_UNKNOWN:
        if (one->pending)
            end_stream(commits, one, event->error);
        break;
    }
    end(commits, one);
}
