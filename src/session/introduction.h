/* SPDX-License-Identifier: Apache-2.0 */
/* How this node introduces itself, at the beginning of a stream: its Node, and what its store is
 * just then. */
#ifndef UDPAI_INTRODUCTION_H
#define UDPAI_INTRODUCTION_H

#include "session/messages.h"

/* Zeroed at first: nothing is known of the store. */
typedef struct udpai_introduction {
    udpa_bytes *epoch; /* NULL: none */
    uint64_t commit;
    bool is_whole;     /* what it had as the epoch began is all that was meant to be */
    udpa_bytes *twins; /* nodes that have one id, for sources; NULL: none */
} udpai_introduction;

void udpai_introduction_done(udpai_introduction *introduction);
/* Notes what an order, of any kind, has for it. */
void udpai_introduction_note(udpai_introduction *introduction, const udpai_order *order);
/* The message, for a source or for anybody else; NULL without memory. */
udpa_bytes *udpai_introduction_compose(const udpai_introduction *introduction,
                                       const udpai_node_info *info,
                                       bool is_source);

#endif
