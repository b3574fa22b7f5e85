/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the audit in etcd, in the transaction of the change that they are of; from there each
 * replica takes them into the table of its own database. In etcd they stay until even a replica
 * that was away for long has them (docs/design/audit.md). */
#ifndef UDPAI_REPLICA_AUDIT_H
#define UDPAI_REPLICA_AUDIT_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "etcd/mirror.h"
#include "store/durable.h"

/* The keys, behind the prefix:
 *
 *   a/<time>.<size>.<number>
 *
 * The time is that of the first record, in us since 1970, the size that of the value in bytes, the
 * number one that nobody else draws; in 16, 8 and 16 hexadecimal digits, so that they are in the
 * order of time, and their room is known without their values. A value has a line for each record:
 * when, in us since 1970, a space, and the record. */

/* So much, and so old, they are in etcd. */
#define UDPAI_REPLICA_AUDIT_BYTES ((size_t)8 << 20)
#define UDPAI_REPLICA_AUDIT_AGE_US ((uint64_t)7 * 86400 * 1000000)
/* In one key; more are in several. */
#define UDPAI_REPLICA_AUDIT_VALUE ((size_t)48 * 1024)

bool udpai_replica_audit_is_key(udpai_str key);

/* ---- writing ---- */

/* From @p *at on, those of a batch that one key has; an empty value: there are no more.
 * @p number: for the key. UDPA_ERR_NOMEM */
udpa_err udpai_replica_audit_next(const udpai_durable_batch *batch,
                                  size_t *at,
                                  uint64_t number,
                                  udpa_bytes **ret_key,
                                  udpa_bytes **ret_value);

/* ---- reading ---- */

/* Adds an op for each record of the value; what is no record is left out. UDPA_ERR_MALFORMED: none
 * is one. */
udpa_err udpai_replica_audit_read(udpai_str key, udpai_str value, udpai_durable_batch *batch);

/* ---- the room that they take ---- */

typedef UDPAI_VECTOR(udpa_bytes *) udpai_replica_audit_keys; /* references */

/* Keys, with the prefix, that are to be deleted, the oldest first, at most @p max. UDPA_ERR_NOMEM
 */
udpa_err udpai_replica_audit_find_old(const udpai_mirror *mirror,
                                      udpai_str prefix,
                                      size_t max,
                                      udpai_replica_audit_keys *ret_keys);

#endif
