/* SPDX-License-Identifier: Apache-2.0 */
/* The page /explain as JSON: why a resource is served, or not, and who has it. It asks the node
 * what udpactl explain asks, and shows what that prints (cli/explanation.h). On the loop. */
#ifndef UDPAI_DAEMON_EXPLAIN_PAGE_H
#define UDPAI_DAEMON_EXPLAIN_PAGE_H

#include "daemon/page_question.h"

/* Of a query of type, name and for. Takes the reading, and answers it later; of an error it is
 * still the caller's. */
udpa_err udpai_explain_page_read(udpai_page_questions *questions,
                                 udpai_http_reading *reading,
                                 udpa_error **ret_error);

#endif
