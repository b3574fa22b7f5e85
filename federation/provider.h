/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigProviders: which sources are asked for a type or a single name, and which are active. */
#ifndef UDPAI_PROVIDER_H
#define UDPAI_PROVIDER_H

#include "federation/parts.h"
#include "federation/sources.h"

typedef struct udpai_providers udpai_providers;

udpa_err udpai_providers_new(udpai_providers **ret_providers, const udpai_parts *parts);
/* Those of the configuration. */
udpa_err udpai_providers_configure(udpai_providers *providers,
                                   const udpai_node_config *config,
                                   udpa_error **ret_error);
/* Before the sources. NULL does nothing. */
void udpai_providers_free(udpai_providers *providers);

/* Evaluates all, and asks sources that are of no client group for what follows. */
void udpai_providers_evaluate(udpai_providers *providers);
/* The snapshot of what is synchronized, with what udpai_sync has. NULL without memory. */
udpai_settled *udpai_providers_settled(const udpai_providers *providers);
/* Does a name with a provider of its own wait for what a source is about to send? */
bool udpai_providers_named_are_waiting(const udpai_providers *providers);

/* The first subscription to a name, or to '*' and a prefix; or the last one has ended. */
void udpai_providers_interest(udpai_providers *providers,
                              udpai_str type_url,
                              udpai_str text,
                              bool subscribed);
/* A name is asked for again, or its resource was removed. */
void udpai_providers_look_up(const udpai_providers *providers, udpai_str type_url, udpai_str name);
/* The type is asked for, or was before a restart, so it will be again: if every type has a
 * provider, this one gets it, with all subscriptions to it. */
void udpai_providers_expect(udpai_providers *providers, udpai_str type_url);
/* What the source has of the type counted before a restart, so it does again. */
void udpai_providers_restore_use(udpai_providers *providers,
                                 const udpai_source *source,
                                 udpai_str type_url);

/* ---- named_new.c ---- */

/* Makes a provider of a single name, or gives the one of this name other descriptors: make before
 * break. On failure nothing has changed. */
udpa_err udpai_named_set(udpai_providers *providers,
                         const udpai_named_config *config,
                         udpa_error **ret_error);
/* What came by it is removed when the sources of its type have answered whether they have the name,
 * or after interest_linger. */
void udpai_named_end(udpai_providers *providers, udpai_str type_url, udpai_str name);

/* ---- provider_active.c ---- */

typedef udpa_err (*udpai_active_fn)(void *userdata, udpai_source *source);

/* Calls back for each source that is active for the name, by the provider of the name, or of its
 * type, until it returns an error. */
udpa_err udpai_providers_visit_active(const udpai_providers *providers,
                                      udpai_str type_url,
                                      udpai_str name,
                                      udpai_active_fn visit,
                                      void *userdata);
/* The same, by the provider of every other type. */
udpa_err udpai_providers_visit_active_of_any(const udpai_providers *providers,
                                             udpai_str name,
                                             udpai_active_fn visit,
                                             void *userdata);

/* A source at which a provider stops. */
typedef struct udpai_provider_stop {
    udpai_str source; /* borrowed */
    udpai_continuation continuation;
} udpai_provider_stop;

/* Does the provider of the name, or of its type, stop before it reaches the source? And where? */
bool udpai_providers_find_stop(const udpai_providers *providers,
                               const udpa_resource *resource,
                               const udpai_source *source,
                               udpai_provider_stop *ret_stop);
/* Another one when either may call back for others. */
uint64_t udpai_providers_digest(const udpai_providers *providers);

#endif
