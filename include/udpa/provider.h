/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file provider.h
 * Direct federation: the sources of an endpoint for each type, and which of them is effective.
 */

/* A provider is an ordered list of descriptors, each a source and the namespace that it may
 * publish. They are evaluated from the top whenever a source connects or is lost; the endpoint
 * connects and subscribes to all that are reached, and subscriptions receive the effective
 * resources of these. If two provide one name under different authorities, the earlier descriptor
 * is effective; under one authority, the newer generation.
 *
 * The endpoint requests from a source what it has subscribed to, no more. Other resources of the
 * source, and those outside its namespace, are rejected with PERMISSION_DENIED.
 *
 * What the endpoint reports (report.h) is routed to the source that provides the resource that the
 * report describes; to a standby no sooner than it becomes active, but for the types that it is
 * configured to receive (standby of udpa_source). */
#ifndef UDPA_PROVIDER_H
#define UDPA_PROVIDER_H

#include <stddef.h>

#include <udpa/macros.h>

UDPA_BEGIN_DECLS

/** What follows behind a descriptor. */
typedef enum udpa_continuation {
    /** Nothing, if its source is active: those behind it are its standbys. What a lost source has
     * sent is effective until one of them has sent all that is asked of it. */
    UDPA_STOP_ON_SUCCESS,
    /** Nothing, if its source is not active: those behind it make sense only with it. */
    UDPA_STOP_ON_FAILURE,
    /** The next one, in any case: two authorities side by side. */
    UDPA_CONTINUE,
} udpa_continuation;

/** One source of a provider. */
typedef struct udpa_descriptor {
    size_t struct_size; /**< sizeof(udpa_descriptor) */
    /** The name of one of the endpoint's sources; required. */
    const char *source;
    /** What is accepted from it: "com.acme" is com.acme/x and com.acme.shop/x, "com.acme/blue" is
     * com.acme/blue/x. NULL or empty: everything. */
    const char *name_space;
    udpa_continuation continuation;
} udpa_descriptor;

/** Initialiser of udpa_descriptor. */
#define UDPA_DESCRIPTOR_INIT                                                                       \
    {                                                                                              \
        sizeof(udpa_descriptor), NULL, NULL, UDPA_STOP_ON_SUCCESS                                  \
    }

/** Where resources of some types, or some names of them, come from. */
typedef struct udpa_provider {
    size_t struct_size; /**< sizeof(udpa_provider) */
    /** Type URLs; "type.googleapis.com/" may be left out. None: each type that no other provider
     * has. A type has one provider. */
    const char *const *types;
    size_t n_types;
    /** Full names: it is the provider of these names of its types alone, and must name them.
     * Nothing else is accepted by it, and for these names no other sources are active. None: of all
     * names. */
    const char *const *names;
    size_t n_names;
    /** In their order; at least one. A source and its namespace occur once. */
    const udpa_descriptor *descriptors;
    size_t n_descriptors;
} udpa_provider;

/** Initialiser of udpa_provider. */
#define UDPA_PROVIDER_INIT                                                                         \
    {                                                                                              \
        sizeof(udpa_provider), NULL, 0, NULL, 0, NULL, 0                                           \
    }

UDPA_END_DECLS

#endif
