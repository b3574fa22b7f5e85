/* SPDX-License-Identifier: Apache-2.0 */
/* How much room is taken in a store, of which limits; for the files of this folder. */
#ifndef UDPAI_STORE_ACCOUNT_H
#define UDPAI_STORE_ACCOUNT_H

#include "metrics/fullest.h"
#include "store/store.h"

typedef struct udpai_store_entry udpai_store_entry;

/* So many resources, and bytes of them. */
typedef struct udpai_use {
    size_t n, n_held; /* held back: removed, but not reported as that */
    uint64_t bytes;
} udpai_use;

/* What stagings will change of such a use. */
typedef struct udpai_staged_use {
    int64_t n, bytes;
} udpai_staged_use;

typedef struct udpai_namespace_use {
    udpa_bytes *name;
    udpai_use use;
    unsigned percent; /* of its limit */
    udpai_staged_use staged;
    size_t n_staged; /* so many changes are staged */
} udpai_namespace_use;

/* Is there room for the resource in the place of what the origin has in this entry? Then its
 * namespace has an account: charge it, or close the account again. */
udpa_err udpai_store_make_room(udpai_store *store,
                               const udpai_store_entry *entry,
                               const udpai_origin *origin,
                               const udpa_resource *resource,
                               udpa_error **ret_error);
/* Closes the account of the resource's namespace if nothing is in it. */
void udpai_store_close_account(udpai_store *store, const udpa_resource *resource);
void udpai_store_charge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource);
void udpai_store_discharge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource);
/* What was reported takes room until its removal is reported, unless a contribution is it. Cannot
 * fail while its namespace holds something. */
udpa_err udpai_store_hold_reported(udpai_store *store, udpai_store_entry *entry);
void udpai_store_let_go_reported(udpai_store *store, udpai_store_entry *entry);
/* fill.c: it holds something else, … */
void udpai_store_note_fill_of_namespace(udpai_store *store, udpai_namespace_use *account);
void udpai_store_note_fill_of_origin(udpai_store *store, udpai_origin *origin);
/* … or the limits of all are others. */
void udpai_store_note_fills(udpai_store *store);
/* Sets the rank; what the origin holds may be that of a publisher from now on, or not any more. */
void udpai_store_change_rank(udpai_store *store, udpai_origin *origin, udpai_origin_class rank);

/* The same of what is staged: in the place of `before` (NULL: of nothing). On success it takes room
 * until udpai_store_unstage() with the same. */
udpa_err udpai_store_stage_put(udpai_store *store,
                               udpai_origin *origin,
                               udpa_resource *resource,
                               const udpa_resource *before,
                               udpai_staged_use *ret_use,
                               udpa_error **ret_error);
/* What was staged: is less than a tenth left of a limit that it meets, or not enough if each of so
 * many replicas has staged as much as this one? */
bool udpai_store_is_scarce(const udpai_store *store,
                           const udpai_origin *origin,
                           const udpa_resource *staged,
                           unsigned n_replicas);
/* The origin has this, and will not have it any more. */
void udpai_store_stage_removal(udpai_store *store,
                               udpai_origin *origin,
                               const udpa_resource *held,
                               udpai_staged_use *ret_use);
void udpai_store_unstage(udpai_store *store,
                         udpai_origin *origin,
                         const udpa_resource *resource,
                         const udpai_staged_use *use);

#endif
