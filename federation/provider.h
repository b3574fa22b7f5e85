/* SPDX-License-Identifier: Apache-2.0 */
/* Providers, and what is settled by them, for the files of this folder. */
#ifndef UDPAI_PROVIDER_H
#define UDPAI_PROVIDER_H

#include "federation/node_internal.h"

/* ---- provider.c ---- */

/* Has its source said all of it? */
bool udpai_descriptor_is_complete(const udpai_descriptor *descriptor);
/* Does it count as a success, for the descriptors behind it? */
bool udpai_descriptor_counts(const udpai_provider *provider, size_t index);
void
udpai_provider_set_in_use(udpai_node *node, udpai_origin *origin, udpai_str type_url, bool in_use);

/* Looks at it and at what follows from it. */
void udpai_provider_evaluate(udpai_provider *provider);
/* Who of it is asked, and whose word counts; nothing follows yet. */
void udpai_provider_walk(udpai_provider *provider);

/* ---- evaluate.c ---- */

/* Evaluates all, and asks sources for what follows. */
void udpai_providers_evaluate(udpai_node *node);

/* ---- unsettled.c ---- */

udpai_settled *udpai_providers_settled(const udpai_node *node);
/* Has the descriptor's source said all of it, ever? Of names: of the name. */
bool udpai_descriptor_is_known(const udpai_descriptor *descriptor);
/* Need it not be waited for? */
bool udpai_descriptor_is_ruled_out(const udpai_provider *provider, size_t index);
/* Have all that may have the name by its type, said whether they do? */
bool udpai_providers_know(const udpai_node *node, udpai_str type_url, udpai_str name);

/* ---- provider_new.c ---- */

udpai_str udpai_provider_key(const void *provider);
/* Without descriptors. NULL without memory. */
udpai_provider *udpai_provider_new(udpai_node *node, udpai_str type_url);
void udpai_provider_free(udpai_provider *provider);
/* What is set of it: source, continuation, on_demand, position. */
udpa_err
udpai_provider_add(udpai_provider *provider, const udpai_descriptor *descriptor, udpai_str prefix);
/* Makes the scopes of its type, one for each descriptor: from here on its sources are asked. */
udpa_err udpai_provider_activate(udpai_map *providers, udpai_provider *provider);
void udpai_provider_take_interest(udpai_provider *provider, udpai_str text, bool wanted);
udpa_err
udpai_providers_new(udpai_node *node, const udpai_node_config *config, udpa_error **ret_error);
void udpai_providers_free(udpai_node *node);
/* The type is asked for, or was before a restart, so it will be again: if every type has a
 * provider, this one gets it, and takes all that is wanted of it. */
void udpai_providers_expect(udpai_node *node, udpai_str type_url);
/* What the source has of the type counted before a restart, so it does again. */
void udpai_providers_restore_use(udpai_node *node, const udpai_source *source, udpai_str type_url);
/* Somebody asks for a name again, or what there was of it has gone. */
void udpai_providers_look_up(const udpai_node *node, udpai_str type_url, udpai_str name);

#endif
