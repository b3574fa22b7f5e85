/* SPDX-License-Identifier: Apache-2.0 */
/* What the application has of what it subscribes to, and what it has refused: noted for clients of
 * CSDS at the endpoint (xds/csds_own.h), and only if it answers them. On the loop. */
#ifndef UDPAI_LOCAL_ACKS_H
#define UDPAI_LOCAL_ACKS_H

#include "endpoint/host.h"

#define UDPAI_OWN_STATUS_METHODS 2

/* Of one of the subscriptions of an endpoint. */
typedef struct udpai_local_ack_notes udpai_local_ack_notes;

/* As a service; freed after the stream thread and the subscriptions have ended. NULL without
 * memory. */
udpai_service *udpai_local_acks_new(void);
/* Where it sends its answers; before the first question. */
void udpai_local_acks_attach(udpai_service *taken, udpa_endpoint *endpoint);
/* The methods by which it is served. They refer to it. */
void udpai_local_acks_methods(udpai_service *taken,
                              udpai_grpc_method ret_methods[UDPAI_OWN_STATUS_METHODS]);

/* NULL without memory; of the names copies are kept. */
udpai_local_ack_notes *udpai_local_ack_notes_new(udpai_service *taken,
                                                 const udpai_selection *selection);
void udpai_local_ack_notes_set_local(udpai_local_ack_notes *notes,
                                     const udpai_local_subscription *local);
/* NULL does nothing, here and below. */
void udpai_local_ack_notes_free(udpai_local_ack_notes *notes);
/* An update was sent: answered, or to be answered later. */
void udpai_local_ack_notes_sent(udpai_local_ack_notes *notes, udpai_local_update *update);
/* It is answered, if it was to be answered later; before it is done. */
void udpai_local_ack_notes_answered(const udpai_local_update *update);

#endif
