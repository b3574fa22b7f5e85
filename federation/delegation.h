/* SPDX-License-Identifier: Apache-2.0 */
/* Delegations: resources of the type udpa.config.v1.ResourceProvider, each of which makes the
 * provider of one name (named.h) as long as it is effective here, for the files of this folder. */
#ifndef UDPAI_DELEGATION_H
#define UDPAI_DELEGATION_H

#include "federation/named.h"
#include "wire/arena.h"

#define UDPAI_DELEGATION_TYPE "type.googleapis.com/udpa.config.v1.ResourceProvider"

#define UDPAI_DESCRIPTORS_MAX 64 /* of one */

/* *ret_delegations: NULL if none are followed. */
udpa_err udpai_delegations_new(udpai_delegations **ret_delegations,
                               udpai_node *node,
                               const udpai_delegation_config *config);
/* Before the node's subscriptions. */
void udpai_delegations_free(udpai_delegations *delegations);
/* A source has come that some of them may name, which were refused without it. NULL does nothing.
 */
void udpai_delegations_look_again(udpai_delegations *delegations);
/* Makes up for those that there was no memory for. True: there is more to evaluate. */
bool udpai_delegations_catch_up(udpai_delegations *delegations);

/* What a resource of this type and name delegates: a type URL, made in the room, and a name. False:
 * it is no such name. */
bool udpai_delegation_read_name(udpai_str name,
                                char room[UDPAI_TYPE_URL_MAX],
                                udpai_str *ret_type_url,
                                udpai_str *ret_name);

/* What one says. Texts are those of the resource, of the message, or of the room. */
typedef struct udpai_delegation {
    udpai_named_config named;
    udpai_descriptor_config descriptors[UDPAI_DESCRIPTORS_MAX];
    udpai_arena arena;
    const void *message; /* in it */
    char room[UDPAI_TYPE_URL_MAX];
} udpai_delegation;

/* To be followed by udpai_delegation_done() in any case. */
udpa_err udpai_delegation_read(udpai_delegation *delegation,
                               const udpa_resource *resource,
                               udpa_error **ret_error);
void udpai_delegation_done(udpai_delegation *delegation);

#endif
