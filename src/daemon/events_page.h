/* SPDX-License-Identifier: Apache-2.0 */
/* The page /events: topics of events as they come, by Server-Sent Events (HTML, 9.2). */
#ifndef UDPAI_EVENTS_PAGE_H
#define UDPAI_EVENTS_PAGE_H

#include "codec/schema.h"
#include "daemon/plan.h"
#include "events/event_query.h"

/* Of a client that may read it; answers, but with an error. */
udpa_err udpai_events_page(const udpai_plan *plan,
                           udpai_schema *schema,
                           udpai_http_reading *reading,
                           udpa_error **ret_error);

/* ---- its pieces, of a stream's userdata; for tests ---- */

typedef struct udpai_events_stream udpai_events_stream;

/* NULL without memory. */
udpai_events_stream *udpai_events_stream_new(const udpai_event_query *query, udpai_schema *schema);
void udpai_events_stream_free(void *stream);
/* A FollowResponse of the kind with this index in the query. */
void udpai_events_stream_put(void *stream, size_t index, udpai_str message, udpai_strbuf *out);
void udpai_events_stream_put_error(void *stream, const udpa_error *error, udpai_strbuf *out);
/* The FollowRequest of that kind; NULL without memory. */
udpa_bytes *udpai_events_stream_request(const udpai_events_stream *stream, size_t index);

#endif
