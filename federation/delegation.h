/* SPDX-License-Identifier: Apache-2.0 */
/* Delegations: resources of the type udpa.config.v1.ResourceProvider, each of which makes the
 * provider of one name (provider.h) as long as it is effective here, for the files of this folder.
 */
#ifndef UDPAI_DELEGATION_H
#define UDPAI_DELEGATION_H

#include "federation/node_config.h"
#include "model/name.h"
#include "wire/arena.h"

#define UDPAI_DELEGATION_TYPE "type.googleapis.com/udpa.config.v1.ResourceProvider"

#define UDPAI_DESCRIPTORS_MAX 64 /* of one */

/* What a resource of this type and name delegates: a type URL, made in the room, and a name. False:
 * it is no such name. */
bool udpai_delegation_read_name(udpai_str name,
                                char room[UDPAI_TYPE_URL_MAX],
                                udpai_str *ret_type_url,
                                udpai_str *ret_name);

/* What a delegation states. Texts are those of the resource, of the message, or of the room. */
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
