/* SPDX-License-Identifier: Apache-2.0 */
/* What was stamped up to the last commit that the store knows of, it has, or has let go of for a
 * reason; so has this process of what it has stamped itself. What lies between was lost; but what
 * comes back of it may be removed then, which is remembered for a time, and only so long is
 * anything taken for lost. */
#include "federation/lapse.h"

/* One fact, under a key that no origin has; the type is not looked at. */
static const char lapse_key[] = "lapse";

/* Without memory the next commit says it. */
void
udpai_lapse_commit(const udpai_node *node, udpai_durable_batch *batch)
{
    int64_t now_us = udpai_context_wall_us(&node->context);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL;
    if (!node->recovers || now_us <= node->lapse_from_us ||
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

static void
reach(udpai_node *node, int64_t time_us)
{
    if (node->lapse_from_us < time_us)
        node->lapse_from_us = time_us;
}

bool
udpai_lapse_restore(udpai_node *node, const udpai_durable_op *op)
{
    const udpai_str key = {lapse_key, sizeof(lapse_key)};
    if (!udpai_str_eq(udpai_bytes_view(op->origin), key))
        return false;
    reach(node, op->number <= INT64_MAX ? (int64_t)op->number : 0);
    return true;
}

static bool
is_own(const udpai_node *node, const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) > 0 &&
           udpai_str_eq(udpai_resource_hop(resource, 0).node_id,
                        udpai_bytes_view(node->context.id));
}

void
udpai_lapse_note(udpai_node *node, const udpa_resource *kept)
{
    if (is_own(node, kept))
        reach(node, udpai_resource_hop(kept, 0).time_us);
}

void
udpai_lapse_start(udpai_node *node)
{
    node->lapse_until_us = udpai_context_wall_us(&node->context);
    node->lapse_started_ms = udpai_context_now(&node->context);
}

bool
udpai_lapse_covers(const udpai_node *node, const udpa_resource *own)
{
    int64_t time_us = udpai_resource_hop(own, 0).time_us;
    return time_us > node->lapse_from_us && time_us <= node->lapse_until_us &&
           udpai_context_now(&node->context) - node->lapse_started_ms <
               udpai_store_remember_ms(node->context.store);
}
