/* SPDX-License-Identifier: Apache-2.0 */
/* An owner of files, relays that take from it and from each other, and an edge below: what scenes
 * of members that die, or come back without what they had, are played with. Each member watches
 * what it holds. */
#ifndef SIM_MESH_H
#define SIM_MESH_H

#include "world.h"

enum {
    MESH_KEYS = 24,
    MESH_RELAYS_MAX = 5,
    MESH_MEMBERS_MAX = MESH_RELAYS_MAX + 2, /* and the owner, and an edge */
    MESH_SOURCES_MAX = 4,
};

#define SIM_SECOND UINT64_C(1000000)

typedef struct mesh mesh;

typedef struct mesh_member {
    mesh *mesh;
    sim_node *node;
    struct mesh_member *upstreams[MESH_SOURCES_MAX];
    size_t n_upstreams;
    udpai_source_config sources[MESH_SOURCES_MAX];
    udpai_descriptor_config descriptors[MESH_SOURCES_MAX];
    char names[MESH_SOURCES_MAX][16];
    udpai_provider_config provider;
    udpai_local_subscription *subscription;
    bool has[MESH_KEYS];
    bool may_be_old; /* it has just come back, and has not heard anybody */
} mesh_member;

struct mesh {
    sim_world world;
    mesh_member members[MESH_MEMBERS_MAX]; /* the owner, relays, an edge */
    size_t n_members, n_relays;
    bool trace;             /* every message is shown */
    bool exists[MESH_KEYS]; /* what the owner's files say */
    /* The member sees the key come, or go; before it is noted in it. */
    void (*saw)(const mesh_member *at, int key, bool is_removed);
};

/* Of two relays and more; all members are started, the owner with what `exists` has by then. The
 * first two relays take from the owner; three and more also from their neighbours in a ring; the
 * edge takes from the last two. */
void mesh_begin(mesh *self, uint64_t seed);
void mesh_end(mesh *self);
mesh_member *mesh_owner(mesh *self);
/* The files are as `exists` says. */
void mesh_set_files(mesh *self);
/* What goes from now on is remembered for so long; until it starts again. */
void mesh_remember_for(const mesh_member *at, uint64_t remember_ms);
void mesh_run_for(mesh *self, uint64_t duration_us);
_Noreturn void mesh_fail(const mesh_member *at, const char *what, int key);

#endif
