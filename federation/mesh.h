/* SPDX-License-Identifier: Apache-2.0 */
/* The streams between the replicas of a set, on which each asks the others for what data planes
 * report to them (docs/design/replicas.md, "Among replicas"): which replicas are dialled, which
 * peers are of the set, and what becomes of the reports of one that is lost. */
#ifndef UDPAI_FEDERATION_MESH_H
#define UDPAI_FEDERATION_MESH_H

#include "federation/parts.h"
#include "federation/peers.h"
#include "federation/problems.h"
#include "store/replication.h"

/* What a replica that is lost has reported stays for so long; a longer absence is a problem. */
#define UDPAI_MESH_GRACE_MS 5000

typedef struct udpai_mesh udpai_mesh;

/* What the config refers to is copied; the identity is taken as a reference. */
udpa_err
udpai_mesh_new(udpai_mesh **ret_mesh, const udpai_parts *parts, const udpai_mesh_config *config);
/* Before the sources. NULL does nothing. */
void udpai_mesh_free(udpai_mesh *mesh);

/* Which replicas there are: dials those that are new, and those that have gone no more. */
void udpai_mesh_take_members(udpai_mesh *mesh, const udpai_replica_status *status);

typedef enum udpai_mesh_verdict {
    UDPAI_MESH_NO,      /* it does not claim to be of the set */
    UDPAI_MESH_YES,     /* it is, and the peer has `is_of_set` from now on */
    UDPAI_MESH_REFUSED, /* it claims to be, and is sent away */
} udpai_mesh_verdict;

/* Its Node was received, perhaps again. */
udpai_mesh_verdict udpai_mesh_introduce(udpai_mesh *mesh, udpai_peer *peer);
/* Its stream has ended. */
void udpai_mesh_closed(udpai_mesh *mesh, const udpai_peer *peer);

/* How many other replicas there are, and how many of them have a stream with this one. */
void udpai_mesh_count(const udpai_mesh *mesh, size_t *ret_n, size_t *ret_n_connected);
/* Each of them, from *at = 0 on: its id, a view, and its session, 0: it has none. False: there are
 * no more. */
bool udpai_mesh_next(const udpai_mesh *mesh, size_t *at, udpai_str *ret_id, uint64_t *ret_session);
/* What is amiss, for people. */
void udpai_mesh_visit_problems(const udpai_mesh *mesh, udpai_problem_fn visit, void *userdata);

#endif
