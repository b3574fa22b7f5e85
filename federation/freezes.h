/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has frozen: names of which nothing changes until they are thawed. Publications
 * are rejected with the operator's reason; what files and sources change waits in the store
 * (store/freeze.h). Endpoints and secrets go on changing, unless all is frozen: where traffic can
 * go is not what an operator decides. What clients report, and what the node states of itself, is
 * never frozen. Replicas have their freezes in common.
 *
 * Source: docs/design/freeze.md */
#ifndef UDPAI_FEDERATION_FREEZES_H
#define UDPAI_FEDERATION_FREEZES_H

#include "federation/context.h"
#include "federation/problems.h"
#include "store/settled.h"

#define UDPAI_TYPE_FREEZE "type.googleapis.com/udpa.status.v1.Freeze"

#define UDPAI_FREEZES_MAX 64
#define UDPAI_FREEZE_REASON_MAX 512

typedef struct udpai_freezes udpai_freezes;

/* Views. */
typedef struct udpai_freeze {
    udpai_str prefix; /* of names; empty: all */
    udpai_str reason, by;
    int64_t since_us; /* since 1970 */
    bool is_all;      /* endpoints and secrets, too */
} udpai_freeze;

udpa_err udpai_freezes_new(udpai_freezes **ret_freezes, udpai_context *context);
/* NULL does nothing. */
void udpai_freezes_free(udpai_freezes *freezes);

/* ---- what is frozen ---- */

size_t udpai_freezes_n(const udpai_freezes *freezes);
/* Begin with 0. False: there are no more. */
bool udpai_freezes_next(const udpai_freezes *freezes, size_t *position, udpai_freeze *ret_freeze);
/* UDPA_ERR_PRECONDITION: it is frozen; by whom, since when and why is in the error. */
udpa_err udpai_freezes_check(const udpai_freezes *freezes,
                             udpai_str type_url,
                             udpai_str name,
                             udpa_error **ret_error);
/* A line for each. */
void
udpai_freezes_visit_problems(const udpai_freezes *freezes, udpai_problem_fn visit, void *userdata);

/* ---- beginning and ending ---- */

/* Adds what is to be committed; it begins, or ends, when that is taken. UDPA_ERR_INVAL: no such
 * prefix, or no reason; UDPA_ERR_LIMIT: there are too many; UDPA_ERR_NOT_FOUND: it is not frozen.
 */
udpa_err udpai_freezes_begin(const udpai_freezes *freezes,
                             const udpai_freeze *freeze,
                             udpai_durable_batch *batch,
                             udpa_error **ret_error);
udpa_err udpai_freezes_end(const udpai_freezes *freezes,
                           udpai_str prefix,
                           udpai_durable_batch *batch,
                           udpa_error **ret_error);

/* ---- what is kept, and what replicas have ---- */

/* Is this the origin of a freeze, and of no contribution? */
bool udpai_freezes_is_key(udpai_str origin);
/* A PUT or DELETE of one; of one that cannot be read nothing is frozen. UDPA_ERR_NOMEM */
udpa_err udpai_freezes_take(udpai_freezes *freezes, const udpai_durable_op *op);
/* The same, of one that was committed elsewhere: it is noted for this node's own disk. */
udpa_err udpai_freezes_take_replicated(udpai_freezes *freezes, const udpai_durable_op *op);
/* All are reported again. */
void udpai_freezes_clear(udpai_freezes *freezes);
/* Adds PUTs of all. UDPA_ERR_NOMEM */
udpa_err udpai_freezes_copy(const udpai_freezes *freezes, udpai_durable_batch *batch);
/* A replica that has nothing on its disk must first have what the others serve: until all is
 * synchronized it takes in what comes. To be called once all that has come is reported. */
void udpai_freezes_settle(udpai_freezes *freezes, const udpai_settled *settled);

#endif
