/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the model of etcd, for its files. */
#ifndef UDPAI_TESTS_ETCD_MODEL_INTERNAL_H
#define UDPAI_TESTS_ETCD_MODEL_INTERNAL_H

#include <stdlib.h>

#include "tests/harness/etcd_model.h"
#include "tests/harness/random.h"

#define KVS_MAX 4096

/* The simulation has no cmocka. */
static inline void
etcd_model_must(bool is_so)
{
    if (!is_so)
        abort();
}

udpai_str etcd_model_copy(udpai_str text);
void etcd_model_release(udpai_str text);
void etcd_model_add_event(
    etcd_model *model, udpai_str key, udpai_str value, bool is_delete, int64_t revision);
size_t etcd_model_list(const etcd_model *model,
                       udpai_str from,
                       udpai_str end,
                       int64_t revision,
                       const etcd_model_event **found);
udpa_err etcd_model_watch(
    udpai_etcd *etcd, udpai_etcd_watch *what, udpai_str key, udpai_str end, int64_t revision);
void etcd_model_unwatch(udpai_etcd *etcd, udpai_etcd_watch *what);
void etcd_model_ask_progress(udpai_etcd *etcd, udpai_etcd_watch *what);
void etcd_model_cut_watches(etcd_model *model);
void etcd_model_wake_watches(etcd_model *model);
/* With all its keys, at one revision. */
void etcd_model_end_lease(etcd_model *model, int64_t id);
void etcd_model_on_lease_end(udpai_timer *timer);

static inline bool
etcd_model_happens(etcd_model *model, unsigned of_a_thousand)
{
    return of_a_thousand && test_random_below(&model->random, 1000) < of_a_thousand;
}

static inline uint64_t
etcd_model_soon(etcd_model *model)
{
    return model->wheel->now_ms + 1 +
           (model->faults.latency_ms ? test_random(&model->random) % model->faults.latency_ms : 0);
}

static inline bool
etcd_model_is_in(udpai_str key, udpai_str from, udpai_str end)
{
    if (!end.len)
        return udpai_str_eq(key, from);
    return udpai_str_cmp(key, from) >= 0 && udpai_str_cmp(key, end) < 0;
}

static inline udpai_etcd_header
etcd_model_header_of(const etcd_model *model)
{
    return (udpai_etcd_header){model->cluster_id, 1, 1, model->revision};
}

static inline etcd_model_client *
etcd_model_client_of(udpai_etcd *etcd)
{
    return UDPAI_CONTAINER_OF(etcd, etcd_model_client, etcd);
}

static inline bool
etcd_model_is_away(const etcd_model_client *client)
{
    return client->is_away || client->model->is_away;
}

/* That the member has which it asks. */
static inline int64_t
etcd_model_last_revision(const etcd_model_client *client)
{
    return client->old_revision ? client->old_revision : client->model->revision;
}

static inline udpai_etcd_kv
etcd_model_kv_of(const etcd_model_event *event)
{
    return (udpai_etcd_kv){
        .key = udpai_str_from(event->key),
        .value = event->value,
        .create_revision = event->is_delete ? 0 : event->create_revision,
        .mod_revision = event->revision,
        .version = event->version,
        .lease = event->lease,
    };
}

#endif
