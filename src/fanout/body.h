/* SPDX-License-Identifier: Apache-2.0 */
/* A composed response, shared by all streams that are sent the same, and the renderer that composes
 * it. A renderer belongs to one form of one protocol; what it makes of the same resources is the
 * same for every stream, but for the nonce, which each stream appends. */
#ifndef UDPAI_BODY_H
#define UDPAI_BODY_H

#include "base/list.h"
#include "base/memory.h"
#include "model/resource.h"

typedef struct udpai_subscription udpai_subscription;

/* A resource to be sent. */
typedef struct udpai_send_item {
    const udpai_subscription *subscription; /* for which */
    udpa_resource *resource;
    uint64_t ttl_ms; /* what is left; 0: none */
    bool refresh;    /* the receiver holds the payload */
    uint64_t seq; /* of the payload's last change; 0: it brings none, or is of something removed */
} udpai_send_item;

/* What in its view a body was composed for. */
typedef struct udpai_body_range {
    uint64_t from, limit;            /* what has changed after, and not later than */
    uint64_t held;                   /* by a subscriber that holds all payloads up to here, */
    uint64_t window_from, window_to; /* and what lies between these, */
    bool newest_first;               /* and is sent that end of it */
} udpai_body_range;

/* What a body holds, by name and version: all that an answer to it is about. It may outlive the
 * body, and keeps no payloads alive while an answer is waited for. Counted; stream thread only. */
typedef struct udpai_listing {
    unsigned refs;
    size_t n;
    udpai_memory *memory; /* counts it; NULL: nothing does */
    size_t size;

    struct {
        udpai_str name, version;
        udpai_str asked_name; /* of a variant, what it is known by; else the name */
        uint64_t seq;         /* as the body's */
    } resources[];            /* in order; their text follows them */
} udpai_listing;

/* Where something in a body came from. */
typedef struct udpai_body_origin {
    udpa_bytes *from_node;  /* NULL: from no node */
    udpa_bytes *visible_to; /* the links to which it is visible; NULL: all */
} udpai_body_origin;

/* Counted; stream thread only. */
typedef struct udpai_body {
    unsigned refs;
    /* What goes over the wire, one behind the other, before the nonce. NULL: nothing need be sent.
     */
    UDPAI_VECTOR(udpa_bytes *) parts;
    size_t size_bytes;
    udpai_memory *memory;      /* counts it; NULL: nothing does */
    size_t own_bytes, counted; /* of the parts that are no payloads; as it is counted, all of it */
    UDPAI_VECTOR(udpa_resource *) resources; /* what it holds, in order; references */
    udpai_listing *listing;                  /* of them; NULL: nobody has asked for it */
    UDPAI_VECTOR(uint64_t) seqs;             /* of each resource, see udpai_send_item */
    uint64_t seq_low, seq_high;              /* the least and the greatest of them, but for 0 */
    UDPAI_VECTOR(udpa_bytes *) removed;      /* names */
    /* Of the resources, each once, in order; but for what is of no node and visible to all. */
    UDPAI_VECTOR(udpai_body_origin) origins;
    size_t n_refreshes;        /* of the resources */
    size_t n_hidden;           /* of the resources: left out by the renderer, for a name */
    udpai_set_hash state_hash; /* as given to the renderer */
    udpai_str version;         /* of a state, for protocols that have one; owned */
    /* Where it lies in its view: everything in the range, up to `to`. */
    const void *renderer;
    uint64_t renderer_serial;
    udpai_body_range range;
    uint64_t to;
    bool has_ttl;
    uint64_t composed_ms;
    /* While the fan-out keeps it for others. */
    struct udpai_view *view;
    uint64_t view_seq; /* when the view had changed last */
    udpai_list in_view, in_recent;
} udpai_body;

udpai_body *udpai_body_new(void); /* NULL without memory */
udpai_body *udpai_body_ref(udpai_body *body);
udpai_body *udpai_body_unref(udpai_body *body);
UDPA_DEFINE_CLEANUP(udpai_body, udpai_body_unref)
/* Consumes the reference to @p part; false without memory. */
bool udpai_body_add_part(udpai_body *body, udpa_bytes *part);
/* The same, of what a resource has, and is not counted as the body's. */
bool udpai_body_add_payload(udpai_body *body, udpa_bytes *part);
/* It is complete, and its memory is counted there, as long as somebody has it. */
void udpai_body_count_in(udpai_body *body, udpai_memory *memory);
/* A reference to the listing, shared by all streams that are sent the body; NULL without memory. */
udpai_listing *udpai_body_list(udpai_body *body);
udpai_listing *udpai_listing_unref(udpai_listing *listing);

/* A variant of a name that its receiver has no more, or that there has never been: it knows
 * variants by their constraints. */
typedef struct udpai_lost_variant {
    udpai_str name, constraints;
    bool is_replaced; /* what comes in the same response takes its place */
} udpai_lost_variant;

/* What a renderer is asked to compose. */
typedef struct udpai_render {
    const udpai_subscription *subscription;
    udpai_str type_url;
    const udpai_send_item *items;
    size_t n_items;
    const udpai_str *removed;
    size_t n_removed;
    const udpai_lost_variant *lost; /* for subscriptions that distinguish variants */
    size_t n_lost;
    /* Of a COMPLETE: what it answers. */
    bool complete;
    udpai_str scope;
    udpai_str waits;       /* instead of complete: what this node waits for there, … */
    uint32_t waits_behind; /* … for the answer behind so many that are pending */
    /* Of a STATE, and of grouped additions: the sum over all that is visible to the subscriber.
     * Else: over what its wildcards hold, with what split horizon and links leave out: so it is the
     * same for all of a view. */
    bool is_state;
    udpai_set_hash state_hash;
} udpai_render;

typedef struct udpai_renderer {
    /* Distinguishes it from one that had its address before. */
    uint64_t serial;
    /* This protocol shows the content of a resource, its aliases and its ttl; its authority, and
     * the version given by that, make no difference. */
    bool shows_content_only;
    /* Each of its subscribers has one of the variants of a name, for which it is known by that
     * name; wildcards bring none. To others a variant is a resource like any, and its name an
     * alias. */
    bool selects_variants;
    /* What goes with a removal depends on what else its receiver has asked for. */
    bool removals_are_private;
    /* In delta: what an alias has led to is sent as removed by its own name as well. Otherwise
     * clients of the protocol look for what has the alias. */
    bool aliases_end_by_name;
    /* Bytes that an item adds to a response; 0: this protocol sends nothing of it. */
    size_t (*item_size)(const struct udpai_renderer *renderer, const udpai_send_item *item);
    /* The version that this protocol shows of a resource: a view of the resource, or of `room`. */
    udpai_str (*version)(const struct udpai_renderer *renderer,
                         const udpa_resource *resource,
                         char room[UDPAI_CONTENT_HASH_HEX]);
    /* Fills body->parts, and body->version if there is one. */
    udpa_err (*compose)(const struct udpai_renderer *renderer,
                        const udpai_render *what,
                        udpai_body *body);
} udpai_renderer;

#endif
