/* SPDX-License-Identifier: Apache-2.0 */
/* What several members of a pool have answered, as one answer. */
#ifndef UDPAI_WORKER_POOL_ANSWERS_H
#define UDPAI_WORKER_POOL_ANSWERS_H

#include "session/messages.h"

/* Both add what `more` has to `answer`, and free it. Without memory sessions are missing. */
void udpai_worker_pool_join_sessions(udpai_report *answer, udpai_report *more);
/* The answers are in the order of the same questions. To what not all could answer there is none:
 * it would count too few. */
void udpai_worker_pool_join_acknowledgements(udpai_report *answer, udpai_report *more);

#endif
