/* SPDX-License-Identifier: Apache-2.0 */
/* What resources use of that which is deprecated: whether the runtime allows it, how often, and a
 * line in the log for each feature of each resource. Resources are looked at on threads of the
 * pool, several at once; any thread may call all this. */
#ifndef UDPAI_DAEMON_DEPRECATIONS_H
#define UDPAI_DAEMON_DEPRECATIONS_H

#include "codec/policy.h"
#include "runtime/layers.h"

typedef struct udpai_deprecations udpai_deprecations;

/* NULL without memory. */
udpai_deprecations *udpai_deprecations_new(void);
/* When nobody looks at resources any more. */
void udpai_deprecations_free(udpai_deprecations *deprecations);

/* The runtime with the values that count from now on; outlives the looking, and is set before it
 * begins. Until then descriptors alone count. */
void udpai_deprecations_set_runtime(udpai_deprecations *deprecations, udpai_runtime *runtime);

/* The members of udpai_policy_deprecation; userdata is a udpai_deprecations. */
bool udpai_deprecations_allows(void *userdata, const udpai_deprecated *feature);
void
udpai_deprecations_used(void *userdata, const udpai_inspected *by, const udpai_deprecated *feature);

/* The resource is no more: if it comes again, so do its lines. */
void udpai_deprecations_forget(udpai_deprecations *deprecations, const udpa_resource *resource);
size_t udpai_deprecations_n_remembered(udpai_deprecations *deprecations);

#endif
