/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events that a node has: those that Envoys stream to a service, and the node's own.
 * Of each the facts: what is known of its messages, which otherwise are bytes. */
#ifndef UDPAI_EVENT_KIND_H
#define UDPAI_EVENT_KIND_H

#include "base/util.h"

typedef enum udpai_event_kind {
    UDPAI_EVENT_ACCESS_LOG,
    UDPAI_EVENT_METRICS,
    UDPAI_EVENT_TRACE,
    UDPAI_EVENT_TAP,
    UDPAI_EVENT_REPORT,
    UDPAI_EVENT_SINKS,                    /* those above are streamed by clients; */
    UDPAI_EVENT_NODE = UDPAI_EVENT_SINKS, /* this one the node has by itself */
    UDPAI_EVENT_KINDS,
} udpai_event_kind;

/* The number of the identifier in the messages of every kind, and of the Node in it. */
#define UDPAI_EVENT_IDENTIFIER 1
#define UDPAI_EVENT_IDENTIFIER_NODE 1
#define UDPAI_EVENT_ENTRIES_MAX 2

/* Where a message has things that are complete each by itself, such as one request of an access
 * log. */
typedef struct udpai_event_entries {
    uint32_t field;   /* 0: none */
    uint32_t inner;   /* repeated in the message of that field; 0: the field itself is repeated */
    const char *type; /* full name */
} udpai_event_entries;

typedef struct udpai_event_facts {
    const char *word;     /* "access-log" */
    const char *path;     /* "/package.Service/Method"; NULL: it is not streamed by clients */
    const char *type_url; /* of the messages */
    uint32_t name_field;  /* of the stream, in the identifier; 0: it has none */
    /* None: a message is one. */
    udpai_event_entries entries[UDPAI_EVENT_ENTRIES_MAX];
} udpai_event_facts;

const udpai_event_facts *udpai_event_facts_of(udpai_event_kind kind);
/* By its word; false: there is none. */
bool udpai_event_kind_find(udpai_str word, udpai_event_kind *ret_kind);
/* "access-log, metrics, …": all words, for people. */
#define UDPAI_EVENT_WORDS "access-log, metrics, trace, tap, event, node"

#endif
