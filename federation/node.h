/* SPDX-License-Identifier: Apache-2.0 */
/* The loop side of a node as a pure object: the store, where its contents come from, and to which
 * peers a not-found may be sent (docs/design/federation.md).
 *
 * Its surroundings hand in what has happened (reports of the stream side, files that were read,
 * time) and carry out what it orders. It has no thread, no clock, no I/O. */
#ifndef UDPAI_NODE_H
#define UDPAI_NODE_H

#include "federation/node_config.h"
#include "federation/node_env.h"
#include "store/audit.h"

typedef struct udpai_node udpai_node;

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
/* While it runs: another process of this node has kept this PUT or DELETE, of whatever origin; it
 * is effective here, too, and not committed. */
udpa_err udpai_node_follow(udpai_node *node, const udpai_durable_op *op);
/* Begins to connect. */
void udpai_node_start(udpai_node *node);

/* ---- what has happened ---- */

/* A report of the stream side; frees it. */
void udpai_node_report(udpai_node *node, udpai_report *report);
/* A batch is safe, or could not be kept. */
void udpai_node_committed(udpai_node *node, uint64_t ticket, udpa_err result);
/* Takes what is reported by the replicas of this node. */
void udpai_node_replicated(udpai_node *node, udpai_replicated *event);
/* Before the start: applies it, and carries out nothing that follows. */
void udpai_node_apply_replicated(udpai_node *node);
/* Up to where it has what they have committed. */
udpai_durable_position udpai_node_position(const udpai_node *node);
/* Of a store that no etcd has had: any etcd is another one, or older. Before the start. */
void udpai_node_assume_position(udpai_node *node);
/* The proof of that; borrowed; of a node with replicas. */
const udpai_replication_proof *udpai_node_position_proof(const udpai_node *node);
/* Carries out what earlier calls have left to do: sends changes to the stream side, commits. To be
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
    udpai_str unread;        /* the path of a file that could not; empty: it is not known */
    unsigned max_withdrawal; /* since the last reading, as of a source */
    bool must_agree;         /* among replicas: it counts when most of them have read the same */
    bool is_shared; /* among replicas: the elected one writes it for all; set by the node */
    /* The last reading found errors: what has been read before stays, but of a PATH source it is
     * known that it fails. */
    bool has_errors;
    /* It has come by a stream: the last hop of each is this node's already. */
    bool is_received;
    bool keeps_generations; /* those that they have are meant … */
    /* … and these were removed by their authorities (model/removal.h), as far as is known. */
    udpa_resource *const *removals;
    size_t n_removals;
    /* What is missing since the last reading was rejected by rules or keys that hold from now on:
     * it goes, however much it is. */
    bool is_reviewed;
    udpa_error *fault; /* why it is not there, for people; NULL: it is, or that is not known */
    /* Why nothing of what is missing since the last reading is believed, however little it is; a
     * literal; NULL: it is, within bounds. */
    const char *doubt;
} udpai_directory;

/* What the directory does not have any more is withdrawn, unless it is partial. The first resource
 * that cannot be taken is the error; the others are taken. */
udpa_err
udpai_node_set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error);
/* A directory of the node itself will come: no not-found or removal is sent before it has. What was
 * kept of it is restored only if this was called before. */
udpa_err udpai_node_expect_files(udpai_node *node, udpai_str root);
/* It will not come, as if it had not been expected; nothing of it was set. */
void udpai_node_expect_files_no_more(udpai_node *node, udpai_str root);
/* Nothing of this directory of the node itself is read any more: what it had is withdrawn, however
 * much it is, and it is not expected. Not of one that is shared or must agree. UDPA_ERR_NOMEM: some
 * may be there yet. */
udpa_err udpai_node_end_files(udpai_node *node, udpai_str root);
/* Of what was read of this directory, all that clients have from there: calls back until false is
 * returned. */
typedef bool (*udpai_node_file_fn)(void *userdata, udpa_resource *resource);
void udpai_node_visit_files(const udpai_node *node,
                            udpai_str root,
                            udpai_str source,
                            udpai_node_file_fn visit,
                            void *userdata);
/* Among replicas: what the elected one reads of this directory, or of this source of kind PATH
 * (empty: it is of the node itself), counts for all of them, and comes by etcd. Before anything of
 * it is restored or read. UDPA_ERR_INVAL: the node has no replicas, or there is no such source. */
udpa_err udpai_node_share_files(udpai_node *node, udpai_str root, udpai_str source);
/* What was read of this source does not count any more: nobody looks whether it is still so. What
 * all have of it stays. */
void udpai_node_forget_files(udpai_node *node, udpai_str source);
/* Among replicas: is it the elected one, that writes for all? */
bool udpai_node_is_elected(const udpai_node *node);
/* Another process of this node goes on with its sources: their streams are ended, which is no
 * failure, what they have brought stays, and none is dialled. Or they are this one's again. */
void udpai_node_set_silent(udpai_node *node, bool is_silent);
/* Clients that never connect, because they read files: sources are asked for this group as long as
 * the node lives. */
udpa_err udpai_node_expect_clients(udpai_node *node, udpai_str name_space, udpai_node_info *client);
/* What the node reports of itself, in the reserved namespace udpa.node, where no peer may publish.
 * While something of a type is expected, no not-found or removal of it is sent there. */
udpa_err udpai_node_expect_own(udpai_node *node, udpai_str type_url, bool expected);
/* Replaces what it reported of this type before. */
udpa_err udpai_node_set_own(udpai_node *node,
                            udpai_str type_url,
                            udpa_resource *const *resources,
                            size_t n_resources);

/* May the subject, by the present rules? What is denied is counted and logged, and allowed all the
 * same in a dry run. UDPA_ERR_DENIED, UDPA_ERR_NOMEM. */
udpa_err udpai_node_check_access(udpai_node *node,
                                 const udpai_acl_subject *subject,
                                 const udpai_acl_question *question,
                                 udpa_error **ret_error);
/* Replaces the rules on publishing, also for what was published before: what they deny is
 * withdrawn. Takes a reference. */
void udpai_node_set_acl(udpai_node *node, udpai_acl *acl);

/* ---- other sources and providers ---- */

typedef struct udpai_node_next udpai_node_next;

/* What a change of them would do. */
typedef struct udpai_node_next_facts {
    size_t n_added, n_removed; /* sources */
    /* Resources that clients have, and that would go after interest_linger, unless another source
     * brings them by then. */
    size_t n_withdrawn;
} udpai_node_next_facts;

/* The sources and providers of @p config, and whether peers are anonymous; it is borrowed until one
 * of the next two ends it, before anything else is done with the node. A source that is there by
 * its name goes on: it keeps what it has brought, and if its kind, peer, address and target are as
 * they were, its stream. Sources that are asked for groups of clients have to be the same, but for
 * their targets. UDPA_ERR_NOMEM, UDPA_ERR_INVAL: nothing has changed. */
udpa_err udpai_node_prepare(udpai_node *node,
                            const udpai_node_config *config,
                            udpai_node_next **ret_next,
                            udpa_error **ret_error);
const udpai_node_next_facts *udpai_node_next_facts_of(const udpai_node_next *next);
/* They are those of the node from now on. What has no place in it any more is asked for nothing,
 * and what came by it goes after interest_linger. */
void udpai_node_take(udpai_node_next *next);
/* All is as before. NULL does nothing. */
void udpai_node_leave(udpai_node_next *next);

/* Records that something was done here, with the next commit; does nothing where there is no audit.
 */
void udpai_node_audit(udpai_node *node, const udpai_audit_record *record);

/* Other times from now on; waits that have begun last as long as they were to. */
void udpai_node_set_timing(udpai_node *node, const udpai_node_timing *timing);
/* Other limits from now on; what is over them stays. */
void udpai_node_set_store_options(udpai_node *node, const udpai_store_options *options);

/* The same of groups of clients, as in udpai_node_config. */
void udpai_node_set_max_clients(udpai_node *node, size_t max_clients);

/* Other keys and requirements hold from now on, also for what is held: what is not good any more is
 * withdrawn, what is signed here is signed with the new keys. Takes a reference. */
void udpai_node_set_keyring(udpai_node *node, udpai_keyring *keyring);

/* ---- publishing unasked, as endpoints do ---- */

/* Is there such a source, and is it one to publish to? */
bool udpai_node_has_source(const udpai_node *node, udpai_str source);
/* The name of the ConfigSource, if there is just one; owned by the node. */
bool udpai_node_only_source(const udpai_node *node, udpai_str *ret_name);
/* The publisher of a session: the name of the ConfigSource that its peer serves, else the peer's
 * own; owned by the node; empty: it is not known. */
udpai_str udpai_node_speaker(const udpai_node *node, uint64_t session);
/* Why it was not reached, or how its stream ended, last; borrowed; NULL: nothing was amiss. */
const udpa_error *udpai_node_source_error(const udpai_node *node, udpai_str source);
/* Why its connection has failed, also while others of its servers are tried; the same. */
const udpa_error *udpai_node_source_fault(const udpai_node *node, udpai_str source);
/* The address of the server that it is connected to, ending with a NUL; the same. */
const char *udpai_node_source_server(const udpai_node *node, udpai_str source);
/* Is it known that it cannot be reached, or was lost? False: it is active, or not decided yet. */
bool udpai_node_source_has_failed(const udpai_node *node, udpai_str source);
/* Of a source that passes its doubts: why what is missing of it, compared with the last time that
 * this was asked, may have been lost there instead of removed; a literal. NULL: there is no reason.
 */
const char *udpai_node_take_doubt(udpai_node *node, udpai_str source);
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

/* Changes that belong together, sent to one subscription. The errors set in it become receipts. */
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

/* Which peers are asked for what a subscriber in the process selects. */
typedef enum udpai_reach {
    UDPAI_REACH_ALL,
    UDPAI_REACH_CLIENTS, /* of what clients report: those that have dialled this node alone */
    UDPAI_REACH_NOBODY,  /* what is here, because others have subscribed to it */
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
/* The node's, until it is called again; NULL: it has no replicas. */
const udpai_replica_status *udpai_node_replica_status(const udpai_node *node);
const udpai_settled *udpai_node_settled(const udpai_node *node);
/* What clients are asked for. */
size_t udpai_node_n_report_subscriptions(const udpai_node *node);
/* Loops met so far. */
uint64_t udpai_node_n_loops(const udpai_node *node);
/* Publications of resources that the ACL refused so far, or in a dry run would have. */
uint64_t udpai_node_n_denied(const udpai_node *node);
/* Resources that were refused or withdrawn for their signatures, and such that were signed here. */
uint64_t udpai_node_n_bad_signatures(const udpai_node *node);
uint64_t udpai_node_n_signed(const udpai_node *node);
/* Serialised udpa.status.v1.OriginsStatus of a name, with all its contributions; NULL without
 * memory. The type without the part before its last slash. */
udpa_bytes *
udpai_node_describe_origins(const udpai_node *node, udpai_str type_name, udpai_str name);
/* Serialised udpa.status.v1.SourceStatus of each source. */
udpa_err udpai_node_visit_sources(const udpai_node *node,
                                  void (*visit)(void *userdata, udpai_str name, udpa_bytes *status),
                                  void *userdata);

#endif
