/* SPDX-License-Identifier: Apache-2.0 */
/* An event of the node itself, such as a NACK or a fail-over: udpa.event.v1.NodeEvent. Texts may
 * have come from peers, so they are cut and escaped where they are written. */
#ifndef UDPAI_NODE_EVENT_H
#define UDPAI_NODE_EVENT_H

#include <udpa/bytes.h>

#include "base/log.h"

/* The numbers of udpa.event.v1.NodeEvent.Kind. */
typedef enum udpai_node_event_kind {
    UDPAI_NOTE_NACK = 1,
    UDPAI_NOTE_FAIL_OVER,
    UDPAI_NOTE_FAIL_BACK,
    UDPAI_NOTE_SOURCE_CONNECTED,
    UDPAI_NOTE_SOURCE_LOST,
    UDPAI_NOTE_SOURCE_SYNCHRONIZED,
    UDPAI_NOTE_LIMIT_REACHED,
    UDPAI_NOTE_REVOKED,
    UDPAI_NOTE_HELD,
    UDPAI_NOTE_HELD_ACCEPTED,
    UDPAI_NOTE_RELOADED,
    UDPAI_NOTE_RELOAD_FAILED,
    UDPAI_NOTE_REPLICA_CONNECTED,
    UDPAI_NOTE_REPLICA_LOST,
    UDPAI_NOTE_CERTIFICATE_EXPIRES,
    UDPAI_NOTE_KINDS,
} udpai_node_event_kind;

#define UDPAI_NOTE_TEXT_MAX 1024 /* of the text, and of each field */

typedef struct udpai_node_event {
    udpai_node_event_kind kind;
    udpa_log_level level;
    const char *text;
    const udpai_log_field *about; /* of a key the first counts */
    size_t n_about;
} udpai_node_event;

/* NULL without memory. */
udpa_bytes *udpai_node_event_encode(const udpai_node_event *event);
/* A copy with this n_suppressed, of one that has none. NULL without memory. */
udpa_bytes *udpai_node_event_add_suppressed(const udpa_bytes *event, uint64_t n_suppressed);
/* What events of a kind have in common: the source, or else the certificate, the Node and the host
 * of the peer, or else the file. Others about that follow. */
uint64_t udpai_node_event_subject(const udpai_node_event *event);

#endif
