/* SPDX-License-Identifier: Apache-2.0 */
/* What a node validates: by type, as its operator sets it. Immutable once made, but for the mode;
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
    UDPAI_POLICY_WARN, /* it is taken, and logged, within limits */
    UDPAI_POLICY_OFF,  /* nobody looks */
} udpai_policy_mode;

/* A resource, and its origin: a file and a place in it, or the name of a peer. */
typedef struct udpai_inspected {
    const udpa_resource *resource;
    udpai_str from;
} udpai_inspected;

/* As udpai_deprecation, with the resource. On the threads of udpai_policy_check(). */
typedef struct udpai_policy_deprecation {
    bool (*allows)(void *userdata, const udpai_deprecated *feature);
    void (*used)(void *userdata, const udpai_inspected *by, const udpai_deprecated *feature);
    void *userdata;
} udpai_policy_deprecation;

/* All borrowed. Zeroes: nothing is checked. */
typedef struct udpai_policy {
    const udpai_validator *validator;
    /* Of the types that are not listed. In none of these now_us and deprecation are used. */
    udpai_validation others;
    const udpai_type_policy *types;
    size_t n_types;
    const atomic_int *mode; /* of udpai_policy_mode, changed by somebody; NULL: REFUSE */
    udpai_policy_deprecation deprecation; /* for UDPAI_CHECK_DEPRECATED */
} udpai_policy;

udpai_policy_mode udpai_policy_mode_of(const udpai_policy *policy);
/* Is anything checked in a resource of this type? Of those that are listed twice the first counts.
 */
bool udpai_policy_applies(const udpai_policy *policy, udpai_str type_url);
/* The error is "'name': path: reason". */
udpa_err udpai_policy_check(const udpai_policy *policy,
                            const udpai_inspected *inspected,
                            int64_t now_us,
                            udpa_error **ret_error);

#endif
