/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file resource_state.h
 * What has become of the resources that an endpoint was sent, reported to subscribers.
 *
 * The answer to an update states whether a resource can be used. What becomes of it then is a
 * state, of each version by itself: the old listener drains while the new one warms.
 */
#ifndef UDPA_RESOURCE_STATE_H
#define UDPA_RESOURCE_STATE_H

#include <udpa/endpoint.h>
#include <udpa/resource.h>

UDPA_BEGIN_DECLS

/** What a version of a resource does. */
typedef enum udpa_resource_phase {
    /** It waits for something before it is used. */
    UDPA_RESOURCE_WARMING = 1,
    /** It is used. */
    UDPA_RESOURCE_ACTIVE,
    /** It is used by what has begun with it, and by nothing new. */
    UDPA_RESOURCE_DRAINING,
    /** It cannot be used. */
    UDPA_RESOURCE_FAILED,
    /** It is not there any more: nothing is reported of it. */
    UDPA_RESOURCE_GONE
} udpa_resource_phase;

/** The state of one version. */
typedef struct udpa_resource_state {
    size_t struct_size; /**< sizeof(udpa_resource_state) */
    udpa_resource_phase phase;
    /** What it waits for, such as names of other resources; of WARMING only. At most 16 texts of at
     * most 1024 bytes of UTF-8. */
    const char *const *waits_for;
    size_t n_waits_for;
    /** Why it has failed; of FAILED only; at most 1024 bytes of UTF-8. NULL: not given. */
    const char *reason;
} udpa_resource_state;

/** Initialiser of udpa_resource_state. */
#define UDPA_RESOURCE_STATE_INIT                                                                   \
    {                                                                                              \
        sizeof(udpa_resource_state), UDPA_RESOURCE_ACTIVE, NULL, 0, NULL                           \
    }

/** Set the state of a version of a resource. While the resource has a subscription to its state, a
 * udpa.status.v1.ResourceState with the states of all its versions is reported (report.h). When the
 * last version is removed, the report is withdrawn.
 * @param endpoint  that was sent it.
 * @param resource  borrowed; only its name, type and version matter.
 * @param state     borrowed; copied.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a state that may not be; UDPA_ERR_LIMIT 16 versions of the name,
 *         or 65536 names, have a state; UDPA_ERR_CLOSED the endpoint is being closed;
 *         UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_resource_state_set(udpa_endpoint *endpoint,
                                                        const udpa_resource *resource,
                                                        const udpa_resource_state *state,
                                                        udpa_error **ret_error);

UDPA_END_DECLS

#endif
