/* SPDX-License-Identifier: Apache-2.0 */
/* The audit: who has changed what. A record is an op of the batch that makes the change, so that an
 * engine keeps both or neither. It is one line of JSON, whatever bytes it was made of: nothing in
 * it is cut in two, ends a line, or is obeyed by a terminal.
 *
 * Source: docs/design/audit.md */
#ifndef UDPAI_AUDIT_H
#define UDPAI_AUDIT_H

#include "store/store.h"

/* Who has changed it, if nobody has: the node by itself. */
#define UDPAI_AUDIT_NODE "node"
/* Of each text in a record; what is longer is cut. */
#define UDPAI_AUDIT_TEXT_MAX 1024

/* Empty texts, and a generation of 0, are left out. */
typedef struct udpai_audit_record {
    udpai_str action; /* "publish", "remove", … : what was done */
    udpai_str actor;  /* the name by which rules know it; empty: it has none */
    bool is_proven;   /* by a certificate, a token, or the kernel */
    udpai_str peer;   /* the node id that it has sent */
    udpai_str address;
    udpai_str node; /* where it was done */
    udpai_str type_url, name, version;
    uint64_t generation;
    udpai_str rule;   /* that has allowed it */
    udpai_str reason; /* why, for people */
} udpai_audit_record;

/* Adds it to what the batch changes. @p at_us: since 1970. */
udpa_err
udpai_audit_add(udpai_durable_batch *batch, const udpai_audit_record *record, int64_t at_us);
/* Why something has gone that nobody has removed; NULL: that is recorded elsewhere. */
const char *udpai_audit_reason(udpai_cause cause);

/* Why contributions go, until it is set again; what is over by its ttl has that as its cause in any
 * case. Returns the cause of before. */
udpai_cause udpai_store_set_cause(udpai_store *store, udpai_cause cause);
/* A record, with the next batch of the engine; or another op that is no contribution. Takes
 * references. */
void udpai_store_note_op(udpai_store *store, const udpai_durable_op *op);
/* What that batch has by now, the store's, for records to be added; NULL: nothing. */
udpai_durable_batch *udpai_store_durable(udpai_store *store);

/* Which of a batch's ops are records; from *at = 0 on; NULL: no more. */
const udpai_durable_op *udpai_audit_next(const udpai_durable_batch *batch, size_t *at);

#endif
