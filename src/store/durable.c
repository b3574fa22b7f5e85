/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durable.h"

udpai_durable_batch *
udpai_durable_batch_new(void)
{
    return udpai_alloc(sizeof(udpai_durable_batch));
}

udpai_durable_batch *
udpai_durable_batch_free(udpai_durable_batch *batch)
{
    if (!batch)
        return NULL;
    for (size_t i = 0; i < batch->ops.n; i++) {
        udpai_durable_op *op = &batch->ops.items[i];
        udpa_bytes_unref(op->origin);
        udpa_resource_unref(op->resource);
        udpa_bytes_unref(op->type);
        udpa_bytes_unref(op->name);
    }
    udpai_vector_done(&batch->ops);
    udpai_free(batch);
    return NULL;
}

udpa_err
udpai_durable_batch_add(udpai_durable_batch *batch, const udpai_durable_op *op)
{
    if (!udpai_vector_push(&batch->ops, *op))
        return UDPA_ERR_NOMEM;
    udpa_bytes_ref(op->origin);
    udpa_resource_ref(op->resource);
    udpa_bytes_ref(op->type);
    udpa_bytes_ref(op->name);
    return UDPA_OK;
}
