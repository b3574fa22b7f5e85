/* SPDX-License-Identifier: Apache-2.0 */
/* A page of a node, fetched. */
#ifndef UDPAI_CTL_PAGE_H
#define UDPAI_CTL_PAGE_H

#include "cli/series.h"
#include "ctl/http.h"

/* GET of this path. UDPAI_CLI_GOOD: there is its text, with the status 200; else the reason was
 * printed. To be followed by udpai_ctl_answer_done() in any case. */
udpai_cli_exit udpai_ctl_page_fetch(const udpai_ctl_options *options,
                                    const char *path,
                                    udpai_ctl_answer *ret_answer);
/* The same of /metrics, read: views of the answer. To be followed by udpai_cli_page_done(), too. */
udpai_cli_exit udpai_ctl_page_fetch_metrics(const udpai_ctl_options *options,
                                            udpai_cli_page *ret_page,
                                            udpai_ctl_answer *ret_answer);

#endif
