/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and reports as bytes, for a node whose two halves are processes of the same program
 * (docs/design/threads.md). Framing is the transport's: a message here is without its length.
 *
 * The reader does not trust the writer: a process that talks to peers may have been taken over.
 * What a report has is checked by the rules that hold for what a peer sends. */
#ifndef UDPAI_TRANSFER_H
#define UDPAI_TRANSFER_H

#include "base/strbuf.h"
#include "session/messages.h"

/* Of bytes; longer messages are neither made nor read. */
#define UDPAI_TRANSFER_MAX ((size_t)INT32_MAX)

#define UDPAI_TRANSFER_TYPES 64
#define UDPAI_TRANSFER_NODES 16

/* What a reader keeps from message to message; one thread's, one for each process it reads from. */
typedef struct udpai_transfer {
    udpai_decoder decoder; /* for Nodes; in its arena lies what reading one message takes */
    /* Last seen, so that all resources of a type share its text, and those of a node its id. */
    udpa_bytes *types[UDPAI_TRANSFER_TYPES];
    udpa_bytes *nodes[UDPAI_TRANSFER_NODES];
} udpai_transfer;

void udpai_transfer_init(udpai_transfer *transfer);
void udpai_transfer_done(udpai_transfer *transfer);

/* Appends the message. UDPA_ERR_INVAL: it cannot be sent to another process, such as a DIAL, or
 * CHANGES that were begun, or it is not whole; UDPA_ERR_LIMIT: it is too long; UDPA_ERR_NOMEM.
 * After a failure nothing was appended; if memory was short, the buffer has failed. */
udpa_err udpai_order_encode(const udpai_order *order, udpai_strbuf *buffer);
udpa_err udpai_report_encode(const udpai_report *report, udpai_strbuf *buffer);

/* What is decoded is whole: it has all that one of its kind must have, and nothing else. Fails with
 * UDPA_ERR_MALFORMED, UDPA_ERR_NOMEM, or UDPA_ERR_LIMIT for one that is longer than it may be. */
udpa_err udpai_order_decode(udpai_transfer *transfer,
                            udpai_str bytes,
                            udpai_order **ret_order,
                            udpa_error **ret_error);
udpa_err udpai_report_decode(udpai_transfer *transfer,
                             udpai_str bytes,
                             udpai_report **ret_report,
                             udpa_error **ret_error);

#endif
