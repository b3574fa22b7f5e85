/* SPDX-License-Identifier: Apache-2.0 */
/* What a client of HTTP wants to follow: the query of a page, and where it goes on. Pure. */
#ifndef UDPAI_EVENT_QUERY_H
#define UDPAI_EVENT_QUERY_H

#include "base/error.h"
#include "base/strbuf.h"
#include "events/topics.h"

/* In the order of the kinds. */
typedef struct udpai_event_query {
    bool has[UDPAI_EVENT_KINDS];
    size_t n;
    /* The last event of each that the client has had; begun_us 0: none. */
    udpai_event_place last[UDPAI_EVENT_KINDS];
} udpai_event_query;

/* "kind=node&kind=access-log", percent-encoded; without any: all that there are topics of.
 * UDPA_ERR_INVAL: it has something else; UDPA_ERR_NOT_FOUND: there is no topic of a kind. */
udpa_err udpai_event_query_read(udpai_event_query *ret_query,
                                const udpai_topics *topics,
                                udpai_str query,
                                udpa_error **ret_error);
/* An id of the function below, also of another query. What is none is not heeded: the client then
 * begins with the oldest events. */
void udpai_event_query_go_on(udpai_event_query *query, udpai_str last_event_id);
/* Appends where the client is: of one kind the version of its last event, of more
 * "access-log=VERSION,node=VERSION". */
void udpai_event_query_put_id(const udpai_event_query *query, udpai_strbuf *out);

#endif
