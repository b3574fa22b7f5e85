/* SPDX-License-Identifier: Apache-2.0 */
/* What differs among replicas, and must not. */
#ifndef UDPAI_FEDERATION_REPLICA_PROBLEMS_H
#define UDPAI_FEDERATION_REPLICA_PROBLEMS_H

#include "federation/problems.h"
#include "store/replication.h"

/* Of the others, by what this one has; nothing before it is one of them. */
void udpai_replica_visit_members(const udpai_replica_status *status,
                                 udpai_problem_fn visit,
                                 void *userdata);
/* Of this one: what it cannot decrypt, what etcd states of itself, that it has no place, and why it
 * holds. */
void
udpai_replica_visit_own(const udpai_replica_status *status, udpai_problem_fn visit, void *userdata);
/* An udpai_problem_fn. */
void udpai_replica_log_problem(void *userdata, const char *text);
/* Of all that they are compared by. */
uint64_t udpai_replica_members_digest(const udpai_replica_status *status);

#endif
