/* SPDX-License-Identifier: Apache-2.0 */
/* The connection of a source. */
#ifndef UDPAI_CONNECTION_H
#define UDPAI_CONNECTION_H

#include "federation/source_internal.h"

void udpai_source_connection_init(udpai_source *source);
void udpai_source_connection_done(udpai_source *source);
void udpai_source_set_state(udpai_source *source, udpai_source_state state);

void udpai_source_dial(udpai_source *source);
/* The first attempt: at once, or, when another one has just been lost, at some moment. */
void udpai_source_dial_first(udpai_source *source);
/* After a failure. */
void udpai_source_back_off(udpai_source *source);
/* Nothing takes over from it for as long as the first connection is waited for. */
void udpai_source_keep_place(udpai_source *source);
/* It waits for its next attempt: that is now. */
void udpai_source_dial_now(udpai_source *source);

/* The same; without memory, with a later flush (udpai_source_reach()). */
void udpai_source_hang_up_in_the_end(udpai_source *source);
/* Ends its stream at some moment within so long, for one that brings it all again; no failure. */
void udpai_source_begin_anew(udpai_source *source, uint64_t within_ms);
/* udpai_source_disconnect() by an order of that kind, which it takes; so it cannot fail. */
void udpai_source_disconnect_by(udpai_source *source, udpai_order *order);
/* What its stream still sends is ignored: the transport is asked to end it. */
void udpai_source_disown_stream(udpai_source *source);
/* Takes the reference, for the next attempt. */
void udpai_source_put_target(udpai_source *source, void *target);
/* Takes the reference. A stream that is there is ended, and another begun to the new one: no
 * failure of the source. */
void udpai_source_set_target(udpai_source *source, void *target);

#endif
