/* SPDX-License-Identifier: Apache-2.0 */
/* Responses whose answer would not be recognised: there was no memory to note them, or too many
 * others waited already. What they brought counts as unanswered until something is answered that
 * was sent later. */
#ifndef UDPAI_UNANSWERED_H
#define UDPAI_UNANSWERED_H

#include "fanout/ack_tracker.h"

typedef struct udpai_lost {
    uint64_t nonce; /* of the last one; 0: there is none */
    udpai_ack_position place;
    int64_t sent_us; /* of the first */
} udpai_lost;

static inline void
udpai_lost_add(udpai_lost *lost, uint64_t nonce, udpai_ack_position place, int64_t sent_us)
{
    lost->sent_us = lost->nonce ? lost->sent_us : sent_us;
    lost->place = lost->nonce ? udpai_ack_position_least(lost->place, place) : place;
    lost->nonce = nonce > lost->nonce ? nonce : lost->nonce;
}

static inline void
udpai_lost_answered(udpai_lost *lost, uint64_t nonce)
{
    if (nonce > lost->nonce)
        *lost = (udpai_lost){0};
}

static inline udpai_ack_position
udpai_lost_place(const udpai_lost *lost)
{
    return lost->nonce ? lost->place : UDPAI_ACK_POSITION_NONE;
}

#endif
