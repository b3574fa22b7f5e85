/* SPDX-License-Identifier: Apache-2.0 */
/* What has changed in the store, on its way out: to subscribers in the process and to the stream
 * side, with what checkers report of it, and to its recipients. */
#ifndef UDPAI_FEDERATION_OUTBOX_H
#define UDPAI_FEDERATION_OUTBOX_H

#include "federation/parts.h"

typedef struct udpai_outbox udpai_outbox;

/* So many sets of changes may be with the stream side at one time. */
udpa_err
udpai_outbox_new(udpai_outbox **ret_outbox, const udpai_parts *parts, size_t max_changes_ahead);
/* Before the store. NULL does nothing. */
void udpai_outbox_free(udpai_outbox *outbox);

/* Is there anything that was not sent yet? */
bool udpai_outbox_has_changes(const udpai_outbox *outbox);
/* Were changes taken from the store that were not sent, for want of memory? */
bool udpai_outbox_is_late(const udpai_outbox *outbox);
void udpai_outbox_send_changes(udpai_outbox *outbox);
/* The snapshot of what is synchronized, when all that it depends on was sent. */
void udpai_outbox_send_settled(udpai_outbox *outbox);
/* The stream side has applied a set of changes. */
void udpai_outbox_applied(udpai_outbox *outbox);
/* Names must perhaps be asked for since their resources were removed: true once. */
bool udpai_outbox_take_lookups(udpai_outbox *outbox);

#endif
