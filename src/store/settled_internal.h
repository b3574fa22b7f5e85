/* SPDX-License-Identifier: Apache-2.0 */
/* What is settled, for the files of this folder. */
#ifndef UDPAI_SETTLED_INTERNAL_H
#define UDPAI_SETTLED_INTERNAL_H

#include <stdatomic.h>

#include "store/settled.h"

struct udpai_settled {
    atomic_uint refs;
    udpai_settled_facts facts;
    _Alignas(udpai_unsettled) char room[]; /* the tables, then the text */
};

/* What a snapshot is asked for. */
typedef struct udpai_settled_question {
    udpai_str type_url, scope, except_node;
    bool as_name;
    bool is_there; /* by name: there is something here, so that a mirror need not have been asked */
    bool of_absence; /* is it certain that there is no such name? */
} udpai_settled_question;

/* ---- settled.c ---- */

bool udpai_settled_is_in(const udpai_str *sorted, size_t n, udpai_str text);
/* Is one of the texts a prefix of it? */
bool udpai_settled_is_covered(const udpai_str *sorted, size_t n, udpai_str name);
/* Does this one keep us from knowing? */
bool udpai_settled_is_missed(const udpai_settled_facts *facts,
                             const udpai_unsettled *missing,
                             const udpai_settled_question *question);
/* Client resources come by no source of a node, so nobody is waited for. */
bool udpai_settled_knows_type(const udpai_settled_facts *facts, udpai_str type_url);
/* The name's own sources, if it is one that has some. */
size_t udpai_settled_find_named(const udpai_settled *settled,
                                const udpai_settled_question *question,
                                const udpai_settled_name **ret_first);

/* ---- settled_waits.c ---- */

/* Do all that are missing wait for this node or for each other alone, and has all that any of them
 * has come here? */
bool udpai_settled_is_closed(const udpai_settled *settled, const udpai_settled_question *question);

#endif
