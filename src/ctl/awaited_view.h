/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions have what is waited for, and which have not, as text. Pure. */
#ifndef UDPAI_CTL_AWAITED_VIEW_H
#define UDPAI_CTL_AWAITED_VIEW_H

#include "base/strbuf.h"
#include "cli/awaited.h"
#include "cli/table.h"

/* A line for each resource, then a table of the sessions that have not acknowledged it, since when,
 * and why. */
void udpai_ctl_put_awaited(udpai_strbuf *out,
                           udpai_cli_layout *layout,
                           const udpai_cli_awaited_list *list,
                           int64_t now_us);
/* How far it is, in one line without its end: "3 of 10 clients acknowledge, waiting for: a, b". */
void udpai_ctl_put_awaited_progress(udpai_strbuf *out, const udpai_cli_awaited_list *list);

#endif
