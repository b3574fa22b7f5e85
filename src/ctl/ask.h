/* SPDX-License-Identifier: Apache-2.0 */
/* One question to the node, which is asked by subscribing to a name. */
#ifndef UDPAI_CTL_ASK_H
#define UDPAI_CTL_ASK_H

#include "cli/collect.h"

/* *ret_answer lies in what is found, and is NULL where there is none: then the result tells why,
 * and what is wrong was printed. */
udpai_cli_exit udpai_ctl_ask(udpai_cli *cli,
                             const char *type_url,
                             const char *question,
                             udpai_cli_found *found,
                             const udpa_resource **ret_answer);

#endif
