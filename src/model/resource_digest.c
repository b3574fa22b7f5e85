/* SPDX-License-Identifier: Apache-2.0 */
/* The digest of a resource, by which two ends compare what they hold (docs/design/wire.md). */
#include "model/resource.h"

static unsigned
flags_of(const udpa_resource *resource)
{
    return (udpai_resource_is_lazy(resource) ? UDPAI_DIGEST_LAZY : 0u) |
           (udpai_resource_do_not_cache(resource) ? UDPAI_DIGEST_DO_NOT_CACHE : 0u) |
           (udpa_resource_ttl_ms(resource) ? UDPAI_DIGEST_ENDS : 0u);
}

/* Few ask for it, and not often. */
uint64_t
udpai_resource_digest(const udpa_resource *resource)
{
    udpai_any_room room;
    udpai_str constraints = udpai_resource_constraints(resource);
    udpai_str aliases[UDPAI_ALIASES_MAX];
    size_t n = udpa_resource_n_aliases(resource);
    uint64_t digest = udpai_digest_of_two(udpai_resource_authority(resource),
                                          udpai_resource_any_head(resource, &room),
                                          udpai_resource_any_body(resource));
    if (constraints.len)
        digest = udpai_digest_of_variant(digest, constraints);
    for (size_t i = 0; i < n; i++)
        aliases[i] = udpai_resource_alias(resource, i);
    unsigned flags = flags_of(resource);
    return n || flags ? udpai_digest_of_flags(digest, aliases, n, flags) : digest;
}
