/* SPDX-License-Identifier: Apache-2.0 */
/* Contributions in, effective resources out. */

/* Every (type, name) holds at most one contribution of each origin. Which one is effective follows
 * from all of them, never from when they came (docs/design/store.md):
 *   - between authorities, the precedence of the origins decides: files, publishers, sources in the
 *     order of their provider;
 *   - within an authority, the highest generation, where generations can be compared; else the
 * order of the origins;
 *   - only eligible contributions count; what is effective gives way only to something at least as
 *     new.
 * Owned by one thread; has no clock but the wheel it is given. */
#ifndef UDPAI_STORE_H
#define UDPAI_STORE_H

#include "base/wheel.h"
#include "model/identity.h"
#include "model/resource.h"
#include "store/change_set.h"
#include "store/durable.h"

typedef struct udpai_store udpai_store;
typedef struct udpai_origin udpai_origin;

/* Between authorities the lower class wins, then the lower order. */
typedef enum udpai_origin_class {
    UDPAI_ORIGIN_NODE,      /* the node itself: its own status */
    UDPAI_ORIGIN_FILES,     /* directories of the node's own configuration */
    UDPAI_ORIGIN_PUBLISHER, /* peers that nobody asked */
    UDPAI_ORIGIN_SOURCE,    /* ConfigSources of providers */
    /* What the node has learned from its standby. Such a contribution takes the place of a
     * contribution of the node's own (of the first three classes), compares by the generation of
     * that, and counts only as long as that is there. */
    UDPAI_ORIGIN_ADOPTED,
} udpai_origin_class;

#define UDPAI_PUBLISHERS_PER_NAME 256

typedef struct udpai_store_options {
    /* The highest generation of a name is remembered for so long after its removal. */
    uint64_t remember_ms;
    /* How many such memories at most, of signed ones as many again; the oldest go first. */
    size_t remember_max;
    /* Contributions, and bytes of them, in one namespace (the part before the '/'), … */
    size_t max_resources_per_namespace;
    uint64_t max_bytes_per_namespace;
    /* … of one origin of rank PUBLISHER, … */
    size_t max_resources_per_publisher;
    uint64_t max_bytes_per_publisher;
    /* … and in all; what publishers hold takes no room from the other origins. */
    size_t max_resources;
    uint64_t max_bytes;
    /* So many publishers at most state one name: each change of it looks at all of them. 0:
     * UDPAI_PUBLISHERS_PER_NAME. */
    size_t max_publishers_per_name;
    /* Percent of what a publisher has of a type that a state of its world may leave out, when it is
     * taken in; 0: 50. */
    unsigned max_withdrawal;
} udpai_store_options;

udpa_err
udpai_store_new(udpai_store **ret_store, udpai_wheel *wheel, const udpai_store_options *options);
udpai_store *udpai_store_free(udpai_store *store);
UDPA_DEFINE_CLEANUP(udpai_store, udpai_store_free)
/* What may change at run time. */
void udpai_store_set_options(udpai_store *store, const udpai_store_options *options);

/* How long the generation of what was removed is remembered at least. */
uint64_t udpai_store_remember_ms(const udpai_store *store);

/* May it be reported that this resource is not there any more? Until it may, it stays, and takes
 * the room that it had. Without such a function: always. */
typedef bool (*udpai_store_certain_fn)(void *userdata, const udpa_resource *last);
void udpai_store_set_certain(udpai_store *store, udpai_store_certain_fn certain, void *userdata);
/* The answers of that function may have changed. */
void udpai_store_recheck_removals(udpai_store *store);

/* Is called by take_changes() for each name whose effective resource comes from another origin than
 * before, or from one at all, or none any more, though it may have to stay, or one that does not
 * count; also if nothing else of it has changed, so that the set does not have it. May not call
 * back. */
typedef void (*udpai_store_moved_fn)(void *userdata, udpai_str type_url, udpai_str name);
void udpai_store_set_moved(udpai_store *store, udpai_store_moved_fn moved, void *userdata);

/* How long is the generation of what was removed remembered? At least remember_ms. Without such a
 * function: so long. */
typedef uint64_t (*udpai_store_remember_fn)(void *userdata, const udpa_resource *removed);
void udpai_store_set_remember(udpai_store *store, udpai_store_remember_fn remember, void *userdata);

/* ---- origins ---- */

/* Publishers come and go, under names that they give themselves: an origin of rank PUBLISHER, which
 * is the rank of a new one, is freed when it is not held, it has no contributions, and nothing that
 * was reported and not taken back was its; but not before the next take_changes(), unless the last
 * holder lets it go. A pointer that is kept beyond that must hold the origin. Those of the other
 * ranks stay as long as the store, and need not be held. */

/* Finds the origin of this key, or makes it; NULL without memory. Owned by the store. */
udpai_origin *udpai_store_origin(udpai_store *store, udpai_str key);
/* Holds the origin, but not the store: when that goes, so do all. */
udpai_origin *udpai_origin_ref(udpai_origin *origin);
/* Lets it go; NULL does nothing. Returns NULL. */
udpai_origin *udpai_origin_unref(udpai_store *store, udpai_origin *origin);
/* Finds it, or NULL. */
udpai_origin *udpai_store_find_origin(udpai_store *store, udpai_str key);
udpai_str udpai_origin_key(const udpai_origin *origin);
/* How many it has, of all types. */
size_t udpai_origin_n_contributions(const udpai_origin *origin);
/* The rank of the origin; recomputes what it contributes to. */
void udpai_origin_set_rank(udpai_store *store,
                           udpai_origin *origin,
                           udpai_origin_class rank,
                           unsigned order);
udpai_origin_class udpai_origin_rank(const udpai_origin *origin);
/* Does what it has of a name count rather than what the other one has, as between authorities? */
bool udpai_origin_is_before(const udpai_origin *origin, const udpai_origin *other);
/* The instance of the node behind the origin, for split horizon; NULL: none. A reference is taken.
 */
void udpai_origin_set_node(udpai_store *store, udpai_origin *origin, udpa_bytes *node_id);
udpa_bytes *udpai_origin_node(const udpai_origin *origin); /* borrowed */
/* The publisher: what its certificate states, when it was here last; a reference is taken. NULL, as
 * at first: not known. */
void udpai_origin_set_identity(udpai_origin *origin, udpai_identity *identity);
const udpai_identity *udpai_origin_identity(const udpai_origin *origin);
/* Calls back for every origin. The callback may take contributions away, but make no origin, nor
 * let go of one. */
typedef void (*udpai_store_origin_fn)(void *userdata, udpai_origin *origin);
void
udpai_store_visit_origins(const udpai_store *store, udpai_store_origin_fn visit, void *userdata);
/* Are its contributions kept by the durable engine? False from the beginning. */
void udpai_origin_set_durable(udpai_origin *origin, bool durable);
/* Is this node itself the authority for what the origin has, as of files? Then a ttl is no lease:
 * what has one is renewed here, at half of it, as long as it is held, and so ends at peers that
 * lose this node. False from the beginning; holds for what is put from then on. */
void udpai_origin_set_keeps_alive(udpai_origin *origin, bool keeps_alive);
bool udpai_origin_keeps_alive(const udpai_origin *origin);
/* Do its contributions of this type count? By default those of a source do not, all others do.
 * The whole of them flips in one change set. */
udpa_err udpai_origin_set_eligible(udpai_store *store,
                                   udpai_origin *origin,
                                   udpai_str type_url,
                                   bool eligible);
bool udpai_origin_is_eligible(const udpai_origin *origin, udpai_str type_url);
/* Of this name, other sources count than of the type: these alone, in this order. They must stay as
 * long. */
udpa_err udpai_store_choose(
    udpai_store *store, udpai_str type_url, udpai_str name, udpai_origin *const *origins, size_t n);
/* Those of the type count again. */
void udpai_store_choose_no_more(udpai_store *store, udpai_str type_url, udpai_str name);
/* Has it contributed anything of this type? Looks at all that it has, or at all of the type. */
bool udpai_origin_has(const udpai_store *store, const udpai_origin *origin, udpai_str type_url);

/* Of an origin of rank ADOPTED: takes away what has lost the contribution that it takes the place
 * of, or has one newer than itself. */
void udpai_store_drop_adopted(udpai_store *store, udpai_origin *origin);

/* ---- contributions ---- */

/* Of a contribution that its own origin does not name any more, though there is no removal of it.
 * It counts as before. */
typedef enum udpai_absence {
    UDPAI_ABSENCE_NONE,
    UDPAI_ABSENCE_NEW,  /* which may be all that there is to it */
    UDPAI_ABSENCE_HELD, /* which is not believed; kept by the durable engine, too */
} udpai_absence;

typedef struct udpai_contribution {
    udpai_origin *origin;
    udpa_resource *resource;
    uint64_t deadline_ms; /* by the wheel; 0: never */
    bool eligible;        /* its origin is active for the type, or the name */
    bool superseded;      /* a higher generation of its authority was seen */
    bool effective;
    udpai_absence absence;
} udpai_contribution;

/* Adds or replaces the origin's contribution of the resource's type and name; one of a lower
 * generation than the origin has given before changes nothing. UDPA_ERR_LIMIT: no room, and
 * ret_error has the limit. What replaces something and is no larger always finds room, and so does
 * what is loaded. */
udpa_err udpai_store_put(udpai_store *store,
                         udpai_origin *origin,
                         udpa_resource *resource,
                         uint64_t deadline_ms,
                         udpa_error **ret_error);
/* The same of what all replicas of this node have (store/replication.h): it has been let in, and
 * what was newer here before does not count, if no removal did. */
udpa_err udpai_store_put_replicated(udpai_store *store,
                                    udpai_origin *origin,
                                    udpa_resource *resource,
                                    uint64_t deadline_ms);
/* Is called when the time of a contribution is over. True: it stays all the same, until it is
 * withdrawn; asked again every UDPAI_EXPIRED_AGAIN_MS. Without such a function: false. */
#define UDPAI_EXPIRED_AGAIN_MS 1000
/* What stays for longer is reported with so much more time, as often as that is nearly over. */
#define UDPAI_EXPIRED_LONGER_MS 10000
typedef bool (*udpai_store_expired_fn)(void *userdata,
                                       udpai_origin *origin,
                                       const udpa_resource *resource);
void udpai_store_set_expired(udpai_store *store, udpai_store_expired_fn expired, void *userdata);
/* The authority removes what it had of this name, up to this generation (model/removal.h): whatever
 * is older and compares with it goes, whichever origin has it, and is kept out as long as that is
 * remembered. It is reported, but not to the node that it came from. */
udpa_err udpai_store_end(udpai_store *store, udpa_resource *removal, udpa_bytes *from_node);
/* The same of what all replicas of this node have (store/replication.h): it stays until they all
 * forget it, by udpai_store_forget_removal(). Kept, it has no deadline. */
udpa_err udpai_store_end_replicated(udpai_store *store, udpa_resource *removal);
/* It was remembered as long as it must be; called again after that time, as long as it is there.
 * May not call back. */
typedef void (*udpai_store_forgettable_fn)(void *userdata,
                                           const udpa_bytes *key,
                                           const udpa_resource *removal);
void
udpai_store_set_forgettable(udpai_store *store, udpai_store_forgettable_fn notify, void *userdata);
/* The removal that replicas have under that key. While something here would come back without it,
 * it is remembered like one that replicas do not have. */
void
udpai_store_forget_removal(udpai_store *store, udpai_str key, udpai_str type_url, udpai_str name);
/* Are removals kept by the durable engine? False from the beginning. They come back as
 * contributions of origins of which this is true. */
void udpai_store_set_keeps_removals(udpai_store *store, bool keeps);
bool udpai_store_is_removal_key(udpai_str origin_key);
/* Under which a removal is kept that ends this; NULL without memory. */
udpa_bytes *udpai_store_removal_key(const udpa_resource *resource);
/* What nobody has removed, and was newer than something that is here, and has made place for
 * another authority's contribution, is kept with them: it must not count after a restart, either.
 * It comes back as the contribution, without a payload, of an origin of which this is true; and is
 * remembered again.
 */
bool udpai_store_is_seen_key(udpai_str origin_key);
udpa_err udpai_store_recall(udpai_store *store, udpa_resource *seen);
/* The generation up to which the resource's authority has removed the name, where it
 * compares with the resource's own; 0: it has not. */
uint64_t udpai_store_removal_generation(const udpai_store *store, const udpa_resource *resource);
/* Is it remembered that the resource, or something newer of its authority, was here and was
 * removed? */
bool
udpai_store_remembers(const udpai_store *store, udpai_str type_url, const udpa_resource *resource);
/* Was something newer of its authority seen, that compares with it? */
bool udpai_store_is_outlived(const udpai_store *store, const udpa_resource *resource);
/* Takes one away; nothing happens if it is not there. */
void
udpai_store_withdraw(udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str name);
/* Takes away what the origin has of this type (empty: any) below this prefix, except what `keep`
 * (NULL: nothing) is to stay. */
typedef bool (*udpai_store_keep_fn)(void *userdata, const udpa_resource *resource);
void udpai_store_withdraw_all(udpai_store *store,
                              udpai_origin *origin,
                              udpai_str type_url,
                              udpai_str prefix,
                              udpai_store_keep_fn keep,
                              void *userdata);

typedef struct udpai_store_scope {
    udpai_str type_url; /* empty: any */
    udpai_str prefix;
    udpai_store_keep_fn keep; /* not those; NULL: all */
    void *userdata;
} udpai_store_scope;

/* Take away what the origin's peer has no more, and has not removed: what was reported of it stays
 * while another source that counts has something older of the same authority, as long as floors
 * last. */
void
udpai_store_leave(udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str name);
void
udpai_store_leave_all(udpai_store *store, udpai_origin *origin, const udpai_store_scope *scope);
/* Notes that it is absent or held, if it is there; what is held is not made absent any more. A put
 * makes it present, and so does this: then nothing can fail. Otherwise without memory it stays as
 * it is, and is not noted. */
udpa_err udpai_store_set_absence(udpai_store *store,
                                 udpai_origin *origin,
                                 udpai_str type_url,
                                 udpai_str name,
                                 udpai_absence absence);

udpa_err udpai_store_set_all_absent(udpai_store *store,
                                    udpai_origin *origin,
                                    const udpai_store_scope *scope,
                                    udpai_absence absence);

typedef enum udpai_absence_end {
    UDPAI_ABSENCE_FORGET, /* they count as present */
    UDPAI_ABSENCE_HOLD,
    UDPAI_ABSENCE_BELIEVE, /* they are withdrawn */
    UDPAI_ABSENCE_LEAVE,   /* as udpai_store_leave() has it */
} udpai_absence_end;

/* What becomes of all of this type (empty: any) that are so. */
void udpai_store_end_absences(udpai_store *store,
                              udpai_origin *origin,
                              udpai_str type_url,
                              udpai_absence absence,
                              udpai_absence_end end);
size_t udpai_origin_n_absent(const udpai_origin *origin, udpai_str type_url, udpai_absence absence);
bool udpai_origin_has_absent(const udpai_origin *origin);
/* By type, where there are any. */
typedef void (*udpai_origin_absent_fn)(void *userdata, udpai_str type_url, size_t n);
void udpai_origin_visit_absent(const udpai_origin *origin,
                               udpai_absence absence,
                               udpai_origin_absent_fn visit,
                               void *userdata);
/* The origin's contribution; false: none. */
bool udpai_store_get(const udpai_store *store,
                     const udpai_origin *origin,
                     udpai_str type_url,
                     udpai_str name,
                     udpai_contribution *ret_contribution);
/* Removals that were not received from another node. False: it is enough. */
typedef bool (*udpai_store_removal_fn)(void *userdata,
                                       udpa_resource *removal,
                                       uint64_t deadline_ms,
                                       udpa_bytes *shared_key);
/* Of all generations of this name that were seen, and removed, nothing is remembered: it is as if
 * they had never been. */
void udpai_store_forget_name(udpai_store *store, udpai_str type_url, udpai_str name);
void
udpai_store_visit_removals(const udpai_store *store, udpai_store_removal_fn visit, void *userdata);
/* Calls back for the origin's contributions of this type (empty: any), until false is returned. The
 * callback must not change the store. */
typedef bool (*udpai_store_visit_fn)(void *userdata, const udpai_contribution *contribution);
void udpai_store_visit_origin(const udpai_store *store,
                              const udpai_origin *origin,
                              udpai_str type_url,
                              udpai_store_visit_fn visit,
                              void *userdata);
/* The same for all contributions, those of one origin together. */
void udpai_store_visit_all(const udpai_store *store, udpai_store_visit_fn visit, void *userdata);
/* How many of its contributions are variants. */
size_t udpai_store_n_variants(const udpai_origin *origin);
/* How many of its contributions have other names, too. */
size_t udpai_store_n_aliased(const udpai_origin *origin);
/* All contributions of one name, best first. */
void udpai_store_visit_name(const udpai_store *store,
                            udpai_str type_url,
                            udpai_str name,
                            udpai_store_visit_fn visit,
                            void *userdata);
/* All effective contributions of a type (empty: any) below a prefix. */
void udpai_store_visit_effective(const udpai_store *store,
                                 udpai_str type_url,
                                 udpai_str prefix,
                                 udpai_store_visit_fn visit,
                                 void *userdata);
/* What take_changes() has reported of a type and not taken back: also what may not be removed yet,
 * and has no contribution any more. */
typedef bool (*udpai_store_reported_fn)(void *userdata, udpa_resource *resource);
void udpai_store_visit_reported(const udpai_store *store,
                                udpai_str type_url,
                                udpai_store_reported_fn visit,
                                void *userdata);
/* The highest generation ever seen of the name, as far as it is remembered; 0: none. */
uint64_t
udpai_store_highest_generation(const udpai_store *store, udpai_str type_url, udpai_str name);

/* ---- results ---- */

/* What has changed since the last call, as one change set; NULL: nothing. Calls may be as far apart
 * as the receiver is slow: changes of one resource become one. */
udpa_err udpai_store_take_changes(udpai_store *store, udpai_change_set **ret_set);
bool udpai_store_has_changes(const udpai_store *store);
/* What must be kept, since the last call; NULL: nothing. UDPA_ERR_NOMEM: some of it could not be
 * noted, and must not be called safe. */
udpa_err udpai_store_take_durable(udpai_store *store, udpai_durable_batch **ret_batch);
/* Notes a fact about an origin for the durable engine: MARK, UNMARK, USE or DISUSE. The prefix is
 * that of a mark. */
udpa_err udpai_store_note(udpai_store *store,
                          udpai_durable_kind kind,
                          udpai_origin *origin,
                          udpai_str type_url,
                          udpai_str prefix);
/* SEEN: what store the origin had when it had completed the type. */
udpa_err udpai_store_note_seen(
    udpai_store *store, udpai_origin *origin, udpai_str type_url, udpai_str epoch, uint64_t number);
/* EPOCH: what the store has now is meant to be all, and begins this one. */
void udpai_store_note_epoch(udpai_store *store, udpa_bytes *name);
/* All that is kept of it is forgotten, and nothing more is kept. False: without memory nothing has
 * changed. */
bool udpai_store_forget_origin(udpai_store *store, udpai_origin *origin);
bool udpai_origin_is_durable(const udpai_origin *origin);
/* While loading what the durable engine kept, nothing is handed to it again. */
void udpai_store_set_loading(udpai_store *store, bool loading);

size_t udpai_store_n_contributions(const udpai_store *store);
/* Bytes, as far as main structures go, with the resources. */
uint64_t udpai_store_memory(const udpai_store *store);

/* Of these, such as stay though their time is over. */
size_t udpai_store_n_overdue(const udpai_store *store);
/* Names and numbers of effective resources of each type; until false is returned. */
typedef bool (*udpai_store_type_fn)(void *userdata, udpai_str type_url, size_t n_effective);
void udpai_store_visit_types(const udpai_store *store, udpai_store_type_fn visit, void *userdata);

#endif
