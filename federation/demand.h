/* SPDX-License-Identifier: Apache-2.0 */
/* A table of all subscriptions of this node, aggregated. What follows when one comes or goes is
 * interest.h's. */
#ifndef UDPAI_DEMAND_H
#define UDPAI_DEMAND_H

#include <string.h>

#include "federation/context.h"

/* The text of a wildcard: '*' and the prefix, which is a name's or none. */
static inline udpai_str
udpai_wildcard_text(char room[UDPA_NAME_MAX + 1], udpai_str prefix)
{
    room[0] = '*';
    if (prefix.len)
        memcpy(room + 1, prefix.data, prefix.len);
    return (udpai_str){room, prefix.len + 1};
}

typedef enum udpai_demand_change {
    UDPAI_DEMAND_SAME,     /* nothing follows; also without memory */
    UDPAI_DEMAND_BEGINS,   /* it is the first of its text */
    UDPAI_DEMAND_REPEATED, /* another one of it */
    UDPAI_DEMAND_ENDS,     /* it was the last one; to be followed by udpai_demand_drop() */
} udpai_demand_change;

typedef struct udpai_demand udpai_demand;

udpa_err udpai_demand_new(udpai_demand **ret_demand);
/* NULL does nothing. */
void udpai_demand_free(udpai_demand *demand);
/* From now on udpai_demand_visit_place() may be called: before the first subscription. */
void udpai_demand_count_places(udpai_demand *demand);
bool udpai_demand_is_empty(const udpai_demand *demand);
/* A subscription begins, or has ended. */
udpai_demand_change
udpai_demand_count(udpai_demand *demand, udpai_str type_url, udpai_str text, bool subscribed);
/* What follows from the end has been done. */
void udpai_demand_drop(udpai_demand *demand, udpai_str type_url, udpai_str text);

bool udpai_demand_has(const udpai_demand *demand, udpai_str type_url, udpai_str text);
/* Are nodes below among the subscribers to the name? All of them count once. */
bool udpai_demand_by_nodes(const udpai_demand *demand, udpai_str type_url, udpai_str name);
void
udpai_demand_set_by_nodes(udpai_demand *demand, udpai_str type_url, udpai_str name, bool by_nodes);
/* Has the name a subscriber that is no node below? */
bool udpai_demand_is_own(const udpai_demand *demand, udpai_str type_url, udpai_str name);
/* Calls back for all subscriptions of a type. */
typedef void (*udpai_demand_fn)(void *userdata, udpai_str text);
void udpai_demand_visit(const udpai_demand *demand,
                        udpai_str type_url,
                        udpai_demand_fn visit,
                        void *userdata);
/* The same, for what concerns a name: it, and wildcards of all that covers it. */
void udpai_demand_visit_name(const udpai_demand *demand,
                             udpai_str type_url,
                             udpai_str name,
                             udpai_demand_fn visit,
                             void *userdata);
/* The same, for what concerns a name space: what lies below, and wildcards of all that covers it.
 */
void udpai_demand_visit_place(const udpai_demand *demand,
                              udpai_str type_url,
                              udpai_str name_space,
                              udpai_demand_fn visit,
                              void *userdata);
/* Calls back for every type that has subscriptions, more than once. */
void udpai_demand_visit_types(const udpai_demand *demand, udpai_demand_fn visit, void *userdata);

#endif
