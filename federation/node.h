/* SPDX-License-Identifier: Apache-2.0 */
/* The loop side of a node as a pure object: the store, where its contents come from, and who may be
 * told that something is not there (docs/design/federation.md).
 *
 * Its surroundings hand in what has happened (reports of the stream side, files that were read,
 * time) and carry out what it orders. It has no thread, no clock, no I/O. */
#ifndef UDPAI_NODE_H
#define UDPAI_NODE_H

#include "certs/keyring.h"
#include "model/acl.h"
#include "reports/health.h"
#include "session/messages.h"
#include "store/store.h"

typedef struct udpai_node udpai_node;

/* ---- configuration: all borrowed, copied by the node ---- */

typedef enum udpai_source_kind {
    UDPAI_SOURCE_UDPA,        /* we dial */
    UDPAI_SOURCE_UDPA_LISTEN, /* the peer dials us */
    UDPAI_SOURCE_PATH,        /* a directory; somebody hands in its contents */
    UDPAI_SOURCE_XDS,         /* an xDS server; we dial, and its session speaks as a peer would */
    UDPAI_SOURCE_REST,        /* one that is polled; the same */
} udpai_source_kind;

/* What a source may have learned while it stood in for this node. */
typedef struct udpai_recover_config {
    const udpai_str *types; /* full type URLs; none: nothing is taken over */
    size_t n_types;
    const udpai_str *prefixes; /* of names; none: all */
    size_t n_prefixes;
} udpai_recover_config;

typedef struct udpai_source_config {
    udpai_str name;
    udpai_source_kind kind;
    udpai_str peer;    /* UDPA_LISTEN: the peer's name, or without TLS its node id */
    udpai_str address; /* for people */
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
     * were a source of its own, whose resources lie in the name space of the group. Makes the
     * target for one of them, a reference; NULL without memory. */
    void *(*target_for)(void *target, udpai_str name_space, const udpai_node_info *client);
    /* UDPA alone: it stands in for this node. */
    udpai_recover_config recover;
    /* UDPA alone: of these types this node stands in for it. What publishers have said here in the
     * name of one authority goes when the source has something newer to say in that name. */
    const udpai_str *stands_in;
    size_t n_stands_in;
    /* Full type URLs of what clients report: it is shown those, whoever has delivered what they
     * speak of. So that it can be, it stays connected. */
    const udpai_str *standby;
    size_t n_standby;
    unsigned max_withdrawal; /* per cent of a type that may be missing without a word; 0: 50 */
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
    const udpai_str *types; /* full type URLs; none: every type that somebody here asks for */
    size_t n_types;
    const udpai_descriptor_config *descriptors;
    size_t n_descriptors;
} udpai_provider_config;

/* The provider of one name, for which no other sources count. */
typedef struct udpai_named_config {
    udpai_str type_url, name;
    const udpai_descriptor_config *descriptors;
    size_t n_descriptors;
    /* Nothing of the name was told to anybody yet: what came by its type counts no more from the
     * start. Else it does until one of these sources has spoken. */
    bool at_once;
} udpai_named_config;

/* Resources that say of a name where it comes from (delegation.h), followed if they are these
 * authorities' (patterns), for names below these prefixes (none: all). */
typedef struct udpai_delegation_config {
    const udpai_str *authorities; /* none: nobody's are followed */
    size_t n_authorities;
    const udpai_str *prefixes;
    size_t n_prefixes;
} udpai_delegation_config;

/* What a resource of the type ConfigSource says, checked but for what only the surroundings know.
 */
typedef struct udpai_delivered_config {
    udpai_str name;
    udpai_source_kind kind; /* UDPA or XDS */
    udpai_str address;
    udpai_str credential; /* empty: none */
    const void *message;  /* Udpa__Config__V1__ConfigSource; while the call lasts */
} udpai_delivered_config;

/* Such resources become sources (delivery.h) if they are these authorities' (patterns), with names
 * below these prefixes (none: all). */
typedef struct udpai_delivery_config {
    const udpai_str *authorities; /* none: nobody's do */
    size_t n_authorities;
    const udpai_str *prefixes;
    size_t n_prefixes;
    size_t max; /* at one time */
    /* How to reach it: *ret_target is a reference. The name may have had another target before. */
    udpa_err (*make_target)(void *userdata,
                            const udpai_delivered_config *source,
                            void **ret_target,
                            udpa_error **ret_error);
    void (*ended)(void *userdata, udpai_str name); /* there is no such source any more */
    void *(*ref_target)(void *target);
    void (*release_target)(void *target);
    void *userdata;
} udpai_delivery_config;

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
    uint64_t hand_back_delay_ms;
    uint64_t backoff_base_ms, backoff_max_ms;
    uint64_t fail_over_spread_ms; /* within so long after a loss the next source is dialled */
    uint64_t recover_timeout_ms;  /* how long one that has stood in for this node is waited for */
    uint64_t interest_linger_ms;  /* what nobody here wants is still asked for so long */
    uint64_t silence_ms;     /* a peer without our extensions is complete after so much of it */
    uint64_t silence_max_ms; /* or after so long in any case */
    uint64_t
        answer_timeout_ms; /* a subscriber in the process that deferred its answer has so long */
} udpai_node_timing;

typedef struct udpai_node_config {
    udpai_str id;
    udpai_str authority; /* of what is read from files */
    udpai_str instance;  /* which of those with this id it is; empty: the id says it */
    udpai_node_timing timing;
    udpai_store_options store;
    const udpai_source_config *sources;
    size_t n_sources;
    const udpai_provider_config *providers;
    size_t n_providers;
    const udpai_named_config *named;
    size_t n_named;
    udpai_delegation_config delegation;
    udpai_delivery_config delivery;
    const udpai_dial_config *dials;
    size_t n_dials;
    bool is_durable; /* an engine keeps contributions */
    /* It is no management node: what it holds is for subscribers in the process alone, peers are
     * offered nothing of it. What sources say of themselves, in the namespace udpa.node, is taken
     * in like anything else. */
    bool is_endpoint;
    /* Nobody who dials us can show a certificate: a source that does is known by its node id. Else
     * only by its certificate. */
    bool peers_are_anonymous;
    udpai_acl *acl;         /* NULL: everybody may publish anything; a reference is taken */
    udpai_keyring *keyring; /* NULL: nothing is signed or verified; a reference is taken */
    /* What checkers say of a cluster (udpa.health.v1), merged into its endpoints as they are told.
     */
    udpai_health_policy health;
    size_t max_changes_ahead; /* change sets that the stream side may have before it */
    /* Groups of clients that sources are asked for at one time, with those that linger; 0: as many
     * as come. */
    size_t max_clients;
} udpai_node_config;

typedef struct udpai_node_env {
    /* Takes the order. */
    void (*order)(void *userdata, udpai_order *order);
    /* Begins to commit; takes the batch; answered by udpai_node_committed(). NULL: nothing is kept.
     */
    void (*commit)(void *userdata, udpai_durable_batch *batch, uint64_t ticket);
    /* Microseconds since 1970. */
    int64_t (*wall_us)(void *userdata);
    uint64_t (*random)(void *userdata);
    /* What was published unasked has been judged, by its receipt, or because the stream ended (then
     * `error`). Borrowed. NULL: nobody publishes. */
    void (*published)(void *userdata,
                      uint64_t ticket,
                      const udpai_publication *publication,
                      const udpa_error *error);
    /* Somebody wants it, that is a name, or '*' and a prefix; or nobody does any more. Of an
     * endpoint: a peer, whatever the type; else somebody, or lately, of what clients report. NULL:
     * nothing is reported. */
    void (*wanted)(void *userdata, udpai_str type_url, udpai_str text, bool wanted);
    /* What a report of this node's own speaks of, if whoever reports has said so: views, good until
     * the next call into the node. NULL: nobody ever says. */
    bool (*speaks_of)(void *userdata,
                      const udpa_resource *report,
                      udpai_str *ret_type_url,
                      udpai_str *ret_name);
    /* What was reported with udpai_node_report_load() is for others now, who are not told it: it is
     * to be reported again, after this. NULL: nothing is reported so. */
    void (*audience_moved)(void *userdata);
    void *userdata;
} udpai_node_env;

udpa_err udpai_node_new(udpai_node **ret_node,
                        udpai_wheel *wheel,
                        const udpai_node_config *config,
                        const udpai_node_env *env,
                        udpa_error **ret_error);
udpai_node *udpai_node_free(udpai_node *node);
UDPA_DEFINE_CLEANUP(udpai_node, udpai_node_free)

/* ---- starting ---- */

/* Takes in what the durable engine kept; before udpai_node_start(). */
udpa_err udpai_node_restore(udpai_node *node, const udpai_durable_op *op);
/* Begins to connect. */
void udpai_node_start(udpai_node *node);

/* ---- what has happened ---- */

/* A report of the stream side; frees it. */
void udpai_node_report(udpai_node *node, udpai_report *report);
/* A batch is safe, or could not be kept. */
void udpai_node_committed(udpai_node *node, uint64_t ticket, udpa_err result);
/* Carries out what earlier calls have left to do: tells the stream side of changes, commits. To be
 * called after every call above, and after the wheel was advanced; cheap when there is nothing. */
void udpai_node_flush(udpai_node *node);

/* The whole contents of a directory. */
typedef struct udpai_directory {
    udpai_str root;
    udpai_str source;    /* the name of a PATH source; empty: a directory of the node itself */
    udpai_str authority; /* empty: the node's */
    udpa_resource *const *resources;
    size_t n_resources;
    /* Some of it could not be read yet: what is not among the resources may still be there. */
    bool is_partial;
    unsigned max_withdrawal; /* since the last reading, as of a source */
    /* The last reading found mistakes: what has been read before stays, but of a PATH source it is
     * known that it fails. */
    bool has_mistakes;
} udpai_directory;

/* What the directory does not have any more is withdrawn, unless it is partial. The first resource
 * that cannot be taken is told; the others are. */
udpa_err
udpai_node_set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error);
/* A directory of the node itself will come: nothing negative is said before it has. What was kept
 * of it is restored only if this was called before. */
udpa_err udpai_node_expect_files(udpai_node *node, udpai_str root);
/* Clients that never connect, because they read files: sources are asked for this group as long as
 * the node lives. */
udpa_err udpai_node_expect_clients(udpai_node *node, udpai_str name_space, udpai_node_info *client);
/* What the node says of itself, in the reserved namespace udpa.node, which nobody else speaks for.
 * While something of a type is expected, nothing negative is said of it there. */
udpa_err udpai_node_expect_own(udpai_node *node, udpai_str type_url, bool expected);
/* Replaces what it said of this type before. */
udpa_err udpai_node_set_own(udpai_node *node,
                            udpai_str type_url,
                            udpa_resource *const *resources,
                            size_t n_resources);

/* May he, by the rules that hold? What is refused is counted and logged, and allowed all the same
 * in a dry run. UDPA_ERR_DENIED, UDPA_ERR_NOMEM. */
udpa_err udpai_node_check_access(udpai_node *node,
                                 const udpai_acl_subject *subject,
                                 const udpai_acl_question *question,
                                 udpa_error **ret_error);
/* Other rules on who may publish what hold from now on, also for what was published before: what
 * they refuse is withdrawn. Takes a reference. */
void udpai_node_set_acl(udpai_node *node, udpai_acl *acl);

/* Other times from now on; waits that have begun last as long as they were to. */
void udpai_node_set_timing(udpai_node *node, const udpai_node_timing *timing);
/* Other limits from now on; what is over them stays. */
void udpai_node_set_store_options(udpai_node *node, const udpai_store_options *options);

/* Other keys and requirements hold from now on, also for what is held: what is not good any more is
 * withdrawn, what is signed here is signed with the new keys. Takes a reference. */
void udpai_node_set_keyring(udpai_node *node, udpai_keyring *keyring);

/* ---- publishing unasked, as endpoints do ---- */

/* Is there such a source, and is it one to publish to? */
bool udpai_node_has_source(const udpai_node *node, udpai_str source);
/* The name of the ConfigSource, if there is just one; owned by the node. */
bool udpai_node_only_source(const udpai_node *node, udpai_str *ret_name);
/* Who speaks in a session: the name of the ConfigSource that its peer serves, else the peer's own;
 * owned by the node; empty: nobody knows. */
udpai_str udpai_node_speaker(const udpai_node *node, uint64_t session);
/* Why it was not reached, or how its stream ended, last; borrowed; NULL: nothing was amiss. */
const udpa_error *udpai_node_source_error(const udpai_node *node, udpai_str source);
/* Is there a stream to publish on to this source? */
bool udpai_node_may_publish_to(const udpai_node *node, udpai_str source);
/* Publishes to the peer of this source, or of all sources (empty). Takes the publication. Returns a
 * ticket that env.published() is called with for each; 0: there is no stream to publish on. */
uint64_t udpai_node_publish(udpai_node *node, udpai_str source, udpai_publication *publication);

/* ---- subscribing in the process ---- */

typedef struct udpai_local_subscription udpai_local_subscription;

/* A change of an effective resource. */
typedef struct udpai_local_change {
    udpa_resource *resource; /* of a removal: what it was last */
    bool is_removed;
    udpa_error *error; /* why the subscriber refuses it; owned by the update */
} udpai_local_change;

/* Changes that belong together, told to one subscription. The errors set in it become receipts. */
typedef struct udpai_local_update udpai_local_update;

size_t udpai_local_update_size(const udpai_local_update *update);
const udpai_local_change *udpai_local_update_at(const udpai_local_update *update, size_t index);
/* Consumes the error. */
void udpai_local_update_refuse(udpai_local_update *update, size_t index, udpa_error *error);
/* The answer takes longer than the call: done() is called later, once, with the update. */
void udpai_local_update_defer(udpai_local_update *update);
void udpai_local_update_done(udpai_local_update *update);
/* Was it deferred, and is not done? */
bool udpai_local_update_is_pending(const udpai_local_update *update);
/* A slot for the subscriber; NULL at first. */
void udpai_local_update_set_holder(udpai_local_update *update, void *holder);
void *udpai_local_update_holder(const udpai_local_update *update);

typedef struct udpai_local_ops {
    /* Borrowed, unless deferred. */
    void (*update)(void *userdata, udpai_local_update *update);
    /* All that the subscription selects is known now. Called once, and again after a time in which
     * it was not. */
    void (*complete)(void *userdata);
    void *userdata;
} udpai_local_ops;

/* Who is asked for what a subscriber in the process selects. */
typedef enum udpai_reach {
    UDPAI_REACH_ALL,
    UDPAI_REACH_CLIENTS, /* of what clients report: those that have dialled this node alone */
    UDPAI_REACH_NOBODY,  /* what is here, because somebody else wants it */
} udpai_reach;

typedef struct udpai_selection {
    udpai_str type_url;
    udpai_str prefix;
    const udpai_str *names; /* none: the wildcard of the prefix */
    size_t n_names;
    udpai_reach reach;
} udpai_selection;

/* What is there already comes with the next flush. */
udpa_err udpai_node_subscribe(udpai_node *node,
                              const udpai_selection *selection,
                              const udpai_local_ops *ops,
                              udpai_local_subscription **ret_subscription);
void udpai_node_unsubscribe(udpai_node *node, udpai_local_subscription *subscription);
/* Is all known that it selects? */
bool udpai_local_is_complete(const udpai_local_subscription *subscription);

/* ---- looking ---- */

udpai_store *udpai_node_store(udpai_node *node);
const udpai_settled *udpai_node_settled(const udpai_node *node);
/* What clients are asked for. */
size_t udpai_node_n_report_wishes(const udpai_node *node);
/* Loops met so far. */
uint64_t udpai_node_n_loops(const udpai_node *node);
/* Publications of resources that the ACL refused so far, or in a dry run would have. */
uint64_t udpai_node_n_denied(const udpai_node *node);
/* Resources that were refused or withdrawn for their signatures, and such that were signed here. */
uint64_t udpai_node_n_bad_signatures(const udpai_node *node);
uint64_t udpai_node_n_signed(const udpai_node *node);
/* Serialised udpa.status.v1.OriginsStatus of a name, whoever says something under it; NULL without
 * memory. The type without what stands before its last slash. */
udpa_bytes *
udpai_node_describe_origins(const udpai_node *node, udpai_str type_name, udpai_str name);
/* Serialised udpa.status.v1.SourceStatus of each source. */
udpa_err udpai_node_visit_sources(const udpai_node *node,
                                  void (*visit)(void *userdata, udpai_str name, udpa_bytes *status),
                                  void *userdata);

#endif
