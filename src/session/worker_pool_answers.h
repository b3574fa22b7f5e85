/* SPDX-License-Identifier: Apache-2.0 */
/* What several members of a pool, or several replicas, have answered, as one answer. */
#ifndef UDPAI_WORKER_POOL_ANSWERS_H
#define UDPAI_WORKER_POOL_ANSWERS_H

#include "session/messages.h"

/* Both add what `more` has to `answer`, and free it. Without memory sessions are missing. */
void udpai_worker_pool_join_sessions(udpai_report *answer, udpai_report *more);
/* The answers are in the order of the same questions. To what not all could answer there is none:
 * it would count too few. */
void udpai_worker_pool_join_acknowledgements(udpai_report *answer, udpai_report *more);

/* One body for both, of a serialised udpa.status.v1.AcknowledgementStatus each; NULL: without
 * memory, or one of them is NULL. */
udpa_bytes *udpai_acknowledgement_join(udpa_bytes *one, udpa_bytes *other);
/* Are both about the same version, or about none? */
bool udpai_acknowledgements_agree(udpa_bytes *one, udpa_bytes *other);
/* What stands for a replica that has not answered, or not about that version: one subscriber that
 * has not acknowledged it. NULL without memory. */
udpa_bytes *udpai_acknowledgement_missing(udpai_str replica, const char *why);

#endif
