/* SPDX-License-Identifier: Apache-2.0 */
/* How much is read at a time. Belongs to the stream thread. */
#ifndef UDPAI_TURNSTILE_H
#define UDPAI_TURNSTILE_H

#include "base/wheel.h"
#include "transport/grpc/stream_thread.h"

typedef struct udpai_call udpai_call;

typedef struct udpai_turnstile {
    /* Of udpai_turn: streams that are not read, the first first: such as were never read … */
    udpai_list waiting;
    udpai_list waiting_again; /* … and others */
    udpai_list
        *next_look;     /* of one of these two, that is looked at next; NULL: from the beginning */
    udpai_list holding; /* those for which something is reserved */
    udpai_list tried;   /* those that are read without it */
    size_t n_tried;
    size_t leaving;   /* of what is reserved, for streams that are ended for having stopped */
    uint64_t left_ms; /* when the last of these was ended */
    udpai_timer look; /* set while there are any */
    bool is_full;     /* nobody finds room before something is released */
} udpai_turnstile;

/* Of a stream. */
typedef struct udpai_turn {
    udpai_list node;
    size_t reserved;
    bool is_waiting, is_tried, is_leaving;
    bool may_read;    /* it is its turn */
    bool has_grown;   /* more has come since it was looked at first */
    bool has_read;    /* a message, ever */
    bool is_anyway;   /* something is reserved although there was no room, or nobody had asked */
    uint64_t read_ms; /* when it was read last */
    uint64_t wait_ms; /* since when it waits */
    uint64_t tried_ms;
    uint64_t arrived;     /* by its connection, when that was looked at last, */
    uint64_t arrived_ms;  /* and when that grew last */
    uint64_t unread;      /* of that, that belongs to a message that is not complete */
    uint64_t idle_ms;     /* it was looked at first while it was idle, */
    uint64_t idle_unread; /* and this was unread then: it was something else */
} udpai_turn;

void udpai_turnstile_init(udpai_stream_thread *thread);
void udpai_turn_init(udpai_turn *turn);
/* May the stream be read now? Else it is armed when it may. */
bool udpai_turn_has_come(udpai_call *call);
/* A message of so many bytes was read and dealt with, or the end (0); or the stream goes. */
void udpai_turn_over(udpai_call *call, size_t size);
/* It was idle, and begins to send much: its bytes are reserved, room or not. */
void udpai_turn_begins_anyway(udpai_call *call);

#endif
