/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are traced (docs/design/traces.md): a span begins when something comes in that
 * changes a resource, and is given out with the change set that has it. One publication, or one
 * reading of files, has one span.
 *
 * All functions take NULL, which traces nothing. */
#ifndef UDPAI_FEDERATION_TRACES_H
#define UDPAI_FEDERATION_TRACES_H

#include "federation/context.h"
#include "model/span.h"

/* That wait to be given out. More are not begun. */
#define UDPAI_TRACES_WAITING_MAX 64
/* What was not given out by then, is not: it was rejected, changed nothing, or waits for a thaw. */
#define UDPAI_TRACES_PATIENCE_MS 60000

typedef struct udpai_traces udpai_traces;

/* *ret_traces NULL: the settings trace nothing. */
udpa_err udpai_traces_new(udpai_traces **ret_traces,
                          udpai_context *context,
                          const udpai_traces_config *config);
void udpai_traces_free(udpai_traces *traces);

/* Something comes in; what is noted until the end belongs to it. @p parent: what its peer has
 * stated; not set: it is the first to see it. @p from: a view that lasts until then. */
void udpai_traces_begin(udpai_traces *traces, const udpai_trace *parent, udpai_str from);
/* Is a change noted? False also if it was decided that this one is not traced. */
bool udpai_traces_may_note(const udpai_traces *traces);
/* It changes this resource. */
void udpai_traces_note(udpai_traces *traces, udpai_str type_url, udpai_str name);
void udpai_traces_end(udpai_traces *traces);

/* Moves the spans of these changes to the list; each has its index. */
void udpai_traces_take(udpai_traces *traces, const udpai_change_set *changes, udpai_list *spans);

#endif
