/* SPDX-License-Identifier: Apache-2.0 */
/* What sources that are asked for groups of clients have answered for each of them: the part of a
 * snapshot of what is settled that there may be thousands of, of which one changes at a time.
 * Values, counted atomically; a table shares with the one that it was made of all but a piece. */
#ifndef UDPAI_SETTLED_GROUP_H
#define UDPAI_SETTLED_GROUP_H

#include "base/error.h"
#include "base/util.h"

/* Of one source, of one type. */
typedef struct udpai_settled_part {
    unsigned number; /* of the udpai_unsettled that it is about */
    bool is_whole;   /* it has completed for this group, or need not be waited for */
    /* Else: what it has answered all the same, and what it was asked for and has not answered:
     * names, or prefixes that it completes. */
    const udpai_str *answered, *asked;
    size_t n_answered, n_asked;
} udpai_settled_part;

typedef struct udpai_settled_group udpai_settled_group;

/* Copies everything; NULL without memory. */
udpai_settled_group *
udpai_settled_group_new(udpai_str name_space, const udpai_settled_part *parts, size_t n_parts);
udpai_settled_group *udpai_settled_group_unref(udpai_settled_group *group);
UDPA_DEFINE_CLEANUP(udpai_settled_group, udpai_settled_group_unref)
udpai_str udpai_settled_group_key(const udpai_settled_group *group);
/* NULL: the source is not asked for this group. Its texts are sorted. */
const udpai_settled_part *udpai_settled_group_part(const udpai_settled_group *group,
                                                   unsigned number);
/* All of them. */
const udpai_settled_part *udpai_settled_group_parts(const udpai_settled_group *group,
                                                    size_t *ret_n);
bool udpai_settled_group_equal(const udpai_settled_group *a, const udpai_settled_group *b);

/* By name space; NULL: the empty one. */
typedef struct udpai_settled_groups udpai_settled_groups;

/* The table with this group, in the place of one of the same name space; NULL without memory. Takes
 * a reference. */
udpai_settled_groups *udpai_settled_groups_with(const udpai_settled_groups *table,
                                                udpai_settled_group *group);
/* A table of these alone, in rising order of their name spaces, none twice. Takes references. */
udpa_err udpai_settled_groups_of(udpai_settled_groups **ret_table,
                                 udpai_settled_group *const *groups,
                                 size_t n);
/* Without the group of this name space, which is in it. False: without memory. */
bool udpai_settled_groups_without(const udpai_settled_groups *table,
                                  udpai_str name_space,
                                  udpai_settled_groups **ret_table);
udpai_settled_groups *udpai_settled_groups_ref(udpai_settled_groups *table);
udpai_settled_groups *udpai_settled_groups_unref(udpai_settled_groups *table);
UDPA_DEFINE_CLEANUP(udpai_settled_groups, udpai_settled_groups_unref)
const udpai_settled_group *udpai_settled_groups_find(const udpai_settled_groups *table,
                                                     udpai_str name_space);
/* Calls back for the groups below the prefix, until false is returned; false: it was. */
typedef bool (*udpai_settled_group_fn)(void *userdata, const udpai_settled_group *group);
bool udpai_settled_groups_visit(const udpai_settled_groups *table,
                                udpai_str prefix,
                                udpai_settled_group_fn visit,
                                void *userdata);

#endif
