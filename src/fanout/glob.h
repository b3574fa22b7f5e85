/* SPDX-License-Identifier: Apache-2.0 */
/* Collections by glob, and which items each holds. */
#ifndef UDPAI_FANOUT_GLOB_H
#define UDPAI_FANOUT_GLOB_H

#include "base/error.h"
#include "base/list.h"
#include "fanout/log.h"

typedef struct udpai_topic udpai_topic;
typedef struct udpai_view udpai_view;
typedef struct udpai_view_prefix udpai_view_prefix;
typedef struct udpai_family udpai_family;

/* The items that would be in one collection: each item is in one family at most, so a change finds
 * the collections that hold it without looking at the others. */
struct udpai_family {
    udpai_list items;
    uint32_t len;
    char glob[];
};

void udpai_families_init(udpai_topic *topic);
void udpai_families_done(udpai_topic *topic);
/* Puts every item of the topic, and from then on every new one, in its family. */
udpa_err udpai_families_make(udpai_topic *topic);
/* Puts a new item in its family, if there are any. False without memory. */
bool udpai_family_join(udpai_item *item);
void udpai_family_leave(udpai_item *item);
/* Is the name in the view's collection? */
bool udpai_glob_covers(const udpai_view *view, udpai_str name);
/* The views of the item's collection; NULL: there are none. */
udpai_view_prefix *udpai_glob_views_of(const udpai_item *item);

#endif
