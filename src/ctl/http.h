/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the pages that a node serves by HTTP, and its answer; waits for it. */
#ifndef UDPAI_CTL_HTTP_H
#define UDPAI_CTL_HTTP_H

#include "base/strbuf.h"
#include "ctl/options.h"

/* From this status on the node cannot answer now. */
#define UDPAI_CTL_SERVER_ERROR 500

typedef struct udpai_ctl_answer {
    long status;
    udpai_strbuf text;
    char *server; /* which of --http has answered; owned; NULL: none has */
} udpai_ctl_answer;

/* Asks --http for a path: POST with this JSON as its body, GET without one. There is an answer, of
 * whatever status, if the result is UDPAI_CLI_GOOD; else the reason was printed, as far as
 * options->failures asks for that, or it was interrupted. To be followed by udpai_ctl_answer_done()
 * in any case. */
udpai_cli_exit udpai_ctl_http_ask(const udpai_ctl_options *options,
                                  const char *path,
                                  const udpai_strbuf *body,
                                  udpai_ctl_answer *ret_answer);
/* The answer of the node, as it may go to a terminal: not all of it, and without its last line end.
 */
void udpai_ctl_answer_words(const udpai_ctl_answer *answer, udpai_strbuf *words);
/* Prints that the node has denied it, in its words, which go to a terminal; @p hint: what to do,
 * behind them, of a status that has no hint for every page. */
udpai_cli_exit udpai_ctl_http_refused(const udpai_ctl_options *options,
                                      const udpai_ctl_answer *answer,
                                      const char *hint);
void udpai_ctl_answer_done(udpai_ctl_answer *answer);

#endif
