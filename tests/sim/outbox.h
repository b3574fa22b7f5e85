/* SPDX-License-Identifier: Apache-2.0 */
/* What the other end of a stream has to send, if it is no session of the engine's own. */
#ifndef SIM_OUTBOX_H
#define SIM_OUTBOX_H

#include "base/proto.h"
#include "base/vector.h"
#include "session/hub.h"

typedef struct sim_outbox {
    UDPAI_VECTOR(udpa_bytes *) waiting;
    udpa_bytes *sending;
} sim_outbox;

/* Takes the message; NULL, or no memory, ends the simulation. */
void sim_outbox_put(sim_outbox *outbox, udpa_bytes *message);
/* The oldest one, which is good until the next call; *ret_any: is there one? */
void sim_outbox_next(sim_outbox *outbox, udpai_outgoing *out, bool *ret_any);
void sim_outbox_done(sim_outbox *outbox);

#endif
