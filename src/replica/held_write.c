/* SPDX-License-Identifier: Apache-2.0 */
/* Writing back: a key says which replica does it, and each transaction compares that it still does,
 * and that each record is as it was listed. What fails is listed again: what was done is seen, by
 * this replica or by the one that goes on. */
#include "base/log.h"
#include "replica/held_internal.h"
#include "replica/locks.h"
#include "replica/set.h"
#include "replica/transaction.h"

static udpai_transaction_env
transactions(const udpai_held *held)
{
    return (udpai_transaction_env){
        .mirror = held->env.mirror,
        .prefix = udpai_bytes_view(held->prefix),
    };
}

/* Looks again, and then begins anew, if it is still to be done. */
static void
stop(udpai_held *held, const udpai_etcd_result *result)
{
    udpa_error_unref(held->why);
    held->why = udpa_error_ref((udpa_error *)(uintptr_t)(result ? result->error : NULL));
    held->is_writing = false;
    held->is_listed = false;
    udpai_held_look_in(held, UDPAI_HELD_RETRY_MS);
}

static bool
is_done(const udpai_etcd_result *result)
{
    return result->outcome == UDPAI_ETCD_DONE && result->succeeded;
}

/* Takes the transaction. */
static void
send(udpai_held *held,
     udpai_replica_transaction *transaction,
     void (*done)(udpai_etcd_call *call, const udpai_etcd_result *result))
{
    udpai_etcd *etcd = held->env.etcd;
    const udpai_etcd_txn txn = {
        .compares = transaction->compares.items,
        .n_compares = transaction->compares.n,
        .ops = transaction->ops.items,
        .n_ops = transaction->ops.n,
    };
    held->call.done = done;
    held->call.is_repeatable = false;
    held->is_asking =
        !transaction->has_failed && etcd->ops->txn(etcd, &held->call, &txn) == UDPA_OK;
    udpai_replica_transaction_free(transaction);
    if (!held->is_asking)
        stop(held, NULL);
}

/* ---- the key that says who does it ---- */

/* The numbers of commits go on where this replica's are, at whatever revision etcd is. */
static udpa_bytes *
make_back(const udpai_held *held, bool is_done_now)
{
    const udpai_back back = {
        .state = held->state,
        .base = held->state.number,
        .is_done = is_done_now,
        .writer = udpai_bytes_view(held->own),
    };
    return udpai_back_write(&back);
}

static void
put(udpai_held *held, udpai_replica_transaction *transaction, const char *name, udpa_bytes *value)
{
    const udpai_transaction_env env = transactions(held);
    udpai_str key = udpai_transaction_key(transaction, &env, name, (udpai_str){0});
    if (value)
        udpai_transaction_put(transaction, key, value);
    else
        transaction->has_failed = true;
}

static void
compare(udpai_held *held,
        udpai_replica_transaction *transaction,
        const char *name,
        int64_t mod_revision)
{
    const udpai_transaction_env env = transactions(held);
    udpai_transaction_compare(
        transaction, udpai_transaction_key(transaction, &env, name, (udpai_str){0}), mod_revision);
}

static void
on_claimed(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, call);
    held->is_asking = false;
    if (!is_done(result)) {
        stop(held, result);
        return;
    }
    held->claimed = result->header.revision;
    held->is_writing = true;
    (void)udpai_held_list(held);
}

void
udpai_held_write(udpai_held *held)
{
    const udpai_holdings *own = held->compared->holdings;
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(0);
    if (!transaction) {
        stop(held, NULL);
        return;
    }
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *back = make_back(held, false);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *set =
        udpai_set_value(udpai_bytes_view(own->set_id), udpai_bytes_view(own->node_id));
    compare(held, transaction, UDPAI_BACK_KEY, held->view.back_revision);
    compare(held, transaction, UDPAI_SET_KEY, held->view.set_revision);
    put(held, transaction, UDPAI_BACK_KEY, back);
    if (held->view.set == UDPAI_HELD_SET_NONE)
        put(held, transaction, UDPAI_SET_KEY, set);
    send(held, transaction, on_claimed);
}

/* ---- the end ---- */

static void
on_finished(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, call);
    held->is_asking = false;
    if (is_done(result))
        udpai_held_leave(held);
    else
        stop(held, result);
}

static void
finish(udpai_held *held, udpai_replica_transaction *transaction)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *back = make_back(held, true);
    put(held, transaction, UDPAI_BACK_KEY, back);
    send(held, transaction, on_finished);
}

/* ---- records ---- */

static bool
is_to_be_written(const udpai_held *held, const udpai_compared *item)
{
    bool is_pushed = held->has_answer && held->answer == UDPAI_HOLD_PUSH;
    return item->state == UDPAI_COMPARED_MISSING || item->state == UDPAI_COMPARED_OLDER ||
           (item->state == UDPAI_COMPARED_OTHER && is_pushed);
}

static void
log_left_out(const udpai_compared *item, const udpa_error *error)
{
    udpai_log(UDPA_LOG_ERROR, "replicas", "not written back to etcd: %.*s: %s",
              UDPAI_SHOWN(udpai_bytes_view(item->record)), udpa_error_message(error));
}

/* UDPA_ERR_LIMIT: it does not fit any more. */
static udpa_err
add(udpai_held *held, udpai_replica_transaction *transaction, const udpai_compared *item)
{
    const udpai_transaction_env env = transactions(held);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpa_bytes_ref(item->sealed);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = value ? UDPA_OK
                         : udpai_record_value(item->op, udpai_bytes_view(held->own), &held->seals,
                                              &value, &error);
    if (err == UDPA_ERR_NOMEM)
        return err;
    if (err != UDPA_OK) { /* as a secret without a key */
        log_left_out(item, error);
        return UDPA_OK;
    }
    if (!udpai_transaction_fits(transaction, 1, 1,
                                udpa_bytes_size(item->record) + udpa_bytes_size(value)))
        return UDPA_ERR_LIMIT;
    udpai_str key = udpai_transaction_key(transaction, &env, "", udpai_bytes_view(item->record));
    udpai_transaction_compare(transaction, key, item->mod_revision);
    udpai_transaction_put(transaction, key, value);
    return UDPA_OK;
}

/* Behind the records: a lock that goes must not show what was there before. A replica that serves
 * from that etcd finishes change sets itself, and may have sent receipts for them. */
static bool
add_rest(udpai_held *held, udpai_replica_transaction *transaction, const udpai_compared_rest *rest)
{
    const udpai_transaction_env env = transactions(held);
    if (held->view.server && udpai_locks_is_key(udpai_bytes_view(rest->key)))
        return true;
    if (!udpai_transaction_fits(transaction, 1, 1, udpa_bytes_size(rest->key)))
        return false;
    udpai_str key = udpai_transaction_key(transaction, &env, "", udpai_bytes_view(rest->key));
    udpai_transaction_compare(transaction, key, rest->mod_revision);
    udpai_transaction_delete(transaction, key);
    return true;
}

/* As many as fit. UDPA_ERR_NOMEM */
static udpa_err
fill(udpai_held *held, udpai_replica_transaction *transaction)
{
    const udpai_comparison *compared = held->compared;
    udpa_err err = UDPA_OK;
    for (; held->next < compared->n && err == UDPA_OK; held->next += err == UDPA_OK)
        if (is_to_be_written(held, &compared->items[held->next]))
            err = add(held, transaction, &compared->items[held->next]);
    bool is_last = err == UDPA_OK && transaction->ops.n == 0;
    size_t at = held->next - udpai_min_size(held->next, compared->n);
    while (is_last && at < compared->rests.n &&
           add_rest(held, transaction, &compared->rests.items[at])) {
        held->next++;
        at++;
    }
    return err == UDPA_ERR_LIMIT ? UDPA_OK : err;
}

static void
on_written(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_held *held = UDPAI_CONTAINER_OF(call, udpai_held, call);
    held->is_asking = false;
    if (is_done(result))
        udpai_held_write_on(held);
    else
        stop(held, result);
}

void
udpai_held_write_on(udpai_held *held)
{
    udpai_replica_transaction *transaction = udpai_replica_transaction_new(0);
    if (!transaction) {
        stop(held, NULL);
        return;
    }
    compare(held, transaction, UDPAI_BACK_KEY, held->claimed);
    if (fill(held, transaction) != UDPA_OK) {
        udpai_replica_transaction_free(transaction);
        stop(held, NULL);
        return;
    }
    size_t n = transaction->ops.n;
    held->n_written += n;
    held->n_all += n;
    if (n) {
        send(held, transaction, on_written);
    } else if (held->n_written) { /* is it all there? */
        udpai_replica_transaction_free(transaction);
        held->n_written = 0;
        (void)udpai_held_list(held);
    } else {
        finish(held, transaction);
    }
}
