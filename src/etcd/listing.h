/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all keys below a prefix, as they are at one revision, page by page; keeps nothing of them.
 * Owned by the thread of its etcd. */
#ifndef UDPAI_ETCD_LISTING_H
#define UDPAI_ETCD_LISTING_H

#include "base/bytes.h"
#include "etcd/etcd.h"

typedef struct udpai_listing udpai_listing;

typedef struct udpai_listing_env {
    udpai_etcd *etcd;
    /* UDPA_ERR_NOMEM: the listing ends with that. */
    udpa_err (*page)(void *userdata, const udpai_etcd_kv *kvs, size_t n);
    /* Once for each beginning. @p why: NULL: that was all there is, at this revision. It may begin
     * again from here. */
    void (*ended)(void *userdata, int64_t revision, const udpa_error *why);
    void *userdata;
} udpai_listing_env;

/* Begins nothing yet. */
udpa_err
udpai_listing_new(udpai_listing **ret_listing, const udpai_listing_env *env, udpai_str prefix);
/* NULL does nothing. Returns NULL. Not from a callback. */
udpai_listing *udpai_listing_free(udpai_listing *listing);

/* From the first key, at the revision that etcd has now. What was under way ends without a call.
 * Calls back later. UDPA_ERR_NOMEM, UDPA_ERR_CLOSED: nothing has begun. */
udpa_err udpai_listing_begin(udpai_listing *listing);
/* Ends without a call. */
void udpai_listing_stop(udpai_listing *listing);

#endif
