/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a runtime in their order, what of them is there at the moment, and the snapshot
 * that follows. Reads no file and no stream: its reader hands over the result. Belongs to one
 * thread; the effective snapshot is read by any (current.h). */
#ifndef UDPAI_RUNTIME_LAYERS_H
#define UDPAI_RUNTIME_LAYERS_H

#include "runtime/current.h"

#define UDPAI_RUNTIME_LAYERS_MAX 64
#define UDPAI_RUNTIME_ADMIN_LAYER "admin" /* of a runtime without layers of its own */

typedef enum udpai_runtime_layer_kind {
    UDPAI_RUNTIME_STATIC,
    UDPAI_RUNTIME_DISK,
    UDPAI_RUNTIME_ADMIN,
    UDPAI_RUNTIME_RTDS,
} udpai_runtime_layer_kind;

typedef struct udpai_runtime_layer_options {
    udpai_str name; /* no two are the same */
    udpai_runtime_layer_kind kind;
} udpai_runtime_layer_options;

/* By the names that Envoy has for them, in which "seen" is the use since this process began. */
typedef struct udpai_runtime_statistics {
    uint64_t admin_overrides_active;
    uint64_t deprecated_feature_use; /* these two: see udpai_runtime_statistics_of() */
    uint64_t deprecated_feature_seen_since_process_start;
    uint64_t load_error;
    uint64_t load_success;
    uint64_t num_keys;
    uint64_t num_layers;
    uint64_t override_dir_exists;
    uint64_t override_dir_not_exists;
} udpai_runtime_statistics;

typedef struct udpai_runtime {
    udpai_runtime_current current;
    udpai_runtime_statistics statistics;
    atomic_uint_fast64_t n_deprecated_uses;
    struct udpai_runtime_slot *slots;
    size_t n_slots;
    /* There is another snapshot. */
    void (*changed)(void *userdata);
    void *userdata;
} udpai_runtime;

/* What came of a layer: itself, or why it is in error, or neither, if it is not there. Both: what
 * came last is in error, and the one before it stays. */
typedef struct udpai_runtime_load {
    size_t index; /* of the layer */
    udpai_runtime_layer *layer;
    udpa_error *error;
} udpai_runtime_load;

/* Without layers there is one of kind ADMIN. UDPA_ERR_INVAL: two of one name, without a name, or
 * two of kind ADMIN; UDPA_ERR_LIMIT: too many; UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_init(udpai_runtime *runtime,
                            const udpai_runtime_layer_options *layers,
                            size_t n,
                            udpa_error **ret_error);
/* No thread reads any more. */
void udpai_runtime_done(udpai_runtime *runtime);

/* Some layers were loaded, or tried to be: consumes what came of them, and makes a snapshot of all.
 * A layer in error is left out whole, or stays as it was. UDPA_ERR_NOMEM: all is as before. */
udpa_err udpai_runtime_take_loads(udpai_runtime *runtime, udpai_runtime_load *loads, size_t n);

typedef struct udpai_runtime_change {
    udpai_str key;
    udpai_str value; /* empty: what was set is removed */
} udpai_runtime_change;

/* All of it or nothing. UDPA_ERR_UNAVAILABLE: there is no layer of kind ADMIN. UDPA_ERR_INVAL,
 * UDPA_ERR_LIMIT: a key or a value that may not be; UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_modify(udpai_runtime *runtime,
                              const udpai_runtime_change *changes,
                              size_t n,
                              udpa_error **ret_error);

/* Why a layer is left out, or stays as it was before; NULL: nothing is wrong with it. Borrowed. */
const udpa_error *udpai_runtime_layer_error(const udpai_runtime *runtime, size_t index);
/* What is there of a layer; NULL: nothing. Borrowed. */
const udpai_runtime_layer *udpai_runtime_layer_at(const udpai_runtime *runtime, size_t index);
udpai_str udpai_runtime_layer_name_at(const udpai_runtime *runtime, size_t index);
udpai_runtime_layer_kind udpai_runtime_layer_kind_at(const udpai_runtime *runtime, size_t index);

/* Something deprecated was used, so many times. Any thread. */
void udpai_runtime_count_deprecated(udpai_runtime *runtime, uint64_t n_uses);
/* All of them, with what other threads have counted. */
udpai_runtime_statistics udpai_runtime_statistics_of(const udpai_runtime *runtime);

#endif
