/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/harness/etcd_model_internal.h"

int64_t
etcd_model_leases_grant(etcd_model_leases *leases, int64_t ttl_s)
{
    const etcd_model_lease lease = {++leases->last, ttl_s, 0};
    etcd_model_must(udpai_vector_push(&leases->all, lease));
    return lease.id;
}

static size_t
find(const etcd_model_leases *leases, int64_t id)
{
    size_t i = 0;
    while (i < leases->all.n && leases->all.items[i].id != id)
        i++;
    return i;
}

bool
etcd_model_leases_has(const etcd_model_leases *leases, int64_t id)
{
    return find(leases, id) < leases->all.n;
}

int64_t
etcd_model_leases_keep(etcd_model_leases *leases, int64_t id, uint64_t now_ms)
{
    size_t i = find(leases, id);
    if (i == leases->all.n)
        return 0;
    leases->all.items[i].deadline_ms = now_ms + 1000 * (uint64_t)leases->all.items[i].ttl_s;
    return leases->all.items[i].ttl_s;
}

void
etcd_model_leases_drop(etcd_model_leases *leases, int64_t id)
{
    size_t i = find(leases, id);
    if (i < leases->all.n)
        leases->all.items[i] = leases->all.items[--leases->all.n];
}

int64_t
etcd_model_leases_ended(const etcd_model_leases *leases, uint64_t now_ms)
{
    for (size_t i = 0; i < leases->all.n; i++)
        if (leases->all.items[i].deadline_ms <= now_ms)
            return leases->all.items[i].id;
    return 0;
}

/* ---- their keys ---- */

/* With all its keys, at one revision. */
void
etcd_model_end_lease(etcd_model *model, int64_t id)
{
    static const etcd_model_event *found[KVS_MAX];
    int64_t revision = model->revision + 1;
    size_t n = etcd_model_list(model, UDPAI_STR(""), UDPAI_STR("\xff"), model->revision, found),
           n_own = 0;
    udpai_str *keys = calloc(n + 1, sizeof(*keys));
    for (size_t i = 0; i < n; i++)
        if (found[i]->lease == id)
            keys[n_own++] = etcd_model_copy(udpai_str_from(found[i]->key));
    for (size_t i = 0; i < n_own; i++) {
        etcd_model_add_event(model, keys[i], (udpai_str){"", 0}, true, revision);
        etcd_model_release(keys[i]);
    }
    free(keys);
    etcd_model_leases_drop(&model->leases, id);
    etcd_model_wake_watches(model);
}

/* Without a leader no lease ends. */
void
etcd_model_on_lease_end(udpai_timer *timer)
{
    etcd_model *model = UDPAI_CONTAINER_OF(timer, etcd_model, lease_end);
    int64_t id;
    while (!model->is_away && (id = etcd_model_leases_ended(&model->leases, model->wheel->now_ms)))
        etcd_model_end_lease(model, id);
    if (model->leases.all.n)
        udpai_timer_set(model->wheel, timer, model->wheel->now_ms + 100);
}
