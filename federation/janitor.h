/* SPDX-License-Identifier: Apache-2.0 */
/* One replica of a set does what is to be done once for all: it ends what has expired, and removes
 * what the rules of all replicas hide. It is the first of those that live, and what it proposes is
 * committed only while it is.
 *
 * Source: docs/design/replicas.md, "The janitor" */
#ifndef UDPAI_FEDERATION_JANITOR_H
#define UDPAI_FEDERATION_JANITOR_H

#include "federation/context.h"
#include "federation/places.h"

/* So long all replicas must have one configuration before what that hides is removed. */
#define UDPAI_JANITOR_GRACE_MS 10000
/* What has ended by the clock of this replica may not have by those of others: so long it stays in
 * etcd, and so often all is listed again. */
#define UDPAI_JANITOR_LATE_MS 3600000
/* Removed with one proposal. */
#define UDPAI_JANITOR_REMOVALS_MAX 100

typedef struct udpai_janitor udpai_janitor;

udpa_err udpai_janitor_new(udpai_janitor **ret_janitor, udpai_context *context);
/* NULL does nothing. */
void udpai_janitor_free(udpai_janitor *janitor);

/* The members have changed, or the membership. If this replica becomes the janitor, it has all
 * reported again: others may have left something undone. */
void udpai_janitor_take_members(udpai_janitor *janitor, const udpai_replica_status *status);
/* Is it this replica? */
bool udpai_janitor_is_on(const udpai_janitor *janitor);
/* Is it known whether it is? */
bool udpai_janitor_is_known(const udpai_janitor *janitor);

/* ---- what the rules of this replica hide, though it is in etcd ---- */

/* False without memory. */
bool udpai_janitor_hide(udpai_janitor *janitor, const udpai_place *place);
/* The same of what others may not hide yet: the time has ended it, or has not come. */
bool udpai_janitor_hide_for_now(udpai_janitor *janitor, const udpai_place *place);
/* Of what this replica has by itself, or does not know, though others share it: a PUT is hidden, a
 * DELETE is not any more. UDPA_ERR_NOMEM */
udpa_err udpai_janitor_ignore(udpai_janitor *janitor, const udpai_durable_op *op);
void udpai_janitor_show(udpai_janitor *janitor, const udpai_place *place);
void udpai_janitor_show_all(udpai_janitor *janitor);
size_t udpai_janitor_n_hidden(const udpai_janitor *janitor);
/* What is to be removed now: DELETEs, the caller's. NULL: nothing, or nothing more. */
udpai_durable_batch *udpai_janitor_next_removals(udpai_janitor *janitor);

#endif
