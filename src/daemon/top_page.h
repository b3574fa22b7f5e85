/* SPDX-License-Identifier: Apache-2.0 */
/* The page /top as JSON: what udpactl top shows (cli/top.h). Rates are those of the last seconds:
 * for them the counters of a few moments are kept, one a second, while somebody asks. On the loop.
 */
#ifndef UDPAI_DAEMON_TOP_PAGE_H
#define UDPAI_DAEMON_TOP_PAGE_H

#include "daemon/page_question.h"

typedef struct udpai_top_page udpai_top_page;

/* The page of metrics in Prometheus's format: a reference, the same text again while it is as new.
 */
typedef udpa_err (*udpai_top_page_fn)(void *userdata, udpa_bytes **ret_text);

/* Of the node with this id. Everything is borrowed, and the questions end before it does. NULL
 * without memory. */
udpai_top_page *udpai_top_page_new(udpai_page_questions *questions,
                                   const char *node,
                                   udpai_top_page_fn read_metrics,
                                   void *userdata);
/* NULL does nothing. */
void udpai_top_page_free(udpai_top_page *page);
/* Of a query of limit. Takes the reading, and answers it later; of an error it is still the
 * caller's. */
udpa_err
udpai_top_page_read(udpai_top_page *page, udpai_http_reading *reading, udpa_error **ret_error);

#endif
