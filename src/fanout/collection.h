/* SPDX-License-Identifier: Apache-2.0 */
/* From what was collected to a body (render.c); for the files of this folder. */
#ifndef UDPAI_FANOUT_COLLECTION_H
#define UDPAI_FANOUT_COLLECTION_H

#include "fanout/fanout_internal.h"

struct udpai_collection {
    udpai_subscription *subscription;
    UDPAI_VECTOR(udpai_send_item) items;
    UDPAI_VECTOR(udpai_str) removed;
    UDPAI_VECTOR(udpai_item *) pinned;       /* whose names `removed` has */
    UDPAI_VECTOR(udpai_lost_variant) lost;   /* their text is one piece of memory each */
    UDPAI_VECTOR(udpai_body_origin) origins; /* of the body; borrowed */
    size_t bytes;
    bool is_whole; /* never full: a state goes out in one piece */
    bool is_full, has_ttl;
    bool is_filtered; /* something was left out that others are sent */
    uint64_t stamp;
};

void udpai_collection_init(udpai_collection *collection, udpai_subscription *subscription);
void udpai_collection_done(udpai_collection *collection);
/* Adds an item, unless it is there already or the protocol sends nothing of it. false: the response
 * is full, and the item is not in it; or there is no memory (*ret_err). */
bool udpai_collection_add(udpai_collection *collection,
                          udpai_item *item,
                          udpa_resource *resource,
                          bool refresh,
                          udpa_err *ret_err);
bool udpai_collection_remove(udpai_collection *collection, udpai_item *item, udpa_err *ret_err);
/* Adds the end of a variant, whether or not the response is full. */
udpa_err udpai_collection_lose(udpai_collection *collection, const udpai_lost_variant *lost);
udpa_err
udpai_collection_render(udpai_collection *collection, udpai_render *what, udpai_body **ret_body);

#endif
