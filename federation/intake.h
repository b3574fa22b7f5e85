/* SPDX-License-Identifier: Apache-2.0 */
/* Taking in what peers publish, for the files that do it. */
#ifndef UDPAI_INTAKE_H
#define UDPAI_INTAKE_H

#include "base/log.h"
#include "base/map.h"
#include "federation/difference.h"
#include "federation/receiver.h"
#include "federation/refreshes.h"

struct udpai_receiver {
    udpai_context *context;
    struct udpai_lapse *lapse;
    struct udpai_sources *sources;
    const struct udpai_freezes *freezes;
    struct udpai_traces *traces; /* NULL: nothing is traced */
    struct udpai_access *access;
    struct udpai_signatures *signatures;
    struct udpai_providers *providers;
    struct udpai_interest *interest;
    struct udpai_local *local;
    struct udpai_sync *sync;
    struct udpai_stamps *stamps;       /* NULL: there are no replicas */
    const struct udpai_shares *shares; /* NULL: the same */
    udpai_twins *twins;                /* others with this node's id */
    udpai_hop_path *last_hop_path;     /* of what was taken in last: mostly, that of the next */
    udpai_map received_topics;         /* of events (events.c) */
    udpai_refreshes refreshes;         /* among replicas */
    unsigned max_withdrawal;           /* percent, of what publishers leave out */
    uint64_t n_loops;
    udpai_log_limit adopted_log;
    struct udpai_outlived *outlived; /* NULL: nothing that this node has read was ended by others */
};

/* Positions of a publication's entries, by name, then by type, then in their order. */
typedef struct udpai_entry_index {
    const udpai_publication *publication;
    uint32_t *order;
    size_t n;
} udpai_entry_index;

/* One publication on its way in. */
typedef struct udpai_intake {
    udpai_receiver *receiver;
    udpai_peer *peer;
    udpai_origin *origin;
    udpai_publication *publication;
    udpai_staging *staging; /* of what the durable engine keeps; NULL: nothing is staged */
    udpai_entry_index index;
    /* Refreshes of what is not held: their source is asked for the payloads. */
    UDPAI_VECTOR(const udpai_publication_entry *) unmatched;
    udpai_publication *outlived; /* what others have ended, for the peer (outlived.h) */
} udpai_intake;

/* Is the peer a source of ours? Else it publishes unasked. */
static inline bool
udpai_intake_is_from_source(const udpai_intake *intake)
{
    return udpai_peer_source(intake->peer) != NULL;
}

/* NULL: it publishes unasked. */
static inline udpai_source *
udpai_intake_source(const udpai_intake *intake)
{
    return udpai_peer_source(intake->peer);
}

/* Is it what an endpoint is sent by its source? It takes in what that reports of itself, too, and
 * passes nothing on. */
static inline bool
udpai_intake_is_of_endpoint(const udpai_intake *intake)
{
    return intake->receiver->context->is_endpoint && udpai_intake_is_from_source(intake);
}

/* What was put differs from what a source that is a node had sent before, or does not. */
static inline void
udpai_intake_look_for_difference(const udpai_intake *intake,
                                 udpai_str type_url,
                                 const udpa_resource *resource)
{
    if (udpai_intake_is_from_source(intake) && intake->peer->is_node)
        udpai_difference_look(intake->peer->source, type_url, resource);
}

/* ---- intake.c ---- */

/* Does the publication have an entry of this type and name? An empty type: one that names none. */
bool udpai_intake_has_entry(const udpai_intake *intake, udpai_str type_url, udpai_str name);

/* ---- intake_check.c ---- */

/* May the peer publish it, and is it valid? */
udpa_err udpai_intake_check(const udpai_intake *intake,
                            const udpa_resource *resource,
                            udpa_error **ret_error);
/* Is it from the future, or has it come too far? */
udpa_err udpai_intake_check_path(const udpai_intake *intake,
                                 const udpa_resource *resource,
                                 udpa_error **ret_error);
/* Is the name frozen, and this no source? UDPA_ERR_PRECONDITION. */
udpa_err udpai_intake_check_frozen(const udpai_intake *intake,
                                   udpai_str type_url,
                                   udpai_str name,
                                   udpa_error **ret_error);
/* Is it older than what was removed? */
udpa_err udpai_intake_check_outlived(const udpai_intake *intake,
                                     const udpa_resource *resource,
                                     udpa_error **ret_error);
/* Is the generation given by a peer that may give it: the authority itself, by its
 * signature, or the first node on the way? */
bool udpai_intake_keeps_generation(const udpai_intake *intake, const udpa_resource *resource);
/* Something was refused that other keys or rules might let in. */
void udpai_intake_note_refused(const udpai_intake *intake);

/* ---- report_rules.c ---- */

/* Of a resource that a peer publishes: is it one of a client, and may the peer publish it? */
udpa_err udpai_reports_check(const udpai_intake *intake,
                             const udpa_resource *resource,
                             udpa_error **ret_error);

/* ---- payload.c ---- */

void udpai_intake_payload(udpai_intake *intake, udpai_publication_entry *entry);

/* ---- refresh.c ---- */

void udpai_intake_refresh(udpai_intake *intake, udpai_publication_entry *entry);
/* Asks the source for what it has refreshed and is not held here. */
void udpai_intake_ask_unmatched(udpai_intake *intake);

/* ---- withdrawal.c ---- */

void udpai_intake_removals(udpai_intake *intake);

/* ---- world_state.c ---- */

/* What a state of the world does not name any more goes. */
void udpai_intake_state(udpai_intake *intake);

#endif
