/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that clients owe: how many streams have not answered all that they were sent, and for how
 * long the slowest of them has not. What is sent, and what is answered, costs a few instructions;
 * nothing is walked. Requests by REST, and peers that do not answer, owe nothing. */
#ifndef UDPAI_OWED_H
#define UDPAI_OWED_H

#include "base/list.h"
#include "base/wheel.h"
#include "metrics/meters.h"

typedef struct udpai_session udpai_session;

/* Part of whatever notes a response that is to be answered. */
typedef struct udpai_owed {
    udpai_list node;
    udpai_session *session; /* NULL: it owes nothing */
    uint64_t since_ms;
} udpai_owed;

/* Of all sessions of a hub. */
typedef struct udpai_debts {
    udpai_wheel *wheel;
    udpai_list open; /* the oldest first */
    udpai_meter *streams, *oldest;
    udpai_timer tick; /* while there are any, and once more */
} udpai_debts;

void udpai_debts_init(udpai_debts *debts, udpai_wheel *wheel, udpai_meters *meters);
/* When all were paid. */
void udpai_debts_done(udpai_debts *debts);

/* The session is sent what it is to answer. */
void udpai_owed_begin(udpai_owed *owed, udpai_session *session);
/* It has answered, or nobody waits for it any more. */
void udpai_owed_end(udpai_owed *owed);

#endif
