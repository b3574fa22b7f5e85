/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a node, bounded in their rate, so that no peer pushes the others out of the ring.
 */

/* The first event about a subject passes at once. What follows within a second waits, and of what
 * waits the last one passes when the second is over, with the number of those before it; while
 * more follows, the next time is twice as long, up to UDPAI_NOTE_WINDOW_MAX_MS. Of each kind so
 * many subjects are known at a time, and so many pass at once; all beyond that share one place of
 * this kind.
 *
 * Belongs to one thread; the wheel is its own. */
#ifndef UDPAI_NODE_EVENTS_H
#define UDPAI_NODE_EVENTS_H

#include "base/wheel.h"
#include "events/node_event.h"

#define UDPAI_NOTE_SUBJECTS 16 /* of each kind */
#define UDPAI_NOTE_WINDOW_MS 1000
#define UDPAI_NOTE_WINDOW_MAX_MS 64000
/* Of each kind so many pass at once; after that one in so long, but for those that waited. */
#define UDPAI_NOTE_BURST 64
#define UDPAI_NOTE_REGAIN_MS 10000

typedef struct udpai_node_events udpai_node_events;

typedef struct udpai_node_events_env {
    udpai_wheel *wheel;
    /* Microseconds since 1970. */
    int64_t (*wall_us)(void *userdata);
    /* A serialised udpa.event.v1.NodeEvent, borrowed; when it happened. */
    void (*emit)(void *userdata, udpa_bytes *event, int64_t time_us);
    void *userdata;
} udpai_node_events_env;

/* NULL without memory. */
udpai_node_events *udpai_node_events_new(const udpai_node_events_env *env);
/* What waits is dropped. */
udpai_node_events *udpai_node_events_free(udpai_node_events *events);
UDPA_DEFINE_CLEANUP(udpai_node_events, udpai_node_events_free)

/* NULL events: nothing. Without memory it is missing. */
void udpai_node_events_note(udpai_node_events *events, const udpai_node_event *event);

#endif
