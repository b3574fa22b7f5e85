/* SPDX-License-Identifier: Apache-2.0 */
/* The node's inside, for the files of this folder. */
#ifndef UDPAI_NODE_INTERNAL_H
#define UDPAI_NODE_INTERNAL_H

#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "federation/node.h"

typedef struct udpai_source udpai_source;
typedef struct udpai_scope udpai_scope;
typedef struct udpai_peer udpai_peer;
typedef struct udpai_judgement udpai_judgement;

/* ---- what a source is asked for ---- */

/* A name or a wildcard that a source on demand is asked for. */
typedef struct udpai_wish {
    udpai_list in_asked; /* scope->asked, until it is answered */
    udpai_scope *scope;
    bool is_wildcard;
    bool wanted;        /* somebody here wants it */
    bool is_sent;       /* on the present stream */
    bool is_known;      /* the source has said all of it, ever */
    uint64_t batch;     /* of Subscribes: which of them asked for it */
    udpai_timer linger; /* the end of asking for what nobody wants */
    uint32_t len;
    char text[]; /* as its key: a name, or '*' and a prefix */
} udpai_wish;

/* What one descriptor of one type wants of one source. */
struct udpai_scope {
    udpai_list in_source;
    udpai_source *source;
    udpa_bytes *type; /* type URL */
    udpa_bytes *prefix;
    bool on_demand;
    bool wanted;                      /* its provider reaches it */
    bool is_sent;                     /* a mirror's wildcard, on the present stream */
    bool is_complete;                 /* the peer has said all of it on the present stream */
    bool is_known;                    /* it has ever, or so it was restored */
    uint64_t last_batch, done_batch;  /* Subscribes sent and answered on the present stream */
    bool is_asked;                    /* on demand: all that is wanted, on the present stream */
    udpai_map wishes;                 /* on demand */
    udpai_list asked;                 /* of wishes, in the order of their batches */
    udpai_timer silence, silence_max; /* of a peer without our extensions */
};

/* ---- sources ---- */

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
    udpa_bytes *name;
    udpa_bytes *peer_name; /* UDPA_LISTEN */
    udpa_bytes *address;
    udpai_source_kind kind;
    void *target;
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    bool serves_us; /* a ConfigSource; false: an endpoint that we serve by dialling it */
    uint64_t link;
    uint64_t session; /* 0: none */
    udpai_source_state state;
    int64_t since_us;
    uint64_t active_since_ms;
    bool stays_connected;
    bool is_reached;     /* some provider asks it for something, or it stays connected */
    bool is_decided;     /* its first connection has come, or was not to be waited for any longer */
    bool is_hung;        /* active, but did not say all in time; until it does it does not count */
    bool may_ask;        /* the stream is ready for our Subscribes */
    bool asked_blindly;  /* without knowing what the peer understands */
    unsigned n_failures; /* in a row */
    udpai_timer retry, grace, hello, sync, hand_back;
    udpai_origin *origin;
    unsigned order; /* among the sources of the first provider that names it; from 1 */
    udpai_list scopes;
    udpa_error *last_error;
    udpai_source_counters counters;
};

/* ---- peers: UDPA sessions ---- */

struct udpai_peer {
    uint64_t session;
    udpai_identity *identity;
    udpa_bytes *address;
    udpai_node_info *info;
    udpai_source *source; /* NULL: it serves none of ours */
    udpai_origin *origin; /* of what it publishes unasked; made at first use */
    bool is_extended, is_node;
};

/* ---- providers ---- */

typedef struct udpai_descriptor {
    udpai_source *source;
    udpa_bytes *prefix;
    udpai_continuation continuation;
    bool on_demand;
    udpai_scope *scope; /* of the provider's type */
    bool is_reached;
    bool is_cut_off;  /* not reached because one before it succeeds; false: for another reason */
    bool is_eligible; /* what came by it counts */
} udpai_descriptor;

/* The provider of one type. */
typedef struct udpai_provider {
    udpa_bytes *type;
    UDPAI_VECTOR(udpai_descriptor) descriptors;
} udpai_provider;

/* ---- publications being judged ---- */

struct udpai_judgement {
    udpai_list node;
    udpai_node *owner;
    uint64_t session;
    udpai_publication *publication;
    uint64_t ticket;     /* of the durable engine; 0: not waited for */
    bool is_committed;   /* handed to the durable engine, if there is anything to hand */
    bool is_told;        /* subscribers in the process have seen its effects */
    unsigned n_deferred; /* answers to come */
    udpai_timer deadline;
};

/* ---- subscribers in the process ---- */

struct udpai_local_subscription {
    udpai_list node;
    udpai_node *owner;
    udpa_bytes *type;
    udpa_bytes *prefix;
    UDPAI_VECTOR(udpa_bytes *) names;
    udpai_local_ops ops;
    bool is_new;      /* has not seen what is there already */
    bool is_complete; /* was told so */
};

/* What somebody here wants: subscribers of the stream side count once, those in the process each.
 */
typedef struct udpai_interest {
    size_t n;
    uint32_t type_len, len; /* of the type; of both with the text: a name, or '*' and a prefix */
    char key[];
} udpai_interest;

/* What was published unasked, until it is receipted. */
typedef struct udpai_published {
    udpai_list node;
    uint64_t session, ticket;
} udpai_published;

struct udpai_local_update {
    udpai_node *owner;
    UDPAI_VECTOR(udpai_local_change) changes;
    UDPAI_VECTOR(udpai_judgement *) judgements; /* that wait for the answer; while it is deferred */
    udpai_list in_node;
    bool is_deferred;
};

/* A directory of the node itself. */
typedef struct udpai_expected {
    udpa_bytes *root;
    bool is_known; /* all of it was read, now or before a restart */
} udpai_expected;

struct udpai_node {
    udpai_wheel *wheel;
    udpai_node_env env;
    udpai_node_timing timing;
    bool is_durable, is_started, is_endpoint, peers_are_anonymous;
    udpa_bytes *id;
    udpa_bytes *authority;
    udpai_store *store;
    udpai_map sources;        /* by name */
    udpai_map links;          /* by link id */
    udpai_map peers;          /* by session */
    udpai_map providers;      /* udpai_provider, by type */
    udpai_provider *any_type; /* the template of every other type; NULL: none */
    udpai_list judgements;
    udpai_list published; /* udpai_published: without a receipt yet */
    udpai_list locals;
    udpai_list updates;  /* udpai_local_update: deferred ones */
    udpai_map interests; /* udpai_interest, by type and text */
    UDPAI_VECTOR(udpai_expected) expected_files;
    UDPAI_VECTOR(udpa_bytes *) expected_own; /* type URLs */
    UDPAI_VECTOR(udpa_bytes *) forgotten;    /* keys of origins that are configured no more */
    udpai_settled *settled;
    bool is_settled_untold; /* it has changed since the stream side was told */
    bool is_dirty;          /* providers must be looked at again */
    uint64_t last_link, last_ticket, last_publish;
    size_t n_changes_ahead, max_changes_ahead;
    uint64_t n_loops;
    udpai_log_limit refused_log;
};

static inline uint64_t
udpai_node_now(const udpai_node *node)
{
    return node->wheel->now_ms;
}

/* Asks for providers, settled, and what follows from them to be computed again. */
static inline void
udpai_node_touch(udpai_node *node)
{
    node->is_dirty = true;
}

/* source.c */
udpa_err udpai_source_new(udpai_node *node,
                          const udpai_source_config *config,
                          bool serves_us,
                          udpai_source **ret_source);
void udpai_source_free(udpai_source *source);
void udpai_source_reach(udpai_source *source, bool asked);
void udpai_source_opened(udpai_source *source, udpai_peer *peer);
void udpai_source_alive(udpai_source *source);
void udpai_source_closed(udpai_source *source, udpa_error *error);
/* PATH: the last reading has failed. */
void udpai_source_unreadable(udpai_source *source);
/* Ends its stream, or gives up dialling; udpai_source_closed() follows. */
void udpai_source_hang_up(udpai_source *source);
void udpai_source_introduced(udpai_source *source, udpai_peer *peer);
bool udpai_source_is_active(const udpai_source *source);
/* Has it answered, now or ever, for everything it mirrors? */
bool udpai_source_has_said_all(const udpai_source *source);
void udpai_node_order(udpai_node *node, udpai_order *order);

/* scope.c */
udpai_scope *
udpai_scope_new(udpai_source *source, udpai_str type_url, udpai_str prefix, bool on_demand);
void udpai_scope_free(udpai_scope *scope);
/* Sends what is wanted and was not sent, takes back what is wanted no more. */
void udpai_scope_sync(udpai_scope *scope);
/* Nothing counts as asked any more: the stream has ended, or is asked anew. */
void udpai_scope_reset(udpai_scope *scope);
/* Somebody here wants this name or wildcard ('*' and a prefix), or nobody any more. */
void udpai_scope_interest(udpai_scope *scope, udpai_str text, bool wanted);

/* The name, or the prefix of the wildcard. */
static inline udpai_str
udpai_wish_subject(const udpai_wish *wish)
{
    return (udpai_str){wish->text + wish->is_wildcard, wish->len - wish->is_wildcard};
}

/* The source has published removals: does anything else that it is asked for bring this resource?
 */
bool udpai_scope_still_brings(const udpai_scope *scope,
                              const udpa_resource *resource,
                              const udpai_publication *news);
/* The peer has published something of this type. */
void udpai_source_spoke(udpai_source *source, udpai_str type_url);
/* The peer has answered a Subscribe. */
void udpai_source_completed(udpai_source *source, udpai_str type_url, udpai_str prefix);
/* Asks for names that the scope covers, though they were asked for before. */
void udpai_scope_ask_again(udpai_scope *scope, const udpai_str *names, size_t n_names);
/* The scope of this type that covers a name or prefix; NULL: none. */
udpai_scope *udpai_source_scope(const udpai_source *source, udpai_str type_url, udpai_str name);

/* provider.c */
udpa_err
udpai_providers_new(udpai_node *node, const udpai_node_config *config, udpa_error **ret_error);
void udpai_providers_free(udpai_node *node);
void udpai_providers_evaluate(udpai_node *node);
udpai_settled *udpai_providers_settled(const udpai_node *node);
/* The type was asked for before a restart, so it will be again. */
void udpai_providers_expect(udpai_node *node, udpai_str type_url);
/* What the source has of the type counted before a restart, so it does again. */
void udpai_providers_restore_use(udpai_node *node, const udpai_source *source, udpai_str type_url);
void udpai_providers_interest(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);

/* files.c */

udpai_origin *udpai_files_origin(udpai_node *node, udpai_str root);
/* The directory of this root, if it is one that will be read. */
udpai_expected *udpai_files_expected(const udpai_node *node, udpai_str root);

/* restore.c */

/* Has the durable engine forget what belongs to nothing any more. */
void udpai_restore_end(udpai_node *node);

/* intake.c */
void udpai_intake_take(udpai_node *node, udpai_peer *peer, udpai_publication *publication);

/* payload.c */

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

/* judgement.c */
udpai_judgement *
udpai_judgement_new(udpai_node *node, uint64_t session, udpai_publication *publication);
void udpai_judgement_free(udpai_judgement *judgement);
void udpai_judgement_check(udpai_judgement *judgement);

/* publish.c */
void udpai_publishing_receipt(udpai_node *node, udpai_report *report);
void udpai_publishing_ended(udpai_node *node, uint64_t session, const udpa_error *why);

/* interest.c */
void udpai_interest_change(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted);
void udpai_interests_free(udpai_node *node);

/* local.c */
void udpai_locals_tell(udpai_node *node, const udpai_change_set *changes);
void udpai_locals_tell_new(udpai_node *node);
void udpai_locals_tell_complete(udpai_node *node);
void udpai_locals_free(udpai_node *node);
void udpai_local_updates_forget(udpai_node *node, const udpai_judgement *judgement);

/* peer.c */
void udpai_peer_opened(udpai_node *node, udpai_report *report);
void udpai_peer_node(udpai_node *node, udpai_report *report);
void udpai_peer_closed(udpai_node *node, udpai_report *report);
udpai_peer *udpai_peer_find(const udpai_node *node, uint64_t session);
/* The name that stands for the peer: its certificate's, or without one its node id. */
udpai_str udpai_peer_name(const udpai_peer *peer);
udpai_origin *udpai_peer_origin(udpai_node *node, udpai_peer *peer);
void udpai_peers_free(udpai_node *node);

#endif
