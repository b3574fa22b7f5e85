/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at resources before a node takes them: by the rules of their types, and at fields that are
 * deprecated, where the section validation has it so. Belongs to the loop's thread, but the mode,
 * which any thread may set. */
#ifndef UDPAI_DAEMON_INSPECTION_H
#define UDPAI_DAEMON_INSPECTION_H

#include <stdatomic.h>

#include "daemon/deprecations.h"
#include "daemon/plan.h"

/* Zeroes: nothing is looked at. Stays where it is, once it was opened. */
typedef struct udpai_inspection {
    udpai_validator *validator;       /* NULL: nothing is validated */
    udpai_deprecations *deprecations; /* NULL: nobody looks for them */
    udpai_policy policy;
    atomic_int mode; /* udpai_policy.mode */
} udpai_inspection;

/* To be followed by udpai_inspection_done() in any case. Plan and schema are borrowed. */
udpa_err udpai_inspection_open(udpai_inspection *inspection,
                               const udpai_plan *plan,
                               udpai_schema *schema,
                               udpai_inspector *inspector,
                               udpa_error **ret_error);
void udpai_inspection_done(udpai_inspection *inspection);

#endif
