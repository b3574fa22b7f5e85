/* SPDX-License-Identifier: Apache-2.0 */
#include "store/replication.h"

#include "base/alloc.h"
#include "base/log.h"

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

void
udpai_replica_member_done(udpai_replica_member *member)
{
    udpa_bytes_unref(member->id);
    udpa_bytes_unref(member->version);
    udpa_bytes_unref(member->address);
    udpa_bytes_unref(member->config);
    udpa_bytes_unref(member->advertised);
    udpa_bytes_unref(member->keys);
    udpa_bytes_unref(member->missing);
    udpa_bytes_unref(member->files);
    *member = (udpai_replica_member){0};
}

void
udpai_replica_member_copy(udpai_replica_member *copy, const udpai_replica_member *member)
{
    *copy = *member;
    udpa_bytes_ref(copy->id);
    udpa_bytes_ref(copy->version);
    udpa_bytes_ref(copy->address);
    udpa_bytes_ref(copy->config);
    udpa_bytes_ref(copy->advertised);
    udpa_bytes_ref(copy->keys);
    udpa_bytes_ref(copy->missing);
    udpa_bytes_ref(copy->files);
}

udpai_hold *
udpai_hold_new(void)
{
    return udpai_alloc(sizeof(udpai_hold));
}

udpai_hold *
udpai_hold_free(udpai_hold *hold)
{
    if (!hold)
        return NULL;
    for (size_t i = 0; i < hold->n_names; i++)
        udpa_bytes_unref(hold->names[i]);
    udpa_bytes_unref(hold->next);
    udpai_free(hold);
    return NULL;
}

udpai_holdings *
udpai_holdings_free(udpai_holdings *holdings)
{
    if (!holdings)
        return NULL;
    udpai_durable_batch_free(holdings->batch);
    udpa_bytes_unref(holdings->set_id);
    udpa_bytes_unref(holdings->node_id);
    udpai_free(holdings);
    return NULL;
}

udpai_replicated *
udpai_replicated_free(udpai_replicated *event)
{
    if (!event)
        return NULL;
    udpai_durable_batch_free(event->batch);
    for (size_t i = 0; i < event->n_members; i++)
        udpai_replica_member_done(&event->members[i]);
    udpai_hold_free(event->hold);
    udpa_error_unref(event->error);
    udpa_bytes_unref(event->proof.key);
    udpai_free(event);
    return NULL;
}

const udpai_replica_member *
udpai_replica_status_own(const udpai_replica_status *status)
{
    for (size_t i = 0; i < status->n_members; i++)
        if (status->members[i].is_own)
            return &status->members[i];
    return NULL;
}

const udpai_replica_member *
udpai_replica_status_first(const udpai_replica_status *status)
{
    const udpai_replica_member *first = NULL;
    for (size_t i = 0; i < status->n_members; i++)
        if (!first || status->members[i].place < first->place)
            first = &status->members[i];
    return first;
}

void
udpai_replica_status_take_etcd(udpai_replica_status *status, udpai_replicated *event)
{
    udpa_error *before = status->alarm;
    status->size_bytes = event->size_bytes;
    status->quota_bytes = event->quota_bytes;
    status->alarm = UDPAI_TAKE(event->error);
    if (status->alarm && !before)
        udpai_log(UDPA_LOG_WARNING, "replicas", "%s", udpa_error_message(status->alarm));
    else if (before && !status->alarm)
        udpai_log(UDPA_LOG_INFO, "replicas", "the alarms of etcd are over");
    udpa_error_unref(before);
    udpai_replicated_free(event);
}

void
udpai_replica_status_take_rebalance(udpai_replica_status *status, udpai_replicated *event)
{
    status->n_rebalances++;
    status->over_ms = event->over_ms;
    udpai_replicated_free(event);
}
