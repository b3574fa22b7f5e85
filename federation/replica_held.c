/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/replica_held.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "federation/publishers.h"
#include "federation/stamp.h"
#include "model/client_type.h"

struct copying {
    udpai_durable_batch *batch;
    const udpai_shares *shares;
    bool has_failed;
};

static bool
add(struct copying *copying, const udpai_durable_op *op)
{
    copying->has_failed |= udpai_durable_batch_add(copying->batch, op) != UDPA_OK;
    return !copying->has_failed;
}

static udpa_bytes *
copy(udpai_str text)
{
    udpa_bytes *bytes = NULL;
    return udpa_bytes_new(&bytes, text.data, text.len) == UDPA_OK ? bytes : NULL;
}

static bool
copy_contribution(void *userdata, const udpai_contribution *held)
{
    udpai_str key = udpai_origin_key(held->origin);
    const struct copying *from = userdata;
    const udpai_share *share = udpai_shares_find(from->shares, key);
    if ((!share && !udpai_publisher_is_key(key)) ||
        udpai_type_is_client(udpai_resource_type_url(held->resource)))
        return true;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = copy(key);
    struct copying *copying = userdata;
    copying->has_failed |= !origin;
    return origin &&
           add(copying,
               &(udpai_durable_op){
                   .kind = UDPAI_DURABLE_PUT,
                   .origin = origin,
                   .resource = held->resource,
                   .deadline_ms = share ? 0 : held->deadline_ms,
                   .identity = (udpai_identity *)(uintptr_t)udpai_origin_identity(held->origin),
               });
}

static bool
copy_removal(void *userdata, udpa_resource *removal, uint64_t deadline_ms, udpa_bytes *shared_key)
{
    (void)shared_key;
    struct copying *copying = userdata;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = udpai_store_removal_key(removal);
    copying->has_failed |= !origin;
    return origin && add(copying, &(udpai_durable_op){
                                      .kind = UDPAI_DURABLE_PUT,
                                      .origin = origin,
                                      .resource = removal,
                                      .deadline_ms = deadline_ms,
                                  });
}

static udpa_err
copy_marks(const udpai_shares *shares, udpai_durable_batch *batch)
{
    size_t at = 0;
    udpai_share *share;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (share = udpai_shares_next(shares, &at)))
        err = udpai_shares_copy_mark(share, batch);
    return err;
}

static udpai_holdings *
make_holdings(const udpai_replica_parts *parts, udpai_str set_id)
{
    const udpai_context *context = parts->context;
    UDPA_AUTO(udpai_holdings_free) udpai_holdings *holdings = udpai_alloc(sizeof(*holdings));
    if (!holdings || !(holdings->batch = udpai_durable_batch_new()) ||
        !(holdings->set_id = copy(set_id)))
        return NULL;
    struct copying copying = {.batch = holdings->batch, .shares = parts->shares};
    udpai_store_visit_all(context->store, copy_contribution, &copying);
    if (!copying.has_failed)
        udpai_store_visit_removals(context->store, copy_removal, &copying);
    if (copying.has_failed || udpai_stamps_copy(parts->stamps, holdings->batch) != UDPA_OK ||
        udpai_freezes_copy(parts->freezes, holdings->batch) != UDPA_OK ||
        copy_marks(parts->shares, holdings->batch) != UDPA_OK)
        return NULL;
    udpai_stamp_expiry(context, holdings->batch);
    holdings->batch->position = context->position;
    holdings->number = context->n_commits;
    holdings->node_id = udpa_bytes_ref(context->id);
    return UDPAI_TAKE(holdings);
}

bool
udpai_replica_hold_is_news(const udpai_replica_parts *parts,
                           udpai_str set_id,
                           bool is_partial,
                           const udpai_replicated *event)
{
    const udpai_node_env *env = &parts->context->env;
    if (!event->hold->needs_holdings)
        return true;
    udpai_holdings *holdings = env->hold ? make_holdings(parts, set_id) : NULL;
    if (!holdings)
        return false;
    holdings->is_partial = is_partial;
    env->hold(env->userdata, holdings);
    return false;
}

/* ---- for people ---- */

static void
put_count(udpai_strbuf *text, size_t n, const char *what)
{
    if (n)
        udpai_strbuf_printf(text, "%s%zu %s", text->len ? ", " : "", n, what);
}

static void
describe(const udpai_hold *hold, udpai_strbuf *text)
{
    const udpai_hold_difference *difference = &hold->difference;
    udpai_strbuf counts = {0};
    put_count(&counts, difference->n_missing, "missing there");
    put_count(&counts, difference->n_older, "older there");
    put_count(&counts, difference->n_other, "another there");
    put_count(&counts, difference->n_newer, "newer there");
    put_count(&counts, difference->n_returned, "there alone");
    put_count(&counts, difference->n_locked, "there that cannot be decrypted here");
    if (hold->is_listed)
        udpai_strbuf_printf(text, "compared with this replica, etcd has %s",
                            counts.len ? counts.data : "all");
    else
        udpai_strbuf_puts(text, "etcd was not compared with this replica yet");
    udpai_strbuf_done(&counts);
    for (size_t i = 0; i < hold->n_names; i++)
        udpai_strbuf_printf(text, "%s%.*s", i ? ", " : ": ",
                            UDPAI_SHOWN(udpai_bytes_view(hold->names[i])));
    size_t n_lost = difference->n_missing + difference->n_older;
    if (n_lost > hold->n_names)
        udpai_strbuf_printf(text, " and %zu more", n_lost - hold->n_names);
    if (hold->next)
        udpai_strbuf_puts(text, "; ");
    if (hold->next)
        udpai_strbuf_str(text, udpai_bytes_view(hold->next));
}

void
udpai_replica_visit_hold(const udpai_hold *hold, udpai_problem_fn visit, void *userdata)
{
    udpai_strbuf text = {0};
    describe(hold, &text);
    if (!udpai_strbuf_failed(&text))
        visit(userdata, text.data);
    udpai_strbuf_done(&text);
}
