/* SPDX-License-Identifier: Apache-2.0 */
/* The page /status as JSON: what nodes report of themselves, of their sources and clients, some at
 * a time. What it shows is asked of the endpoint as any client asks it, so it is what udpactl
 * shows. On the loop. */
#ifndef UDPAI_DAEMON_STATUS_PAGE_H
#define UDPAI_DAEMON_STATUS_PAGE_H

#include "daemon/page_question.h"

/* Of a query of type, name (with stars), limit and after. Takes the reading, and answers it later;
 * of an error it is still the caller's. */
udpa_err udpai_status_page_read(udpai_page_questions *questions,
                                udpai_http_reading *reading,
                                udpa_error **ret_error);

#endif
