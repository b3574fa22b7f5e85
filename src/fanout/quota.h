/* SPDX-License-Identifier: Apache-2.0 */
/* The peers that views count for, and how many there may be. */
#ifndef UDPAI_FANOUT_QUOTA_H
#define UDPAI_FANOUT_QUOTA_H

#include "fanout/fanout.h"

/* A peer, for what its subscribers may make together. */
struct udpai_owner {
    udpai_fanout *fanout;
    size_t n_refs; /* of subscribers and views */
    size_t n_views;
    uint32_t name_len;
    char name[];
};

udpai_str udpai_owner_key(const void *item);
udpai_owner *udpai_owner_ref(udpai_owner *owner);
udpai_owner *udpai_owner_unref(udpai_owner *owner);
/* Are there more views than there may be, of all or of this view's owner? */
bool udpai_quota_is_exceeded(const udpai_fanout *fanout, const udpai_owner *owner);

#endif
