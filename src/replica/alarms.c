/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/alarms.h"

#define MIB (1 << 20)

/* NULL: nothing is amiss, or there is no memory to say so. */
static udpa_error *
problem_of(const udpai_etcd_status *status)
{
    int percent = status->quota_bytes > 0
                      ? (int)(100.0 * (double)status->size_bytes / (double)status->quota_bytes)
                      : 0;
    if (status->is_corrupt)
        return udpa_error_new(
            UDPA_ERR_UNAVAILABLE, NULL,
            "etcd has the alarm CORRUPT: a member has other data than the others, and etcd rejects "
            "reads and writes: compare its members (etcdctl endpoint hashkv), replace the one that "
            "differs, then run 'etcdctl alarm disarm'");
    if (status->has_no_space)
        return udpa_error_new(
            UDPA_ERR_UNAVAILABLE, NULL,
            "etcd has the alarm NOSPACE: its database is full (%lld MiB), and it rejects what is "
            "published: compact and defragment it, then run 'etcdctl alarm disarm', or raise its "
            "quota (--quota-backend-bytes)",
            (long long)(status->size_bytes / MIB));
    if (percent >= UDPAI_ALARMS_FULL_PERCENT)
        return udpa_error_new(
            UDPA_ERR_UNAVAILABLE, NULL,
            "the database of etcd has %lld MiB, %d %% of its quota; when it is full, etcd rejects "
            "what is published: compact and defragment it (--auto-compaction-retention), or raise "
            "the quota (--quota-backend-bytes)",
            (long long)(status->size_bytes / MIB), percent);
    return NULL;
}

static void
report(udpai_alarms *alarms, const udpai_etcd_status *status)
{
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_ETCD);
    if (!event)
        return;
    event->size_bytes = status->size_bytes;
    event->quota_bytes = status->quota_bytes;
    event->error = problem_of(status);
    alarms->env.report(alarms->env.userdata, event);
}

static void
ask_at(udpai_alarms *alarms, uint64_t ms)
{
    udpai_timer_set(alarms->env.wheel, &alarms->next, alarms->env.wheel->now_ms + ms);
}

/* A member that does not answer is a matter of the mirror. */
static void
on_done(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_alarms *alarms = UDPAI_CONTAINER_OF(call, udpai_alarms, call);
    alarms->is_asking = false;
    ask_at(alarms, UDPAI_ALARMS_ASK_MS);
    if (result->outcome == UDPAI_ETCD_DONE)
        report(alarms, &result->status);
}

static void
on_next(udpai_timer *timer)
{
    udpai_alarms *alarms = UDPAI_CONTAINER_OF(timer, udpai_alarms, next);
    udpai_etcd *etcd = alarms->env.etcd;
    alarms->is_asking = etcd->ops->status(etcd, &alarms->call) == UDPA_OK;
    if (!alarms->is_asking)
        ask_at(alarms, UDPAI_ALARMS_ASK_MS);
}

void
udpai_alarms_begin(udpai_alarms *alarms, const udpai_alarms_env *env)
{
    alarms->env = *env;
    alarms->call.done = on_done;
    udpai_timer_init(&alarms->next, on_next);
    ask_at(alarms, UDPAI_ALARMS_ASK_SOON_MS);
}

void
udpai_alarms_ask_soon(udpai_alarms *alarms)
{
    uint64_t due_ms = alarms->env.wheel->now_ms + UDPAI_ALARMS_ASK_SOON_MS;
    if (!alarms->is_asking && udpai_timer_is_set(&alarms->next) && alarms->next.due_ms > due_ms)
        ask_at(alarms, UDPAI_ALARMS_ASK_SOON_MS);
}

void
udpai_alarms_end(udpai_alarms *alarms)
{
    if (!alarms->env.etcd)
        return;
    udpai_timer_cancel(&alarms->next);
    if (alarms->is_asking)
        alarms->env.etcd->ops->cancel(alarms->env.etcd, &alarms->call);
    alarms->is_asking = false;
}
