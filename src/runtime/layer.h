/* SPDX-License-Identifier: Apache-2.0 */
/* One layer of the runtime: keys with their values. It is filled by one thread, and not changed any
 * more once another thread has it. Counted atomically. */
#ifndef UDPAI_RUNTIME_LAYER_H
#define UDPAI_RUNTIME_LAYER_H

#include "base/error.h"
#include "base/map.h"
#include "runtime/value.h"

#define UDPAI_RUNTIME_KEY_MAX 1024
#define UDPAI_RUNTIME_VALUE_MAX ((size_t)1 << 20)  /* bytes of one value */
#define UDPAI_RUNTIME_KEYS_MAX 100000              /* of a layer */
#define UDPAI_RUNTIME_LAYER_MAX ((size_t)64 << 20) /* bytes of all its keys and values */
/* Edges from the root to a value; so many directories a tree may be deep. */
#define UDPAI_RUNTIME_DEPTH_MAX 16

typedef struct udpai_runtime_entry {
    udpai_runtime_value value; /* its text lies behind the key; both have a NUL behind them */
    size_t key_len;
    char key[];
} udpai_runtime_entry;

static inline udpai_str
udpai_runtime_entry_key(const udpai_runtime_entry *entry)
{
    return (udpai_str){entry->key, entry->key_len};
}

typedef struct udpai_runtime_layer udpai_runtime_layer;

/* NULL without memory. */
udpai_runtime_layer *udpai_runtime_layer_new(udpai_str name);
/* One with the same entries. */
udpai_runtime_layer *udpai_runtime_layer_copy(const udpai_runtime_layer *layer);
udpai_runtime_layer *udpai_runtime_layer_ref(udpai_runtime_layer *layer);
udpai_runtime_layer *udpai_runtime_layer_unref(udpai_runtime_layer *layer);

/* With a NUL behind it. */
udpai_str udpai_runtime_layer_name(const udpai_runtime_layer *layer);
/* From keys to udpai_runtime_entry. */
const udpai_map *udpai_runtime_layer_entries(const udpai_runtime_layer *layer);

/* Do they have the same keys with the same texts, and were as many values left out? */
bool udpai_runtime_layer_eq(const udpai_runtime_layer *a, const udpai_runtime_layer *b);

/* Puts a value, in the place of another of this key. UDPA_ERR_INVAL: the key may not be: empty, too
 * long, no UTF-8, or with "numerator" or "denominator" between its dots, which are reserved; or the
 * value is no UTF-8. UDPA_ERR_LIMIT: too much. UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_layer_put(udpai_runtime_layer *layer,
                                 udpai_str key,
                                 const udpai_runtime_value *value,
                                 udpa_error **ret_error);
/* Like it, of a value as it was found in a file or a struct: if its text is no UTF-8, or has a zero
 * byte, it alone is left out, as in Envoy, and counted; the key must be good all the same. */
udpa_err udpai_runtime_layer_put_found(udpai_runtime_layer *layer,
                                       udpai_str key,
                                       const udpai_runtime_value *value,
                                       udpa_error **ret_error);
/* How many values were left out so; if there are any, *ret_key is their least key. */
size_t udpai_runtime_layer_n_ignored(const udpai_runtime_layer *layer, udpai_str *ret_key);
/* A serialised google.protobuf.Struct: dots in its keys are edges, as its structs are. */
udpa_err udpai_runtime_layer_put_struct(udpai_runtime_layer *layer,
                                        udpai_str message,
                                        udpa_error **ret_error);
/* All that another has, which has no other owner and none of its keys, and is empty then.
 * UDPA_ERR_LIMIT: too much together. UDPA_ERR_NOMEM. Then nothing has changed. */
udpa_err udpai_runtime_layer_merge(udpai_runtime_layer *layer,
                                   udpai_runtime_layer *from,
                                   udpa_error **ret_error);
/* False: it was not there. */
bool udpai_runtime_layer_remove(udpai_runtime_layer *layer, udpai_str key);

UDPA_DEFINE_CLEANUP(udpai_runtime_layer, udpai_runtime_layer_unref)

#endif
