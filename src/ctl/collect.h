/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that a node has of what was asked for, once. */
#ifndef UDPAI_CTL_COLLECT_H
#define UDPAI_CTL_COLLECT_H

#include "ctl/client.h"
#include "ctl/found.h"
#include "ctl/wishes.h"

/* What TYPE [NAME...] on the command line asks for; says what is wrong. */
udpai_ctl_exit udpai_ctl_wish_of_arguments(const udpai_ctl_common *options,
                                           udpai_ctl_wishes *wishes);

/* Subscribes to one wish. */
udpai_ctl_exit udpai_ctl_subscribe(udpai_ctl *ctl,
                                   const udpai_ctl_wish *wish,
                                   const udpa_subscribe_options *callbacks,
                                   udpa_subscription **ret_subscription);
/* Asks for all, and waits until the node has said that this is all. */
udpai_ctl_exit
udpai_ctl_collect(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found);
/* Asks for names that are there, and waits until they have come: that nothing else is there need
 * not be certain. */
udpai_ctl_exit
udpai_ctl_collect_names(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found);
/* The wish for the wildcard of every type that the node has or waits for, by its own status; if
 * there is none, of those that have a short name: a node may ask others only when it is asked. */
udpai_ctl_exit udpai_ctl_wish_for_all_types(udpai_ctl *ctl, udpai_ctl_wishes *wishes);

/* "there is no cluster 'local/hello' at …" of each name that was not found; true: there is one. */
bool udpai_ctl_tell_missing(const udpai_ctl *ctl,
                            const udpai_ctl_wishes *wishes,
                            const udpai_ctl_found *found);

#endif
