/* SPDX-License-Identifier: Apache-2.0 */
/* A node with sources that are asked for each group of clients, and a control plane that answers
 * each group by itself: on a virtual clock, orders carried out when the test says so. */
#ifndef UDPAI_CLIENTS_WORLD_H
#define UDPAI_CLIENTS_WORLD_H

#include "federation/node.h"
#include "tests/harness/resources.h"
#include "tests/unit/federation/disk.h"

#define CW_PREFIX "com.acme/clients"
#define CW_TYPES_MAX 8
#define CW_ON_DEMAND 1 /* the last so many types are asked for by name */

/* What the control plane has for one group, and how far it has said so. */
typedef struct cw_group {
    char name_space[80];
    unsigned node;    /* the Node of its clients, as a number */
    unsigned content; /* each change of what there is for it adds one */
    bool is_there;
    bool is_wanted[CW_TYPES_MAX]; /* the name that is asked for by name */
    bool has_answered[CW_TYPES_MAX];
} cw_group;

typedef struct cw_stream {
    uint64_t link, session; /* 0: it is being dialled */
    size_t group;
    unsigned node;              /* for whom it asks */
    bool asked[CW_TYPES_MAX];   /* for all there is, … */
    bool by_name[CW_TYPES_MAX]; /* … or for the one name */
} cw_stream;

typedef struct cw_world {
    udpai_wheel wheel;
    udpai_node *node;
    udpai_node_config config;
    udpai_source_config source;
    udpai_provider_config providers[2];
    udpai_descriptor_config descriptors[2];
    udpai_str types[CW_TYPES_MAX];
    size_t n_types, n_groups;
    uint64_t last_session, committed;
    size_t n_dials, n_settled, n_changes;
    cw_group *groups;
    UDPAI_VECTOR(cw_stream) streams;
    fed_disk kept;
    udpai_list orders; /* that the stream side has not seen yet */
    bool is_out;       /* the control plane: nobody who dials it gets through */
} cw_world;

void cw_init(cw_world *world, size_t n_groups, size_t n_types);
void cw_start(cw_world *world);
void cw_restart(cw_world *world);
void cw_done(cw_world *world);

/* The clients of a group come (or say that they are another Node), or go. */
void cw_come(cw_world *world, size_t group);
void cw_go(cw_world *world, size_t group);
/* Somebody asks for the one name of the group of a type that is asked for by name, or not any
 * more. */
void cw_want(cw_world *world, size_t group, size_t type, bool wanted);
/* The same of so many other names, which the control plane has not; without a flush. */
void cw_want_many(cw_world *world, size_t group, size_t type, size_t n_names);
/* The control plane has something else for the group, and tells it on the streams there are. */
void cw_publish(cw_world *world, size_t group);
/* A stream ends. */
void cw_close(cw_world *world, size_t stream);
/* Carries out the oldest order; false: there was none. */
bool cw_step(cw_world *world);
/* Those of this kind alone, and those of it that follow. */
void cw_carry_out(cw_world *world, udpai_order_kind kind);
/* Carries out all there are, and what follows from them. */
void cw_settle(cw_world *world);
void cw_advance(cw_world *world, uint64_t ms);

/* What the group has here: the number of the content (0: nothing), and the Node it was made for. */
typedef struct cw_value {
    unsigned node, content;
} cw_value;

cw_value cw_value_of(cw_world *world, size_t group, size_t type);
bool cw_is_settled(const cw_world *world, size_t group, size_t type);
/* How much is kept of it. */
size_t cw_n_kept(const cw_world *world, size_t group);

#endif
