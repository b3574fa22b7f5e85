/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a trace: which one a change belongs to, and behind which span of it. Its text is
 * the traceparent of W3C Trace Context: version, trace id, span id and flags in hexadecimal.
 *
 * Source: docs/design/traces.md */
#ifndef UDPAI_TRACE_H
#define UDPAI_TRACE_H

#include "base/util.h"

#define UDPAI_TRACE_ID 16
#define UDPAI_SPAN_ID 8
#define UDPAI_TRACEPARENT_LEN 55 /* without a NUL; a longer one is none */

/* Zeroes: there is none. */
typedef struct udpai_trace {
    uint8_t id[UDPAI_TRACE_ID];
    uint8_t span[UDPAI_SPAN_ID];
    bool is_sampled;
} udpai_trace;

bool udpai_trace_is_set(const udpai_trace *trace);
/* False: it is no traceparent, and there is none. One of a later version is read as far as it is
 * known. */
bool udpai_trace_read(udpai_str text, udpai_trace *ret_trace);
/* Writes UDPAI_TRACEPARENT_LEN bytes. */
void udpai_trace_write(const udpai_trace *trace, char room[UDPAI_TRACEPARENT_LEN]);

#endif
