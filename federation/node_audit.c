/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a node, for the audit. */
#include "federation/audit.h"
#include "federation/node_internal.h"

/* For all replicas; one that has no etcd keeps it for itself. */
void
udpai_node_audit(udpai_node *node, const udpai_audit_record *record)
{
    const udpai_context *context = &node->context;
    udpai_durable_batch *batch = context->has_audit ? udpai_durable_batch_new() : NULL;
    if (!batch || udpai_audit_note(context, batch, record) != UDPA_OK) {
        udpai_durable_batch_free(batch);
        return;
    }
    if (udpai_context_is_replicated(context) && context->is_current) {
        udpai_commits_propose_batch(node->commits, batch);
        return;
    }
    for (size_t i = 0; i < batch->ops.n; i++)
        udpai_store_note_op(context->store, &batch->ops.items[i]);
    udpai_durable_batch_free(batch);
}
