/* SPDX-License-Identifier: Apache-2.0 */
/* What the application has of what it subscribes to, and what it has refused: noted for those who
 * ask the endpoint by CSDS (xds/csds_own.h), and only if it answers them. On the loop. */
#ifndef UDPAI_LOCAL_ACKS_H
#define UDPAI_LOCAL_ACKS_H

#include "federation/node.h"
#include "transport/grpc/stream_thread.h"

#define UDPAI_OWN_STATUS_METHODS 2

/* Of an endpoint. */
typedef struct udpai_local_acks udpai_local_acks;
/* Of one of its subscriptions. */
typedef struct udpai_taken_notes udpai_taken_notes;

udpai_local_acks *udpai_local_acks_new(void); /* NULL without memory */
/* After the stream thread has ended, and its subscriptions. */
void udpai_local_acks_free(udpai_local_acks *taken);
/* The methods by which it is served. They refer to it. */
void udpai_local_acks_methods(udpai_local_acks *taken,
                              udpai_grpc_method ret_methods[UDPAI_OWN_STATUS_METHODS]);
/* The answer to UDPAI_REPORT_OWN_STATUS; NULL without memory. */
udpai_order *udpai_local_acks_answer(const udpai_local_acks *taken, const udpai_report *question);

/* NULL without memory; of the names copies are kept. */
udpai_taken_notes *udpai_taken_notes_new(udpai_local_acks *taken, const udpai_selection *selection);
void udpai_taken_notes_set_local(udpai_taken_notes *notes, const udpai_local_subscription *local);
/* NULL does nothing, here and below. */
void udpai_taken_notes_free(udpai_taken_notes *notes);
/* An update was told: answered, or to be answered later. */
void udpai_taken_notes_told(udpai_taken_notes *notes, udpai_local_update *update);
/* It is answered, if it was to be answered later; before it is done. */
void udpai_taken_notes_answered(const udpai_local_update *update);

#endif
