/* SPDX-License-Identifier: Apache-2.0 */
/* The audit of this node as it is written to a file and to journald: each record at least once, in
 * its order, from the table where it is kept; by a thread of its own, so that an output that hangs
 * holds up nothing else. How far it is stands in a small file beside the database. */
#ifndef UDPAI_DAEMON_AUDIT_OUTPUT_H
#define UDPAI_DAEMON_AUDIT_OUTPUT_H

#include "base/error.h"
#include "daemon/plan.h"

typedef struct udpai_audit_output udpai_audit_output;

typedef struct udpai_audit_output_facts {
    uint64_t n_written; /* by this process, to all outputs */
    uint64_t n_failed;  /* attempts */
    uint64_t n_lost;    /* that were deleted before they could be written */
    uint64_t n_behind;  /* that are to be written, of the output with the most */
} udpai_audit_output_facts;

/* Of a plan with an output, once the database is there. */
udpa_err udpai_audit_output_open(udpai_audit_output **ret_output,
                                 const udpai_plan *plan,
                                 udpa_error **ret_error);
/* Other outputs, opened beforehand; they are the next one's until one of the next two. */
typedef struct udpai_audit_outputs udpai_audit_outputs;
/* Of a plan whose outputs are others than @p before has; *ret_next NULL: they are the same, or
 * there is no audit. */
udpa_err udpai_audit_output_prepare(const udpai_plan *plan,
                                    const udpai_plan *before,
                                    udpai_audit_outputs **ret_next,
                                    udpa_error **ret_error);
/* Records go there from the next one on. */
void udpai_audit_output_take(udpai_audit_output *output, udpai_audit_outputs *next);
/* NULL does nothing. */
void udpai_audit_output_leave(udpai_audit_outputs *next);
/* Another program has renamed the file. NULL does nothing. */
void udpai_audit_output_reopen(udpai_audit_output *output);
/* Any thread. NULL: none. */
udpai_audit_output_facts udpai_audit_output_facts_of(udpai_audit_output *output);
/* Writes what is there; an output that hangs is waited for, but not for ever. NULL does nothing. */
void udpai_audit_output_close(udpai_audit_output *output);

#endif
