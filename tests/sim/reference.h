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
    int key_namespace; /* only keys of this namespace; -1: all */
} ref_source;

typedef enum ref_wish {
    REF_UNWANTED,
    REF_BY_WILDCARD,
    REF_BY_NAME,
} ref_wish;

typedef struct ref_node {
    bool on_demand;  /* takes what somebody wants of it; else all that comes by wildcard */
    bool is_strict;  /* refuses what may not be passed on */
    int only_source; /* of those below, the one that counts; -1: all do */
    bool fails_over; /* to the next source, while the first is lost */
    ref_source sources[REF_NODES];
    int n_sources;
    /* What files and publishers say here; exists == false: nothing. */
    ref_word files[REF_KEYS], published[REF_KEYS];
    ref_wish wishes[REF_KEYS]; /* of those who ask it */
    ref_word result[REF_KEYS];
} ref_node;

typedef struct ref_model {
    int n_nodes, n_keys;
    int key_namespace[REF_KEYS];
    bool is_lazy[REF_KEYS];    /* comes by name only */
    bool is_refused[REF_KEYS]; /* may not be passed on */
    ref_node nodes[REF_NODES];
} ref_model;

/* What everybody holds while first sources are there. */
void ref_solve(ref_model *model);
/* Does the node hold the key whoever fails over? Leaves the model solved for the last case. */
bool ref_is_certain(ref_model *model, int node, int key);

#endif
