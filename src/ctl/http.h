/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the pages that a node serves by HTTP, and its answer; waits for it. */
#ifndef UDPAI_CTL_HTTP_H
#define UDPAI_CTL_HTTP_H

#include "base/strbuf.h"
#include "ctl/options.h"

typedef struct udpai_ctl_answer {
    long status;
    udpai_strbuf text;
} udpai_ctl_answer;

/* Asks --http for a path: POST with this JSON as its body, GET without one. There is an answer, of
 * whatever status, if the result is UDPAI_CTL_GOOD; else it was said why not. To be followed by
 * udpai_ctl_answer_done() in any case. */
udpai_ctl_exit udpai_ctl_http_ask(const udpai_ctl_options *options,
                                  const char *path,
                                  const udpai_strbuf *body,
                                  udpai_ctl_answer *ret_answer);
void udpai_ctl_answer_done(udpai_ctl_answer *answer);

#endif
