/* SPDX-License-Identifier: Apache-2.0 */
/* All values of the runtime as they were at one moment: layers, of which the later ones win. Never
 * changes; counted atomically. */
#ifndef UDPAI_RUNTIME_SNAPSHOT_H
#define UDPAI_RUNTIME_SNAPSHOT_H

#include "runtime/layer.h"

typedef struct udpai_runtime_snapshot udpai_runtime_snapshot;

/* Takes references. NULL without memory. */
udpai_runtime_snapshot *udpai_runtime_snapshot_new(udpai_runtime_layer *const *layers, size_t n);
udpai_runtime_snapshot *udpai_runtime_snapshot_ref(udpai_runtime_snapshot *snapshot);
udpai_runtime_snapshot *udpai_runtime_snapshot_unref(udpai_runtime_snapshot *snapshot);

size_t udpai_runtime_snapshot_n_keys(const udpai_runtime_snapshot *snapshot);
size_t udpai_runtime_snapshot_n_layers(const udpai_runtime_snapshot *snapshot);
const udpai_runtime_layer *udpai_runtime_snapshot_layer(const udpai_runtime_snapshot *snapshot,
                                                        size_t index);
/* The effective entries, by key, of those that begin so; borrowed. The caller frees the array; NULL
 * without memory. */
const udpai_runtime_entry **udpai_runtime_snapshot_sorted(const udpai_runtime_snapshot *snapshot,
                                                          udpai_str prefix,
                                                          size_t *ret_n);

/* The effective value of a key; NULL: none. A value without text, such as that of a file with
 * nothing but comments, keeps a place and hides nothing below it. */
const udpai_runtime_value *udpai_runtime_snapshot_find(const udpai_runtime_snapshot *snapshot,
                                                       udpai_str key);

/* Its value as such; the default if it has none. */
bool udpai_runtime_truth(const udpai_runtime_snapshot *snapshot, udpai_str key, bool otherwise);
uint64_t
udpai_runtime_integer(const udpai_runtime_snapshot *snapshot, udpai_str key, uint64_t otherwise);
double
udpai_runtime_number(const udpai_runtime_snapshot *snapshot, udpai_str key, double otherwise);
/* A fraction, or an integer of a hundred; above that it is everything. */
udpai_runtime_share udpai_runtime_share_of(const udpai_runtime_snapshot *snapshot,
                                           udpai_str key,
                                           udpai_runtime_share otherwise);

UDPA_DEFINE_CLEANUP(udpai_runtime_snapshot, udpai_runtime_snapshot_unref)

#endif
