/* SPDX-License-Identifier: Apache-2.0 */
/* A removal with a generation, by which an authority states that what it had of a name is removed.
 * It is a resource without payload, which has what generations are compared by: authority, the
 * first of its hops, and a signature. */
#ifndef UDPAI_REMOVAL_H
#define UDPAI_REMOVAL_H

#include "model/resource.h"

/* Of these parts it takes authority, generation, signature, name, and at most one hop. */
udpa_err udpai_removal_make(udpa_resource **ret_removal,
                            udpai_str type_url,
                            const udpai_resource_parts *parts);
/* The same of what a resource has; NULL without memory. */
udpa_resource *udpai_removal_of(const udpa_resource *resource, uint64_t generation);

#endif
