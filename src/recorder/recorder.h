/* SPDX-License-Identifier: Apache-2.0 */
/* What was recorded (udpa/load.h), for its reporters. */
#ifndef UDPAI_RECORDER_H
#define UDPAI_RECORDER_H

#include <udpa/load.h>

#include "base/bytes.h"

/* The recipients of this report of a cluster. */
typedef struct udpai_load_audience {
    uint64_t id;       /* another one for others: a new epoch begins with what none of them knows */
    bool is_shared;    /* they are several */
    uint64_t lasts_ms; /* the ttl of the report; 0: it is not reported */
} udpai_load_audience;

typedef struct udpai_load_reading {
    uint64_t now_ms;                                            /* as udpai_monotonic_ms() */
    size_t max_bytes;                                           /* of a message */
    bool per_endpoint;                                          /* of all, unless: */
    bool (*is_per_endpoint)(void *userdata, udpai_str cluster); /* NULL: per_endpoint decides */
    /* What was counted before the first report is not reported at all: receivers that add up must
     * know that no others have got it. */
    bool from_now;
    /* False: it is not known, and nothing is reported. NULL: it is always the same one. */
    bool (*audience)(void *userdata, udpai_str cluster, udpai_load_audience *ret_audience);
    /* Shall this cluster be read? */
    bool (*selects)(void *userdata, udpai_str cluster);
    /* Reports it: takes the serialised udpa.load.v1.ClientLoad; NULL: without memory, or too large.
     * False: it could not be reported. */
    bool (*take)(void *userdata, udpai_str cluster, udpa_bytes *load);
    void *userdata;
} udpai_load_reading;

/* Reads all clusters that are selected. The callbacks must not call the recorder. */
void udpai_load_recorder_read(udpa_load_recorder *recorder, const udpai_load_reading *reading);
/* The reader with this userdata has ended: another one's audience is another. */
void udpai_load_recorder_leave(udpa_load_recorder *recorder, const void *userdata);

#endif
