/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a map in a document: no key twice, and what `<<` brings in. */
#ifndef UDPAI_READER_MAP_H
#define UDPAI_READER_MAP_H

#include "codec/source.h"
#include "codec/tree.h"
#include "wire/arena.h"

typedef struct udpai_map_maker {
    const udpai_source *source;
    udpai_arena *arena;
    const udpai_tree *const *pairs; /* key, value, key, value, … */
    size_t n_pairs;
    udpai_tree *node; /* receives the entries */
    /* Of what was merged: weight of its entries, height of their values. */
    size_t merged_weight;
    unsigned merged_height;
} udpai_map_maker;

udpa_err udpai_map_make(udpai_map_maker *maker, udpa_error **ret_error);

#endif
