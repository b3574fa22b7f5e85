/* SPDX-License-Identifier: Apache-2.0 */
/* What a node is made with: its sources, providers, peers to dial, times and limits. All is
 * borrowed, and copied by the node. */
#ifndef UDPAI_NODE_CONFIG_H
#define UDPAI_NODE_CONFIG_H

#include "certs/keyring.h"
#include "model/acl.h"
#include "model/span.h"
#include "reports/health.h"
#include "store/store.h"

typedef enum udpai_source_kind {
    UDPAI_SOURCE_UDPA,        /* we dial */
    UDPAI_SOURCE_UDPA_LISTEN, /* the peer dials us */
    UDPAI_SOURCE_PATH,        /* a directory; its contents are handed in */
    UDPAI_SOURCE_XDS,         /* an xDS server; we dial, and its session acts as a peer would */
    UDPAI_SOURCE_REST,        /* one that is polled; the same */
} udpai_source_kind;

/* What a source may have learned as standby for this node. */
typedef struct udpai_recover_config {
    const udpai_str *types; /* full type URLs; none: nothing is taken over */
    size_t n_types;
    const udpai_str *prefixes; /* of names; none: all */
    size_t n_prefixes;
} udpai_recover_config;

typedef struct udpai_source_config {
    udpai_str name;
    udpai_source_kind kind;
    udpai_str peer; /* UDPA_LISTEN: the peer's name, or without TLS its node id */
    /* For people; and of UDPA and XDS the target's list of servers (model/server_list.h). */
    udpai_str address;
    bool starts_anywhere; /* not at its first server, but at a random one */
    /* PATH: as the bootstrap file calls a kind of its own, a literal; NULL: path. */
    const char *kind_name;
    /* Those that we dial: dialled even while no provider asks it for anything, because it is
     * published to. */
    bool stays_connected;
    /* And how to reach them. A reference is taken with ref_target(); each DIAL order carries one.
     */
    void *target;
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    /* Not NULL: it is asked for each group of clients by itself (UDPAI_REPORT_CLIENTS), as if each
     * were a source of its own, with resources that lie in the name space of the group. Makes the
     * target for one of them, a reference; NULL without memory. */
    void *(*target_for)(void *target, udpai_str name_space, const udpai_node_info *client);
    /* UDPA alone: it is standby for this node. */
    udpai_recover_config recover;
    /* UDPA alone: for these types this node is its standby. What publishers have published here in
     * the name of one authority is removed when the source has something newer in that name. */
    const udpai_str *standby_for;
    size_t n_standby_for;
    /* Full type URLs of what clients report: it is sent those, whichever source has delivered what
     * they are about. So that it can be, it stays connected. */
    const udpai_str *standby;
    size_t n_standby;
    unsigned max_withdrawal; /* per cent of a type that may be missing without a word; 0: 50 */
    /* What it leaves out is believed also when its store is not the one that it had before; that it
     * is not is for udpai_node_take_doubt(). */
    bool passes_doubts;
} udpai_source_config;

typedef enum udpai_continuation {
    UDPAI_STOP_ON_SUCCESS,
    UDPAI_STOP_ON_FAILURE,
    UDPAI_CONTINUE,
} udpai_continuation;

typedef struct udpai_descriptor_config {
    udpai_str source;
    udpai_str prefix;
    udpai_continuation continuation;
    bool on_demand; /* by interest, not all of the prefix */
} udpai_descriptor_config;

typedef struct udpai_provider_config {
    const udpai_str *types; /* full type URLs; none: every type that is asked for here */
    size_t n_types;
    const udpai_descriptor_config *descriptors;
    size_t n_descriptors;
} udpai_provider_config;

/* The provider of one name, for which no other sources count. */
typedef struct udpai_named_config {
    udpai_str type_url, name;
    const udpai_descriptor_config *descriptors;
    size_t n_descriptors;
    /* Nothing of the name was sent to any subscriber yet: what came by its type is not effective
     * from the start. Else it is until one of these sources has answered. */
    bool at_once;
} udpai_named_config;

/* Resources that state where a name comes from (delegation.h), followed if they are these
 * authorities' (patterns), for names below these prefixes (none: all). */
typedef struct udpai_delegation_config {
    const udpai_str *authorities; /* none: none are followed */
    size_t n_authorities;
    const udpai_str *prefixes;
    size_t n_prefixes;
} udpai_delegation_config;

/* The contents of a resource of the type ConfigSource, checked but for what only the surroundings
 * know. */
typedef struct udpai_dynamic_source_config {
    udpai_str name;
    udpai_source_kind kind; /* UDPA or XDS */
    udpai_str address;
    udpai_str credential; /* empty: none */
    const void *message;  /* Udpa__Config__V1__ConfigSource; while the call lasts */
} udpai_dynamic_source_config;

/* Such resources become sources (dynamic_sources.h) if they are these authorities' (patterns), with
 * names below these prefixes (none: all). */
typedef struct udpai_dynamic_sources_config {
    const udpai_str *authorities; /* none: none are followed */
    size_t n_authorities;
    const udpai_str *prefixes;
    size_t n_prefixes;
    size_t max; /* at one time */
    /* How to reach it: *ret_target is a reference. The name may have had another target before. */
    udpa_err (*make_target)(void *userdata,
                            const udpai_dynamic_source_config *source,
                            void **ret_target,
                            udpa_error **ret_error);
    void (*ended)(void *userdata, udpai_str name); /* there is no such source any more */
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    void *userdata;
} udpai_dynamic_sources_config;

/* An endpoint that we serve by dialling it. */
typedef struct udpai_dial_config {
    udpai_str name;
    void *target;
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
} udpai_dial_config;

typedef struct udpai_node_timing {
    uint64_t connect_grace_ms;
    uint64_t sync_timeout_ms;
    uint64_t fail_back_delay_ms;
    uint64_t backoff_base_ms, backoff_max_ms;
    uint64_t fail_over_spread_ms; /* within so long after a loss the next source is dialled */
    uint64_t recover_timeout_ms;  /* how long a standby of this node is waited for */
    uint64_t interest_linger_ms;  /* what has no subscription is still asked for so long */
    uint64_t silence_ms;     /* a peer without our extensions is complete after so much of it */
    uint64_t silence_max_ms; /* or after so long in any case */
    uint64_t
        answer_timeout_ms; /* a subscriber in the process that deferred its answer has so long */
} udpai_node_timing;

/* How the replicas of this node reach and know each other (mesh.h). */
typedef struct udpai_mesh_config {
    /* How to reach one at this address: *ret_target is a reference. NULL: none is dialled. */
    udpa_err (*make_target)(void *userdata,
                            udpai_str address,
                            void **ret_target,
                            udpa_error **ret_error);
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    void *userdata;
    udpai_identity *identity; /* of this replica's certificate; NULL: it has none */
    const udpai_str *names;   /* patterns of the names of others; none: the name of that */
    size_t n_names;
} udpai_mesh_config;

/* Which changes are traced (federation/traces.h). */
typedef struct udpai_traces_config {
    double ratio;        /* of those that no peer has begun to trace, from 0 to 1 */
    unsigned per_second; /* at most so many spans begin */
    /* What has ended; takes it. NULL: nothing is traced. */
    void (*take)(void *userdata, udpai_span *span);
    void *userdata;
} udpai_traces_config;

typedef struct udpai_node_config {
    udpai_str id;
    udpai_str authority; /* of what is read from files */
    udpai_str instance;  /* which of those with this id it is; empty: the id identifies it */
    udpai_node_timing timing;
    udpai_store_options store;
    size_t list_part; /* of what replicas have is compared in one turn; 0: 2,000 */
    const udpai_source_config *sources;
    size_t n_sources;
    const udpai_provider_config *providers;
    size_t n_providers;
    const udpai_named_config *named;
    size_t n_named;
    udpai_delegation_config delegation;
    udpai_dynamic_sources_config delivery;
    const udpai_dial_config *dials;
    size_t n_dials;
    bool is_durable; /* an engine keeps contributions */
    bool has_audit;  /* … and records of who has changed them */
    udpai_traces_config traces;
    /* It has replicas (udpai_node_env.propose), which have this id together; 1 to UDPAI_EPOCH_MAX
     * bytes. Empty: it has none. */
    udpai_str set_id;
    /* Which of them it is (model/replica_id.h); empty: it has none. */
    udpai_str replica;
    udpai_mesh_config mesh;
    /* What it has kept comes from a backup, and is meant: nothing is recovered. */
    bool is_restored;
    /* It is no management node: what it holds is for subscribers in the process alone, peers are
     * offered nothing of it. What sources report of themselves, in the namespace udpa.node, is
     * taken in like anything else. */
    bool is_endpoint;
    /* Peers that dial us have no certificates: a source that does is known by its node id. Else
     * only by its certificate. */
    bool peers_are_anonymous;
    udpai_acl *acl;         /* NULL: every peer may publish anything; a reference is taken */
    udpai_keyring *keyring; /* NULL: nothing is signed or verified; a reference is taken */
    /* What checkers report of a cluster (udpa.health.v1), merged into its endpoints as they are
     * sent. */
    udpai_health_policy health;
    size_t max_changes_ahead; /* change sets that the stream side may have before it */
    /* Groups of clients that sources are asked for at one time, with those that linger; 0: as many
     * as come. */
    size_t max_clients;
} udpai_node_config;

#endif
