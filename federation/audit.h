/* SPDX-License-Identifier: Apache-2.0 */
/* The audit of a node: records of what publishers have changed, and of what the node has ended by
 * itself, in the batches that do so (docs/design/audit.md). What sources send is theirs, and has
 * its records there. */
#ifndef UDPAI_FEDERATION_AUDIT_H
#define UDPAI_FEDERATION_AUDIT_H

#include "federation/context.h"
#include "store/audit.h"

/* Adds a record, with the present time and this node's id. Does nothing where there is no audit. */
udpa_err udpai_audit_note(const udpai_context *context,
                          udpai_durable_batch *batch,
                          const udpai_audit_record *record);
/* Of each op from @p from on that changes what a publisher has: the record says who, and by what;
 * what, is filled in. Not of what is only renewed. @p rule: the name of the rule that allows this
 * resource; NULL: there are no rules. */
typedef udpai_str (*udpai_audit_rule_fn)(void *userdata,
                                         udpai_acl_action action,
                                         const udpai_audit_record *record,
                                         udpai_str authority);
udpa_err udpai_audit_changes(const udpai_context *context,
                             udpai_durable_batch *batch,
                             size_t from,
                             const udpai_audit_record *by,
                             udpai_audit_rule_fn rule,
                             void *userdata);
/* Of what the node ends by itself, each with its cause; or of nothing, without memory. */
udpa_err udpai_audit_ended(const udpai_context *context, udpai_durable_batch *batch);

#endif
