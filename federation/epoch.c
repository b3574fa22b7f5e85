/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/epoch.h"

#include <inttypes.h>
#include <stdio.h>

/* Without memory it is not announced: then those below count what we do not name any more. */
static void
announce(udpai_node *node)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_EPOCH);
    if (!order)
        return;
    order->epoch = udpa_bytes_ref(node->epoch);
    udpai_node_order(node, order);
}

udpa_err
udpai_epoch_restore(udpai_node *node, const udpai_durable_op *op)
{
    if (udpa_bytes_size(op->name) > UDPAI_EPOCH_MAX || node->is_endpoint)
        return UDPA_OK;
    udpa_bytes_unref(node->epoch);
    node->epoch = udpa_bytes_ref(op->name);
    node->n_commits = node->n_commits_before = op->number;
    announce(node);
    return UDPA_OK;
}

void
udpai_epoch_start(udpai_node *node)
{
    char text[33];
    if (node->epoch || node->is_endpoint)
        return;
    uint64_t high = node->env.random(node->env.userdata);
    uint64_t low = node->env.random(node->env.userdata);
    int len = snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, high, low);
    if (udpa_bytes_new(&node->epoch, text, (size_t)len) == UDPA_OK)
        announce(node);
}

void
udpai_epoch_committed(udpai_node *node, uint64_t ticket)
{
    if (node->n_commits < node->n_commits_before + ticket)
        node->n_commits = node->n_commits_before + ticket;
}
