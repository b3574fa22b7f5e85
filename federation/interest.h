/* SPDX-License-Identifier: Apache-2.0 */
/* Who here wants what, for the files of this folder. */
#ifndef UDPAI_INTEREST_H
#define UDPAI_INTEREST_H

#include <string.h>

#include "federation/node_internal.h"

/* The text of a wildcard: '*' and the prefix, which is a name's or none. */
static inline udpai_str
udpai_wildcard_text(char room[UDPA_NAME_MAX + 1], udpai_str prefix)
{
    room[0] = '*';
    if (prefix.len)
        memcpy(room + 1, prefix.data, prefix.len);
    return (udpai_str){room, prefix.len + 1};
}

/* What somebody here wants: subscribers of the stream side count once, those in the process each.
 */
typedef struct udpai_interest {
    size_t n;
    bool by_nodes;          /* nodes below are one of these */
    uint32_t type_len, len; /* of the type; of both with the text: a name, or '*' and a prefix */
    char key[];
} udpai_interest;

/* Somebody here wants it, or does no more: its sources hear of it, and of what clients report they.
 */
void udpai_interest_want(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);
/* The first half of it. */
void udpai_interest_change(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);
/* The same of a name that nodes below want, all of which count once. */
void udpai_interest_by_nodes(udpai_node *node, udpai_str type_url, udpai_str name, bool wanted);
/* Somebody asks for a name that was wanted, or what there was of it has changed: mirrors may have
 * to ask for it. False: nobody wants it. */
bool udpai_interest_look_up(udpai_node *node, udpai_str type_url, udpai_str name);
/* The same of the names that led to a resource. False: nobody wants one of them. */
bool udpai_interest_look_up_aliases(udpai_node *node, const udpa_resource *was);
/* Does somebody want the name who is no node below? */
bool udpai_interest_is_own(const udpai_node *node, udpai_str type_url, udpai_str name);
/* Calls back for all that is wanted of a type. */
typedef void (*udpai_interest_visit_fn)(void *userdata, udpai_str text);
void udpai_interests_visit(const udpai_node *node,
                           udpai_str type_url,
                           udpai_interest_visit_fn visit,
                           void *userdata);
/* The same, for what concerns a name: it, and wildcards of all that covers it. */
void udpai_interests_visit_name(const udpai_node *node,
                                udpai_str type_url,
                                udpai_str name,
                                udpai_interest_visit_fn visit,
                                void *userdata);
/* The same, for what concerns a name space: what lies below, and wildcards of all that covers it.
 */
void udpai_interests_visit_place(const udpai_node *node,
                                 udpai_str type_url,
                                 udpai_str name_space,
                                 udpai_interest_visit_fn visit,
                                 void *userdata);
udpai_str udpai_interest_place_key(const void *place);
/* Calls back for every type of which something is wanted, more than once. */
void
udpai_interests_visit_types(const udpai_node *node, udpai_interest_visit_fn visit, void *userdata);
void udpai_interests_free(udpai_node *node);

#endif
