/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are frozen: what was last reported of them stays as it is, whatever files and sources
 * bring, until they are thawed. What waits behind it is kept as ever.
 *
 * Publications pass, and what ends them: who freezes refuses them before they come here, so what is
 * here was let in before (docs/design/freeze.md). A refresh passes, too. */
#ifndef UDPAI_FREEZE_H
#define UDPAI_FREEZE_H

#include "store/store.h"

/* Is the name frozen? Without such a function: none is. */
typedef bool (*udpai_store_frozen_fn)(void *userdata, udpai_str type_url, udpai_str name);
void udpai_store_set_frozen(udpai_store *store, udpai_store_frozen_fn frozen, void *userdata);
/* Less is frozen than before: what waits is reported with the next changes. */
void udpai_store_thaw(udpai_store *store);

/* Decides which changes wait, and notes that for the durable engine. To be called before what has
 * changed is taken for the engine: then it has both, or neither. */
void udpai_store_hold_frozen(udpai_store *store);

/* What waits: an origin's key of which this is true is kept for each name, and comes back as the
 * contribution of such an origin while loading. */
bool udpai_store_is_frozen_key(udpai_str origin_key);
udpa_err
udpai_store_restore_frozen(udpai_store *store, udpai_str origin_key, udpa_resource *resource);

/* A change that waits. */
typedef struct udpai_frozen_change {
    udpai_str type_url, name;
    udpa_resource *served;  /* NULL: nothing */
    udpa_resource *waiting; /* what would be served; NULL: nothing */
} udpai_frozen_change;

/* False: it is enough. May not change the store. */
typedef bool (*udpai_frozen_fn)(void *userdata, const udpai_frozen_change *change);
void udpai_store_visit_frozen(const udpai_store *store, udpai_frozen_fn visit, void *userdata);
/* How many wait. */
size_t udpai_store_n_frozen(const udpai_store *store);
/* Does a change of this name wait? */
bool udpai_store_waits(const udpai_store *store, udpai_str type_url, udpai_str name);

#endif
