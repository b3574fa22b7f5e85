/* SPDX-License-Identifier: Apache-2.0 */
/* What this node stamped up to the store's last commit, the store still has, or it was removed. The
 * same holds for what this process has stamped. What was stamped between the two is lost, and may
 * come back from others. It may have been removed since; peers remember removals for a time, and
 * only so long does the lapse cover anything. */
#include "federation/lapse.h"

#include "base/alloc.h"

struct udpai_lapse {
    udpai_context *context;
    uint64_t started_ms;
    int64_t from_us, until_us; /* of stamps: the store has no record from here, to there */
};

udpa_err
udpai_lapse_new(udpai_lapse **ret_lapse, udpai_context *context)
{
    udpai_lapse *lapse = udpai_alloc(sizeof(*lapse));
    if (!lapse)
        return UDPA_ERR_NOMEM;
    lapse->context = context;
    *ret_lapse = lapse;
    return UDPA_OK;
}

void
udpai_lapse_free(udpai_lapse *lapse)
{
    udpai_free(lapse);
}

/* One fact, under a key that no origin has; the type is not looked at. */
static const char lapse_key[] = "lapse";

/* Without memory the next commit has it. */
void
udpai_lapse_commit(const udpai_lapse *lapse, udpai_durable_batch *batch)
{
    int64_t now_us = udpai_context_wall_us(lapse->context);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL;
    if (!lapse->context->recovers || now_us <= lapse->from_us ||
        udpa_bytes_new(&key, lapse_key, sizeof(lapse_key)) != UDPA_OK)
        return;
    (void)udpai_durable_batch_add(batch, &(udpai_durable_op){
                                             .kind = UDPAI_DURABLE_SEEN,
                                             .origin = key,
                                             .type = key,
                                             .name = key,
                                             .number = (uint64_t)now_us,
                                         });
}

/* The store has a record up to this time. */
static void
begin_after(udpai_lapse *lapse, int64_t time_us)
{
    if (lapse->from_us < time_us)
        lapse->from_us = time_us;
}

bool
udpai_lapse_restore(udpai_lapse *lapse, const udpai_durable_op *op)
{
    const udpai_str key = {lapse_key, sizeof(lapse_key)};
    if (!udpai_str_eq(udpai_bytes_view(op->origin), key))
        return false;
    begin_after(lapse, op->number <= INT64_MAX ? (int64_t)op->number : 0);
    return true;
}

static bool
is_own(const udpai_lapse *lapse, const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) > 0 &&
           udpai_str_eq(udpai_resource_hop(resource, 0).node_id,
                        udpai_bytes_view(lapse->context->id));
}

void
udpai_lapse_note(udpai_lapse *lapse, const udpa_resource *kept)
{
    if (is_own(lapse, kept))
        begin_after(lapse, udpai_resource_hop(kept, 0).time_us);
}

void
udpai_lapse_start(udpai_lapse *lapse)
{
    lapse->until_us = udpai_context_wall_us(lapse->context);
    lapse->started_ms = udpai_context_now(lapse->context);
}

bool
udpai_lapse_covers(const udpai_lapse *lapse, const udpa_resource *own)
{
    int64_t time_us = udpai_resource_hop(own, 0).time_us;
    return time_us > lapse->from_us && time_us <= lapse->until_us &&
           udpai_context_now(lapse->context) - lapse->started_ms <
               udpai_store_remember_ms(lapse->context->store);
}
