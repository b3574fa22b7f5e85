/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl top shows (cli/top.h), as tables. Pure. */
#ifndef UDPAI_CTL_TOP_VIEW_H
#define UDPAI_CTL_TOP_VIEW_H

#include "cli/table.h"
#include "cli/top.h"

#define UDPAI_CTL_TOP_SOURCES 10

void udpai_ctl_top_put(const udpai_cli_top *top, udpai_cli_layout *layout, udpai_strbuf *out);

#endif
