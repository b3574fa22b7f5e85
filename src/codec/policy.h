/* SPDX-License-Identifier: Apache-2.0 */
/* What a node validates: by type, as its operator wants it. Immutable once made, but for the mode;
 * any thread. */
#ifndef UDPAI_POLICY_H
#define UDPAI_POLICY_H

#include <stdatomic.h>

#include "codec/validate.h"
#include "model/resource.h"

typedef struct udpai_type_policy {
    udpai_str type_url; /* with any prefix */
    udpai_validation validation;
} udpai_type_policy;

/* What becomes of a resource that is not as it should be. */
typedef enum udpai_policy_mode {
    UDPAI_POLICY_REFUSE,
    UDPAI_POLICY_WARN, /* it is taken, and told in the log, within limits */
    UDPAI_POLICY_OFF,  /* nobody looks */
} udpai_policy_mode;

/* All borrowed. Zeroes: nothing is checked. */
typedef struct udpai_policy {
    const udpai_validator *validator;
    udpai_validation others; /* of the types that are not listed; now_us is not used */
    const udpai_type_policy *types;
    size_t n_types;
    const atomic_int *mode; /* of udpai_policy_mode, changed by somebody; NULL: REFUSE */
} udpai_policy;

udpai_policy_mode udpai_policy_mode_of(const udpai_policy *policy);
/* Is anything checked in a resource of this type? Of those that are listed twice the first counts.
 */
bool udpai_policy_wants(const udpai_policy *policy, udpai_str type_url);
/* The error is "'name': path: reason". */
udpa_err udpai_policy_check(const udpai_policy *policy,
                            const udpa_resource *resource,
                            int64_t now_us,
                            udpa_error **ret_error);

#endif
