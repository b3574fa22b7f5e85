/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when somebody here subscribes to something, or to nothing more. */
#ifndef UDPAI_INTEREST_H
#define UDPAI_INTEREST_H

#include "federation/parts.h"

typedef struct udpai_interest udpai_interest;

udpa_err udpai_interest_new(udpai_interest **ret_interest, const udpai_parts *parts);
/* NULL does nothing. */
void udpai_interest_free(udpai_interest *interest);

/* Somebody here wants it, or does no more: its sources hear of it, and of what clients report they.
 */
void udpai_interest_want(udpai_interest *interest, udpai_str type_url, udpai_str text, bool wanted);
/* The first half of it. */
void
udpai_interest_change(udpai_interest *interest, udpai_str type_url, udpai_str text, bool wanted);
/* The same of a name that nodes below want, all of which count once. */
void
udpai_interest_by_nodes(udpai_interest *interest, udpai_str type_url, udpai_str name, bool wanted);
/* Somebody asks for a name that was wanted, or what there was of it has changed: mirrors may have
 * to ask for it. False: nobody wants it. */
bool udpai_interest_look_up(udpai_interest *interest, udpai_str type_url, udpai_str name);
/* The same of the names that led to a resource. False: nobody wants one of them. */
bool udpai_interest_look_up_aliases(udpai_interest *interest, const udpa_resource *was);

#endif
