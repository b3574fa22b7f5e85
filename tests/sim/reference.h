/* SPDX-License-Identifier: Apache-2.0 */
/* What every node must serve once all is quiet and everybody is reached, worked out in the plainest
 * way there is: by passing words along until nothing changes. Shares nothing with the engine but
 * names. */
#ifndef SIM_REFERENCE_H
#define SIM_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    REF_KEYS = 48,
    REF_NAMESPACES = 4,
    REF_COLOURS = 3,
    REF_SOURCES = 8,
    REF_HOPS = 16, /* what has passed so many nodes is taken by no other */
};

/* Sets of name spaces, by bits. A rule for one is for all that lie in it. */
typedef unsigned ref_spaces;

/* Something is said under a name. */
typedef struct ref_said {
    bool exists;
    int authority; /* which node's, or which publisher's */
    int version;   /* of that authority */
} ref_said;

/* What one node holds under one name. */
typedef struct ref_word {
    ref_said said;
    int path[REF_HOPS]; /* the nodes it passed; this one last */
    int n_path;
} ref_word;

/* Where a node takes names from: the best is the first that has a word. */
typedef struct ref_source {
    int node;
    ref_spaces asked; /* what it is asked for */
    ref_spaces taken; /* what rules let it say */
} ref_source;

typedef enum ref_wish {
    REF_UNWANTED,
    REF_BY_WILDCARD,
    REF_BY_NAME,
} ref_wish;

typedef struct ref_node {
    bool on_demand;  /* takes what somebody wants of it; else all that comes by wildcard */
    bool is_strict;  /* takes what rules let others say; else anything */
    bool serves;     /* others may take from it */
    int colour;      /* what rules know it by */
    int only_source; /* of those below, the one that counts; -1: all do */
    bool fails_over; /* to the next source, while the first is lost */
    ref_source sources[REF_SOURCES];
    int n_sources;
    ref_spaces shows[REF_COLOURS]; /* to whom */
    ref_spaces takes[REF_COLOURS]; /* of publishers */
    /* What files and publishers say here; exists == false: nothing. */
    ref_said files[REF_KEYS], published[REF_KEYS];
    ref_wish wishes[REF_KEYS]; /* of those who ask it */
    ref_word result[REF_KEYS];
    unsigned looked_at; /* in which call of ref_may_hold() */
} ref_node;

typedef struct ref_model {
    int n_nodes, n_keys;
    bool lies_in[REF_NAMESPACES][REF_NAMESPACES]; /* [outer][inner] */
    int key_namespace[REF_KEYS];
    bool is_lazy[REF_KEYS]; /* comes by name only */
    ref_node *nodes;
    unsigned n_looks;
} ref_model;

/* What everybody holds while first sources are there. */
void ref_solve(ref_model *model);
/* Does the node hold the key whoever fails over? Leaves the model solved for the last case. */
bool ref_is_certain(ref_model *model, int node, int key);
/* Is there any way by which this authority's word on the key may come to the node, whoever wants
 * it? Where: the node whose files say it, or that it is published to. */
bool ref_may_hold(ref_model *model, int node, int key, int authority, int where);

#endif
