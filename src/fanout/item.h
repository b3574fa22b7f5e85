/* SPDX-License-Identifier: Apache-2.0 */
/* Items: what there is, or was, or is asked for, of each name of a topic. For the files of this
 * folder. */
#ifndef UDPAI_FANOUT_ITEM_H
#define UDPAI_FANOUT_ITEM_H

#include "base/list.h"
#include "fanout/fanout.h"
#include "fanout/glob.h"

/* Where an item is in a view: in its log of live items, or of tombstones. */
typedef struct udpai_membership {
    udpai_view *view;
    uint64_t entered_seq; /* a subscriber that was sent it before this was sent its removal since;
                             0: none */
    uint32_t slot;
    bool is_tombstone;
} udpai_membership;

/* What an item has besides while it is not there, expires, has other names, was asked for by name,
 * is not visible to all ConfigSources, or is in a collection or in several views. */
typedef struct udpai_item_more {
    udpa_resource *last;    /* after a removal, while views of states need it */
    udpa_bytes *visible_to; /* which ConfigSources (change_set.h); NULL: all */
    uint64_t deadline_ms;
    udpai_list name_subs;   /* those that ask for exactly this name … */
    size_t n_interested;    /* … and is counted: clients, … */
    size_t n_nodes;         /* … and nodes */
    size_t n_indirect;      /* … and is not led here */
    udpai_list in_indirect; /* of the topic, if there are any */
    udpai_list alias_subs;  /* those whose other name leads here */
    udpai_family *family;   /* NULL: none, or nobody has asked for any */
    udpai_list in_family;   /* if there is one */
    udpai_item *item;
    udpai_membership *memberships; /* instead of the item's own; NULL: that will do */
    uint32_t memberships_capacity;
    uint32_t name_len;
    char name[];
} udpai_item_more;

/* What an item was before its present content; most never change. */
typedef struct udpai_former {
    uint64_t content_seq, payload_seq; /* of what it was */
    uint64_t until;                    /* the content_seq of what took its place */
    udpai_content_hash hash;
    uint32_t version_len; /* 0: the version was the digits of the hash */
    char version[];
} udpai_former;

/* There is one for each name, and most are there and in one view: its memory counts. */
struct udpai_item {
    udpai_topic *topic;
    udpa_resource *resource; /* NULL: not there */
    udpa_bytes *from_node;
    udpai_item_more *more; /* NULL: the name is that of the resource, and the rest nothing */
    udpai_former *former;  /* NULL: it was not there, or that is not known */
    uint64_t seq;          /* of its last change */
    uint64_t previous_seq; /* of the one before */
    uint64_t payload_seq;  /* of the last that needs the payload */
    uint64_t content_seq;  /* of the last that protocols see that show the content only */
    uint64_t stamp;        /* to meet it once in one pass */
    uint32_t n_pins;       /* pending sends of subscriptions, and calls that work with it now */
    uint32_t n_memberships;
    uint32_t number;      /* no other of the topic has it */
    udpai_membership own; /* the only one */
};

udpai_item *udpai_item_find(const udpai_topic *topic, udpai_str name);
/* Is there a resource of this name, for whomever? */
bool udpai_topic_has(const udpai_topic *topic, udpai_str name);
udpai_item *udpai_item_get(udpai_topic *topic, udpai_str name);
/* What it has more, made if need be; NULL without memory. Stays at least until its next change. */
udpai_item_more *udpai_item_more_of(udpai_item *item);
/* After a change: gives back what was needed for it, or in another state. */
void udpai_item_drop_idle_more(udpai_item *item);
/* Frees it if nothing refers to it any more. */
void udpai_item_release(udpai_item *item);
/* The same, whatever refers to it; the topic does not any more. */
void udpai_item_free(udpai_item *item);

/* Consumes the reference; the one to what it was is the caller's. NULL: it is not there. */
void udpai_item_set_resource(udpai_item *item, udpa_resource *resource);
/* Its content is about to change by the change of this number: notes what it is now, as far as
 * there is memory. */
void udpai_item_note_former(udpai_item *item, uint64_t seq, bool is_removed);

/* Valid until the item's next change. */
static inline udpai_str
udpai_item_name(const udpai_item *item)
{
    const udpai_item_more *more = item->more;
    return more ? (udpai_str){more->name, more->name_len} : udpai_resource_name(item->resource);
}

/* The lists of an item that has none; always empty. */
extern const udpai_list udpai_no_subs;

static inline const udpai_list *
udpai_item_name_subs(const udpai_item *item)
{
    return item->more ? &item->more->name_subs : &udpai_no_subs;
}

static inline const udpai_list *
udpai_item_alias_subs(const udpai_item *item)
{
    return item->more ? &item->more->alias_subs : &udpai_no_subs;
}

static inline udpa_resource *
udpai_item_last(const udpai_item *item)
{
    return item->more ? item->more->last : NULL;
}

static inline const udpa_bytes *
udpai_item_visible_to(const udpai_item *item)
{
    return item->more ? item->more->visible_to : NULL;
}

static inline uint64_t
udpai_item_deadline(const udpai_item *item)
{
    return item->more ? item->more->deadline_ms : 0;
}

static inline udpai_membership *
udpai_item_memberships(const udpai_item *item)
{
    return item->more && item->more->memberships ? item->more->memberships
                                                 : (udpai_membership *)(uintptr_t)&item->own;
}

/* What it is in the hash of a set, while it is there. */
udpai_set_hash udpai_item_alone(const udpai_item *item);

/* Milliseconds, at least 1; 0: it does not expire. */
uint64_t udpai_item_ttl_left(const udpai_item *item);
/* The item's last change that this subscriber needs the payload for. */
uint64_t udpai_item_payload_seq(const udpai_item *item, const udpai_subscription *subscription);

#endif
