/* SPDX-License-Identifier: Apache-2.0 */
/* Why a resource is served, or not, and to whom, as text. Pure. */
#ifndef UDPAI_CTL_EXPLAIN_VIEW_H
#define UDPAI_CTL_EXPLAIN_VIEW_H

#include "cli/explanation.h"
#include "cli/table.h"

/* A line of what is so, then tables of the contributions and of the clients that lack it. */
void udpai_ctl_put_explained(udpai_strbuf *out,
                             udpai_cli_layout *layout,
                             const udpai_cli_explanation *explained,
                             int64_t now_us);

#endif
