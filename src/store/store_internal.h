/* SPDX-License-Identifier: Apache-2.0 */
/* The store's inside, for the files of this folder. */
#ifndef UDPAI_STORE_INTERNAL_H
#define UDPAI_STORE_INTERNAL_H

#include "base/map.h"
#include "store/account.h"
#include "store/freeze.h"
#include "store/store.h"

typedef struct udpai_store_type udpai_store_type;
typedef struct udpai_store_entry udpai_store_entry;
typedef struct udpai_stored udpai_stored;

/* The end of a contribution that has a ttl. */
typedef struct udpai_expiry {
    udpai_timer timer; /* at the deadline, or when it is to be renewed */
    uint64_t deadline_ms;
    udpai_stored *stored;
    bool is_overdue; /* it stays though its time is over */
} udpai_expiry;

/* One origin's contribution to one entry. */
struct udpai_stored {
    udpai_list in_origin;
    udpai_store_entry *entry;
    udpai_origin *origin; /* NULL: there is none */
    udpa_resource *resource;
    udpai_expiry *expiry; /* NULL: it has no ttl */
};

/* The highest generation seen of an authority, kept after a contribution that had it was removed.
 */
typedef struct udpai_floor {
    udpai_list in_store; /* in one of its lists */
    udpai_store_entry *entry;
    udpai_timer expiry;
    uint64_t generation;
    udpa_resource *seen; /* what had it, without the payload: it decides what compares with it */
    /* `seen` is a removal: what the authority had up to it is removed. */
    bool is_removal;
    bool is_unsent; /* it was not reported yet */
    bool is_left;   /* the source that had it has it no more, and that is all that is known */
    bool is_kept;   /* by the durable engine, though it is no removal */
    udpa_bytes *shared_key; /* under which all replicas have it; NULL: they do not */
    bool is_forgettable;    /* the owner was notified */
    bool is_in_use;         /* it must stay just now */
    udpa_bytes *from_node;  /* where the removal comes from; NULL: of no node */
} udpai_floor;

/* What few entries have. */
typedef struct udpai_store_more {
    UDPAI_VECTOR(udpai_stored *) contributions; /* besides the first */
    UDPAI_VECTOR(udpai_floor *) floors;
    uint64_t reported_deadline_ms; /* 0: what was reported does not expire */
    udpa_resource *restored; /* frozen: to be reported first; NULL: nothing is, or it has been */
} udpai_store_more;

/* There is one for each name, and most have one contribution: its memory counts. */
struct udpai_store_entry {
    udpai_store_type *type;
    udpai_list dirty; /* in one of the store's lists while it must be looked at again */
    /* What was last reported in a change set. If that is nothing (`is_reported`), then the entry's
     * name, while neither a contribution nor a floor has it. */
    udpa_resource *reported;
    udpai_origin *reported_by; /* a reference */
    udpai_store_more *more;
    uint32_t reported_node_changes; /* how often its node had changed then */
    bool is_reported;
    bool reported_is_held; /* no contribution any more, and counted by itself */
    bool is_effective;     /* what reported_by contributes has been effective since */
    bool is_frozen;        /* a change of it waits */
    udpai_stored first;
};

struct udpai_store_type {
    udpai_store *store;
    udpa_bytes *url; /* with a NUL */
    bool is_client;  /* see model/client_type.h */
    udpai_map entries;
    size_t n_effective;
};

/* Whether the contributions of an origin count, by type; only what differs from the default. */
typedef struct udpai_eligibility {
    udpa_bytes *type;
    bool eligible;
} udpai_eligibility;

typedef struct udpai_absent udpai_absent;

/* Of one type, by udpai_absence. */
typedef struct udpai_absence_count {
    udpa_bytes *type; /* with a NUL */
    size_t n[UDPAI_ABSENCE_HELD + 1];
} udpai_absence_count;

struct udpai_origin {
    udpa_bytes *key;
    udpai_origin_class rank;
    unsigned order;
    size_t refs; /* its holders, and entries that reported what it had */
    bool durable, keeps_alive;
    udpa_bytes *node_id;
    uint32_t n_node_changes;
    udpai_identity *identity; /* NULL: nobody knows */
    UDPAI_VECTOR(udpai_eligibility) eligibilities;
    udpai_list contributions;
    size_t n_contributions, n_variants, n_aliased; /* variants among them, and those with aliases */
    udpai_use use;
    unsigned percent; /* of the limit of a publisher; of others 0 */
    udpai_staged_use staged;
    udpai_list idle;    /* in the store's list since it last had nothing */
    udpai_map absences; /* udpai_absent, by contribution */
    UDPAI_VECTOR(udpai_absence_count) absence_counts;
};

typedef struct udpai_floors {
    udpai_list list; /* oldest first */
    size_t n, n_forgettable;
} udpai_floors;

/* Is what is put what was staged? Then it has its room, and … */
typedef enum udpai_applying {
    UDPAI_APPLYING_NONE,
    UDPAI_APPLYING_KEPT, /* … the durable engine has it, … */
    UDPAI_APPLYING_ANEW, /* … or has had it, before something else was done to the name */
} udpai_applying;

struct udpai_store {
    udpai_wheel *wheel;
    udpai_memory memory; /* what it has, without the resources, which `use` has */
    udpai_store_options options;
    udpai_map types;
    udpai_map origins;
    udpai_map namespaces;
    udpai_map choices;  /* by name */
    udpai_list marked;  /* entries that may have changed; by their `dirty` node, as all of these */
    udpai_list dirty;   /* those whose changes do not wait */
    udpai_list waiting; /* frozen ones */
    size_t n_frozen;    /* these, and frozen ones in the lists before */
    udpai_list held_back; /* entries whose removal is not certain */
    /* Apart, so that nobody pushes out the memory of signed ones with what needs no signature. */
    udpai_floors floors, signed_floors;
    bool keeps_removals; /* removals go to the durable engine */
    udpai_store_remember_fn remember;
    void *remember_userdata;
    udpai_store_forgettable_fn forgettable;
    void *forgettable_userdata;
    udpai_list idle; /* origins that have no contributions, or had none */
    udpai_store_certain_fn certain;
    void *certain_userdata;
    udpai_store_moved_fn moved;
    void *moved_userdata;
    udpai_store_frozen_fn frozen;
    void *frozen_userdata;
    bool has_reported; /* all that there was at the start */
    udpai_store_expired_fn expired;
    void *expired_userdata;
    size_t n_contributions;
    size_t n_overdue;          /* of these: their time is over, and they stay */
    udpai_use use, publishers; /* of all, and of publishers among them */
    udpai_staged_use staged;   /* of publishers: nobody else stages */
    udpai_fullest fullest_namespace, fullest_publisher;
    udpai_applying applying;
    udpai_durable_batch *durable;
    bool durable_incomplete; /* something did not get into the batch */
    bool loading;
    udpai_cause cause; /* of what goes */
};

/* By the wheel; 0: never. */
static inline uint64_t
udpai_stored_deadline(const udpai_stored *stored)
{
    return stored->expiry ? stored->expiry->deadline_ms : 0;
}

static inline size_t
udpai_store_n_floors(const udpai_store_entry *entry)
{
    return entry->more ? entry->more->floors.n : 0;
}

static inline udpai_str
udpai_store_type_url(const udpai_store_type *type)
{
    return (udpai_str){udpa_bytes_data(type->url), udpa_bytes_size(type->url) - 1};
}

/* entry.c: finding and making; an entry that nothing needs any more is freed by release(). */
udpai_str udpai_store_entry_name(const udpai_store_entry *entry);
udpai_store_type *udpai_store_find_type(const udpai_store *store, udpai_str type_url);
udpai_store_entry *
udpai_store_find_entry(const udpai_store *store, udpai_str type_url, udpai_str name);
udpai_store_entry *udpai_store_make_entry(udpai_store *store, udpa_resource *resource);
/* The contribution at or after *position, which is moved past it; NULL at the end. Begin with 0. */
udpai_stored *udpai_store_next(const udpai_store_entry *entry, size_t *position);
/* The contribution that is effective; NULL: none. */
udpai_stored *udpai_store_effective(const udpai_store_entry *entry);
/* NULL: nothing. */
udpa_resource *udpai_store_reported(const udpai_store_entry *entry);
/* What the entry has more, made if need be; NULL without memory. */
udpai_store_more *udpai_store_more_of(udpai_store_entry *entry);
/* The entry has this no more: if it has its name from nothing else, it stays as such until the
 * entry is reported, and freed. */
void udpai_store_keep_name(udpai_store_entry *entry, udpa_resource *removed);
/* If something else has the name now, it need not be kept. */
void udpai_store_drop_name(udpai_store_entry *entry);
void udpai_store_release_entry(udpai_store *store, udpai_store_entry *entry);
void udpai_store_mark_dirty(udpai_store *store, udpai_store_entry *entry);
udpai_stored *udpai_store_entry_of_origin(const udpai_store_entry *entry,
                                          const udpai_origin *origin);
/* What the origin has of the name; NULL: nothing. */
udpai_stored *udpai_store_find_stored(const udpai_store *store,
                                      const udpai_origin *origin,
                                      udpai_str type_url,
                                      udpai_str name);

/* generation.c */
/* Can the generations of two resources of one authority be compared? */
bool udpai_store_comparable(const udpa_resource *a, const udpa_resource *b);
/* Is the resource older than what was seen, or removed? */
bool udpai_floor_outlives(const udpai_floor *floor, const udpa_resource *resource);
/* The same of removals alone. */
bool udpai_floor_ends(const udpai_floor *floor, const udpa_resource *resource);

/* Has the origin itself something newer? */
bool udpai_store_is_outdated(const udpai_stored *stored, const udpa_resource *resource);

/* effective.c: which contribution counts. */
udpai_stored *udpai_store_select(const udpai_store_entry *entry);
/* Is it older than what was seen of its authority? */
bool udpai_store_outlives(const udpai_store_entry *entry, const udpa_resource *resource);
bool udpai_store_is_superseded(const udpai_stored *stored);
/* Would it count as the origin's contribution? */
bool udpai_store_would_count(const udpai_store_entry *entry,
                             const udpai_origin *origin,
                             const udpa_resource *resource);
/* Can it, of an origin of rank ADOPTED, ever be effective again? */
bool udpai_store_is_spent(const udpai_stored *stored);
/* Is there a contribution that counts? */
bool udpai_store_has_any(const udpai_store_entry *entry);
/* Order of preference among contributions of one entry; below zero: a before b. */
int udpai_store_compare(const udpai_stored *a, const udpai_stored *b);

/* choice.c */
udpai_str udpai_store_choice_key(const void *choice);
/* Does the origin count for this name? */
bool udpai_store_counts(const udpai_store_entry *entry, const udpai_origin *origin);
/* Among those of its rank: the lower one wins. */
unsigned udpai_store_order(const udpai_store_entry *entry, const udpai_origin *origin);
void udpai_store_free_choices(udpai_store *store);

/* origin.c */
/* Everything that the origin contributes to, of this type or of all, must be looked at again. */
void udpai_store_mark_origin_dirty(udpai_store *store, udpai_origin *origin, udpai_str type_url);

/* origins.c */
/* It has nothing now; if that is so at the next look, it may go. */
void udpai_store_note_idle(udpai_store *store, udpai_origin *origin);
void udpai_store_drop_idle(udpai_store *store);
void udpai_store_free_origins(udpai_store *store);

/* changes.c: is it reported, and not certain to be removed? What its authority has removed is. */
bool udpai_store_must_stay(const udpai_store_entry *entry);
/* Would anything but a refresh be reported, if this (NULL: nothing) were? */
bool udpai_store_would_change(const udpai_store_entry *entry, const udpai_stored *now);
/* 0: what was reported does not expire. */
uint64_t udpai_store_reported_deadline(const udpai_store_entry *entry);

/* freeze.c: that of what was restored; NULL without memory. */
udpai_origin *udpai_store_frozen_origin(udpai_store *store);
/* Before one that is no publisher's is put, or (NULL) what is effective goes. */
void udpai_store_before_change(udpai_store *store,
                               udpai_store_entry *entry,
                               const udpa_resource *coming);
/* Before any contribution goes: of a publisher's, only what it uncovers may have to wait. */
void udpai_store_before_end(udpai_store *store, const udpai_stored *stored);
/* Nothing waits any more; before the store is freed. */
void udpai_store_forget_frozen(udpai_store *store);

/* absence.c */
void udpai_store_init_absences(udpai_origin *origin);
void udpai_store_free_absences(udpai_origin *origin);
udpai_absence udpai_store_absence_of(const udpai_stored *stored);
/* What is held stays so until it is there again. */
udpa_err udpai_store_set_absent(udpai_store *store, udpai_stored *stored, udpai_absence absence);
/* It is there, or it goes; noted for the durable engine, or not. */
void udpai_store_drop_absence(udpai_store *store, udpai_stored *stored, bool is_noted);

/* floor.c */
/* is_left: its source has lost it, and nothing more is known. */
void udpai_store_remember(udpai_store *store,
                          udpai_store_entry *entry,
                          udpa_resource *removed,
                          bool is_left);
/* An origin's resource is kept out by what was seen: so it is after a restart, too. */
void udpai_store_note_kept_out(udpai_store *store, const udpai_stored *stored);
void udpai_store_forget_all(udpai_store *store);
void udpai_store_forget(udpai_store *store, udpai_floor *floor);
/* Of what all replicas have: nothing else keeps it out than a removal that they have. */
void
udpai_store_forget_newer(udpai_store *store, udpai_store_entry *entry, const udpa_resource *let_in);
/* Nothing but it keeps out what its authority had. */
bool udpai_floor_is_needed(const udpai_floor *floor);
void udpai_floor_set_forgettable(udpai_store *store, udpai_floor *floor, bool is_forgettable);
/* Makes room for floors like this one, which stays. */
void udpai_floor_make_room(udpai_store *store, udpai_floor *floor);
/* So long again. */
void udpai_floor_renew(udpai_store *store, udpai_floor *floor);
/* Remembers a removal, which all replicas have under a key, or not: NULL. Returns NULL if nothing
 * is remembered, or there is no memory. */
udpai_floor *udpai_store_remember_removal(udpai_store *store,
                                          udpai_store_entry *entry,
                                          udpa_resource *removal,
                                          udpa_bytes *from_node,
                                          udpa_bytes *shared_key);

/* So long would its generation be remembered. */
uint64_t udpai_store_time_to_remember(const udpai_store *store, const udpa_resource *removed);

/* removal.c */
/* What the durable engine keeps of a removal before it is remembered. */
udpa_err udpai_store_add_removal(const udpai_store *store,
                                 udpa_resource *removal,
                                 udpai_durable_batch *batch);
/* What is to be reported besides `now` (NULL: nothing is there): that what was reported before is
 * removed, or what was not reported yet. NULL: nothing. */
udpai_floor *udpai_store_find_removal(const udpai_store_entry *entry, const udpai_stored *now);
/* The durable engine is to keep, or forget, it. */
void udpai_store_keep_removal(udpai_store *store, const udpai_floor *floor);
void udpai_store_unkeep_removal(udpai_store *store, const udpai_floor *floor);
/* The same of one that is no removal: from when on it keeps out something that is here. */
void udpai_store_keep_seen(udpai_store *store, udpai_floor *floor);
void udpai_store_unkeep_seen(udpai_store *store, udpai_floor *floor);

/* durable.c: what the engine is to do */
void udpai_store_add_durable(udpai_store *store, const udpai_durable_op *op);

#endif
