/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of xDS, delta and state of the world, written from the protocol alone: nothing of the
 * engine's own client is in them. They want clusters, which they see by the names that xDS has for
 * them. */
#ifndef SIM_GUEST_H
#define SIM_GUEST_H

#include "scenario.h"

/* Those that a federation has besides. */
void sim_guests_build(sim_scenario *scenario);
void sim_guests_free(sim_scenario *scenario);
/* It is sent states of the world, and asks by name, or holds something: so nothing before all of it
 * is known. */
bool sim_guest_waits_for_all(const sim_member *member);
/* After each start of its node. */
void sim_guest_started(sim_member *member);
/* What it asked for last is answered by now: of what it gives back and asks for again in one moment
 * a state of the world would seem to say that it is gone. */
bool sim_guest_may_ask_again(const sim_member *member);
/* It wants other names than it has asked for. */
void sim_guest_ask_again(sim_member *member);
/* It says another Node on the stream that it has. */
void sim_guest_rename(sim_member *member);
/* All of them may become others. */
void sim_guests_change(sim_scenario *scenario);

#endif
