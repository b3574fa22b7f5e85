/* SPDX-License-Identifier: Apache-2.0 */
/* What every node must serve once all is quiet and everybody is reached, worked out in the plainest
 * way there is: by passing words along until nothing changes. Shares nothing with the engine but
 * names. */
#ifndef SIM_REFERENCE_H
#define SIM_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#define REF_NODES 32
#define REF_KEYS 64

/* Says what one node holds under one name. */
typedef struct ref_word {
    bool exists;
    int authority;       /* which node's, or which publisher's */
    int version;         /* of that authority */
    int path[REF_NODES]; /* the nodes it passed; this one last */
    int n_path;
} ref_word;

/* Where a node takes names from: the best is the first that has a word. */
typedef struct ref_source {
    int node;
    int namespace_of_keys; /* only keys of this namespace; -1: all */
} ref_source;

typedef struct ref_model {
    int n_nodes, n_keys;
    int key_namespace[REF_KEYS];
    /* What files and publishers say at a node; exists == false: nothing. */
    ref_word files[REF_NODES][REF_KEYS];
    ref_word published[REF_NODES][REF_KEYS];
    ref_source sources[REF_NODES][REF_NODES];
    int n_sources[REF_NODES];
    ref_word result[REF_NODES][REF_KEYS];
} ref_model;

void ref_solve(ref_model *model);

#endif
