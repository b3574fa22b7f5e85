/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that each replica reads by itself: which replica has read what, and what has been
 * read here, but waits until most replicas have read the same.
 *
 * Source: docs/design/replicas.md, "What each replica reads by itself" */
#ifndef UDPAI_FEDERATION_AGREEMENT_H
#define UDPAI_FEDERATION_AGREEMENT_H

#include "federation/context.h"
#include "federation/problems.h"
#include "federation/reading.h"

/* At the latest so long after something else was read, it counts here. */
#define UDPAI_AGREEMENT_MAX_MS 60000
/* When directories have differed for so long, that is reported. */
#define UDPAI_AGREEMENT_GRACE_MS 10000

typedef struct udpai_agreement udpai_agreement;

udpa_err udpai_agreement_new(udpai_agreement **ret_agreement, udpai_context *context);
/* NULL does nothing. */
void udpai_agreement_free(udpai_agreement *agreement);

/* This was read; its digest goes to the other replicas. *ret_waits: it does not count yet, and
 * next() returns a copy when it does; what was read of the directory before does not wait any more.
 * UDPA_ERR_NOMEM: it was not noted. */
udpa_err
udpai_agreement_take(udpai_agreement *agreement, const udpai_directory *directory, bool *ret_waits);
/* Which replicas there are, and what they have read. */
void udpai_agreement_take_members(udpai_agreement *agreement, const udpai_replica_status *status);
/* What counts from now on; good until the next call. NULL: nothing more. */
const udpai_directory *udpai_agreement_next(udpai_agreement *agreement);

/* Directories of which something waits, and those of which replicas have read something else for
 * UDPAI_AGREEMENT_GRACE_MS. */
size_t udpai_agreement_n_waiting(const udpai_agreement *agreement);
size_t udpai_agreement_n_differing(const udpai_agreement *agreement);
/* A line for each of the latter. */
void udpai_agreement_visit_problems(const udpai_agreement *agreement,
                                    udpai_problem_fn visit,
                                    void *userdata);

#endif
