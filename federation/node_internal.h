/* SPDX-License-Identifier: Apache-2.0 */
/* The node's inside, for the files of this folder. */
#ifndef UDPAI_NODE_INTERNAL_H
#define UDPAI_NODE_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "federation/clients.h"
#include "federation/context.h"
#include "federation/epoch.h"
#include "federation/fault.h"
#include "federation/health_overlay.h"
#include "federation/peers.h"
#include "federation/scope.h"
#include "federation/signatures.h"

typedef struct udpai_pending_publication udpai_pending_publication;
typedef struct udpai_delegations udpai_delegations;
typedef struct udpai_dynamic_source udpai_dynamic_source;
typedef struct udpai_dynamic_sources udpai_dynamic_sources;
typedef struct udpai_report_targets udpai_report_targets;
typedef struct udpai_twins udpai_twins;

/* ---- sources ---- */

/* Of what was taken over from those that stood in for this node. */
#define UDPAI_ORIGIN_KEY_ADOPTED "adopted"

typedef struct udpai_recovery udpai_recovery;

typedef enum udpai_source_state {
    UDPAI_SOURCE_IDLE, /* nobody reaches it, or it is to dial us */
    UDPAI_SOURCE_WAITING,
    UDPAI_SOURCE_CONNECTING,
    UDPAI_SOURCE_CONNECTED,
    UDPAI_SOURCE_ACTIVE,
} udpai_source_state;

typedef struct udpai_source_counters {
    uint64_t n_resources, n_refreshes, n_removals, n_refused, n_connects;
} udpai_source_counters;

struct udpai_source {
    udpai_node *node;
    udpai_list in_own; /* of the node; of none of clients */
    udpa_bytes *name;
    udpa_bytes *peer_name;        /* UDPA_LISTEN */
    udpa_bytes *address, *unread; /* PATH: a file of it that could not be read; NULL: none */
    udpai_source_kind kind;
    const char *kind_name; /* as in the configuration */
    void *target;
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    void *(*target_for)(void *target, udpai_str name_space, const udpai_node_info *client);
    udpai_clients *clients;       /* it is asked in their stead; NULL: for all */
    const udpai_source *template; /* that it was made after; NULL: it is configured itself */
    udpai_dynamic_source
        *dynamic;   /* it comes by a resource (dynamic_sources.h); NULL: it does not … */
    bool is_absent; /* … and now there is no such resource */
    bool serves_us; /* a ConfigSource; false: an endpoint that we serve by dialling it */
    uint64_t link;
    uint64_t session; /* 0: none */
    udpai_source_state state;
    int64_t since_us;
    uint64_t active_since_ms;
    bool stays_connected;
    bool is_reached;    /* some provider asks it for something, or it stays connected */
    bool is_decided;    /* its first connection has come, or was not to be waited for any longer */
    bool may_ask;       /* the stream is ready for our Subscribes */
    bool asked_blindly; /* without knowing what the peer understands */
    bool is_plain;      /* its peer was no node with our extensions, when it was there last */
    bool is_sent_away;  /* it is this node itself, or one that says so, or is here already */
    bool has_lost_update; /* there was no memory for something that it said on this stream … */
    bool must_hang_up;    /* … nor yet for ending it */
    bool has_refused;     /* something of this stream was, that other keys might let in */
    bool is_renewed;      /* it has another target, and its stream to the old one ends for that */
    unsigned n_failures, max_withdrawal; /* in a row; percent */
    uint64_t commit; /* how far its store has come, as it has said on this stream; 0: not */
    udpai_timer retry, grace, hello, hand_back, anew;
    udpai_origin *origin;
    unsigned order; /* among the sources of the first provider that names it; from 1 */
    udpai_list scopes;
    udpai_list questions; /* that wait for their answer, in the order in which they were asked */
    size_t n_said;        /* of them, of which the source has said for whom it waits */
    size_t n_again, n_reasked; /* requests for what it has refreshed; that wait for that */
    udpa_error *last_error;    /* whether it holds or not */
    udpai_faults faults;
    udpai_source_counters counters;
    udpai_recovery *recovery;           /* NULL: nobody stands in for the other */
    udpai_map differences;              /* names (difference.h), on the present stream */
    UDPAI_VECTOR(udpa_bytes *) standby; /* type URLs */
};

/* What a peer could not serve, or has refused, it is asked for again after so long. */
#define UDPAI_ASK_AGAIN_MS 30000

/* ---- finding sources ---- */

typedef enum udpai_awaited_by {
    UDPAI_AWAITED_BY_CONFIGURATION,
    UDPAI_AWAITED_BY_RESOURCE, /* of which anybody may make many */
    UDPAI_AWAITED_BY_CONTENTS, /* that were kept over a restart */
} udpai_awaited_by;

/* Finds a source by its name, or makes one that may be there later. It is the node's find_source:
 * udpai_dynamic_source_find(), if resources become sources. */
typedef udpa_err (*udpai_source_finder)(udpai_node *node,
                                        udpai_str name,
                                        udpai_awaited_by who,
                                        const udpai_source **ret_source,
                                        udpa_error **ret_error);

/* ---- providers ---- */

typedef struct udpai_descriptor {
    udpai_source *source;
    udpa_bytes *prefix;
    udpai_continuation continuation;
    bool on_demand;
    udpai_scope *scope; /* of the provider's type; NULL: of per_clients */
    unsigned position;  /* among all of the provider, from 0 */
    unsigned of_groups; /* number of one of per_clients, or of that which it was made after */
    bool is_reached;
    bool is_cut_off;    /* not reached because one before it succeeds; false: for another reason */
    bool is_eligible;   /* what came by it counts */
    bool is_wanted;     /* of a name: its scope was told that the name is wanted */
    uint64_t leaves_ms; /* of a name: when it goes, whatever is there in its place; 0: it stays */
} udpai_descriptor;

/* The provider of one type, or of one name of it. */
typedef struct udpai_provider {
    udpai_node *node;
    udpa_bytes *type;
    udpa_bytes *name;   /* NULL: all of the type */
    bool is_of_any;     /* made after the template of every other type, because somebody asked */
    size_t n_wanted;    /* names and wildcards of the type that are wanted here */
    udpai_timer unused; /* the end of asking for a type of which nobody wants anything */
    UDPAI_VECTOR(udpai_descriptor) descriptors;
    /* Whose sources are asked for each group of clients by itself: what theirs are made after. */
    UDPAI_VECTOR(udpai_descriptor) per_clients;
} udpai_provider;

/* ---- subscribers in the process ---- */

struct udpai_local_subscription {
    udpai_list node;
    udpai_node *owner;
    udpa_bytes *type;
    udpa_bytes *prefix;
    UDPAI_VECTOR(udpa_bytes *) names;
    udpai_local_ops ops;
    udpai_reach reach;
    bool is_new;      /* has not seen what is there already */
    bool is_complete; /* was told so */
};

/* What was published unasked, until it is receipted. */
typedef struct udpai_published {
    udpai_list node;
    uint64_t session, ticket;
} udpai_published;

struct udpai_local_update {
    udpai_node *owner;
    UDPAI_VECTOR(udpai_local_change) changes;
    size_t n_refused;
    UDPAI_VECTOR(udpai_pending_publication *)
    publications; /* that wait for the answer; while it is deferred */
    udpai_list in_node;
    bool is_deferred;
    bool is_being_told, is_done; /* it may be answered while it is told */
    void *holder;
};

/* A directory of the node itself. */
typedef struct udpai_expected {
    udpa_bytes *root;
    udpa_bytes *unread; /* the path of a file that could not be read; NULL: none is known */
    bool is_known;      /* all of it was read, now or before a restart */
    size_t n_held_told;
} udpai_expected;

struct udpai_node {
    udpai_context context;
    bool recovers;    /* from some source … */
    bool is_restored; /* … but not in this process */
    uint64_t lapse_started_ms;
    int64_t lapse_from_us, lapse_until_us; /* what its store knows nothing of (lapse.h) */
    udpai_epoch epoch;
    udpai_twins *twins;                   /* others with this id */
    udpai_way *last_way;                  /* of what was taken in last: mostly, that of the next */
    udpai_health_overlay *health_overlay; /* NULL: what checkers say changes nothing */
    udpai_change_set *late;     /* taken of the store, and not told for want of memory … */
    udpai_change_set *unrouted; /* … what is left to do being to route it */
    udpai_report_targets *report_targets;
    udpai_map sources;               /* by name */
    udpai_map links;                 /* by link id; with those of groups of clients */
    udpai_source_finder find_source; /* NULL: there are those in the maps alone */
    udpai_list own_sources;          /* those that are of no group of clients */
    udpai_map clients;               /* udpai_clients, by name space */
    udpai_list dirty_clients;
    udpai_list unused_clients; /* those that have gone, longest first */
    size_t max_clients;
    udpai_list late_clients; /* udpai_report: there was no memory or room for what they say */
    udpai_timer late_timer;
    udpai_settled_groups *settled_groups; /* what the sources of clients have said */
    unsigned last_of_groups;
    udpai_peers *peers;
    udpai_map providers; /* udpai_provider, by type */
    udpai_map named;     /* udpai_named, by type and name */
    udpai_settled_names *settled_names;
    uint64_t settled_names_digest;          /* of what they were made of; 0: of nothing */
    udpai_delegations *delegations;         /* NULL: none are followed */
    udpai_dynamic_sources *dynamic_sources; /* NULL: no resource becomes a source */
    bool named_are_waiting;                 /* some of them, for what a source has to say */
    udpai_provider *any_type;               /* the template of every other type; NULL: none */
    size_t n_any_types;                     /* made after it */
    udpai_log_limit any_types_log;
    /* Publications that are judged. A flush looks at the first of these lists alone: */
    udpai_list undelivered; /* subscribers in the process have not seen their effects */
    udpai_list unsafe;      /* the durable engine has not kept them, by rising ticket */
    udpai_list unanswered;  /* only answers of subscribers are to come */
    udpai_list published;   /* udpai_published: without a receipt yet */
    udpai_list locals;
    udpai_list updates; /* udpai_local_update: deferred ones */
    udpai_map demand;   /* by type and text (demand.h) */
    udpai_map demand_places;
    udpai_map report_subscriptions; /* what clients are asked for */
    udpai_timer refused_reports;    /* set while some have refused it */
    udpai_map received_topics;      /* of events (events.c) */
    bool has_lost_places;           /* some could not be counted */
    UDPAI_VECTOR(udpai_expected) expected_files;
    UDPAI_VECTOR(udpa_bytes *) expected_own; /* type URLs */
    UDPAI_VECTOR(udpa_bytes *) forgotten;    /* keys of origins that are configured no more */
    udpai_settled *settled;
    bool is_settled_unsent; /* it has changed since the stream side was told … */
    bool is_settled_ahead;  /* … which has not taken that over yet */
    bool has_lookups;       /* what has gone may have to be asked for by name */
    uint64_t n_evaluations; /* of what is settled */
    uint64_t last_link, last_ticket, last_publish;
    size_t n_changes_ahead, max_changes_ahead;
    unsigned max_withdrawal; /* percent, of what publishers leave out */
    uint64_t n_loops, n_denied;
    uint64_t lost_ms; /* when an active source was last lost; UINT64_MAX: never */
    udpai_log_limit refused_log, acl_log, adopted_log, late_log;
    struct udpai_outlived *outlived; /* NULL: nothing that this node has read was ended by others */
    udpai_acl *acl;                  /* NULL: none */
    udpai_signatures signatures;
};

/* The providers of the group, too. */
static inline void
udpai_clients_touch(udpai_clients *clients)
{
    if (!udpai_list_linked(&clients->in_dirty))
        udpai_list_append(&clients->node->dirty_clients, &clients->in_dirty);
    udpai_context_touch(&clients->node->context);
}

/* The same, for what follows from the state of one source. */
static inline void
udpai_source_touch(udpai_source *source)
{
    if (source->clients)
        udpai_clients_touch(source->clients);
    udpai_context_touch(&source->node->context);
}

static inline bool
udpai_source_is_active(const udpai_source *source)
{
    return source->state == UDPAI_SOURCE_ACTIVE;
}

/* Is it a server of xDS, by whatever transport? */
static inline bool
udpai_source_is_xds(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_XDS || source->kind == UDPAI_SOURCE_REST;
}

/* Do we dial it? */
static inline bool
udpai_source_is_dialled(const udpai_source *source)
{
    return !source->is_absent && (source->kind == UDPAI_SOURCE_UDPA || udpai_source_is_xds(source));
}

/* source.c */
udpa_err udpai_source_new(udpai_node *node,
                          const udpai_source_config *config,
                          bool serves_us,
                          udpai_source **ret_source,
                          udpa_error **ret_error);
void udpai_source_free(udpai_source *source);
void udpai_source_reach(udpai_source *source, bool asked);
void udpai_source_opened(udpai_source *source, udpai_peer *peer);
void udpai_source_alive(udpai_source *source);
void udpai_source_closed(udpai_source *source, udpa_error *error);
/* PATH: the last reading has failed. */
void udpai_source_unreadable(udpai_source *source);
void udpai_source_introduced(udpai_source *source, udpai_peer *peer);

/* restore.c */

/* Has the durable engine forget what belongs to nothing any more. */
void udpai_restore_end(udpai_node *node);

/* intake.c */
void udpai_intake_take(udpai_node *node, udpai_peer *peer, udpai_publication *publication);

/* put.c */

/* How a resource is taken in. */
typedef struct udpai_taking {
    udpai_str authority;   /* of one that names none */
    udpai_str from;        /* whom it is taken from; empty: from a file */
    bool keeps_generation; /* it has one that counts */
} udpai_taking;

/* Stamps authority, generation and hop, and puts the contribution. */
udpa_err udpai_intake_put(udpai_node *node,
                          udpai_origin *origin,
                          udpa_resource *resource,
                          const udpai_taking *taking,
                          udpa_error **ret_error);

/* publish.c */
void udpai_publishing_receipt(udpai_node *node, udpai_report *report);
void udpai_publishing_ended(udpai_node *node, uint64_t session, const udpa_error *why);

/* local.c */
void udpai_locals_tell(udpai_node *node, const udpai_change_set *changes);
void udpai_locals_tell_new(udpai_node *node);
/* What is no part of the store, to who selects it. */
void udpai_locals_tell_event(udpai_node *node, udpa_resource *event);
void udpai_locals_tell_complete(udpai_node *node);
void udpai_locals_free(udpai_node *node);
void udpai_local_updates_forget(udpai_node *node, const udpai_pending_publication *pending);

/* sessions.c */
void udpai_node_session_opened(udpai_node *node, udpai_report *report);
void udpai_node_session_introduced(udpai_node *node, udpai_report *report);
void udpai_node_session_closed(udpai_node *node, udpai_report *report);

#endif
