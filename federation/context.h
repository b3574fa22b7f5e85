/* SPDX-License-Identifier: Apache-2.0 */
/* What every part of a node uses: the time, its surroundings, its names, and the store. A part
 * keeps a pointer to it, and knows no other part that is not below it (docs/design/federation.md,
 * "Parts"). It is the node's, and outlives all of them. */
#ifndef UDPAI_CONTEXT_H
#define UDPAI_CONTEXT_H

#include "base/log.h"
#include "base/wheel.h"
#include "federation/node_config.h"
#include "federation/node_env.h"
#include "metrics/meters.h"

typedef struct udpai_context {
    udpai_wheel *wheel;
    udpai_node_env env;
    udpai_node_timing timing;
    udpa_bytes *id, *authority, *instance;
    /* In what clients report, and in its own reports: of a replica its own, else the same. */
    udpa_bytes *reporter_id, *reporter_instance;
    udpai_store *store;
    size_t list_part;   /* of what replicas have is compared in one turn */
    uint64_t n_commits; /* of the durable engine that are done; each order carries it */
    udpai_durable_position position; /* up to which it has what its replicas have committed */
    bool is_durable, is_endpoint, peers_are_anonymous;
    bool has_audit;   /* who changes what is recorded (audit.h) */
    bool is_restored; /* the store comes from a backup, and is meant to replace what was newer */
    bool recovers;    /* some source may have learned something in this node's stead */
    bool is_started;
    bool is_silent;  /* another process has its sources: none is dialled */
    bool is_of_set;  /* it is one of several replicas, and knows the others */
    bool is_current; /* among replicas: it has what etcd has committed, as far as it knows */
    /* The same, and a barrier passes: else something may be there that it does not know. */
    bool knows_all;
    bool is_janitor;      /* among replicas: it does what one of them does for all */
    unsigned n_replicas;  /* that live; 0: that is not known */
    unsigned place;       /* among replicas: as of udpai_replica_member; 0: it has none */
    bool lacks_keys;      /* among replicas: some of what etcd has cannot be decrypted here */
    bool is_dirty;        /* providers must be evaluated again */
    udpai_meters *meters; /* what the loop counts; the node's */
    udpai_log_limit refused_log; /* of what peers publish and subscribe to, for all parts */
} udpai_context;

static inline uint64_t
udpai_context_now(const udpai_context *context)
{
    return context->wheel->now_ms;
}

/* Microseconds since 1970. */
static inline int64_t
udpai_context_wall_us(const udpai_context *context)
{
    return context->env.wall_us(context->env.userdata);
}

static inline uint64_t
udpai_context_random(const udpai_context *context)
{
    return context->env.random(context->env.userdata);
}

/* Is it one of several that have the same publications? */
static inline bool
udpai_context_is_replicated(const udpai_context *context)
{
    return context->env.propose != NULL;
}

/* Among replicas: has all that is in etcd reported again, which other rules may show or hide. */
static inline void
udpai_context_list_again(const udpai_context *context)
{
    if (context->env.list_again)
        context->env.list_again(context->env.userdata);
}

/* Requests that providers, what is settled, and all that follows from them be computed again, with
 * the next flush. */
static inline void
udpai_context_touch(udpai_context *context)
{
    context->is_dirty = true;
}

/* Sends it to the stream side, which frees it. */
static inline void
udpai_context_order(const udpai_context *context, udpai_order *order)
{
    order->commit = context->n_commits;
    context->env.order(context->env.userdata, order);
}

/* ---- note.c ---- */

/* An event of the node, for UDPAI_ABOUT() or NULL, 0; any number of them. */
void udpai_context_note(const udpai_context *context,
                        udpai_node_event_kind kind,
                        udpa_log_level level,
                        const udpai_log_field *about,
                        size_t n_about,
                        const char *format,
                        ...) UDPA_PRINTF(6, 7);

#endif
