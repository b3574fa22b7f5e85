/* SPDX-License-Identifier: Apache-2.0 */
/* Publications between being applied and being answered; for the files of this folder. */
#ifndef UDPAI_FEDERATION_PENDING_PUBLICATION_H
#define UDPAI_FEDERATION_PENDING_PUBLICATION_H

#include "base/wheel.h"
#include "federation/local.h"

typedef struct udpai_pending_publication {
    udpai_list node; /* in one of the owner's three */
    udpai_local *owner;
    udpai_publication *publication;
    udpai_order *answer; /* to be given with the publication */
    uint64_t ticket;     /* of the durable engine; 0: not waited for */
    bool is_committed;   /* handed to the durable engine, if there is anything to hand */
    bool is_delivered;   /* subscribers in the process have seen its effects */
    unsigned n_deferred; /* answers to come */
    udpai_timer deadline;
} udpai_pending_publication;

/* Of a PUBLICATION, which gives away what it has. NULL without memory: then it is refused. */
udpai_pending_publication *udpai_pending_publication_new(udpai_local *local, udpai_report *report);
void udpai_pending_publication_free(udpai_pending_publication *pending);
void udpai_pending_publication_check(udpai_pending_publication *pending);
/* It is checked, and waits for the engine to keep what it changes, or for its turn: until then it
 * has no receipt. */
void udpai_pending_publication_hold(udpai_pending_publication *pending);
/* It has its turn. */
void udpai_pending_publication_resume(udpai_pending_publication *pending);
/* What it changes is kept and applied: subscribers in the process come next. */
void udpai_pending_publication_kept(udpai_pending_publication *pending);
/* All of it is rejected, held or not. */
void
udpai_pending_publication_refuse(udpai_pending_publication *pending, udpa_err err, const char *why);
/* Those that were not are handed to the durable engine by this; 0: there was nothing to hand. */
void udpai_pending_publications_commit(udpai_local *local, uint64_t ticket, udpa_err result);
/* This batch of the durable engine, and all before it, is safe, or it has failed. */
void udpai_pending_publications_committed(udpai_local *local, uint64_t ticket, udpa_err result);
/* Subscribers in the process have seen the effects of all. */
void udpai_pending_publications_delivered(udpai_local *local);

/* ---- local.c ---- */

void udpai_local_updates_forget(udpai_local *local, const udpai_pending_publication *pending);

#endif
