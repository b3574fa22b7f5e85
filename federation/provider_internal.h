/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of ConfigProviders, for the files of this part and for client groups, which have
 * providers of their own. */
#ifndef UDPAI_PROVIDER_INTERNAL_H
#define UDPAI_PROVIDER_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "base/vector.h"
#include "federation/directories.h"
#include "federation/provider.h"
#include "federation/scope.h"
#include "federation/sync.h"

typedef struct udpai_descriptor {
    udpai_source *source;
    udpa_bytes *prefix;
    udpai_continuation continuation;
    bool on_demand;
    udpai_scope *scope; /* of the provider's type; NULL: of per_clients */
    unsigned position;  /* among all of the provider, from 0 */
    unsigned of_groups; /* number of one of per_clients, or of that which it was made after */
    bool is_reached;
    bool is_cut_off;    /* not reached because one before it succeeds; false: for another reason */
    bool is_eligible;   /* what came by it may be effective */
    bool is_subscribed; /* of a name: its scope has the subscription */
    uint64_t leaves_ms; /* when it goes, whatever is there in its place; 0: it stays */
} udpai_descriptor;

/* The provider of one type, or of one name of it. */
typedef struct udpai_provider {
    udpai_providers *owner;
    udpa_bytes *type;
    udpa_bytes *name;    /* NULL: all of the type */
    bool is_of_any;      /* made after the template of every other type, because it was asked for */
    size_t n_subscribed; /* names and wildcards of the type that are subscribed to here */
    udpai_timer unused;  /* the end of asking for a type without subscriptions */
    UDPAI_VECTOR(udpai_descriptor) descriptors;
    /* Descriptors with sources that are asked for each group of clients by itself: the groups' are
     * made after these. */
    UDPAI_VECTOR(udpai_descriptor) per_clients;
    /* Of a type: those that its configuration has no more. What came by them counts until they go.
     */
    UDPAI_VECTOR(udpai_descriptor) leaving;
    udpai_timer patience; /* with the first of those */
    bool ends;            /* it has nothing else: its type has no provider any more */
} udpai_provider;

struct udpai_providers {
    udpai_context *context;
    udpai_demand *demand;
    udpai_sync *sync;
    udpai_sources *sources;
    udpai_roots *directories;
    udpai_named_table *named_table;
    udpai_map by_type;
    udpai_provider *any_type; /* the template of every other type; NULL: none */
    size_t n_any_types;       /* made after it */
    udpai_log_limit any_types_log;
    unsigned last_of_groups;
    bool named_are_waiting; /* some names, for the answer of a source */
};

/* ---- provider.c ---- */

/* Has its source sent all of it? */
bool udpai_descriptor_is_complete(const udpai_descriptor *descriptor);
/* Does it count as a success, for the descriptors behind it? */
bool udpai_descriptor_counts(const udpai_provider *provider, size_t index);
void udpai_provider_set_in_use(udpai_context *context,
                               udpai_origin *origin,
                               udpai_str type_url,
                               bool in_use);

/* Is it so by one of the descriptors, or of those that leave? */
bool udpai_provider_has_eligible(const udpai_provider *provider, const udpai_source *source);
/* Looks at it and at what follows from it. */
void udpai_provider_evaluate(udpai_provider *provider);
/* Which of its sources are asked, and which are active; nothing follows yet. */
void udpai_provider_walk(udpai_provider *provider);

/* ---- providers.c ---- */

/* All that are in the map. */
void udpai_providers_evaluate_map(udpai_map *providers);

/* ---- unsettled.c ---- */

/* Has the descriptor's source sent all of it, ever? Of names: of the name. */
bool udpai_descriptor_is_known(const udpai_descriptor *descriptor);
/* Need it not be waited for? */
bool udpai_descriptor_is_ruled_out(const udpai_provider *provider, size_t index);
/* Have all that may have the name by its type answered whether they do? */
bool udpai_providers_know(const udpai_providers *providers, udpai_str type_url, udpai_str name);

/* ---- provider_new.c ---- */

/* One of this configuration, with descriptors, but without their scopes. */
udpa_err udpai_provider_make(udpai_providers *providers,
                             udpai_str type_url,
                             const udpai_provider_config *config,
                             udpai_provider **ret_provider,
                             udpa_error **ret_error);
/* The same, of the template of every other type. */
udpa_err udpai_provider_make_of_any(udpai_providers *providers,
                                    udpai_str type_url,
                                    const udpai_provider *template,
                                    udpai_provider **ret_provider,
                                    udpa_error **ret_error);
/* Waits for a subscription to its type, and gives it up where none comes. */
void udpai_provider_await_use(udpai_provider *provider);
/* Those of types, and the template of every other type. */
udpa_err udpai_providers_configure_types(udpai_providers *providers,
                                         const udpai_node_config *config,
                                         udpa_error **ret_error);

udpai_str udpai_provider_key(const void *provider);
/* Without descriptors. NULL without memory. */
udpai_provider *udpai_provider_new(udpai_providers *providers, udpai_str type_url);
void udpai_provider_free(udpai_provider *provider);
/* What is set of it: source, continuation, on_demand, position. */
udpa_err
udpai_provider_add(udpai_provider *provider, const udpai_descriptor *descriptor, udpai_str prefix);
/* Makes the scopes of its type, one for each descriptor: from here on its sources are asked. */
udpa_err udpai_provider_activate(udpai_map *by_type, udpai_provider *provider);
/* What the source has of its type counted before a restart, so it does again. */
void udpai_provider_restore_use(udpai_provider *provider, const udpai_source *source);
void udpai_provider_take_interest(udpai_provider *provider, udpai_str text, bool subscribed);

#endif
