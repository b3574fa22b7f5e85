/* SPDX-License-Identifier: Apache-2.0 */
/* The node's own events, as far as the loop has them (docs/design/events.md). */
#ifndef UDPAI_ENDPOINT_NOTE_H
#define UDPAI_ENDPOINT_NOTE_H

#include <udpa/endpoint.h>

#include "events/node_event.h"

/* On the loop. Of an endpoint without topics, and of NULL, nothing is noted. */
void udpai_endpoint_note(udpa_endpoint *endpoint, const udpai_node_event *event);
/* For UDPAI_ABOUT(), which may also be NULL, 0. */
void udpai_endpoint_note_about(udpa_endpoint *endpoint,
                               udpai_node_event_kind kind,
                               udpa_log_level level,
                               const udpai_log_field *about,
                               size_t n_about,
                               const char *format,
                               ...) UDPA_PRINTF(6, 7);

#endif
