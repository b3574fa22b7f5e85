/* SPDX-License-Identifier: Apache-2.0 */
#include "store/replication.h"

#include "base/alloc.h"

udpai_replicated *
udpai_replicated_new(udpai_replicated_kind kind)
{
    udpai_replicated *event = udpai_alloc(sizeof(*event));
    if (!event)
        return NULL;
    event->kind = kind;
    udpai_list_init(&event->node);
    return event;
}

udpai_replicated *
udpai_replicated_free(udpai_replicated *event)
{
    if (!event)
        return NULL;
    udpai_durable_batch_free(event->batch);
    udpa_error_unref(event->error);
    udpai_free(event);
    return NULL;
}
