/* SPDX-License-Identifier: Apache-2.0 */
/* Resources in one line, for tests that need many: `RESOURCE("com.acme/a", .value = "1")`. What is
 * not said is empty; the type is TEST_TYPE. */
#ifndef UDPAI_TESTS_RESOURCES_H
#define UDPAI_TESTS_RESOURCES_H

#include "model/resource.h"
#include "tests/harness/test.h"

#define TEST_TYPE "type.googleapis.com/test.Thing"
#define TEST_CDS "type.googleapis.com/envoy.config.cluster.v3.Cluster"
#define TEST_EDS "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
#define TEST_LDS "type.googleapis.com/envoy.config.listener.v3.Listener"
#define TEST_RDS "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

#define TEST_HOPS_MAX 8
#define TEST_ALIASES_MAX 4

typedef struct test_resource {
    const char *name;
    const char *type, *value, *version, *authority;
    uint64_t generation, ttl_ms;
    bool lazy, do_not_cache, is_signed;

    struct {
        const char *node_id, *authority, *instance;
    } hops[TEST_HOPS_MAX]; /* up to the first without a node id */

    const char *aliases[TEST_ALIASES_MAX];
    udpai_str constraints;       /* see constraints.h */
    const char *redirected_type; /* `type` is that of the locator then */
} test_resource;

static inline udpai_resource_parts
test_resource_parts(const test_resource *spec, udpai_hop *hops, udpai_str *aliases)
{
    udpai_resource_parts parts = {
        .name = udpai_str_from(spec->name),
        .version = udpai_str_from(spec->version),
        .authority = udpai_str_from(spec->authority),
        .generation = spec->generation,
        .ttl_ms = spec->ttl_ms,
        .lazy = spec->lazy,
        .do_not_cache = spec->do_not_cache,
        .hops = hops,
        .aliases = aliases,
        .constraints = spec->constraints,
        .redirected_type = udpai_str_from(spec->redirected_type),
    };
    if (spec->is_signed)
        parts.signature = (udpai_signature){1, UDPAI_STR("key"), 1, 2, UDPAI_STR("signed")};
    for (; parts.n_hops < TEST_HOPS_MAX && spec->hops[parts.n_hops].node_id; parts.n_hops++)
        hops[parts.n_hops] =
            (udpai_hop){udpai_str_from(spec->hops[parts.n_hops].node_id),
                        udpai_str_from(spec->hops[parts.n_hops].authority), 1000000,
                        udpai_str_from(spec->hops[parts.n_hops].instance)};
    for (; parts.n_aliases < TEST_ALIASES_MAX && spec->aliases[parts.n_aliases]; parts.n_aliases++)
        aliases[parts.n_aliases] = udpai_str_from(spec->aliases[parts.n_aliases]);
    return parts;
}

/* A new reference; NULL without memory. */
static inline udpa_resource *
test_resource_make(const test_resource *spec)
{
    udpai_hop hops[TEST_HOPS_MAX];
    udpai_str aliases[TEST_ALIASES_MAX];
    udpai_resource_parts parts = test_resource_parts(spec, hops, aliases);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(udpai_str_from(spec->type ? spec->type : TEST_TYPE),
                                     udpai_str_from(spec->value));
    udpa_resource *resource = NULL;
    parts.any = any;
    return any && udpai_resource_make(&resource, &parts) == UDPA_OK ? resource : NULL;
}

/* The bytes of its Any, as it arrived; a new reference. */
static inline udpa_bytes *
test_any_of(const udpa_resource *resource)
{
    udpai_any_room room;
    udpai_str head = udpai_resource_any_head(resource, &room),
              body = udpai_resource_any_body(resource);
    uint8_t *at;
    udpa_bytes *any = udpai_bytes_make(head.len + body.len, &at);
    assert_non_null(any);
    memcpy(at, head.len ? head.data : "", head.len);
    memcpy(at + head.len, body.data, body.len);
    assert_int_equal(udpai_resource_any_size(resource), udpa_bytes_size(any));
    return any;
}

#define RESOURCE(given_name, ...)                                                                  \
    test_resource_make(&(test_resource){.name = (given_name), __VA_ARGS__})

#endif
