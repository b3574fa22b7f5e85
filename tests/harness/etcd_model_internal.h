/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the model of etcd, for its files. */
#ifndef UDPAI_TESTS_ETCD_MODEL_INTERNAL_H
#define UDPAI_TESTS_ETCD_MODEL_INTERNAL_H

#include "tests/harness/etcd_model.h"

#define KVS_MAX 4096

udpai_str etcd_model_copy(udpai_str text);
void etcd_model_release(udpai_str text);
void etcd_model_add_event(
    etcd_model *model, udpai_str key, udpai_str value, bool is_delete, int64_t revision);
size_t etcd_model_list(const etcd_model *model,
                       udpai_str from,
                       udpai_str end,
                       int64_t revision,
                       const etcd_model_event **found);
void etcd_model_wake_watches(etcd_model *model);
/* With all its keys, at one revision. */
void etcd_model_end_lease(etcd_model *model, int64_t id);
void etcd_model_on_lease_end(udpai_timer *timer);

#endif
