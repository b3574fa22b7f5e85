/* SPDX-License-Identifier: Apache-2.0 */
/* Events as lines of JSON: one for each entry of a message, such as one request of an access log.
 *
 *   {"kind":"access-log","time":"2026-01-02T03:04:05.000006Z","node":"edge-1","identity":"edge",
 *    "name":"ingress","type":"envoy.data.accesslog.v3.HTTPAccessLogEntry","entry":{…}}
 *
 * identity and name are missing where there is none. What cannot be read, because there are no
 * descriptors of its type or it is not what it should be, has "base64" in the place of "entry", and
 * "error" has the reason. Pure computation: any thread. */
#ifndef UDPAI_EVENT_LINE_H
#define UDPAI_EVENT_LINE_H

#include "base/strbuf.h"
#include "codec/schema.h"
#include "model/event_kind.h"

typedef struct udpai_event_view {
    udpai_event_kind kind;
    int64_t time_us;
    udpai_str node_id, identity, name;
    udpai_str message;
} udpai_event_view;

/* Takes text away, so that a message of many entries does not become one of as many bytes as their
 * lines have. */
typedef struct udpai_line_consumer {
    void (*take)(void *userdata, udpai_strbuf *out); /* empties it; also one that has failed */
    void *userdata;
} udpai_line_consumer;

#define UDPAI_LINES_MAX ((size_t)1 << 20)

/* Appends the lines; whenever they have more than UDPAI_LINES_MAX bytes, or there was no memory for
 * them, they are taken away. Returns how many there were. */
size_t udpai_event_lines_put(udpai_strbuf *out,
                             const udpai_schema *schema,
                             const udpai_event_view *event,
                             const udpai_line_consumer *consumer);
/* Appends {"kind":…,"lost":3}: so many messages are missing here. */
void udpai_event_gap_put(udpai_strbuf *out, udpai_event_kind kind, uint64_t n_lost);

#endif
