/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file resource.h
 * Resources: named, typed, versioned, immutable.
 */
#ifndef UDPA_RESOURCE_H
#define UDPA_RESOURCE_H

#include <stdint.h>

#include <udpa/bytes.h>

UDPA_BEGIN_DECLS

/** Longest name, alias or namespace, in bytes. */
#define UDPA_NAME_MAX 1024

/** A resource; immutable; counted atomically; any thread. */
typedef struct udpa_resource udpa_resource;

/** What a resource is made of. Begin with `udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;`. */
typedef struct udpa_resource_spec {
    size_t struct_size; /**< sizeof(udpa_resource_spec) */

    /** "<namespace>/<id>", such as "com.acme.foo/service-a"; required. */
    const char *name;
    /** Such as "type.googleapis.com/envoy.config.cluster.v3.Cluster"; required. */
    const char *type_url;
    /** The serialised message; may be NULL iff payload_size is 0. */
    const void *payload;
    size_t payload_size;
    /** Opaque; NULL: a hash of the content, which is the right choice unless you know better. */
    const char *version;
    /** The authority that answers for it; NULL: the node that takes it in puts the publisher's
     * name. */
    const char *authority;
    /** Milliseconds until it expires, counted from each arrival; 0: never. */
    uint64_t ttl_ms;
    /** Other names it can be asked for by, in its own namespace. */
    const char *const *aliases;
    size_t n_aliases;
    /** Not 0: it is sent to subscribers by name, not to wildcard subscriptions. */
    int lazy;
    /** Not 0: nodes must not keep it for other clients. */
    int do_not_cache;
} udpa_resource_spec;

/** Initialiser of udpa_resource_spec. */
#define UDPA_RESOURCE_SPEC_INIT                                                                    \
    {                                                                                              \
        sizeof(udpa_resource_spec), NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, 0, 0              \
    }

/** Make a resource.
 * @param ret_resource [out] new reference, release with udpa_resource_unref(); untouched on
 *                     failure.
 * @param spec         borrowed; everything in it is copied.
 * @param ret_error    [out] what is wrong with it; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a name, alias, type URL or text that may not be; UDPA_ERR_LIMIT
 *         more than 256 aliases or 2 GiB; UDPA_ERR_NOMEM.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_resource_new(udpa_resource **ret_resource,
                                                  const udpa_resource_spec *spec,
                                                  udpa_error **ret_error);

/** Take a reference. @p resource may be NULL.
 * @return @p resource.
 * @thread any   @since 0.1
 */
UDPA_API udpa_resource *udpa_resource_ref(udpa_resource *resource);

/** Drop a reference. @p resource may be NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_resource *udpa_resource_unref(udpa_resource *resource);

/** The name, such as "com.acme.foo/service-a".
 * @return a string owned by @p resource.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_resource_name(const udpa_resource *resource);

/** The type URL.
 * @return a string owned by @p resource.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_resource_type_url(const udpa_resource *resource);

/** The version; compared for equality only, and within one authority only.
 * @return a string owned by @p resource.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_resource_version(const udpa_resource *resource);

/** The authority of the resource: the X.509 name of its producer.
 * @return a string owned by @p resource; empty if none was stated.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_resource_authority(const udpa_resource *resource);

/** The serialised message, as its producer made it.
 * @param ret_size [out] its size in bytes.
 * @return a pointer into @p resource.
 * @thread any   @since 0.1
 */
UDPA_API const void *udpa_resource_payload(const udpa_resource *resource, size_t *ret_size);

/** Is it a redirect: is its payload an xds.core.v3.ResourceLocator, which names the resource of its
 * type that takes its place?
 * @return 1 or 0.
 * @thread any   @since 0.1
 */
UDPA_API int udpa_resource_is_redirect(const udpa_resource *resource);

/** Of a variant: for which clients it is. It is a variant of the name that is its one alias.
 * @param ret_size [out] the size in bytes; may be NULL.
 * @return a serialised envoy.service.discovery.v3.DynamicParameterConstraints, owned by @p
 * resource; NULL, of size 0: it is no variant.
 * @thread any   @since 0.1
 */
UDPA_API const void *udpa_resource_constraints(const udpa_resource *resource, size_t *ret_size);

/** The time to live that came with the resource.
 * @return milliseconds; 0: it does not expire.
 * @thread any   @since 0.1
 */
UDPA_API uint64_t udpa_resource_ttl_ms(const udpa_resource *resource);

/** The number that grew with each change of this name by its authority.
 * @return the generation; 0 if no node has given one yet.
 * @thread any   @since 0.1
 */
UDPA_API uint64_t udpa_resource_generation(const udpa_resource *resource);

/** How many nodes the resource passed on its way.
 * @return the number of hops.
 * @thread any   @since 0.1
 */
UDPA_API size_t udpa_resource_n_hops(const udpa_resource *resource);

/** One node on the path, in the order passed.
 * @param index         below udpa_resource_n_hops().
 * @param ret_node_id   [out] the node's id; owned by @p resource.
 * @param ret_authority [out] the name that the node took it from, "" for a file; may be NULL.
 * @param ret_time_us   [out] when, in microseconds since 1970; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL there is no such hop.
 * @thread any   @since 0.1
 */
UDPA_API udpa_err udpa_resource_hop(const udpa_resource *resource,
                                    size_t index,
                                    const char **ret_node_id,
                                    const char **ret_authority,
                                    int64_t *ret_time_us);

/** The number of aliases.
 * @return how many.
 * @thread any   @since 0.1
 */
UDPA_API size_t udpa_resource_n_aliases(const udpa_resource *resource);

/** One alias.
 * @param index below udpa_resource_n_aliases().
 * @return a string owned by @p resource; NULL if there is no such alias.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_resource_alias(const udpa_resource *resource, size_t index);

UDPA_DEFINE_CLEANUP(udpa_resource, udpa_resource_unref)

UDPA_END_DECLS

#endif
