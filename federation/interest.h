/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when a subscription begins or ends here. */
#ifndef UDPAI_INTEREST_H
#define UDPAI_INTEREST_H

#include "federation/parts.h"

typedef struct udpai_interest udpai_interest;

udpa_err udpai_interest_new(udpai_interest **ret_interest, const udpai_parts *parts);
/* NULL does nothing. */
void udpai_interest_free(udpai_interest *interest);

/* A subscription begins or ends here: its sources are asked, and for client resources those that
 * report them. */
void udpai_interest_subscribe(udpai_interest *interest,
                              udpai_str type_url,
                              udpai_str text,
                              bool subscribed);
/* The first half of it. */
void udpai_interest_change(udpai_interest *interest,
                           udpai_str type_url,
                           udpai_str text,
                           bool subscribed);
/* The same of a name with subscribers among nodes below, all of which count once. */
void udpai_interest_by_nodes(udpai_interest *interest,
                             udpai_str type_url,
                             udpai_str name,
                             bool subscribed);
/* A name with a subscription is asked for again, or its resource has changed: mirrors may have to
 * ask for it. False: it has no subscription. */
bool udpai_interest_look_up(udpai_interest *interest, udpai_str type_url, udpai_str name);
/* The same of the names that led to a resource. False: none of them has a subscription. */
bool udpai_interest_look_up_aliases(udpai_interest *interest, const udpa_resource *was);

#endif
