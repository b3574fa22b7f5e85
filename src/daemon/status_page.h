/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /status and /explain as JSON: what nodes report of themselves, of their sources and
 * clients, some at a time; and what is known of one resource. What they show is asked of the
 * endpoint as any client asks it, so it is what udpactl shows. On the loop. */
#ifndef UDPAI_DAEMON_STATUS_PAGE_H
#define UDPAI_DAEMON_STATUS_PAGE_H

#include "codec/schema.h"
#include "endpoint/host.h"
#include "transport/http/http.h"

/* What has not come by then is not in the answer, which says so. */
#define UDPAI_STATUS_PAGE_WAIT_MS 3000
/* That wait at a time; one more is UDPA_ERR_UNAVAILABLE. */
#define UDPAI_STATUS_PAGE_MAX 16

typedef struct udpai_status_page udpai_status_page;

/* The endpoint is borrowed, the schema counted. NULL without memory. */
udpai_status_page *udpai_status_page_new(udpa_endpoint *endpoint, udpai_schema *schema);
/* /status of a query of type, name (with stars), limit and after. Takes the reading, and answers it
 * later; of an error it is still the caller's. */
udpa_err udpai_status_page_read(udpai_status_page *page,
                                udpai_http_reading *reading,
                                udpa_error **ret_error);
/* /explain of a query of type and name. The same. */
udpa_err udpai_explain_page_read(udpai_status_page *page,
                                 udpai_http_reading *reading,
                                 udpa_error **ret_error);
/* What waits is answered with 503. NULL does nothing. */
void udpai_status_page_free(udpai_status_page *page);

#endif
