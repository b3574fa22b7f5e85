/* SPDX-License-Identifier: Apache-2.0 */
/* One message that a client has streamed to a sink, with what there is to know of it. A value:
 * never changed, counted atomically, so any thread may have it. */
#ifndef UDPAI_EVENT_H
#define UDPAI_EVENT_H

#include <stdatomic.h>

#include <udpa/bytes.h>

#include "base/error.h"
#include "base/util.h"
#include "model/event_kind.h"

/* The streaming client: the identifier in the first message of a stream, and its certificate. */
typedef struct udpai_event_source {
    atomic_uint refs;
    udpai_str node_id;
    udpai_str identity;     /* empty: it had no certificate */
    udpai_str name;         /* of the stream: of the access log, of the tap; empty: it has none */
    udpa_bytes *identifier; /* all that it has sent of itself; owned; NULL: it is not kept */
    char text[];
} udpai_event_source;

/* Copies the texts; NULL without memory. */
udpai_event_source *udpai_event_source_new(udpai_str node_id, udpai_str identity, udpai_str name);
udpai_event_source *udpai_event_source_ref(udpai_event_source *source);
udpai_event_source *udpai_event_source_unref(udpai_event_source *source);
UDPA_DEFINE_CLEANUP(udpai_event_source, udpai_event_source_unref)

typedef struct udpai_event {
    atomic_uint refs;
    uint64_t sequence; /* of its kind, from 1; what was lost is missing */
    int64_t time_us;   /* when it came, since 1970 */
    udpai_event_source *source;
    udpa_bytes *message; /* without its identifier */
} udpai_event;

/* References to both are taken; NULL without memory. */
udpai_event *udpai_event_new(udpai_event_source *source, udpa_bytes *message);
udpai_event *udpai_event_ref(udpai_event *event);
udpai_event *udpai_event_unref(udpai_event *event);
UDPA_DEFINE_CLEANUP(udpai_event, udpai_event_unref)

#endif
