/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch changes of contributions, as it crosses from a process to the one whose place it has
 * taken (docs/design/restart.md). Both are of one machine, and may be of two releases. */
#ifndef UDPAI_DAEMON_BATCH_TEXT_H
#define UDPAI_DAEMON_BATCH_TEXT_H

#include "base/strbuf.h"
#include "store/durable.h"

/* Appends its PUTs and DELETEs; other ops concern one that is started from them. UDPA_ERR_NOMEM */
udpa_err udpai_batch_text_put(udpai_strbuf *text, const udpai_durable_batch *batch);
/* Each op in turn, until one fails. UDPA_ERR_MALFORMED: it is no such text, and what came before is
 * done. */
udpa_err udpai_batch_text_read(udpai_str text,
                               udpa_err (*take)(void *userdata, const udpai_durable_op *op),
                               void *userdata);

#endif
