/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a node has of what was asked for, once. */
#ifndef UDPAI_CTL_COLLECT_H
#define UDPAI_CTL_COLLECT_H

#include "base/vector.h"
#include "ctl/client.h"
#include "ctl/found.h"

/* What to ask for; names, or else a namespace ("": all). */
typedef struct udpai_ctl_wish {
    char *type_url;             /* owned */
    const char *name_space;     /* borrowed; NULL: all */
    UDPAI_VECTOR(char *) names; /* owned, full */
} udpai_ctl_wish;

typedef UDPAI_VECTOR(udpai_ctl_wish) udpai_ctl_wishes;

/* Takes the type URL over; NULL without memory, and then it is freed. */
udpai_ctl_wish *udpai_ctl_wishes_add(udpai_ctl_wishes *wishes, char *type_url);
/* Names that are not full are completed with the namespace. */
udpa_err udpai_ctl_wish_name(udpai_ctl_wish *wish, const char *name, const char *name_space);
void udpai_ctl_wishes_done(udpai_ctl_wishes *wishes);

/* What TYPE [NAME...] on the command line asks for; says what is wrong. */
udpai_ctl_exit udpai_ctl_wish_of_arguments(const udpai_ctl_options *options,
                                           udpai_ctl_wishes *wishes);

/* Subscribes to one wish. */
udpai_ctl_exit udpai_ctl_subscribe(udpai_ctl *ctl,
                                   const udpai_ctl_wish *wish,
                                   const udpa_subscribe_options *callbacks,
                                   udpa_subscription **ret_subscription);
/* Asks for all, and waits until the node has said that this is all. */
udpai_ctl_exit
udpai_ctl_collect(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found);
/* The wish for the wildcard of every type that the node has, by its own status. */
udpai_ctl_exit udpai_ctl_wish_for_all_types(udpai_ctl *ctl, udpai_ctl_wishes *wishes);
/* The same of a NodeStatus that is there: types that are not among the wishes are added. */
udpa_err udpai_ctl_wish_for_types_of(const udpa_resource *node_status,
                                     const char *name_space,
                                     udpai_ctl_wishes *wishes);
/* The wish for one kind of status: "NodeStatus", … */
udpa_err udpai_ctl_wish_for_status(const char *kind, udpai_ctl_wishes *wishes);

/* "there is no cluster 'local/hello' at …" of each name that was not found; true: there is one. */
bool udpai_ctl_tell_missing(const udpai_ctl *ctl,
                            const udpai_ctl_wishes *wishes,
                            const udpai_ctl_found *found);

#endif
