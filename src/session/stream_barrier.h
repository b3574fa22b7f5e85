/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that begin on a node with replicas, until it has what was committed before: they are sent
 * nothing meanwhile. Those that begin at one time wait for one barrier. It calls nothing of the
 * hub. */
#ifndef UDPAI_STREAM_BARRIER_H
#define UDPAI_STREAM_BARRIER_H

#include "session/hub.h"

typedef struct udpai_stream_barrier {
    udpai_wheel *wheel;
    udpai_list waiting; /* sessions, by their tickets */
    uint64_t last;      /* ticket */
    bool is_asking;     /* some have begun since the last one */
    udpai_timer end;    /* for nobody waits for ever: its handler is the hub's */
    uint64_t ends;      /* the last ticket that it is for */
} udpai_stream_barrier;

void udpai_stream_barrier_init(udpai_stream_barrier *barrier, udpai_wheel *wheel);
/* True: it is the first one since the last report. */
bool udpai_stream_barrier_add(udpai_stream_barrier *barrier, udpai_session *session);
/* What is to be reported for those that were added. NULL: there are none, or there is no memory:
 * then nobody waits. @p session: a number of this stream side. */
udpai_report *udpai_stream_barrier_report(udpai_stream_barrier *barrier, uint64_t session);
/* Takes out one of those that wait for this ticket, or one before; NULL: there is none. */
udpai_session *udpai_stream_barrier_next(udpai_stream_barrier *barrier, uint64_t ticket);
/* When those that the timer is for have gone: others that have begun since wait as long. */
void udpai_stream_barrier_ended(udpai_stream_barrier *barrier);

#endif
