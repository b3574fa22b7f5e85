/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a node as lines for people: time, kind, subject and text. */
#ifndef UDPAI_CTL_NODE_EVENT_LINE_H
#define UDPAI_CTL_NODE_EVENT_LINE_H

#include "base/strbuf.h"

/* Appends a line. @p event: a serialised udpa.event.v1.NodeEvent; what is none is shown as such. */
void udpai_ctl_node_event_put(udpai_strbuf *out, int64_t time_us, udpai_str event);
/* So many are missing here. */
void udpai_ctl_node_event_gap_put(udpai_strbuf *out, uint64_t n_lost);

#endif
